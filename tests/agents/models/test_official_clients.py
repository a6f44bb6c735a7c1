"""The loopback server really speaks the protocols: the providers' own clients accept it."""

import anthropic
import openai
import pytest

from support.model_server import Fails, Says, Tool, failing, serving

pytestmark = [
    pytest.mark.covers("W15"),
    # Of the libraries themselves, on newer Pythons or dependencies than they know.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
REPLY = Says(text="I call it twice.", calls=(Tool(name="echo", arguments={"a": 1}), Tool(name="echo")))


def test_openai_reads_chat_completions() -> None:
    """Text, two calls, usage, and the end mark."""
    with serving(REPLY) as server, openai.OpenAI(api_key="k", base_url=server.url, max_retries=0) as client:
        chunks = list(
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello."}], stream=True)
        )
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    parts = [part for delta in deltas for part in delta.tool_calls or []]
    assert "".join(delta.content or "" for delta in deltas) == REPLY.text
    assert [(part.id, part.function.name) for part in parts if part.id and part.function] == [
        ("call_0", "echo"),
        ("call_1", "echo"),
    ]
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens == 11


def test_openai_reads_responses() -> None:
    """The completed response holds message and calls."""
    with serving(REPLY) as server, openai.OpenAI(api_key="k", base_url=server.url, max_retries=0) as client:
        events = list(client.responses.create(model="m", input="Hello.", stream=True))
    assert events[-1].type == "response.completed"
    response = events[-1].response
    assert response.output_text == REPLY.text
    assert [item.type for item in response.output] == ["message", "function_call", "function_call"]
    assert response.usage is not None
    assert response.usage.total_tokens == 18


def test_anthropic_reads_messages() -> None:
    """Its own accumulation of the stream."""
    with serving(REPLY) as server:
        base_url = server.url.removesuffix("/v1")
        with anthropic.Anthropic(api_key="k", base_url=base_url, max_retries=0) as client:
            said = [{"role": "user", "content": "Hello."}]
            with client.messages.stream(model="m", max_tokens=9, messages=said) as stream:  # type: ignore[arg-type]
                message = stream.get_final_message()
    assert [block.type for block in message.content] == ["text", "tool_use", "tool_use"]
    assert (message.stop_reason, message.usage.input_tokens, message.usage.output_tokens) == ("tool_use", 8, 7)


def test_their_errors_are_the_ones_that_the_server_means() -> None:
    """A refused call has the shape that each client knows."""
    with serving(failing("chat", 400, code="context_length_exceeded")) as server:
        client = openai.OpenAI(api_key="k", base_url=server.url, max_retries=0)
        with client, pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True)
    assert caught.value.code == "context_length_exceeded"
    limited = Fails(status=429, body={"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}})
    with serving(limited) as server:
        base_url = server.url.removesuffix("/v1")
        asking = anthropic.Anthropic(api_key="k", base_url=base_url, max_retries=0)
        with asking, pytest.raises(anthropic.RateLimitError):
            asking.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}], stream=True)
