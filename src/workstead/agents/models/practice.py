"""Practice: a model transport that plays a script instead of asking a model; events, tools and gates are the same.

It keeps no memory. Which scene is on stands in the ids of the calls it made before (`practice-SCENE-TURN-INDEX`),
so a step stays with the scene it began with, and after a restart the script goes on from what is stored. When its
conversation is shortened it writes down what it still needs (`agents.models.practice_memory`).
"""

import re
from collections.abc import Sequence

import anyio

from workstead.agents.models import practice_memory
from workstead.agents.models.practice_script import (
    CHILD_FIELD,
    OWN_CARD,
    REFERENCE,
    Named,
    Scene,
    Script,
    ScriptedCall,
)
from workstead.agents.models.shape import Answer, Call, Finish, Listener, NoTurn, Purpose, Request, Role, Situation
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

_LOOK = "get_card"
_WORD = re.compile(r"\s*\S+\s?")
_CALL_ID = re.compile(r"practice-([0-9]+)-([0-9]+)-([0-9]+)")


class Practice:
    """Plays one script. pace_ms: how long a turn takes that does not say so itself, for a person who watches."""

    def __init__(self, script: Script, *, pace_ms: int = 0) -> None:
        self._script = script
        self._pace_ms = pace_ms

    async def complete(self, request: Request) -> Answer:
        """The script's next turn for this agent on this card; raises NoTurn when there is none."""
        situation = request.situation
        if request.purpose is Purpose.SUMMARY:
            return Answer(text=practice_memory.summary(self._script, request))
        scene = self._scene(request)
        if scene is None or situation.turns >= len(scene.turns):
            raise NoTurn(f"practice has no turn for {_place(situation)}")
        turn = scene.turns[situation.turns]
        calls = tuple(self._call(request, scene, call, index) for index, call in enumerate(turn.calls))
        pause_s = (self._pace_ms if turn.delay_ms is None else turn.delay_ms) / 1000
        await _speak(turn.say, calls, listener=request.listener, over_s=pause_s)
        return Answer(text=turn.say, calls=calls, finish=Finish.CALLS)

    def _scene(self, request: Request) -> Scene | None:
        fitting = [scene for scene in self._script.scenes if scene.turns and _fits(scene, request.situation)]
        if request.situation.turns:
            begun = _begun(request)
            for scene in fitting:
                if scene.number == begun:
                    return scene
        children = request.situation.children
        return next((scene for scene in fitting if all(each.holds(children) for each in scene.conditions)), None)

    def _call(self, request: Request, scene: Scene, call: ScriptedCall, index: int) -> Call:
        situation = request.situation
        call_id = f"practice-{scene.number}-{situation.turns}-{index}"
        if call.unless is not None and call.unless.holds(situation.children):
            return Call(id=call_id, name=_LOOK, arguments=canonical.text(_look(request, call.unless.child)))
        filled = {key: self._filled(request, scene, value) for key, value in call.arguments.items()}
        return Call(id=call_id, name=call.tool, arguments=canonical.text(filled))

    def _filled(self, request: Request, scene: Scene, value: Json) -> Json:
        """The value with its references replaced."""
        if isinstance(value, list):
            return [self._filled(request, scene, item) for item in value]
        if isinstance(value, dict):
            return {key: self._filled(request, scene, item) for key, item in value.items()}
        if not isinstance(value, str):
            return value
        return REFERENCE.sub(lambda match: self._resolved(request, scene, match), value)

    def _resolved(self, request: Request, scene: Scene, match: re.Match[str]) -> str:
        name, field = match[1], match[2]
        situation = request.situation
        if name == OWN_CARD:
            return situation.card_id if field == "id" else situation.card_title
        named = self._script.names[name]
        found = _in_result(request, scene, named, field) if _is_own(named, scene, self._script) else None
        child = situation.children.get(named.child or "")
        if found is None and field == CHILD_FIELD and child is not None:
            found = child.card_id
        if found is None:
            raise NoTurn(f"practice cannot tell what {match[0]} is for {_place(situation)}")
        return found


def _place(situation: Situation) -> str:
    return f"{situation.agent} on {situation.card_title} at {situation.node}, turn {situation.turns + 1}"


def _fits(scene: Scene, situation: Situation) -> bool:
    return (
        scene.agent == situation.agent
        and scene.node == situation.node
        and scene.card in {None, situation.card_title}
        and scene.entry in {None, situation.entry}
    )


def _begun(request: Request) -> int | None:
    """The scene that the step began with: the one the last answer was from."""
    for message in reversed(request.messages):
        ids = [call.id for call in message.calls] or [*practice_memory.remembered(message)][::-1]
        for call_id in ids:
            match = _CALL_ID.fullmatch(call_id)
            if match and int(match[2]) == request.situation.turns - 1:
                return int(match[1])
    return None


def _is_own(named: Named, scene: Scene, script: Script) -> bool:
    """Whether the call stands in this scene, or in the one whose turns it borrows."""
    return named.scene == scene.number or script.scenes[named.scene].turns is scene.turns


async def _speak(text: str, calls: Sequence[Call], *, listener: Listener | None, over_s: float) -> None:
    """Let the listener hear the words one after the other, as a model would write them."""
    words = _WORD.findall(text)
    if listener is None or over_s <= 0 or not words:
        await anyio.sleep(over_s)
    else:
        for word in words:
            listener.said(word)
            await anyio.sleep(over_s / len(words))
    for call in calls:
        if listener is not None:
            listener.writes(call.name)


def _in_result(request: Request, scene: Scene, named: Named, field: str) -> str | None:
    """A field of what the call came to in this step. Ids repeat from step to step: the newest is this one's."""
    call_id = f"practice-{scene.number}-{named.turn}-{named.index}"
    for message in reversed(request.messages):
        if message.role is Role.TOOL and message.call_id == call_id:
            return _field(message.text, field)
        known = practice_memory.remembered(message).get(call_id)
        if known is not None:
            return _field(known, field)
    return None


def _field(text: str, field: str) -> str | None:
    try:
        body = canonical.parse(text)
    except ValueError:
        return None
    data = body.get("data") if isinstance(body, dict) else None
    value = data.get(field) if isinstance(data, dict) else None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def _look(request: Request, title: str) -> dict[str, Json]:
    """What is asked instead of a call that is not needed: the child as it is, or the own card when there is none."""
    child = request.situation.children.get(title)
    look: dict[str, Json] = {"card_id": child.card_id if child is not None else request.situation.card_id}
    offered = next((tool for tool in request.tools if tool.name == _LOOK), None)
    properties = offered.parameters.get("properties") if offered is not None else None
    if not isinstance(properties, dict) or "section" in properties:
        look["section"] = "summary"
    return look
