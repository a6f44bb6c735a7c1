"""The public conformance suite, pinned, against the door: `PYTHONPATH=src:tests python -m conformance.suite`.

It is installed under build/ from the lock beside this file; a Node that is new enough is used where there is one.
"""

import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conformance import scenarios

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "conformance"
NODE = "24.21.0"
NODE_LEAST = (22, 19)
PREPARE_S = 240
RUN_S = 180
START_S = 20

_SUITE = BUILD / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
_LINE = re.compile(r"^(?P<mark>\S) (?P<name>[a-z0-9-]+): (?P<passed>\d+) passed, (?P<failed>\d+) failed", re.MULTILINE)


class Unprepared(Exception):  # noqa: N818 - a reason, not a mistake of the program
    """Why the suite cannot run here."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How one scenario ended. failures: what its failed checks said."""

    name: str
    passed: int
    failed: int
    failures: tuple[str, ...]


def prepare() -> Path:
    """The Node to run the suite with; installs what is missing. Raises Unprepared."""
    if shutil.which("npm") is None:
        raise Unprepared("npm is not installed")
    BUILD.mkdir(parents=True, exist_ok=True)
    if not _SUITE.exists():
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, BUILD / name)
        _npm("ci", "--ignore-scripts")
    found = shutil.which("node")
    if found is not None and _version(found) >= NODE_LEAST:
        return Path(found)
    arch = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    own = BUILD / "node_modules" / f"node-linux-{arch}" / "bin" / "node"
    if not own.exists():
        _npm("install", "--ignore-scripts", "--no-save", f"node-linux-{arch}@{NODE}")
    if not own.exists():
        raise Unprepared(f"there is no Node {NODE} for this machine")
    return own


def judge(node: Path, *, era: str) -> dict[str, Verdict]:
    """Every scenario of an era against a door that is started for it."""
    results = BUILD / f"results-{era}"
    shutil.rmtree(results, ignore_errors=True)
    with _door() as port:
        url = f"http://127.0.0.1:{port}/mcp"
        command = [str(node), str(_SUITE), "server", "--url", url, "--suite", "all", "--spec-version", era]
        done = subprocess.run(
            [*command, "-o", str(results)], capture_output=True, text=True, timeout=RUN_S, check=False, cwd=BUILD
        )
    found = {
        each["name"]: Verdict(
            name=each["name"],
            passed=int(each["passed"]),
            failed=int(each["failed"]),
            failures=_failures(results, each["name"]),
        )
        for each in _LINE.finditer(done.stdout)
    }
    if not found:
        raise AssertionError(f"the suite said nothing: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found


def main() -> None:
    """Print every scenario of both eras; exit code 1 when one that applies fails."""
    node = prepare()
    wrong = False
    for era in scenarios.ERAS:
        for verdict in judge(node, era=era).values():
            reason = scenarios.NOT_APPLICABLE.get(verdict.name)
            applies = reason is None or verdict.failed == 0
            mark = "not applicable" if not applies else "fails" if verdict.failed else "passes"
            wrong |= mark == "fails"
            sys.stdout.write(f"{era} {verdict.name}: {mark}{'' if applies else f' ({reason})'}\n")
            if mark == "fails":
                sys.stdout.writelines(f"    {each}\n" for each in verdict.failures)
    sys.exit(wrong)


@contextmanager
def _door() -> Iterator[int]:
    port = _free_port()
    environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"}
    command = [sys.executable, str(HERE / "open_door.py"), str(port)]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            _await(port, process)
            yield port
        finally:
            process.terminate()


def _await(port: int, process: subprocess.Popen[bytes]) -> None:
    end_s = time.monotonic() + START_S
    while time.monotonic() < end_s and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the door did not open")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _failures(results: Path, name: str) -> tuple[str, ...]:
    said: list[str] = []
    for path in results.glob(f"server-{name}-20*/checks.json"):
        checks = json.loads(path.read_text(encoding="utf-8"))
        said += [f"{each['id']}: {each.get('errorMessage')}" for each in checks if each["status"] == "FAILURE"]
    return tuple(said)


def _npm(*words: str) -> None:
    command = ["npm", *words, "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        subprocess.run(command, cwd=BUILD, capture_output=True, text=True, timeout=PREPARE_S, check=True)
    except subprocess.CalledProcessError as failed:
        raise Unprepared(f"npm {words[0]} failed: {failed.stderr.strip()[-300:]}") from None
    except subprocess.TimeoutExpired:
        raise Unprepared(f"npm {words[0]} took longer than {PREPARE_S} s") from None


def _version(node: str) -> tuple[int, ...]:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said)[:2])


if __name__ == "__main__":
    main()
