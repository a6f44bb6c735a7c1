"""`run_command`, `wait_process`, `kill_process` with real commands, and what is kept of each."""

from pathlib import Path

import pytest

from agents.tools import shop
from agents.tools.shop import SECRET, Shop
from support import instance
from workstead.agents import process_rows
from workstead.agents.process_rows import ProcessRow
from workstead.kernel import feed

FIELDS = {
    "process_id",
    "exit_code",
    "status",
    "stdout",
    "stderr",
    "stdout_complete",
    "stderr_complete",
    "stdout_url",
    "stderr_url",
    "stdout_bytes",
    "stderr_bytes",
}


def row(place: Shop, process_id: str) -> ProcessRow:
    """What the database says."""
    with instance.transaction(place.office.founded.path) as tx:
        found = process_rows.read(tx, process_id)
    assert found is not None
    return found


@pytest.mark.covers("W17", "K19")
async def test_a_command_runs_in_the_folder_and_its_result_is_whole(tmp_path: Path) -> None:
    """Facts 2.7: these fields and no others; the environment is what is listed."""
    async with shop.opened(tmp_path) as place:
        (place.folder / "sub").mkdir()
        script = 'pwd; echo "$WORKSTEAD_CARD $WORKSTEAD_PROCESS_ID"; echo oops >&2; exit 3'
        data = await place.call("run_command", command=script, cwd="sub")
        assert set(data) == FIELDS
        assert (data["status"], data["exit_code"], data["stderr"]) == ("exited", 3, "oops\n")
        assert data["stdout"].splitlines()[1] == f"project {data['process_id']}"
        assert data["stdout"].splitlines()[0].endswith("/sub")
        assert (data["stdout_complete"], data["stderr_complete"]) == (True, True)
        assert data["stdout_url"] == f"work:///cards/project/processes/{data['process_id']}/stdout.log"
        assert (await place.call("read", path=data["stdout_url"]))["content"] == data["stdout"]
        assert await place.refused("wait_process", process_id=data["process_id"]) == "process_not_found"
        kept = row(place, data["process_id"])
        assert (kept.command, kept.cwd, kept.card_id) == (script, "sub", "project")
        assert kept.end is not None
        assert (kept.end.kind, kept.end.code, kept.end.stderr_bytes) == ("exited", 3, 5)


@pytest.mark.covers("W17", "K10", "K09")
async def test_heads_are_short_and_clean_and_the_rest_can_be_read(tmp_path: Path) -> None:
    """Facts 2.7: 2 048 bytes and 30 lines, redacted before the cut."""
    async with shop.opened(tmp_path) as place:
        command = f"seq 1 100; echo {SECRET} >&2"
        data = await place.call("run_command", command=command)
        assert data["stdout"].splitlines() == [str(number) for number in range(1, 31)]
        assert data["stdout_complete"] is False
        assert data["stdout_bytes"] == len("".join(f"{number}\n" for number in range(1, 101)))
        assert SECRET not in data["stderr"]
        assert data["stderr_complete"] is True
        assert SECRET not in (await place.call("read", path=data["stderr_url"]))["content"]


@pytest.mark.covers("W17")
async def test_a_command_may_outlive_its_call_and_is_waited_for_and_killed(tmp_path: Path) -> None:
    """Facts 2.7: background and timed-out commands go on; a final result is given once."""
    async with shop.opened(tmp_path) as place:
        late = await place.call("run_command", command="read x < fifo; echo got $x", wait=False)
        assert (late["status"], late["exit_code"]) == ("running", None)
        timed = await place.call("run_command", command="exec sleep 60", timeout_ms=50)
        assert timed["status"] == "running"
        assert row(place, timed["process_id"]).end is None
        killed = await place.call("kill_process", process_id=timed["process_id"])
        assert (killed["status"], killed["exit_code"]) == ("killed", None)
        ended = row(place, timed["process_id"]).end
        assert ended is not None
        assert ended.kind in {"killed", "signalled"}
        assert await place.refused("kill_process", process_id=timed["process_id"]) == "process_not_found"
        done = await place.call("wait_process", process_id=late["process_id"], timeout_ms=5000)
        assert done["status"] == "exited"


@pytest.mark.covers("W17", "K19")
async def test_the_end_of_the_activation_ends_its_commands_and_their_rows(tmp_path: Path) -> None:
    """Architecture, "scope": it ends only when all it holds has ended."""
    async with shop.opened(tmp_path) as place:
        data = await place.call("run_command", command="exec sleep 60", wait=False)
        founded = place.office.founded
        place.bench.group.cancel_scope.cancel()
    with instance.transaction(founded.path) as tx:
        kept = process_rows.read(tx, data["process_id"])
        assert kept is not None
        assert kept.end is not None
        assert process_rows.unended(tx, kept.project_id) == ()


@pytest.mark.covers("W17")
async def test_birth_and_end_are_told_in_the_feed(tmp_path: Path) -> None:
    """A page of the card's processes follows them."""
    async with shop.opened(tmp_path) as place:
        data = await place.call("run_command", command="true")
        rows = place.office.instance.store.read_here(
            lambda connection: feed.after(connection, scope_id=place.bench.scope, seq=0)
        )
        topics = [one.topic for one in rows if one.event is feed.Event.PROCESS_CHANGED]
        assert topics == [f"cards/project/processes/{data['process_id']}"] * 2
        with instance.transaction(place.office.founded.path) as tx:
            (listed,) = process_rows.of_card(tx, place.bench.project_id, "project")
        assert listed.id == data["process_id"]


@pytest.mark.covers("W17", "K19")
@pytest.mark.parametrize(
    ("cwd", "code"),
    [
        ("/tmp", "path_outside"),
        ("../x", "path_outside"),
        ("system:///", "address_unknown"),
        ("work:///", "cwd_invalid"),
        ("tmp:///", "cwd_invalid"),
        ("record:///status.md", "address_not_file"),
        ("missing", "file_not_found"),
        ("file", "command_invalid"),
    ],
)
async def test_a_command_runs_in_a_folder_of_the_project_only(tmp_path: Path, cwd: str, code: str) -> None:
    """Facts 2.7; S1 for what the source allowed."""
    async with shop.opened(tmp_path) as place:
        (place.folder / "file").write_text("x")
        assert await place.refused("run_command", command="true", cwd=cwd) == code
        with instance.transaction(place.office.founded.path) as tx:
            assert process_rows.of_card(tx, place.bench.project_id, "project") == ()


@pytest.mark.covers("W17")
async def test_arguments_have_bounds(tmp_path: Path) -> None:
    """Facts 2.7."""
    async with shop.opened(tmp_path) as place:
        for wrong in ({"command": ""}, {"command": "true", "timeout_ms": 0}, {"command": "true", "shell": True}):
            assert await place.refused("run_command", **wrong) == "input_invalid"
        assert await place.refused("run_command", command="a\0b") == "command_invalid"
        assert await place.refused("wait_process", process_id="proc-000000000000") == "process_not_found"


@pytest.mark.covers("W17")
async def test_another_activation_s_process_is_unknown(tmp_path: Path) -> None:
    """A process belongs to its activation."""
    async with shop.opened(tmp_path) as place:
        data = await place.call("run_command", command="exec sleep 60", wait=False)
        processes = place.bench.processes
        mine = processes.listing(owner="activation-1")
        assert [view.process_id for view in mine] == [data["process_id"]]
        assert processes.listing(owner="activation-2") == ()
        await place.call("kill_process", process_id=data["process_id"])
