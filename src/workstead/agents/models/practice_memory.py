"""Practice's memory: the summary it writes when its conversation is shortened, and what it reads there again.

The text is the script's, or a plain sentence. Under it stands a line for each call that the script still needs: the id
of the call, and what it came to.
"""

import re
from collections.abc import Mapping

from workstead.agents.models.practice_script import Script
from workstead.agents.models.shape import Message, Request, Role
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

_CALL = r"practice-([0-9]+)-([0-9]+)-([0-9]+)"
_LINE = re.compile(rf"^({_CALL}) came to (.*)$", re.MULTILINE)
_SOURCE = re.compile(rf'<source [^>\n]*kind="tool_result"[^>\n]* call="({_CALL})"[^>\n]*>\n(.*?)\n</source>', re.DOTALL)
_STEP = re.compile(r'<source [^>\n]*kind="activation"')
_USUAL = "Practice went through {results} results of its own calls here, in {steps} activations."


def summary(script: Script, request: Request) -> str:
    """What takes the place of the rows in the request."""
    situation, text = request.situation, request.messages[0].text
    told = [
        scene.summary
        for scene in script.scenes
        if scene.summary is not None
        and scene.agent == situation.agent
        and scene.card in {None, situation.card_title}
        and scene.node in {"", situation.node}
    ]
    said = told[0] if told else _USUAL.format(results=len(_SOURCE.findall(text)), steps=len(_STEP.findall(text)))
    known = dict(remembered(request.messages[0]))
    for found in _SOURCE.finditer(text):
        known.pop(found[1], None)
        known[found[1]] = _short(found[5])
    named = {(each.turn, each.index) for each in script.names.values()}
    lines = [
        f"{call_id} came to {result}"
        for number, (call_id, result) in enumerate(known.items(), start=1)
        if number == len(known) or _place(call_id) in named
    ]
    return "\n".join([said, *lines])


def remembered(message: Message) -> Mapping[str, str]:
    """Calls and what they came to, as an earlier summary of ours wrote them down."""
    if message.role is not Role.USER:
        return {}
    return {found[1]: found[5] for found in _LINE.finditer(message.text)}


def _place(call_id: str) -> tuple[int, int]:
    """The turn and the index in it; scenes may borrow each other's turns."""
    _, _, turn, index = call_id.split("-")
    return int(turn), int(index)


def _short(result: str) -> str:
    """A result with nothing but the plain values at its top: that is what a script can ask for."""
    try:
        body = canonical.parse(result)
    except ValueError:
        return "{}"
    data = body.get("data") if isinstance(body, dict) else None
    plain: dict[str, Json] = {}
    if isinstance(data, dict):
        plain = {key: value for key, value in data.items() if isinstance(value, str | int) and len(str(value)) <= 200}
    return canonical.text({"data": plain})
