"""Fields of a provider's JSON: typed looks at values that may be anything."""

from workstead.agents.models.events import MalformedAnswerError
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

LIMIT_BYTES = 32 << 20


def parsed(data: str) -> dict[str, Json]:
    """The JSON object of one event. Raises MalformedAnswerError."""
    try:
        value = canonical.parse(data)
    except ValueError:
        raise MalformedAnswerError("An event of the stream is not JSON.") from None
    if not isinstance(value, dict):
        raise MalformedAnswerError("An event of the stream is not a JSON object.")
    return value


def sub(value: Json, key: str) -> dict[str, Json]:
    """The object under a key; empty where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def items(value: Json, key: str) -> list[dict[str, Json]]:
    """The objects of the list under a key."""
    found = value.get(key) if isinstance(value, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def text(value: Json, key: str) -> str | None:
    """The text under a key; None where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def piece(value: Json, key: str) -> str:
    """A piece of text that must be there. Raises MalformedAnswerError."""
    found = text(value, key)
    if found is None:
        raise MalformedAnswerError(f"An event of the stream lacks its {key}.")
    return found


def count(value: Json, key: str) -> int | None:
    """The number of something under a key; None where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None
