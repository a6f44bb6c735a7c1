"""Edits: one exact replacement in a text. Pure; the rule behind the `edit` tool."""

from workstead import errors


def replace(text: str, *, old: str, new: str, replace_all: bool = False) -> str:
    """The text with `old` replaced by `new`, once or everywhere.

    Raises `invalid` when `old` is empty, equals `new`, does not stand in the text, or stands there more than
    once without `replace_all`. An empty result is allowed: to delete all text is not to delete the file.
    """
    if not old:
        raise errors.invalid("edit_old_empty", "Give the text to replace; to make a new file, use write.")
    if old == new:
        raise errors.invalid("edit_unchanged", "The old and the new text are the same; nothing would change.")
    found = text.count(old)
    if not found:
        raise errors.invalid("edit_old_missing", _missing(text, old))
    if found > 1 and not replace_all:
        raise errors.invalid(
            "edit_old_ambiguous",
            f"The old text stands {found} times (lines {_lines(text, old)}); give more of what is around it, "
            "or set replace_all.",
            found=found,
        )
    return text.replace(old, new)


def _missing(text: str, old: str) -> str:
    """What is most often wrong, so that the next call can be right."""
    plain = "The old text does not stand in the file"
    if "\r\n" in text and "\r\n" not in old and old in text.replace("\r\n", "\n"):
        return f"{plain}: its lines end in CRLF, the given ones in LF."
    if " ".join(old.split()) and " ".join(old.split()) in " ".join(text.split()):
        return f"{plain} exactly: only its white space differs; read the file again and copy it."
    return f"{plain}; read it again and copy the text exactly."


def _lines(text: str, old: str) -> str:
    shown: list[str] = []
    at = text.find(old)
    while at >= 0 and len(shown) < 10:
        shown.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + len(old))
    return ", ".join(shown) + (", ..." if at >= 0 else "")
