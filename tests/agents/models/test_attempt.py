"""One attempt against a server that really speaks the protocols."""

import pytest

from support.model_server import APIS, Api, Says, Tool, serving
from support.models import KEY, asking, endpoint, route
from workstead.agents.models.shape import Finish, Usage

COVERS_MODULES = (
    "agents/models/openai_chat.py",
    "agents/models/openai_responses.py",
    "agents/models/anthropic.py",
    "agents/models/wire.py",
    "agents/models/fields.py",
)
every_wire = pytest.mark.parametrize("api", APIS.values())


@every_wire
@pytest.mark.covers("W15")
async def test_text_and_parallel_calls_come_back_in_one_shape(api: Api) -> None:
    """W15: whatever the wire."""
    calls = (Tool(name="echo", arguments={"text": "ä"}), Tool(name="echo", arguments={"text": "two"}))
    with serving(Says(text="I call it twice.", calls=calls)) as server:
        async with route() as made:
            answer = await made.over(endpoint(server.url, api)).complete(asking())
    assert (answer.text, answer.finish) == ("I call it twice.", Finish.CALLS)
    assert [(call.name, call.arguments) for call in answer.calls] == [
        ("echo", '{"text": "\\u00e4"}'),
        ("echo", '{"text": "two"}'),
    ]
    assert answer.usage == Usage(input_tokens=11, output_tokens=7, cached_tokens=3)
    assert answer.sent is not None
    assert answer.sent.size_bytes == len(server.asked[0].raw)
    said = server.asked[0].headers
    assert KEY in {said.get("authorization", "").removeprefix("Bearer "), said.get("x-api-key")}
