"""Pairing: messages as every wire wants them, each call followed by its one result, under ids that wires accept. Pure.

What is stored is paired already, recovery sees to it; this is the last look before bytes leave, because a request with
one open call is refused by every provider for ever.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from workstead.agents.models.shape import Call, Message, Role
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NO_RESULT = canonical.text({"success": False, "error": "No result of this call was recorded."})


def paired(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with results directly after their answer, in the answer's order; what cannot be sent is left out."""
    return tuple(_Pairs().walk(messages))


def arguments(call: Call) -> dict[str, Json]:
    """The arguments as the object that wires want; what the model wrote instead of one stands in `unreadable`."""
    try:
        value = canonical.parse(call.arguments)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"unreadable": call.arguments}


class _Pairs:
    def __init__(self) -> None:
        self._used: set[str] = set()

    def walk(self, messages: Sequence[Message]) -> Iterator[Message]:
        index = 0
        while index < len(messages):
            message = messages[index]
            index += 1
            if message.role is not Role.ASSISTANT:
                # A result that stands alone answers nothing that is sent.
                if message.role is Role.USER and message.text.strip():
                    yield message
                continue
            end = _next_answer(messages, index)
            yield from self._answer(message, messages[index:end])
            index = end

    def _answer(self, message: Message, after: Sequence[Message]) -> Iterator[Message]:
        """One answer, its results, then what else was said before the next answer."""
        names = [self._name(call.id) for call in message.calls]
        calls = tuple(replace(call, id=name) for call, name in zip(message.calls, names, strict=True))
        if calls or message.text.strip():
            yield replace(message, calls=calls)
        results = {one.call_id: one.text for one in after if one.role is Role.TOOL}
        for call, name in zip(message.calls, names, strict=True):
            yield Message(role=Role.TOOL, text=results.get(call.id) or _NO_RESULT, call_id=name)
        yield from (one for one in after if one.role is Role.USER and one.text.strip())

    def _name(self, given: str) -> str:
        """An id that wires accept and that no earlier call of the request has; the same in every request."""
        name = given if _ID.fullmatch(given) else re.sub(r"[^A-Za-z0-9_-]", "_", given)[:48] or "call"
        base, number = name[:48], 1
        while name in self._used:
            number += 1
            name = f"{base}-{number}"
        self._used.add(name)
        return name


def _next_answer(messages: Sequence[Message], start: int) -> int:
    for index in range(start, len(messages)):
        if messages[index].role is Role.ASSISTANT:
            return index
    return len(messages)
