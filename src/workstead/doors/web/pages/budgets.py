"""What may be spent in a project and what was; a form that limits it."""

from starlette.requests import Request
from starlette.responses import Response

from workstead import errors
from workstead.doors.web import forms, model_views, place, queries
from workstead.doors.web.desk import Desk, new_key, see
from workstead.doors.web.model_views import BudgetsView

_SIDES = ("day", "agent", "card", "model")


async def show(desk: Desk, request: Request) -> Response:
    """Budgets, and usage summed up by what was chosen."""
    where, _ = await place.of_project(desk, request)
    of = {"project": where.slug}
    by = queries.text(request, "by") or _SIDES[0]
    budgets = await desk.all(request, "get_budgets", of, of="budgets")
    usage = await desk.all(request, "list_usage", {**of, "by": by}, of="usage")
    currency = (await desk.run(request, "get_budgets", of))["currency"]
    agents = await desk.all(request, "list_agents", of, of="agents")
    view = BudgetsView(
        title="Budgets",
        person=where.person,
        topic=where.topic,
        place=where,
        budgets=tuple(model_views.budget(each, currency) for each in budgets),
        usage=tuple(model_views.usage(each, currency) for each in usage),
        by=by,
        sides=tuple((side, f"{where.root}/budgets?by={side}") for side in _SIDES),
        agents=tuple(each["name"] for each in agents),
        currency=currency,
        key=new_key(),
    )
    return desk.renderer.page(view)


async def set_one(desk: Desk, request: Request) -> Response:
    """Set the limits of the project, a card or an agent, or forget them."""
    slug = request.path_params["slug"]
    given = await forms.fields(request)
    kind, _, name = forms.field(given, "target").partition(":")
    wanted: dict[str, object] = {"project": slug, "request_id": forms.field(given, "key")}
    if kind == "agent":
        wanted["agent"] = name
    elif kind == "card":
        wanted["card_id"] = given.get("card_id", "").strip()
    if given.get("remove"):
        wanted["remove"] = True
    else:
        wanted |= _limits(given)
    await desk.run(request, "set_budget", wanted)
    return see(f"/projects/{slug}/budgets")


def _limits(given: forms.Fields) -> dict[str, object]:
    """What was filled in. Raises `invalid` for a number that is none."""
    found: dict[str, object] = {}
    for name in ("tokens", "minutes"):
        text = given.get(name, "").strip()
        if text and not (text.isascii() and text.isdigit() and len(text) <= 15):
            issue = errors.Issue(path=name, message="write a whole number, or nothing for no limit")
            raise errors.invalid("form_invalid", f"{name} is a whole number.", issues=[issue])
        if text:
            found[name] = int(text)
    money = given.get("money", "").strip()
    if money:
        found["money"] = money
    return found
