"""What the public conformance suite expects to find behind a door: operations, acts and a library of its own.

The door in front of them is the product's. A picture, a sound, a document beside an answer, a report of progress and an
address with places all go the way that the product's own tables go.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import anyio

from workstead import errors
from workstead.doors.mcp.library import Argument, Library, Prompt, Resource, Run, Template
from workstead.kernel import scopes
from workstead.kernel.access import Caller
from workstead.kernel.acts import Act, AnyAct, Asked
from workstead.kernel.media import Attached, Medium, Shown
from workstead.kernel.operations import AnyOperation, Door, Effect, Input, Operation
from workstead.kernel.transaction import Tx

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = base64.b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=")
STEP_S = 0.05

_DOORS = frozenset({Door.MCP})
_IMAGE = Medium(kind="image", mime_type="image/png", data=PNG)
_SOUND = Medium(kind="audio", mime_type="audio/wav", data=WAV)


class Nothing(Input):
    """No arguments."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """A text."""

    text: str


def operations() -> tuple[AnyOperation, ...]:
    """The tools that answer at once."""
    return (
        _operation("test_simple_text", _saying("This is a simple text response for testing.")),
        _operation("test_error_handling", _fail),
        _operation("test_image_content", _saying("An image."), _IMAGE),
        _operation("test_audio_content", _saying("A sound."), _SOUND),
        _operation(
            "test_embedded_resource",
            _saying("A document."),
            Attached(
                uri="test://embedded-resource", mime_type="text/plain", data="This is an embedded resource content."
            ),
        ),
        _operation(
            "test_multiple_content_types",
            _saying("Multiple content types test:"),
            _IMAGE,
            Attached(
                uri="test://mixed-content-resource", mime_type="application/json", data='{"test":"data","value":123}'
            ),
        ),
    )


def acts() -> tuple[AnyAct, ...]:
    """The tools that report while they work; two of them are watched for what must not be in their stream."""
    return tuple(
        Act(
            name=name,
            summary=f"A fixture of the conformance suite: {name}.",
            input=Nothing,
            output=Said,
            permissions=frozenset(),
            effect=Effect.READ,
            doors=_DOORS,
            perform=_progress,
        )
        for name in ("test_tool_with_progress", "test_logging_tool", "test_streaming_elicitation")
    )


def library() -> Library:
    """The resources and prompts."""
    return Library(
        resources=(
            _resource("test://static-text", "text/plain", "This is the content of the static text resource."),
            _resource("test://static-binary", "image/png", PNG),
        ),
        templates=(
            Template(
                uri_template="test://template/{id}/data",
                name="template",
                title="A template",
                description="A fixture of the conformance suite.",
                mime_type="application/json",
                read=_template,
            ),
        ),
        prompts=(
            _prompt("test_simple_prompt", (), lambda _: ("This is a simple prompt for testing.",)),
            _prompt(
                "test_prompt_with_arguments",
                ("arg1", "arg2"),
                lambda given: (f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'",),
            ),
            _prompt("test_prompt_with_embedded_resource", ("resourceUri",), _with_resource),
            _prompt("test_prompt_with_image", (), lambda _: (_IMAGE, "Please analyze the image above.")),
        ),
    )


def _saying(text: str) -> Callable[[Tx, Caller, Nothing], Said]:
    return lambda _, __, ___: Said(text=text)


def _fail(_: Tx, __: Caller, ___: Nothing) -> Said:
    raise errors.unavailable("tool_failed", "This tool intentionally returns an error for testing")


async def _progress(asked: Asked[Nothing]) -> Said:
    for done in (0, 50, 100):
        await asked.report(done=done, total=100)
        await anyio.sleep(STEP_S)  # what is tested is that reports come while it works
    return Said(text="Done.")


async def _template(_: Run, given: Mapping[str, str]) -> str:
    return f'{{"id":"{given["id"]}","templateTest":true,"data":"Data for ID: {given["id"]}"}}'


def _with_resource(given: Mapping[str, str]) -> tuple[Shown, ...]:
    shown = Attached(uri=given["resourceUri"], mime_type="text/plain", data="Embedded resource content for testing.")
    return (shown, "Please process the embedded resource above.")


def _operation(name: str, handler: Callable[[Tx, Caller, Nothing], Said], *shown: Shown) -> AnyOperation:
    return Operation(
        name=name,
        summary=f"A fixture of the conformance suite: {name}.",
        input=Nothing,
        output=Said,
        permissions=frozenset(),
        effect=Effect.READ,
        doors=_DOORS,
        handler=handler,
        lock=lambda _, __: scopes.INSTANCE,
        shows=(lambda _: shown) if shown else None,
    )


def _resource(uri: str, mime_type: str, data: str | bytes) -> Resource:
    name = uri.rpartition("/")[2]
    return Resource(uri=uri, name=name, title=name, description="A fixture.", mime_type=mime_type, read=lambda: data)


def _prompt(name: str, arguments: tuple[str, ...], say: Callable[[Mapping[str, str]], tuple[Shown, ...]]) -> Prompt:
    return Prompt(
        name=name,
        title=name,
        description="A fixture of the conformance suite.",
        arguments=tuple(Argument(name=each, description="A text.") for each in arguments),
        say=say,
    )
