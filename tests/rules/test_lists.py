"""K10: every list is paged, or says here why it need not be; walking its pages finds every row exactly once."""

from pathlib import Path
from typing import Any

import pytest

from plugin import catalogue
from support import bulk, database, workplace
from workstead.kernel.store import Value

CONTINUED_BY = {"position", "offset", "before"}
# Lists that are answered whole: nothing that runs makes their rows, or their length is that of something closed.
WHOLE = {
    "list_api_tokens": "the tokens that one person made by hand",
    "list_assistants": "the assistants that one person made by hand",
    "list_failed_requests": "as many as the setting keeps, a thousand at most",
    "list_permissions": "the closed set of roles, permissions and operations",
    "list_projects": "the projects that people made of folders, by hand",
    "list_secrets": "the secrets that operators stored, by hand",
    "list_workflows": "the types of one configuration, whose size is bounded",
}
LISTS = [one for one in catalogue.entries() if one.name.startswith("list_")]


@pytest.mark.covers("K10")
@pytest.mark.parametrize("name", [one.name for one in LISTS])
def test_a_list_says_how_it_goes_on(name: str) -> None:
    """Both ways: a list that is paged is no exception."""
    (one,) = [each for each in LISTS if each.name == name]
    asks = CONTINUED_BY & set(one.input.model_fields)
    answers = set(one.adapter.json_schema()["properties"])
    assert (bool(asks), "next" in answers) == ((name not in WHOLE,) * 2), (asks, answers)


def test_every_exception_is_a_list_that_exists() -> None:
    """A reason for nothing would hide the next one."""
    assert WHOLE.keys() <= {one.name for one in LISTS}


def copies(path: Path, table: str, *, times: int, **changes: str) -> None:
    """Rows like the first one of a table. changes: columns with SQL in which `{n}` is the number of the copy."""
    with database.connected(path) as raw:
        columns = [field[0] for field in raw.execute(f"SELECT * FROM {table} LIMIT 1").description]  # type: ignore[attr-defined]  # both drivers have it
        for n in range(times):
            chosen = ", ".join(changes[name].format(n=f"{n:04}") if name in changes else name for name in columns)
            raw.execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} FROM {table} ORDER BY 1 LIMIT 1")


async def walked(place: workplace.Workplace, name: str, of: str, **given: object) -> tuple[int, list[Any]]:
    """How many pages there are and what stands on all of them."""
    operation = place.app.operations.table[name]
    (goes_on_with,) = CONTINUED_BY & set(operation.input.model_fields)
    small = {"response_bytes": 2048} if "response_bytes" in operation.input.model_fields else {}
    pages, items = 0, []
    more: Value = None
    while True:
        page = await place.ask(name, **given, **small, **({} if more is None else {goes_on_with: more}))
        pages += 1
        items += getattr(page, of)
        more = page.next
        if more is None:
            return pages, items


CARD = {"card_id": bulk.WIDE}


@pytest.mark.both_databases
@pytest.mark.covers("K10")
async def test_the_pages_of_a_list_together_are_every_row_once(tmp_path: Path) -> None:
    """With more rows than a page holds, by bytes or by number."""
    async with workplace.opened(tmp_path, serve=False) as place:
        await place.add_card("Wide")
        bulk.fill(place.database, bulk.SMALL)
        path = place.database
        copies(path, "activation", times=60, id="'0000-{n}'", card_id=f"'{bulk.WIDE}'")
        copies(path, "process", times=60, id="'0000-{n}'", card_id=f"'{bulk.WIDE}'")
        copies(path, "run", times=230, id="'0000-{n}'")
        copies(path, "conversation", times=40, id="'0000-{n}'", agent="'agent-{n}'", card_id=f"'{bulk.WIDE}'")
        await place.ask("start_run")
        copies(path, "evidence", times=230, id="'0000-{n}'")
        wide, project = f"card_id = '{bulk.WIDE}'", "scope LIKE 'project:%' AND lane = 'control'"
        for name, of, key, given, counted in (
            ("list_cards", "cards", "card_id", {}, "card WHERE deleted = 0"),
            ("list_card_versions", "versions", "version", CARD, f"version WHERE document LIKE '%/{bulk.WIDE}'"),
            ("list_activations", "activations", "id", CARD, f"activation WHERE {wide}"),
            ("list_processes", "processes", "id", CARD, f"process WHERE {wide}"),
            ("list_conversations", "conversations", "agent", CARD, f"conversation WHERE {wide}"),
            ("list_runs", "runs", "id", {}, "run"),
            ("list_exchanges", "exchanges", "exchange_id", {}, "exchange"),
            ("list_evidence", "facts", "id", {}, f"evidence WHERE {project}"),
        ):
            pages, items = await walked(place, name, of, **given)
            ((rows,),) = database.rows(path, f"SELECT count(*) FROM {counted}")
            found = [getattr(one, key) for one in items]
            assert (name, len(found), len(set(found))) == (name, rows, rows)
            assert pages > 1, name
