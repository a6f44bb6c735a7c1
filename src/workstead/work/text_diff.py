"""Differences of two texts as hunks of lines. Pure; bounded in time, whatever the texts are."""

import difflib
from dataclasses import dataclass

# Two stretches whose line counts multiply to more are shown as replaced: the search would take too long.
_SEARCH_LIMIT = 4_000_000


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """A place where the texts differ. Lines count from 1; each line starts with a space, `-` or `+`."""

    before_line: int
    before_lines: int
    after_line: int
    after_lines: int
    lines: tuple[str, ...]


def hunks(before: str, after: str, *, context: int = 3) -> tuple[Hunk, ...]:
    """Every difference with some lines around it; none for equal texts."""
    old, new = before.split("\n"), after.split("\n")
    opcodes = _opcodes(old, new)
    return tuple(_hunk(group, old, new) for group in _grouped(opcodes, context))


Opcode = tuple[str, int, int, int, int]


def _opcodes(old: list[str], new: list[str]) -> list[Opcode]:
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    middle: list[Opcode]
    if (old_end - head) * (new_end - head) > _SEARCH_LIMIT:
        middle = [("replace", 0, old_end - head, 0, new_end - head)]
    else:
        matcher = difflib.SequenceMatcher(None, old[head:old_end], new[head:new_end], autojunk=False)
        middle = list(matcher.get_opcodes())
    found: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    found += [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in middle]
    if tail:
        found.append(("equal", old_end, len(old), new_end, len(new)))
    return _joined(found)


def _shared(one: list[str], other: list[str]) -> int:
    number = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        number += 1
    return number


def _joined(opcodes: list[Opcode]) -> list[Opcode]:
    """Neighbouring equal stretches as one."""
    joined: list[Opcode] = []
    for code in opcodes:
        if joined and joined[-1][0] == code[0] == "equal":
            last = joined.pop()
            joined.append(("equal", last[1], code[2], last[3], code[4]))
        else:
            joined.append(code)
    return joined


def _grouped(opcodes: list[Opcode], context: int) -> list[list[Opcode]]:
    groups: list[list[Opcode]] = [[]]
    last = len(opcodes) - 1
    for place, (tag, a, b, c, d) in enumerate(opcodes):
        if tag != "equal":
            groups[-1].append((tag, a, b, c, d))
            continue
        before = 0 if place == 0 else context
        after = 0 if place == last else context
        if b - a <= before + after and place not in {0, last}:
            groups[-1].append((tag, a, b, c, d))
            continue
        if before:
            groups[-1].append((tag, a, min(b, a + before), c, min(d, c + before)))
        groups.append([(tag, max(a, b - after), b, max(c, d - after), d)] if after else [])
    return [group for group in groups if any(code[0] != "equal" for code in group)]


def _hunk(group: list[Opcode], old: list[str], new: list[str]) -> Hunk:
    lines: list[str] = []
    for tag, a, b, c, d in group:
        if tag == "equal":
            lines += [f" {text}" for text in old[a:b]]
        else:
            lines += [f"-{text}" for text in old[a:b]]
            lines += [f"+{text}" for text in new[c:d]]
    first, last = group[0], group[-1]
    return Hunk(
        before_line=first[1] + 1,
        before_lines=last[2] - first[1],
        after_line=first[3] + 1,
        after_lines=last[4] - first[3],
        lines=tuple(lines),
    )
