"""Deadlines and cancellation, forced with events and a clock that tests move."""

from __future__ import annotations

import asyncio
import contextvars
import signal
import threading

import pytest

from toolcrib.errors import Failed, Transient
from toolcrib.execution import CancelToken
from toolcrib.implementation import Companions, Implementation
from toolcrib.vocabulary import Cancellation, Effect, Idempotence


WRITES = frozenset({Effect.FS_WRITE})
READS = frozenset({Effect.FS_READ})


async def forever(ctx):
    await asyncio.Event().wait()


async def turns(count=5):
    for _ in range(count):
        await asyncio.sleep(0)


async def interrupted(bench, handler, *, token=None, advance=None, **fields):
    """Start a call, let it run until it waits, then cancel it or move the clock."""
    token = token or CancelToken()
    task = asyncio.create_task(bench.run(handler, token=token, **fields))
    await turns()
    if advance is not None:
        bench.clock.advance(advance)
    else:
        token.cancel("Alice pressed stop.")
    await turns()
    return task


@pytest.mark.parametrize(
    ("effects", "advance", "status", "code"),
    [
        (READS, None, "cancelled", "call.cancelled"),
        (WRITES, None, "uncertain", "call.uncertain"),
        (READS, 5, "timeout", "call.timeout"),
        (WRITES, 5, "uncertain", "call.uncertain"),
    ],
)
def test_an_interrupted_call_says_what_may_have_happened(  # noqa: PLR0917
    bench, go, effects, advance, status, code
):
    """Only a call with effects may have had one."""

    async def main():
        tool = bench.tool(effects=effects)
        return await (await interrupted(bench, forever, advance=advance, tool=tool, timeout=5))

    outcome = go(main)
    assert (outcome.status, outcome.code) == (status, code)
    assert outcome.attempts == 1
    assert ("5 s" if advance else "Alice") in outcome.text


def test_a_call_cancelled_before_it_starts_did_nothing(bench, go, token):
    """A call that never started is cancelled, whatever it might have done."""
    ran = []
    token.cancel()
    outcome = go(lambda: bench.run(ran.append, token=token, tool=bench.tool(effects=WRITES)))
    assert (outcome.status, outcome.code) == ("cancelled", "call.cancelled")
    assert (outcome.attempts, outcome.started, ran) == (0, None, [])


def test_a_finished_effect_is_kept_and_flagged(bench, go):
    """A handler that finishes in spite of a cancellation has its result."""

    async def handler(ctx):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "written"

    async def main():
        return await (await interrupted(bench, handler, tool=bench.tool(effects=WRITES)))

    outcome = go(main)
    assert outcome.ok
    assert outcome.result.content[0].text == "written"
    assert outcome.result.notes == ("finished_after_cancelled",)


def test_a_handler_may_say_itself_what_its_cancellation_meant(bench, go):
    """A definite word of the tool wins over uncertain."""

    async def handler(ctx):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            msg = "Nothing was written."
            raise Failed(msg) from None

    async def main():
        return await (await interrupted(bench, handler, tool=bench.tool(effects=WRITES)))

    assert go(main).text == "Nothing was written."


def test_clean_up_runs_within_the_grace(bench, go):
    """A cancelled handler may await its clean-up."""
    done = []

    async def handler(ctx):
        try:
            await asyncio.Event().wait()
        finally:
            await turns(3)
            done.append(True)

    async def main():
        return await (await interrupted(bench, handler))

    assert go(main).status == "cancelled"
    assert done == [True]


def test_a_handler_that_swallows_its_cancellation_is_left_behind(bench, go):
    """After the grace the call ends, says so, and its late end is told."""
    release = asyncio.Event()

    async def handler(ctx):
        while True:
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
            return "late"

    async def main():
        tool = bench.tool(effects=READS)
        task = await interrupted(bench, handler, tool=tool)
        assert not task.done()
        bench.clock.advance(2)
        await turns()
        outcome = await task
        assert len(bench.runtime.leftovers) == 1
        release.set()
        await turns()
        return outcome

    outcome = go(main)
    assert outcome.status == "cancelled"
    assert outcome.details["still_running"] is True
    assert "still be running" in outcome.text
    (late,) = bench.late
    assert late.call_id == outcome.call_id
    assert late.result.content[0].text == "late"
    assert not bench.runtime.leftovers


def test_a_handler_that_was_left_behind_cannot_stop_the_event_loop(bench, go):
    """What would end the process is how that handler ended."""
    release = asyncio.Event()

    async def handler(ctx):
        while True:
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
            raise SystemExit(3)

    async def main():
        task = await interrupted(bench, handler, tool=bench.tool(effects=READS))
        bench.clock.advance(2)
        await turns()
        await task
        release.set()
        await turns()
        return "the loop goes on"

    assert go(main) == "the loop goes on"
    assert not bench.runtime.leftovers


def test_closing_ends_what_was_left_behind(bench, go):
    """No task outlives the toolbox."""

    async def handler(ctx):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.Event().wait()

    async def main():
        task = await interrupted(bench, handler)
        bench.clock.advance(2)
        await task
        (left,) = bench.runtime.leftovers
        bench.runtime.close()
        await turns()
        return left

    assert go(main).cancelled()


def test_no_cancellation_leaks_to_the_caller(bench, go):
    """The task that ran an interrupted call goes on undisturbed."""

    async def main():
        token = CancelToken()

        async def caller():
            outcome = await bench.run(forever, token=token)
            await turns()
            return outcome, asyncio.current_task().cancelling()

        task = asyncio.create_task(caller())
        await turns()
        token.cancel()
        return await task

    outcome, cancelling = go(main)
    assert outcome.status == "cancelled"
    assert cancelling == 0


def test_a_call_that_cancels_itself_and_returns_leaks_nothing(bench, go):
    """A cancellation that was never delivered is taken back as well."""

    async def main():
        token = CancelToken()

        async def handler(ctx):
            token.cancel()
            return "done"

        outcome = await bench.run(handler, token=token)
        await turns()
        return outcome, asyncio.current_task().cancelling()

    outcome, cancelling = go(main)
    assert outcome.ok
    assert cancelling == 0


def test_a_cancelled_task_still_gives_its_outcome(bench, go):
    """Whoever cancels from above gets the outcome first, then the cancellation."""
    written = []

    async def main():
        async def caller():
            token = CancelToken()
            tool = bench.tool(effects=WRITES)
            written.append(await bench.run(forever, tool=tool, token=token))
            token.honour()
            written.append("not reached")

        task = asyncio.create_task(caller())
        await turns()
        task.cancel()
        await asyncio.wait([task])
        return task

    assert go(main).cancelled()
    (outcome,) = written
    assert outcome.status == "uncertain"


def test_a_cancelled_call_leaves_its_siblings_alone(bench, go):
    """One call's deadline is nobody else's."""

    async def main():
        gate = asyncio.Event()

        async def waits(ctx):
            await gate.wait()
            return "fine"

        token = CancelToken()
        tasks = [
            asyncio.create_task(bench.run(waits)),
            asyncio.create_task(bench.run(waits, token=token)),
            asyncio.create_task(bench.run(waits)),
        ]
        await turns()
        token.cancel()
        await turns()
        gate.set()
        return await asyncio.gather(*tasks)

    assert [o.status for o in go(main)] == ["ok", "cancelled", "ok"]


def test_a_remote_call_may_go_on_elsewhere(bench, go):
    """What was sent is out of reach, and the outcome says so."""

    async def main():
        tool = bench.tool(effects=READS, cancellation=Cancellation.REMOTE)
        return await (await interrupted(bench, forever, tool=tool))

    outcome = go(main)
    assert outcome.status == "cancelled"
    assert outcome.details["still_running"] is True


def test_the_handlers_own_timeouts_still_work(bench, go):
    """A timeout inside the handler is not confused with the call's."""

    async def handler(ctx):
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return "inner"

    outcome = go(lambda: bench.run(handler, timeout=5))
    assert outcome.result.content[0].text == "inner"


def test_an_effect_finished_before_the_deadline_is_plainly_ok(bench, go):
    """No timer is left, and no note is made."""

    async def handler(ctx):
        assert ctx.cancellation.deadline == bench.clock.now + 5
        return "x"

    outcome = go(lambda: bench.run(handler, timeout=5))
    assert outcome.ok
    assert outcome.result.notes == ()
    assert len(bench.runtime.deadlines) == 0


def test_context_variables_of_a_handler_stay_inside(bench, go):
    """A handler that sets a context variable does not set it for its caller."""
    variable = contextvars.ContextVar("variable", default="outside")

    async def handler(ctx):
        assert variable.get() == "caller"
        variable.set("inside")
        await asyncio.sleep(0)
        return variable.get()

    async def main():
        variable.set("caller")
        outcome = await bench.run(handler)
        return outcome.result.content[0].text, variable.get()

    assert go(main) == ("inside", "caller")


class Blocking:
    """A synchronous handler that tests let go."""

    def __init__(self):
        self.entered = threading.Event()
        self.release = threading.Event()
        self.calls = 0
        self.token = None

    def __call__(self, ctx):
        """Block until the test lets go."""
        self.calls += 1
        self.token = ctx.cancellation
        self.entered.set()
        assert self.release.wait(60)
        return "late"


async def entered(event):
    while not event.is_set():
        await asyncio.sleep(0)


@pytest.fixture
def blocking():
    handler = Blocking()
    yield handler
    handler.release.set()


@pytest.mark.parametrize(("effects", "status"), [(READS, "timeout"), (WRITES, "uncertain")])
def test_a_thread_that_outlives_its_deadline_is_left(bench, go, blocking, effects, status):
    """The call ends at its deadline, is not run again, and its late result is told."""

    async def main():
        tool = bench.tool(
            effects=effects, cancellation=Cancellation.THREAD, idempotent=Idempotence.YES
        )
        task = asyncio.create_task(bench.run(blocking, tool=tool, timeout=5))
        await entered(blocking.entered)
        bench.clock.advance(5)
        outcome = await task
        assert bench.threads.stuck == 1
        blocking.release.set()
        while not bench.late:
            await asyncio.sleep(0)
        return outcome

    outcome = go(main)
    assert outcome.status == status
    assert outcome.details["still_running"] is True
    assert blocking.calls == 1
    assert blocking.token.requested
    assert bench.late[0].result.content[0].text == "late"
    assert bench.threads.stuck == 0


def test_a_late_result_is_checked_as_well(bench, go, blocking):
    """What its check does not pass is told as such."""

    def check(value):
        msg = "too late"
        raise ValueError(msg)

    async def main():
        tool = bench.tool(cancellation=Cancellation.THREAD)
        made = Implementation(
            tool=tool, handler=blocking, companions=Companions(check_output=check)
        )
        task = asyncio.create_task(bench.run(None, tool=tool, implementation=made, timeout=5))
        await entered(blocking.entered)
        bench.clock.advance(5)
        await task
        blocking.release.set()
        while not bench.late:
            await asyncio.sleep(0)

    go(main)
    assert bench.late[0].code == "output.invalid"


def test_a_cooperative_thread_gets_its_grace(bench, go):
    """A synchronous handler that looks at its cancellation ends its call itself."""
    started = threading.Event()

    def handler(ctx):
        started.set()
        while True:
            ctx.cancellation.check()

    async def main():
        token = CancelToken()
        task = asyncio.create_task(bench.run(handler, token=token))
        await entered(started)
        token.cancel()
        return await task

    outcome = go(main)
    assert outcome.status == "cancelled"
    assert "still_running" not in outcome.details
    assert bench.threads.stuck == 0


def test_a_thread_does_not_stop_the_loop(bench, go, blocking):
    """Other calls go on while a plain function blocks."""

    async def main():
        task = asyncio.create_task(bench.run(blocking, tool=bench.tool(id="probe.slow")))
        await entered(blocking.entered)

        async def quick(ctx):
            return "tick"

        ticks = [(await bench.run(quick)).status for _ in range(3)]
        blocking.release.set()
        return ticks, (await task).status

    assert go(main) == (["ok"] * 3, "ok")


def test_a_sync_call_that_waits_for_a_thread_never_started(bench, go, blocking):
    """Cancelling a call whose thread has not begun did nothing."""
    ran = []

    async def main():
        tools = [bench.tool(id=f"probe.t{n}") for n in range(4)]
        tasks = [asyncio.create_task(bench.run(blocking, tool=t)) for t in tools]
        while blocking.calls < 4:
            await asyncio.sleep(0)
        token = CancelToken()
        tool = bench.tool(effects=WRITES, cancellation=Cancellation.THREAD)
        waiting = asyncio.create_task(bench.run(ran.append, tool=tool, token=token))
        await turns()
        token.cancel()
        outcome = await waiting
        blocking.release.set()
        await asyncio.gather(*tasks)
        return outcome

    outcome = go(main)
    assert (outcome.status, outcome.attempts, outcome.started) == ("cancelled", 0, None)
    assert ran == []


def test_a_full_set_of_stuck_threads_says_busy(bench, go):
    """When no thread can ever run it, a call is told at once."""
    handlers = [Blocking() for _ in range(6)]

    async def main():
        tool = bench.tool(effects=READS, cancellation=Cancellation.THREAD, concurrency="shared")
        for handler in handlers:
            task = asyncio.create_task(bench.run(handler, tool=tool, timeout=5))
            await entered(handler.entered)
            bench.clock.advance(5)
            await task
        return await bench.run(lambda ctx: "x", tool=tool)

    try:
        outcome = go(main)
        assert bench.threads.stuck == 6
    finally:
        for handler in handlers:
            handler.release.set()
    assert (outcome.status, outcome.code, outcome.retryable) == ("busy", "call.busy", True)


def test_cancelling_between_attempts_ends_the_call(bench, go, token, attempts):
    """A call that is cancelled during a pause is not tried again."""
    calls = []

    async def handler(ctx):
        calls.append(ctx.attempt)
        msg = "later"
        raise Transient(msg)

    async def main():
        async def sleep(seconds):
            token.cancel()
            await asyncio.Event().wait()

        bench.clock.sleep = sleep
        tool = bench.tool(effects=WRITES, idempotent=Idempotence.YES)
        return await bench.run(handler, tool=tool, token=token, retry=attempts())

    outcome = go(main)
    assert calls == [1]
    assert outcome.status == "cancelled"
    assert bench.runtime.scheduler.running == 0


def test_a_handlers_cancellation_of_its_own_task_stays_inside(bench, go):
    """Whoever awaits the call is not cancelled by what the handler did to itself."""

    async def handler(ctx):
        asyncio.current_task().cancel()
        return "x"

    async def main():
        outcome = await bench.run(handler)
        await asyncio.sleep(0)
        return outcome, asyncio.current_task().cancelling()

    outcome, left = go(main)
    assert (outcome.status, outcome.result.notes, left) == ("ok", (), 0)


def test_a_handler_that_cancels_itself_and_waits_is_no_cancelled_call(bench, go):
    """Nobody cancelled the call, so it failed."""

    async def handler(ctx):
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    async def main():
        return await bench.run(handler), asyncio.current_task().cancelling()

    outcome, left = go(main)
    assert (outcome.status, outcome.code, left) == ("failed", "tool.crashed", 0)


@pytest.mark.parametrize("waits", [False, True])
def test_ctrl_c_in_the_middle_of_a_handlers_code_ends_the_app(bench, waits):
    """It cancels the task from inside the handler's code, as the handler itself might."""
    seen = []

    async def handler(ctx):
        signal.raise_signal(signal.SIGINT)
        if waits:
            await asyncio.Event().wait()
        return "x"

    async def main():
        token = CancelToken()
        seen.append(await bench.run(handler, token=token))
        token.honour()
        seen.append("went on")

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    (outcome,) = seen
    assert outcome.status == ("cancelled" if waits else "ok")


def test_own_signal_handler_of_an_app_cancels_its_task(bench, go):
    """What keeps no count of its signals may have heard one."""

    async def handler(ctx):
        signal.raise_signal(signal.SIGTERM)
        return "x"

    async def main():
        task, token = asyncio.current_task(), CancelToken()
        before = signal.signal(signal.SIGTERM, lambda *_: task.cancel())
        try:
            await bench.run(handler, token=token)
        finally:
            signal.signal(signal.SIGTERM, before)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(0)
        return token.above, task.uncancel()

    assert go(main) == (True, 0)


@pytest.mark.parametrize(("work", "status"), [(forever, "cancelled"), (lambda ctx: "x", "ok")])
def test_task_that_was_cancelled_right_before_the_call_is_obeyed(bench, go, work, status):
    """Its cancellation is thrown at the first await, which is one of the call's."""

    async def main():
        token = CancelToken()
        asyncio.current_task().cancel()
        outcome = await bench.run(work, token=token)
        return outcome.status, token.above

    assert go(main) == (status, True)


def test_a_cancellation_from_above_is_told_from_the_handlers_own(bench, go):
    """The caller's is still there once the handler's is taken back."""
    started = asyncio.Event()

    async def handler(ctx):
        task = asyncio.current_task()
        task.cancel()
        started.set()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            await asyncio.Event().wait()

    async def main():
        async def app():
            outcome = await bench.run(handler)
            return outcome.status, asyncio.current_task().cancelling()

        task = asyncio.create_task(app())
        await started.wait()
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert go(main) == ("cancelled", 1)
