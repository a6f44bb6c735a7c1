"""Builders: a project whose agents ask a model on loopback."""

from pathlib import Path

from support.server import Running
from workstead import demo_models
from workstead.demo_models import Chosen
from workstead.work import template
from workstead.work.workflow.graph import ProviderKind

NAME = "talk"


def chosen(url: str, *, amount: str | None = None, prices: tuple[str, str] | None = None) -> Chosen:
    """A model without a key, with budget enough. amount, prices: where money counts."""
    return Chosen(
        kind=ProviderKind.OPENAI_CHAT.value,
        model="m",
        base_url=url,
        key=None,
        tokens=10**9,
        minutes=1000,
        amount=amount,
        prices=prices,
    )


def configure(folder: Path, model: Chosen) -> Path:
    """Write the template's configuration with that model into a folder; returns its main file."""
    for path, content in template.materialise().items():
        at = folder / ".workstead" / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(demo_models.configured(content, model) if path == "workstead.yaml" else content)
    return folder / ".workstead" / "workstead.yaml"


def found(live: Running, folder: Path) -> None:
    """Make a project of the folder and accept its configuration."""
    with live.control() as control:
        made = control.operation(
            "create_project", {"folder": str(folder), "name": NAME, "title": "Talk", "objective": "Talk."}
        )
        control.operation("trust_configuration", {"project": made["id"], "digest": made["digest"]})
