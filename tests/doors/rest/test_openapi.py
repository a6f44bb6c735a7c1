"""The OpenAPI document, and what comes back when everything it allows and forbids is sent (W20)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from schemathesis import checks
from schemathesis.openapi import from_dict

from support import finished as finishing
from support.server import Running
from workstead.doors.rest.table import ROUTES

# They would send the server work that outlives the test, or end what the others look at.
_LEFT_OUT = {"create_project", "start_run", "delete_card"}
_EXAMPLES = 10
_CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]

pytestmark = pytest.mark.covers("W20")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A finished project of its own: what is sent here changes it."""
    with finishing.finished(tmp_path_factory.mktemp("fuzzed")) as found:
        yield found


@pytest.fixture(scope="module")
def document(finished: Running) -> dict[str, Any]:
    """The document as the server gives it, to anybody."""
    found: dict[str, Any] = json.loads(finished.request("GET", "/api/openapi.json", headers={}).text)
    return found


@pytest.fixture(scope="module")
def token(finished: Running) -> str:
    """A personal token of the operator."""
    with finished.control() as control:
        return str(control.operation("create_api_token", {"name": "fuzzer"})["secret"])


@pytest.fixture(scope="module")
def known(finished: Running) -> Mapping[str, str]:
    """What is really there, for the fields of addresses."""
    with finished.control() as control:
        cards = control.operation("list_cards", {"project": "ledger"})["cards"]
        card = next(one["card_id"] for one in cards if one["card_id"] != "project")
        of = {"project": "ledger", "card_id": card}
        return {
            **of,
            "agent": control.operation("list_conversations", of)["conversations"][0]["agent"],
            "name": control.operation("list_records", of)["records"][0]["name"],
            "process_id": control.operation("list_processes", of)["processes"][0]["id"],
            "from_version": "1",
            "version": "1",
            "type": "code",
        }


def test_the_document_names_every_line_of_the_table(document: dict[str, Any]) -> None:
    """It is made of the table; nothing is described by hand."""
    named = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert named == {(one.method, one.path) for one in ROUTES}
    assert document["openapi"] == "3.1.0"


def test_every_schema_in_it_is_one(document: dict[str, Any]) -> None:
    """JSON Schema 2020-12, as OpenAPI 3.1 has it."""
    for item in document["paths"].values():
        for operation in item.values():
            for parameter in operation["parameters"]:
                Draft202012Validator.check_schema(parameter["schema"])
            for media in operation.get("requestBody", {"content": {}})["content"].values():
                Draft202012Validator.check_schema(media["schema"])


@pytest.mark.parametrize(
    "route", [one for one in ROUTES if one.operation not in _LEFT_OUT], ids=lambda one: one.operation
)
def test_whatever_is_sent_is_answered_as_the_document_says(
    finished: Running, document: dict[str, Any], token: str, known: Mapping[str, str], route: Any
) -> None:
    """Fuzzed: no 500, and every answer has a status, a kind and a shape that the document promises."""
    operation = from_dict(document)[route.path][route.method]
    headers = {"Authorization": f"Bearer {token}"}

    def send(case: schemathesis.Case[Any], *, there: bool) -> None:
        if there and case.path_parameters:
            case.path_parameters = {name: known.get(name, value) for name, value in case.path_parameters.items()}
        answer = case.call(base_url=finished.origin, headers=headers)
        case.validate_response(answer, checks=_CHECKS)

    quiet = settings(
        max_examples=_EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    for mode in schemathesis.GenerationMode:
        strategy = operation.as_strategy(generation_mode=mode)
        quiet(given(case=strategy, there=st.booleans())(send))()
