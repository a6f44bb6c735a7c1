"""The printed table of the API: method, address, operation, status. An address names fields of the input."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workstead.kernel.operations import AnyOperation, Door

PREFIX = "/api"
OPENAPI = f"{PREFIX}/openapi.json"

_FIELD = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, kw_only=True)
class Route:
    """One line. What is not in the address comes from the query of a GET or DELETE, else from the body."""

    method: str
    path: str
    operation: str
    status: int = 200

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields of the address, in order."""
        return tuple(_FIELD.findall(self.path))

    @property
    def has_body(self) -> bool:
        """Whether the rest of the input is a JSON object in the body."""
        return self.method in {"PATCH", "POST", "PUT"}


_P = f"{PREFIX}/projects/{{project}}"
_C = f"{_P}/cards/{{card_id}}"
_R = f"{_C}/records/{{name}}"

# method, address, operation, status
LINES: tuple[tuple[str, str, str, int], ...] = (
    ("GET", f"{PREFIX}/me", "get_me", 200),
    ("GET", f"{PREFIX}/doctor", "doctor", 200),
    ("GET", f"{PREFIX}/failed-requests", "list_failed_requests", 200),
    ("GET", f"{PREFIX}/assistants", "list_assistants", 200),
    ("POST", f"{PREFIX}/assistants", "create_assistant", 201),
    ("POST", f"{PREFIX}/assistants/{{assistant}}/revoke", "revoke_assistant", 200),
    ("GET", f"{PREFIX}/tokens", "list_api_tokens", 200),
    ("POST", f"{PREFIX}/tokens", "create_api_token", 201),
    ("POST", f"{PREFIX}/tokens/{{token}}/revoke", "revoke_api_token", 200),
    ("GET", f"{PREFIX}/documentation", "search_documentation", 200),
    ("GET", f"{PREFIX}/documentation/{{name}}", "read_documentation", 200),
    ("GET", f"{PREFIX}/permissions", "list_permissions", 200),
    ("GET", f"{PREFIX}/projects", "list_projects", 200),
    ("POST", f"{PREFIX}/projects", "create_project", 201),
    ("GET", _P, "get_project", 200),
    ("GET", f"{_P}/budgets", "get_budgets", 200),
    ("PUT", f"{_P}/budgets", "set_budget", 200),
    ("GET", f"{_P}/configuration", "get_configuration", 200),
    ("POST", f"{_P}/configuration/trust", "trust_configuration", 200),
    ("GET", f"{_P}/agents", "list_agents", 200),
    ("GET", f"{_P}/evidence", "list_evidence", 200),
    ("GET", f"{_P}/exchanges", "list_exchanges", 200),
    ("GET", f"{_P}/exchanges/{{exchange_id}}", "get_exchange", 200),
    ("GET", f"{_P}/models", "list_models", 200),
    ("GET", f"{_P}/file", "read_file", 200),
    ("GET", f"{_P}/files", "list_files", 200),
    ("GET", f"{_P}/refusals", "list_refusals", 200),
    ("GET", f"{_P}/run", "get_run", 200),
    ("POST", f"{_P}/run", "start_run", 200),
    ("POST", f"{_P}/run/pause", "pause_run", 200),
    ("POST", f"{_P}/run/resume", "resume_run", 200),
    ("POST", f"{_P}/run/stop", "stop_run", 200),
    ("GET", f"{_P}/runs", "list_runs", 200),
    ("GET", f"{_P}/tree", "get_tree", 200),
    ("GET", f"{_P}/usage", "list_usage", 200),
    ("GET", f"{_P}/workflows", "list_workflows", 200),
    ("GET", f"{_P}/workflows/{{type}}", "get_workflow", 200),
    ("GET", f"{_P}/cards", "list_cards", 200),
    ("POST", f"{_P}/cards", "create_card", 201),
    ("POST", f"{_P}/cards/delete", "delete_card", 200),
    ("POST", f"{_P}/cards/reorder", "reorder_child", 200),
    ("GET", _C, "get_card", 200),
    ("PATCH", _C, "edit_card", 200),
    ("POST", f"{_C}/cancel", "cancel_card", 200),
    ("POST", f"{_C}/reopen", "reopen_card", 200),
    ("GET", f"{_C}/timeline", "list_timeline", 200),
    ("POST", f"{_C}/comments", "comment_on_card", 201),
    ("GET", f"{_C}/activations", "list_activations", 200),
    ("GET", f"{_C}/versions", "list_card_versions", 200),
    ("GET", f"{_C}/versions/{{version}}", "get_card_version", 200),
    ("GET", f"{_C}/versions/{{from_version}}/difference", "diff_card_versions", 200),
    ("GET", f"{_C}/records", "list_records", 200),
    ("GET", _R, "read_record", 200),
    ("PUT", _R, "write_record", 200),
    ("PATCH", _R, "edit_record", 200),
    ("GET", f"{_R}/versions", "list_record_versions", 200),
    ("GET", f"{_R}/versions/{{version}}", "read_record_version", 200),
    ("GET", f"{_R}/versions/{{from_version}}/difference", "diff_record_versions", 200),
    ("GET", f"{_C}/conversations", "list_conversations", 200),
    ("GET", f"{_C}/conversations/{{agent}}", "read_conversation", 200),
    ("GET", f"{_C}/processes", "list_processes", 200),
    ("GET", f"{_C}/processes/{{process_id}}/{{stream}}", "read_capture", 200),
)

ROUTES: tuple[Route, ...] = tuple(
    Route(method=method, path=path, operation=operation, status=status) for method, path, operation, status in LINES
)


def described(operations: Mapping[str, AnyOperation]) -> tuple[tuple[str, str, str], ...]:
    """Method, address and what it does, of every line."""
    return tuple((one.method, one.path, operations[one.operation].summary) for one in ROUTES)


def missing(operations: Iterable[AnyOperation]) -> tuple[str, ...]:
    """Operations that this door should have and the table does not name."""
    named = {route.operation for route in ROUTES}
    return tuple(sorted(each.name for each in operations if Door.REST in each.doors and each.name not in named))
