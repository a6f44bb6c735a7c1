"""Stretches joined: an item that is larger than a page comes in pieces of its own JSON, over several pages (K10)."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

_KEYS = {"text", "offset", "total"}


def joined(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every item of all pages in order, whole; what begins in the middle or was not read to its end is left out."""
    whole: list[dict[str, Any]] = []
    text = ""
    for item in items:
        if item.keys() != _KEYS:
            whole.append(dict(item))
            continue
        text = text + item["text"] if item["offset"] else item["text"]
        if len(text.encode()) == item["total"]:
            whole.append(json.loads(text))
            text = ""
    return whole
