"""What a handler may raise, and how the call then ends."""

from __future__ import annotations

import asyncio
import errno

import pytest

from toolcrib import errors
from toolcrib.errors import StageError
from toolcrib.implementation import Implementation
from toolcrib.signature import Resource, Signature
from toolcrib.vocabulary import Effect, Idempotence


async def raises(bench, error, **fields):
    async def handler(ctx):
        raise error

    return await bench.run(handler, **fields)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.Invalid("/a", "wrong"), "invalid", "tool.invalid"),
        (errors.NotFound("gone"), "not_found", "tool.not_found"),
        (errors.Unavailable("off"), "unavailable", "tool.unavailable"),
        (errors.Busy("later"), "busy", "tool.busy"),
        (errors.Refused("no"), "refused", "tool.refused"),
        (errors.Failed("broke"), "failed", "tool.failed"),
        (errors.Uncertain("who knows"), "uncertain", "call.uncertain"),
        (errors.Transient("hiccup"), "failed", "tool.transient"),
        (errors.Failed("broke", code="probe.broken"), "failed", "probe.broken"),
        (errors.Failed("broke", code="Not A Code"), "failed", "tool.failed"),
        (errors.Failed("broke", code="person.denied"), "failed", "tool.failed"),
        (ZeroDivisionError("0"), "failed", "tool.crashed"),
        (SystemExit(3), "failed", "tool.crashed"),
        (asyncio.CancelledError(), "failed", "tool.crashed"),
        (GeneratorExit(), "failed", "tool.crashed"),
        (BaseException("odd"), "failed", "tool.crashed"),
        (ExceptionGroup("g", [errors.NotFound("gone")]), "not_found", "tool.not_found"),
    ],
)
@pytest.mark.parametrize("threaded", [False, True])
def test_each_exception_has_its_status(bench, go, error, status, code, threaded):  # noqa: PLR0917
    """Every exception ends the call with one status and code, and nothing escapes."""

    async def asynchronous(ctx):
        raise error

    def synchronous(ctx):
        raise error

    outcome = go(lambda: bench.run(synchronous if threaded else asynchronous))
    assert (outcome.status, outcome.code) == (status, code)
    assert outcome.text
    assert outcome.attempts == 1


def test_invalid_names_the_value(bench, go):
    """The path of the wrong value reaches programs."""
    outcome = go(lambda: raises(bench, errors.Invalid("/edits/0", "wrong")))
    assert outcome.details["path"] == "/edits/0"


def test_a_crash_tells_the_model_the_class_and_people_the_trace(bench, go):
    """The model gets one bounded line; the traceback is for people."""
    outcome = go(lambda: raises(bench, ValueError("x" * 10_000)))
    assert "ValueError" in outcome.text
    assert len(outcome.text) < 5000
    assert "Traceback" not in outcome.text
    assert "Traceback" in outcome.details["traceback"]
    assert len(outcome.details["traceback"]) <= 8000
    assert outcome.details["exception"] == "builtins.ValueError"


def test_an_exception_that_cannot_be_printed_is_contained(bench, go):
    """A broken __str__ is not a second failure."""

    class OddError(Exception):
        def __str__(self):
            msg = "no"
            raise RuntimeError(msg)

    assert "OddError" in go(lambda: raises(bench, OddError())).text


def test_surrogates_in_a_message_can_be_written(bench, go):
    """A message that UTF-8 cannot hold is escaped."""
    outcome = go(lambda: raises(bench, ValueError("a\ud83db")))
    outcome.text.encode()


def test_keyboard_interrupt_passes_through(bench, go):
    """A person who presses Ctrl-C stops the program, not one call."""
    with pytest.raises(KeyboardInterrupt):
        go(lambda: raises(bench, KeyboardInterrupt()))
    assert bench.runtime.scheduler.running == 0


@pytest.mark.parametrize("error", [ConnectionResetError("cut"), TimeoutError("slow")])
def test_a_lost_answer_of_an_effect_is_uncertain(bench, go, error):
    """Where something may have happened, nobody says that it did not."""
    tool = bench.tool(effects=frozenset({Effect.NET_WRITE}))
    outcome = go(lambda: raises(bench, error, tool=tool))
    assert (outcome.status, outcome.code) == ("uncertain", "call.uncertain")
    assert outcome.retryable is False
    assert "check" in outcome.text


def test_a_lost_answer_of_a_read_is_a_plain_failure(bench, go):
    """Nothing can have happened, so the call failed and may be made again."""
    tool = bench.tool(effects=frozenset({Effect.NET_READ}))
    cut = go(lambda: raises(bench, ConnectionError("cut"), tool=tool))
    slow = go(lambda: raises(bench, TimeoutError("slow"), tool=tool))
    assert (cut.status, cut.code, cut.retryable) == ("failed", "tool.transient", True)
    assert (slow.status, slow.code, slow.retryable) == ("timeout", "call.timeout", True)


def test_the_calls_own_signature_decides_whether_it_has_effects(bench, go):
    """A tool that may write, but only reads this time, has no effect to lose."""
    tool = bench.tool(effects=frozenset({Effect.NET_READ, Effect.NET_WRITE}))
    reading = Signature(reads=[Resource("host", "a.example")])
    writing = Signature(reads=[Resource("host", "a")], writes=[Resource("board", "b")])
    assert go(
        lambda: raises(bench, ConnectionError(), tool=tool, signature=reading)
    ).status == ("failed")
    assert go(
        lambda: raises(bench, ConnectionError(), tool=tool, signature=writing)
    ).status == ("uncertain")


def test_a_full_table_is_not_a_lost_answer(bench, go):
    """EMFILE and its like say that it did not happen; only the tool decides on repeats."""
    tool = bench.tool(effects=frozenset({Effect.FS_WRITE}))
    outcome = go(lambda: raises(bench, OSError(errno.EMFILE, "full"), tool=tool))
    assert (outcome.status, outcome.code) == ("failed", "tool.transient")


def test_only_an_authorized_call_is_run(bench, go):
    """A value of another stage is a fault of the caller and is said so."""
    admitted = bench.authorized(bench.tool()).admitted
    with pytest.raises(StageError, match="AdmittedCall"):
        go(lambda: bench.run(lambda ctx: 1, authorized=admitted))


def test_changed_arguments_are_refused(bench, go):
    """What was approved is what runs, to the byte."""
    authorized = bench.authorized(bench.tool(), {"a": 1})
    object.__setattr__(authorized.admitted, "text", '{"a":2}')
    outcome = go(lambda: bench.run(lambda ctx: 1, authorized=authorized))
    assert (outcome.status, outcome.code) == ("refused", "answer.stale")
    assert outcome.attempts == 0


def test_a_changed_definition_is_refused(bench, go):
    """A tool that was redefined after the approval does not run under it."""
    ran = []
    other = bench.tool(version="2")
    implementation = Implementation(tool=other, handler=ran.append)
    authorized = bench.authorized(bench.tool())
    outcome = go(lambda: bench.run(None, authorized=authorized, implementation=implementation))
    assert outcome.code == "answer.stale"
    assert outcome.details["changed"] == "definition"
    assert ran == []


def test_arguments_that_do_not_fit_the_types_never_reach_the_handler(bench, go):
    """A mismatch found while making typed values is the caller's error."""
    ran = []

    def structure(arguments):
        msg = "expected a date at /when"
        raise ValueError(msg)

    tool = bench.tool()
    implementation = Implementation(tool=tool, handler=ran.append, structure=structure)
    outcome = go(lambda: bench.run(None, tool=tool, implementation=implementation))
    assert (outcome.status, outcome.code) == ("invalid", "arguments.invalid")
    assert "/when" in outcome.text
    assert (outcome.attempts, outcome.started, ran) == (0, None, [])


def test_policy_may_refuse_asynchronous_handlers(bench, go):
    """A host that cannot run coroutines says so instead of hanging."""

    async def handler(ctx):
        return 1

    outcome = go(lambda: bench.run(handler, asynchronous=False))
    assert outcome.status == "unavailable"


def test_idempotent_effects_that_got_lost_may_be_repeated(bench, go):
    """The truth stays uncertain, but the caller is told that a repeat is safe."""
    tool = bench.tool(effects=frozenset({Effect.NET_WRITE}), idempotent=Idempotence.YES)
    outcome = go(lambda: raises(bench, ConnectionError("cut"), tool=tool))
    assert (outcome.status, outcome.retryable) == ("uncertain", True)
