"""What a handler is given: waiting from a thread, cancellation, notes, secrets, the host."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib import Context, Pack, Policy, Toolbox, Unavailable
from toolcrib.host import NobodyAsks


@pytest.fixture
def within(run):
    """Run a function inside a tool, in a thread or on the loop; return its outcome."""

    def within(function, *, sync=False, **options):
        pack = Pack("own")
        if sync:

            @pack.tool(name="go", effects=())
            def _(ctx: Context) -> str:
                """Go."""
                return str(function(ctx))

        else:

            @pack.tool(name="go", effects=())
            async def _(ctx: Context) -> str:
                """Go."""
                return str(await function(ctx))

        async def scenario(session):
            return await session.call("own.go")

        return run(scenario, pack, **options)

    return within


def _text(outcome):
    return outcome.result.content[0].text


async def _soon(value):
    await asyncio.sleep(0)
    return value


def test_a_handler_in_a_thread_waits_for_what_is_async(within):
    """Resources and secrets are async, sync handlers use them all the same."""
    outcome = within(lambda ctx: ctx.wait(_soon("done")), sync=True)
    assert _text(outcome) == "done"


def test_an_async_handler_must_not_wait(within):
    """It would block the loop for ever."""

    async def waits(ctx):
        return ctx.wait(_soon("never"))

    outcome = within(waits)
    assert not outcome.ok
    assert "ctx.wait() is for sync handlers" in str(outcome)


def test_a_context_knows_whom_it_serves(within):
    """Conversation, principal, mode and workspace are those of the session."""

    async def tells(ctx):
        named = ctx.host.logger is ctx.logger
        return f"{ctx.conversation} {ctx.principal} {ctx.mode} {named}"

    outcome = within(tells, session={"principal": "alice", "mode": "plan"})
    assert _text(outcome) == "c alice plan True"


def test_a_note_is_on_the_outcome_once(within):
    """However often it is made."""

    async def notes(ctx):
        ctx.note("degraded")
        ctx.note("degraded")
        return "done"

    assert within(notes).result.notes == ("degraded",)


def test_cancellation_is_there_before_anybody_asks_for_it(within):
    """A handler may look as often as it likes."""

    async def looks(ctx):
        ctx.cancellation.check()
        return ctx.cancellation.requested

    assert _text(within(looks)) == "False"


def test_a_secret_that_nobody_bound_is_unavailable(within):
    """The sentence names the secret and the tool, never a value."""

    async def asks(ctx):
        return await ctx.secret("token")

    outcome = within(asks)
    assert outcome.code == "secret.unknown"
    assert "token" in outcome.text


def test_a_pack_has_a_private_folder(within, tmp_path):
    """It is made when it is first asked for, and nobody else may read it."""

    async def folder(ctx):
        place = ctx.host.state
        return f"{place.is_dir()} {place.stat().st_mode & 0o777:o} {place.name}"

    assert _text(within(folder)) == "True 700 own"


def test_nobody_answers_by_default():
    """Without an app that asks, every question has the cautious answer."""
    asks = NobodyAsks()

    async def answers():
        return [
            await asks.question("Go on?", options=["yes"]),
            await asks.form("Who?", {}),
            await asks.url("Sign in", "https://example.com"),
        ]

    assert asyncio.run(answers()) == [None, None, False]


def test_a_context_reaches_the_conversations_jobs_and_artifacts(within):
    """They are the session's own."""

    async def looks(ctx):
        return [type(ctx.jobs).__name__ != "", ctx.artifacts is not None, ctx.ask is not None]

    assert _text(within(looks)) == "[True, True, True]"


def test_a_failure_in_what_a_thread_waits_for_is_the_handlers(within):
    """It can be caught there, like any other."""

    async def fails():
        raise Unavailable("gone")

    def handler(ctx):
        try:
            ctx.wait(fails())
        except Unavailable as failure:
            return f"caught {failure.text}"

    assert _text(within(handler, sync=True)) == "caught gone"


@pytest.mark.parametrize("durable", [True, False])
def test_a_context_counts_the_calls_of_its_conversation(tmp_path, durable):
    """Those of conversations that it started too, refused ones not, over restarts."""
    pack = Pack("own")

    @pack.tool(effects=())
    async def count(ctx: Context) -> str:
        """Count."""
        return str(ctx.calls)

    policy = Policy(
        local=[pack],
        ledger=tmp_path / "ledger.sqlite" if durable else None,
        state=tmp_path / "state",
        workspace=tmp_path,
    )

    async def opened(names):
        found = []
        async with Toolbox(policy) as box:
            for name in names:
                async with box.session(name) as session:
                    await session.call("own.unknown")
                    found.append(_text(await session.call("own.count")))
        return found

    assert asyncio.run(opened(["c", "c", "c/sub", "cd", "c"])) == ["1", "2", "1", "1", "4"]
    assert asyncio.run(opened(["c"])) == ["5" if durable else "1"]
