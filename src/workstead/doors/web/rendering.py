"""Rendering: templates over declared view values; every text they print is escaped, and redacted first (S21)."""

import importlib
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from workstead.doors.web.static_files import StaticFiles
from workstead.kernel.redaction import Redactor

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FOLDER = Path(__file__).with_name("templates")


@dataclass(frozen=True, kw_only=True)
class View:
    """The base of what a template is given; its fields are the template's only names. TEMPLATE: which one renders it.

    title: of the page. person: who is signed in. topic: what the page follows live, or None.
    """

    TEMPLATE: ClassVar[str]

    title: str
    person: str | None = None
    topic: str | None = None


class Renderer:
    """Renders views to pages."""

    def __init__(self, *, static: StaticFiles, redactor: Redactor) -> None:
        def finalize(value: object) -> object:
            # Markup is left alone: macros made it, or a handler that shows an exact value on purpose.
            return redactor.text(value).text if type(value) is str else value

        self._environment = Environment(
            loader=FileSystemLoader(FOLDER),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=finalize,
        )
        self._environment.globals["static"] = static.url
        self._environment.filters["words"] = words
        self._environment.filters["markdown"] = partial(_markdown, redactor)

    def page(self, view: View, *, status: int = 200) -> HTMLResponse:
        """The whole page of a view."""
        return HTMLResponse(self.text(view), status_code=status)

    def text(self, view: View) -> str:
        """The page as text."""
        return self._environment.get_template(view.TEMPLATE).render(_names(view))


def words(value: str) -> str:
    """`needs_review` as a person reads it."""
    return value.replace("_", " ")


def _markdown(redactor: Redactor, text: str) -> Markup:
    # Again afterwards: escapes of Markdown can keep a secret's shape apart until it is rendered.
    # The parser is loaded by the first page that shows a text: an instance at rest does not pay for it.
    markdown = importlib.import_module("workstead.doors.web.markdown")
    rendered = markdown.render(redactor.text(text).text)
    return Markup(redactor.text(str(rendered)).text)  # noqa: S704 - a placeholder holds no markup


def _names(view: "DataclassInstance") -> dict[str, Any]:
    return {each.name: getattr(view, each.name) for each in fields(view)}
