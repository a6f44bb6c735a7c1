"""Every way a provider can fail, against a server that really does; waits pass at once, by a clock that is set."""

from dataclasses import replace
from datetime import timedelta

import anyio
import pytest

from support.model_server import APIS, Api, Asked, Fails, Reply, Says, Tool, failing, in_order, serving
from support.models import KEY, PATIENT, QUICK, Route, asking, endpoint, route
from workstead import errors
from workstead.agents.models import failures
from workstead.agents.models.availability import Standing
from workstead.agents.models.failures import ModelError
from workstead.agents.models.shape import Answer
from workstead.outbound.calls import Limits
from workstead.testing import START
from workstead.work.workflow.graph import Candidate, Capabilities, KeyName

pytestmark = pytest.mark.covers("W15")
every_wire = pytest.mark.parametrize("api", APIS.values())
GOOD = Says(text="Here.")
OVERLOADED = Fails(status=503, body={"error": {"type": "overloaded", "message": "busy"}})
HTML = Fails(status=200, body="<html>Maintenance</html>", content_type="text/html")
IN_TWO_MINUTES = (START + timedelta(seconds=120)).strftime("%a, %d %b %Y %H:%M:%S GMT")


def limits_for(reply: Reply) -> Limits:
    """Short ones only where silence is what is shown."""
    return QUICK if isinstance(reply, Says) and reply.then in {"stall", "pings"} else PATIENT


async def outcome(made: Route, url: str, api: Api) -> Answer | ModelError:
    try:
        return await made.over(endpoint(url, api)).complete(asking())
    except ModelError as error:
        return error


@every_wire
@pytest.mark.parametrize(
    ("first", "waits_s"),
    [
        (Fails(status=429, headers={"Retry-After": "7"}), 7),
        (Fails(status=429, headers={"Retry-After": IN_TWO_MINUTES}), 120),
        (Fails(status=429, headers={"Retry-After": "soon"}), 60),
        (Fails(status=429, headers={"Retry-After": "0"}), 60),
        (Fails(status=503), 15),
        (Fails(status=503, headers={"Retry-After": "7"}), 15),
        (Fails(status=529), 15),
        (OVERLOADED, 30),
        (HTML, 15),
        (Says(text="Half of it", events=2, then="cut"), 15),
        (Says(text="Half of it", events=2, then="end"), 15),
        (Says(text="Half of it", events=2, then="stall"), 15),
        (Says(text="Half of it", events=2, then="pings"), 15),
        (Says(text="Half of it", events=2, then="garbage"), 15),
        (Says(text="Half of it", events=2, then="error"), 30),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, Fails | Says) else "",
)
async def test_a_failure_that_passes_is_waited_for_and_the_same_bytes_are_sent_again(
    api: Api, first: Reply, waits_s: float
) -> None:
    """facts/work.md 9.2 and 9.3."""
    with serving(first, GOOD) as server:
        async with route(limits=limits_for(first)) as made:
            found = await outcome(made, server.url, api)
    assert isinstance(found, Answer), found
    assert (found.text, made.waited_s) == ("Here.", [waits_s])
    assert found.sent is not None
    assert (found.sent.attempts, server.asked[0].raw) == (2, server.asked[1].raw)


@every_wire
@pytest.mark.parametrize(
    ("reply", "error", "asked", "waits_s"),
    [
        (Fails(status=503), failures.ProviderDownError, 4, [15, 45, 90]),
        (Fails(status=429), failures.RateLimitedError, 4, [60, 60, 60]),
        (HTML, failures.MalformedAnswersError, 4, [15, 45, 90]),
        (Says(text="Half", events=1), failures.IncompleteAnswerError, 4, [15, 45, 90]),
        (Says(text="Half", events=1, then="stall"), failures.SlowProviderError, 4, [15, 45, 90]),
        (Fails(status=401), failures.KeyRefusedError, 1, []),
        (Fails(status=403), failures.KeyRefusedError, 1, []),
        (Fails(status=404), failures.RequestRejectedError, 1, []),
        (Fails(status=302, headers={"Location": "http://127.0.0.1:1/"}), failures.RequestRejectedError, 1, []),
        (Says(text="I will not", finish="refusal"), failures.ContentPolicyError, 1, []),
        (Fails(status=429, headers={"Retry-After": "90000"}), failures.RateLimitedError, 1, []),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, Fails | Says) else "",
)
async def test_a_failure_that_stays_ends_the_call_under_its_name(
    api: Api, reply: Reply, error: type[ModelError], asked: int, waits_s: list[float]
) -> None:
    """facts/work.md 9.2: four failures; what cannot pass is not tried twice."""
    with serving(reply) as server:
        async with route(limits=limits_for(reply)) as made:
            found = await outcome(made, server.url, api)
    assert type(found) is error, found
    assert (len(server.asked), made.waited_s) == (asked, waits_s)
    assert found.message.startswith("m1 of local: ")
    assert found.sent is not None
    assert (found.sent.candidate, found.sent.attempts) == (Candidate(provider="local", model="m1"), asked)


@every_wire
async def test_a_request_that_the_provider_finds_too_long_is_not_sent_again(api: Api) -> None:
    """Context that is exhausted is for compaction to heal, not for a retry."""
    kind = "invalid_request_error"
    message = "prompt is too long: 300000 tokens > 200000 maximum"
    reply = failing(api, 400, code=None if api == "messages" else "context_length_exceeded", kind=kind, message=message)
    with serving(reply) as server:
        async with route() as made:
            found = await outcome(made, server.url, api)
    assert (type(found), len(server.asked)) == (failures.ContextExhaustedError, 1)


async def test_overload_is_waited_out_with_growing_pauses_without_end() -> None:
    """facts/work.md 9.2: 30, 60, 120, 240, 480, 600, 600 ... s, beyond the two hours of other waits."""
    with serving(*[OVERLOADED] * 20, GOOD) as server:
        async with route() as made:
            found = await outcome(made, server.url, "chat")
    assert isinstance(found, Answer)
    assert made.waited_s == [30, 60, 120, 240, 480, *[600] * 15]


async def test_another_failure_ends_the_streak_of_overload() -> None:
    """spec: a different failure resets it and restores its own policy."""
    with serving(OVERLOADED, OVERLOADED, Fails(status=500), OVERLOADED, GOOD) as server:
        async with route() as made:
            await outcome(made, server.url, "chat")
    assert made.waited_s == [30, 60, 15, 30]


async def test_the_next_candidate_answers_at_once_and_the_failed_one_rests() -> None:
    """W15: failover in route order, availability per candidate."""
    with serving(Fails(status=503), GOOD) as first, serving(GOOD) as second:
        async with route() as made:
            routed = made.over(endpoint(first.url, name="one"), endpoint(second.url, "messages", name="two"))
            said = [(await routed.complete(asking())).sent for _ in range(2)]
            made.clock.advance(seconds=16)
            said.append((await routed.complete(asking())).sent)
            state = made.means.availability.state(endpoint(first.url, name="one").identity)
    assert [sent.candidate.provider for sent in said if sent is not None] == ["two", "two", "one"]
    assert (made.waited_s, state.standing) == ([], Standing.HEALTHY)


async def test_a_refused_key_is_what_a_person_hears_of_even_when_another_candidate_failed_later() -> None:
    """Somebody can help there; a provider that is down helps itself."""
    with serving(Fails(status=401)) as first, serving(Fails(status=404)) as second:
        async with route() as made:
            routed = made.over(endpoint(first.url, name="one"), endpoint(second.url, name="two"))
            with pytest.raises(failures.KeyRefusedError, match=r"m1 of one: .* \(HTTP 401\)"):
                await routed.complete(asking())


async def test_a_key_that_is_missing_sends_nothing_and_says_what_to_do() -> None:
    """S2: keys are named; the sentence comes from whoever keeps them."""

    def key_of(name: KeyName) -> str:
        raise errors.unavailable("key_missing", f"There is no secret {name.name!r}.")

    with serving(GOOD) as server:
        async with route(key_of=key_of) as made:
            with pytest.raises(failures.KeyMissingError, match="m1 of local: There is no secret 'local'"):
                await made.over(endpoint(server.url)).complete(asking())
    assert not server.asked


async def test_a_key_that_is_revoked_is_read_again_for_every_attempt() -> None:
    """Issue: key revoked in mid-run."""
    keys = iter(["old-key", "new-key"])
    with serving(Fails(status=503), GOOD) as server:
        async with route(key_of=lambda _: next(keys)) as made:
            await made.over(endpoint(server.url)).complete(asking())
    assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer old-key", "Bearer new-key"]


async def test_a_provider_that_is_down_for_two_minutes_is_survived() -> None:
    """Issue: the run goes on as it says."""
    up_at: list[float] = []

    async with route() as made:

        def choose(_: Asked) -> Reply:
            up = made.clock.monotonic_s() >= 120
            up_at.append(made.clock.monotonic_s())
            return GOOD if up else Fails(status=502)

        with serving(choose=choose) as server:
            found = await outcome(made, server.url, "responses")
    assert isinstance(found, Answer)
    assert up_at == [0, 15, 60, 150]


async def test_a_wall_clock_that_jumps_changes_no_wait() -> None:
    """Waits are measured on the clock that never goes back."""
    async with route() as made:

        def choose(_: Asked) -> Reply:
            made.clock.set(START - timedelta(days=400))
            return GOOD if made.clock.monotonic_s() > 0 else Fails(status=429, headers={"Retry-After": "5"})

        with serving(choose=choose) as server:
            found = await outcome(made, server.url, "chat")
    assert isinstance(found, Answer)
    assert made.waited_s == [5]


@every_wire
@pytest.mark.covers("W14")
async def test_a_request_that_fits_no_candidate_is_never_sent(api: Api) -> None:
    """W14: the exact size is admitted before a byte leaves."""
    small = Capabilities(context_window_tokens=300, max_output_tokens=100)
    with serving(GOOD) as server:
        async with route() as made:
            routed = made.over(endpoint(server.url, api, capabilities=small))
            with pytest.raises(failures.RequestTooLargeError, match=r"m1 of local: the request has about \d+ tokens"):
                await routed.complete(replace(asking(), instructions="x" * 2000))
            with pytest.raises(failures.RequestTooLargeError, match="asks for 101 tokens of output"):
                await routed.complete(asking(max_tokens=101))
    assert not server.asked


async def test_a_candidate_that_takes_the_size_is_asked_in_place_of_one_that_does_not() -> None:
    """Only admitted candidates are members of the call."""
    small = Capabilities(context_window_tokens=300, max_output_tokens=200)
    with serving(Fails(status=500)) as first, serving(GOOD) as second:
        async with route() as made:
            routed = made.over(
                endpoint(first.url, name="small", capabilities=small), endpoint(second.url, name="large")
            )
            answer = await routed.complete(replace(asking(), instructions="x" * 2000))
    assert answer.sent is not None
    assert (answer.sent.candidate.provider, first.asked) == ("large", [])


async def test_a_pinned_request_asks_its_candidate_only_and_repeats_nothing_but_overload() -> None:
    """W16, spec: the pin is one authorization."""
    pin = Candidate(provider="two", model="m1")
    with serving(GOOD) as first, serving(OVERLOADED, Fails(status=503)) as second:
        async with route() as made:
            routed = made.over(endpoint(first.url, name="one"), endpoint(second.url, name="two"))
            with pytest.raises(failures.ProviderDownError):
                await routed.complete(replace(asking(), pinned=pin))
    assert (len(first.asked), len(second.asked), made.waited_s) == (0, 2, [30])


async def test_a_cancelled_call_ends_at_once_and_the_provider_sees_it() -> None:
    """Stop ends active requests, here one whose answer has begun."""
    ear = Ear()
    with serving(Says(text="Half", events=2, then="stall")) as server:
        async with route() as made:
            with anyio.fail_after(5):
                async with anyio.create_task_group() as group:
                    routed = made.over(endpoint(server.url))
                    group.start_soon(routed.complete, replace(asking(), listener=ear))
                    await ear.heard.wait()
                    group.cancel_scope.cancel()
        assert server.gone.wait(5)


class Ear:
    """Hears that an answer has begun."""

    def __init__(self) -> None:
        self.heard = anyio.Event()

    def said(self, text: str) -> None:
        """A word."""
        self.heard.set()

    def writes(self, tool: str) -> None:
        """A call."""

    def again(self) -> None:
        """A new attempt."""


async def test_a_wait_can_be_cancelled() -> None:
    """Waits hold nothing."""
    waits = anyio.Event()

    async def sleep(seconds: float) -> None:
        waits.set()
        await anyio.sleep(seconds)

    with serving(OVERLOADED) as server:
        async with route() as made:
            routed = replace(made, means=replace(made.means, sleep=sleep)).over(endpoint(server.url))
            with anyio.fail_after(5):
                async with anyio.create_task_group() as group:
                    group.start_soon(routed.complete, asking())
                    await waits.wait()
                    group.cancel_scope.cancel()
    assert len(server.asked) == 1


async def test_no_failure_shows_the_key_or_what_the_provider_said() -> None:
    """K18: a provider may repeat the key in its error."""
    with serving(failing("chat", 401, message=f"bad key {KEY}")) as server:
        async with route() as made:
            found = await outcome(made, server.url, "chat")
    assert isinstance(found, ModelError)
    assert "bad key" not in found.message
    assert KEY not in found.message


@every_wire
async def test_an_answer_that_was_cut_at_its_limit_keeps_whole_calls_only(api: Api) -> None:
    """A cut call was never meant to be made."""
    calls = (Tool(name="echo", arguments={"text": "whole"}), Tool(name="echo", arguments='{"text": "cu'))
    with serving(Says(text="Two.", calls=calls, finish="length")) as server:
        async with route() as made:
            answer = await made.over(endpoint(server.url, api)).complete(asking())
    assert (answer.finish.value, [call.arguments for call in answer.calls]) == ("length", ['{"text": "whole"}'])


@every_wire
async def test_an_empty_answer_is_an_answer(api: Api) -> None:
    """The turn loop says that plain text ends nothing."""
    with serving(Says()) as server:
        async with route() as made:
            answer = await made.over(endpoint(server.url, api)).complete(asking())
    assert (answer.text, answer.calls, answer.finish.value) == ("", (), "stop")


def test_replies_in_order_repeat_the_last() -> None:
    """The double itself."""
    asked = Asked(api="chat", path="/", headers={}, raw=b"{}")
    choose = in_order([OVERLOADED, GOOD])
    assert [choose(asked) for _ in range(3)] == [OVERLOADED, GOOD, GOOD]
