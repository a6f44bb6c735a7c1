"""Events of a model's answer: the one shape into which every wire's stream is read, and how they fold into one."""

from dataclasses import dataclass, field, replace

from workstead.agents.models.shape import Answer, Call, Finish, Private, Usage
from workstead.kernel import canonical
from workstead.kernel.canonical import Json


class MalformedAnswerError(Exception):
    """The stream says something that no answer says."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """A piece of what the model says; it may also think, which is a sign of progress with no text here."""

    text: str = ""


@dataclass(frozen=True, kw_only=True)
class CallPart:
    """A piece of a tool call. key: which call of this answer it belongs to."""

    key: str
    id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(frozen=True, kw_only=True)
class CallWhole:
    """A finished tool call; what it says goes before the pieces. None: as the pieces said."""

    key: str
    id: str | None
    name: str | None
    arguments: str | None


@dataclass(frozen=True, kw_only=True)
class TextWhole:
    """The finished text; it takes the place of the pieces."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Reasoned:
    """A whole part of the answer that only its provider reads again, as the provider wants it back."""

    item: dict[str, Json]


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Tokens, as far as this event says them."""

    usage: Usage


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """Why the model stopped; not yet the end of the stream."""

    finish: Finish


@dataclass(frozen=True, kw_only=True)
class Alive:
    """A sign of life without meaning."""


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The provider's content policy ended the answer."""


@dataclass(frozen=True, kw_only=True)
class Errored:
    """The provider's own error object, in the middle of a stream."""

    error: Json


@dataclass(frozen=True, kw_only=True)
class Done:
    """The end mark."""


ModelEvent = Alive | CallPart | CallWhole | Counted | Done | Errored | Reasoned | Refused | Stopped | Text | TextWhole


@dataclass(kw_only=True)
class _OpenCall:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Fold:
    """Events to one answer. done: the end mark was seen; without it there is no answer."""

    def __init__(self) -> None:
        self.done = False
        self.refused = False
        self.error: Json = None
        self._text: list[str] = []
        self._calls: dict[str, _OpenCall] = {}
        self._private: list[Private] = []
        self._usage = Usage()
        self._finish: Finish | None = None

    @property
    def over(self) -> bool:
        """Whether nothing that follows can matter."""
        return self.done or self.refused or self.error is not None

    def add(self, event: ModelEvent) -> None:
        """Take one event in."""
        match event:
            case Text(text=text):
                self._text.append(text)
            case TextWhole(text=text):
                self._text = [text]
            case CallPart() | CallWhole():
                self._call(event)
            case Reasoned(item=item):
                self._private.append(Private(producer="", before=len(self._calls), item=item))
            case Counted(usage=usage):
                self._usage = _merged(self._usage, usage)
            case Stopped(finish=finish):
                self._finish = finish
            case Refused():
                self.refused = True
            case Errored(error=error):
                self.error = error if error is not None else {}
            case Done():
                self.done = True
            case Alive():
                pass

    def answer(self) -> Answer | None:
        """The complete answer, None where its end mark or the reason of its end is missing.

        Raises MalformedAnswerError for a call without id or name, or two calls with one id.
        """
        if not self.done or self._finish is None:
            return None
        calls = tuple(self._made(each) for each in self._calls.values())
        if self._finish is Finish.LENGTH:
            # The last call may have been cut; what does not parse was never meant to be made.
            calls = tuple(call for call in calls if _is_object(call.arguments))
        if len({call.id for call in calls}) < len(calls):
            raise MalformedAnswerError("Two calls of one answer have the same id.")
        finish = self._finish if self._finish is Finish.LENGTH else Finish.CALLS if calls else Finish.STOP
        private = tuple(self._private) if self._finish is not Finish.LENGTH else ()
        return Answer(text="".join(self._text), calls=calls, finish=finish, usage=self._usage, private=private)

    def _call(self, event: CallPart | CallWhole) -> None:
        call = self._calls.setdefault(event.key, _OpenCall())
        call.id = event.id or call.id
        if isinstance(event, CallPart):
            if event.name is not None and event.name != call.name:  # some servers say it again with every piece
                call.name += event.name
            call.arguments.append(event.arguments)
            return
        call.name = event.name if event.name is not None else call.name
        if event.arguments is not None:
            call.arguments = [event.arguments]

    def _made(self, call: _OpenCall) -> Call:
        if not call.id or not call.name:
            raise MalformedAnswerError("A call of the answer has no id or no name.")
        return Call(id=call.id, name=call.name, arguments="".join(call.arguments) or "{}")


def _merged(known: Usage, said: Usage) -> Usage:
    return replace(
        known,
        input_tokens=said.input_tokens if said.input_tokens is not None else known.input_tokens,
        output_tokens=said.output_tokens if said.output_tokens is not None else known.output_tokens,
        cached_tokens=said.cached_tokens if said.cached_tokens is not None else known.cached_tokens,
    )


def _is_object(text: str) -> bool:
    try:
        return isinstance(canonical.parse(text), dict)
    except ValueError:
        return False
