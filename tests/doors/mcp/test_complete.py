"""Every operation is a tool of this door, or has a reason why it is a person's (D03, S5-S8)."""

import pytest

from plugin import catalogue
from workstead.kernel.access import PERSON_ONLY
from workstead.kernel.operations import Door

REASONS = {
    "create_api_token": "a credential that could make credentials could give itself what it lacks",
    "create_assistant": "a credential that could make credentials could give itself what it lacks",
    "create_project": "binding a folder of the machine is a right of the operator (S1)",
    "delete_secret": "stored secrets belong to whoever runs the instance",
    "get_me": "it tells a person's page who signed in; `doctor` tells a credential what it is",
    "get_outline": "it is the tree as a page has it opened; programs have `get_tree` and `list_cards`",
    "list_api_tokens": "what others may do is shown to the person who allowed it",
    "list_assistants": "what others may do is shown to the person who allowed it",
    "list_failed_requests": "what came to the doors, from everybody, is for whoever runs the instance",
    "list_key_uses": "stored secrets belong to whoever runs the instance",
    "list_secrets": "stored secrets belong to whoever runs the instance",
    "make_sign_in_link": "it is printed on the operator's terminal only",
    "read_picture": "it is a picture's exact bytes for a page; an assistant reads files as text",
    "revoke_api_token": "a credential ends by its owner's hand",
    "revoke_assistant": "a credential ends by its owner's hand",
    "set_budget": "how much may be spent is the owner's decision (S7)",
    "set_secret": "stored secrets belong to whoever runs the instance",
    "sign_in": "it makes a browser's cookie out of a one-time link",
    "sign_out": "it ends a browser's cookie",
    "trust_configuration": "only a person accepts what a folder asks for (S2)",
}
"""Operation -> why no assistant has it."""

PAGES = {"get_me", "get_outline", "read_picture"}
"""What a page draws itself from, and a program reads by other names."""


@pytest.mark.covers("D03", "D12", "K20")
def test_every_operation_is_a_tool_or_a_persons_with_a_reason() -> None:
    """Issue: a table; a new operation has to be put in one of the two places."""
    tools = {each.name for each in catalogue.entries() if Door.MCP in each.doors}
    others = {each.name for each in catalogue.entries()} - tools
    assert others == REASONS.keys()


@pytest.mark.covers("K20")
def test_what_is_a_persons_needs_what_no_credential_can_hold() -> None:
    """Two locks: no door shows it, and no credential could hold what it requires."""
    for each in catalogue.operations():
        if each.name in REASONS and each.name not in PAGES:
            assert each.permissions & PERSON_ONLY, each.name
