"""`activate_card`: runs a child card to its end; the running itself is the host's."""

from pydantic import Field, field_validator

from workstead.agents.tools import arguments
from workstead.agents.tools.tool import Acted, CallSite, Tool
from workstead.agents.tools.workbench import Activation, Workbench
from workstead.kernel.operations import Input

NAME = "activate_card"

# A child may work for days: what bounds it is its own activation, Stop, and the run's budget.
DEADLINE_S = 30 * 24 * 3600.0

_DESCRIPTION = (
    "Work on an immediate child card now and wait for its outcome (done, blocked or failed) with its summary. A child "
    "that is already running is joined. Every card it depends on must be done."
)


class ActivateCard(Input):
    """Which child, and what to tell it."""

    card_id: str = Field(description="An immediate child of your card.")
    instructions: str = Field(
        min_length=1,
        max_length=100_000,
        description="Your direction to whoever works on it: what is wanted now, with what the brief does not say.",
    )

    @field_validator("instructions")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("white space is not enough")
        return value


def build(bench: Workbench) -> Tool:
    """The tool over the host's way to run a child."""

    async def act(site: CallSite, args: ActivateCard) -> Acted:
        return await bench.activate(site, Activation(card_id=args.card_id, instructions=args.instructions))

    return Tool(
        schema=arguments.described(NAME, _DESCRIPTION, ActivateCard),
        act=arguments.acting(ActivateCard, act),
        deadline_s=DEADLINE_S,
        changes=True,
    )
