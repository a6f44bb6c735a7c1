"""REST: the operations as plain HTTP under /api, with an OpenAPI document made of the same table."""
