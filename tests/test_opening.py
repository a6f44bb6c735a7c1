"""A page is opened only where somebody can see it."""

import pytest

from workstead import opening


@pytest.mark.parametrize(
    ("environ", "seen"),
    [({}, False), ({"DISPLAY": ":0"}, True), ({"WAYLAND_DISPLAY": "wayland-0"}, True), ({"DISPLAY": ""}, False)],
)
def test_a_screen_is_known_by_what_the_session_says(environ: dict[str, str], *, seen: bool) -> None:
    """A demo over ssh prints the link and opens nothing."""
    assert opening.has_screen(environ) is seen


def test_without_a_screen_nothing_is_started() -> None:
    """The link is printed anyway."""
    assert opening.show("http://127.0.0.1:1/", environ={}) is False
