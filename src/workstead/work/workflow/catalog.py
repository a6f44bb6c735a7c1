"""The tools an agent may list, by where its conversation lives."""

from workstead.work.workflow.graph import Session

CREATE_CARD = "create_card"
ACTIVATE_CARD = "activate_card"
WRITE = "write"

_READING = (
    "list_cards",
    "get_card",
    "get_tree",
    "list_card_versions",
    "get_card_version",
    "diff_card_versions",
    "read_record_version",
)
_FILES = ("read", WRITE, "edit", "glob", "grep", "apply_patch")
_PROCESSES = ("run_command", "wait_process", "kill_process")

TOOLS: dict[Session, tuple[str, ...]] = {
    Session.CARD: (
        CREATE_CARD,
        "edit_card",
        "cancel_card",
        ACTIVATE_CARD,
        "reopen_card",
        "reorder_child",
        *_READING,
        *_FILES,
        *_PROCESSES,
    ),
    Session.GLOBAL: (
        CREATE_CARD,
        "cancel_card",
        "reopen_card",
        "reorder_child",
        *_READING,
        *_FILES,
        *_PROCESSES,
    ),
}
