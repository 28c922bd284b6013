"""Resources open once, live in one task, close in reverse order, whatever happens."""

from __future__ import annotations

import asyncio
import contextlib

import attrs
import pytest

from toolcrib.errors import DeclarationError, Unavailable
from toolcrib.lifetimes import Lifetimes, guard_cycle


@attrs.frozen(eq=False)
class Definition:
    """A resource definition, as a pack's decorator makes it."""

    name: str
    manager: object

    def open(self, ctx):
        return self.manager(ctx)


def recorder(log, name, *, opening=None, closing=None):
    @contextlib.asynccontextmanager
    async def manager(ctx):
        if opening is not None:
            await opening()
        log.append(("open", name, asyncio.current_task()))
        try:
            yield name
        finally:
            log.append(("close", name, asyncio.current_task()))
            if closing is not None:
                await closing()

    return Definition(name, manager)


def test_a_resource_opens_once_for_many_users():
    """Concurrent first uses share one opening."""

    async def main():
        log = []
        lifetimes = Lifetimes("session")
        resource = recorder(log, "db")
        values = await asyncio.gather(*(lifetimes.use(resource, dict) for _ in range(5)))
        await lifetimes.close()
        return values, [entry[0] for entry in log]

    assert asyncio.run(main()) == (["db"] * 5, ["open", "close"])


@pytest.mark.parametrize("when", ["opening", "closing"])
@pytest.mark.parametrize("error", [SystemExit(3), BaseExceptionGroup("g", [SystemExit(3)])])
def test_a_resource_cannot_stop_the_event_loop(when, error):
    """What would end the process is a failure of that resource."""

    async def end():
        raise error

    async def main():
        lifetimes = Lifetimes("session")
        resource = recorder([], "db", **{when: end})
        try:
            await lifetimes.use(resource, dict)
        except Unavailable as failure:
            return str(failure)
        finally:
            await lifetimes.close()
        return lifetimes.failures[0]

    assert type(error).__name__ in asyncio.run(main())


def test_resources_close_in_reverse_order_each_in_the_task_that_opened_it():
    """Last opened is first closed."""

    async def main():
        log = []
        lifetimes = Lifetimes("session")
        for name in "abc":
            await lifetimes.use(recorder(log, name), dict)
        await lifetimes.close()
        return log

    log = asyncio.run(main())

    assert [(what, name) for what, name, _ in log] == [
        *(("open", n) for n in "abc"),
        *(("close", n) for n in "cba"),
    ]
    owners = {name: {task for _, n, task in log if n == name} for name in "abc"}
    assert all(len(tasks) == 1 for tasks in owners.values())


def test_a_cancelled_first_user_does_not_tear_the_resource_down():
    """Opening goes on outside the call that asked first."""

    async def main():
        log = []
        gate = asyncio.Event()
        lifetimes = Lifetimes("session")
        resource = recorder(log, "db", opening=gate.wait)
        first = asyncio.create_task(lifetimes.use(resource, dict))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait({first})
        gate.set()
        value = await lifetimes.use(resource, dict)
        await lifetimes.close()
        return value, [entry[0] for entry in log]

    assert asyncio.run(main()) == ("db", ["open", "close"])


def test_a_failed_opening_is_unavailable_and_the_next_use_tries_again():
    """One failure does not poison the resource."""
    tries = []

    @contextlib.asynccontextmanager
    async def manager(ctx):
        tries.append(1)
        if len(tries) == 1:
            raise OSError("no route")
        yield "up"

    async def main():
        lifetimes = Lifetimes("session")
        resource = Definition("net", manager)
        with pytest.raises(Unavailable, match="no route"):
            await lifetimes.use(resource, dict)
        value = await lifetimes.use(resource, dict)
        await lifetimes.close()
        return value

    assert asyncio.run(main()) == "up"


def test_one_resource_that_fails_to_close_does_not_keep_the_others_open():
    """The failure is kept, the rest closes."""

    async def broken():
        raise RuntimeError("stuck valve")

    async def main():
        log = []
        lifetimes = Lifetimes("session")
        await lifetimes.use(recorder(log, "a"), dict)
        await lifetimes.use(recorder(log, "b", closing=broken), dict)
        await lifetimes.close()
        return [(w, n) for w, n, _ in log], lifetimes.failures

    log, failures = asyncio.run(main())

    assert ("close", "a") in log
    assert "stuck valve" in failures[0]


def test_a_resource_that_hangs_while_closing_is_given_up_on():
    """Closing is bounded, and said."""

    async def main():
        log = []
        lifetimes = Lifetimes("session", close_timeout=0.01)
        await lifetimes.use(recorder(log, "b", closing=asyncio.Event().wait), dict)
        await lifetimes.close()
        return lifetimes.failures

    assert "did not close" in asyncio.run(main())[0]


def test_what_still_opens_when_the_scope_closes_is_cancelled():
    """Nothing is left behind by a scope that closes early."""

    async def main():
        log = []
        lifetimes = Lifetimes("session")
        resource = recorder(log, "db", opening=asyncio.Event().wait)
        user = asyncio.create_task(lifetimes.use(resource, dict))
        await asyncio.sleep(0)
        await lifetimes.close()
        with pytest.raises(Unavailable):
            await user
        with pytest.raises(Unavailable, match="is closed"):
            await lifetimes.use(resource, dict)
        return log

    assert asyncio.run(main()) == []


def test_resources_that_need_each_other_are_refused():
    """A circle is named instead of waited for."""
    a, b = Definition("a", None), Definition("b", None)

    with pytest.raises(DeclarationError, match="a → b → a"):
        guard_cycle((a, b), a)
