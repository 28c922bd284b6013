"""A clock that tests move, and a bench on which one call runs."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import types

import attrs
import pytest

from toolcrib import call as calls
from toolcrib import canonical
from toolcrib.execution import CancelToken, Runtime, Scheduler, Terms, Threads, execute
from toolcrib.implementation import Implementation
from toolcrib.signature import Signature
from toolcrib.tool import Description, Tool


class Clock:
    """Time that stands still until a test moves it."""

    def __init__(self):
        self.now = 1000.0
        self.timers = []
        self.sleeps = []
        self._order = itertools.count()

    def time(self):
        """Return the time of the test."""
        return self.now

    def monotonic(self):
        """Return the time of the test."""
        return self.now

    def later(self, delay, callback):
        """Set a timer that only the test makes fire."""
        entry = [self.now + delay, next(self._order), callback]
        heapq.heappush(self.timers, entry)

        def cancel():
            entry[2] = None

        return types.SimpleNamespace(cancel=cancel)

    async def sleep(self, seconds):
        """Pass the time at once, and remember it."""
        self.sleeps.append(seconds)
        self.now += seconds

    def pending(self):
        """Return what the timers that are set still wait for."""
        return [round(at - self.now, 6) for at, _, callback in self.timers if callback]

    def advance(self, seconds):
        """Move the time, and fire what is due on the way."""
        end = self.now + seconds
        while self.timers and self.timers[0][0] <= end:
            at, _, callback = heapq.heappop(self.timers)
            self.now = at
            if callback is not None:
                callback()
        self.now = end


@attrs.frozen
class Limits:
    """Limits as policy has them, wide unless a test narrows one."""

    total: int = 100
    pack: int = 100
    session: int = 100
    queue: int = 100


@attrs.frozen
class Attempts:
    """Retry terms as policy has them."""

    attempts: int = 3
    base: float = 1.0
    cap: float = 30.0


class Bench:
    """Runs handlers as tools, with everything that a test wants to set."""

    def __init__(self, clock):
        self.clock = clock
        self.events = []
        self.late = []
        self.threads = Threads(4, spare=2)
        self.limits = Limits()
        self._runtime = None
        self._ids = itertools.count(1)

    @property
    def runtime(self):
        """Return what all calls share, made when the limits are set."""
        if self._runtime is None:
            self._runtime = Runtime(
                scheduler=Scheduler(self.limits),
                threads=self.threads,
                clock=self.clock,
                later=self.clock.later,
                roll=lambda: 1.0,
            )
        return self._runtime

    def tool(self, **fields):
        """Return a tool without effects, or as a test wants it."""
        fields.setdefault("id", "probe.run")
        fields.setdefault("effects", frozenset())
        return Tool(
            title="Probe",
            description=Description("Probe."),
            input_schema={"type": "object"},
            **fields,
        )

    def authorized(self, tool, arguments=None, signature=None, key="key-1"):
        """Return a call that went through all stages before."""
        text = canonical.dumps(arguments or {})
        admitted = calls._admitted(
            call=calls.Call(id=f"call-{next(self._ids)}", wire_name=tool.id),
            tool=tool,
            text=text,
            digest=canonical.digest_bytes(text.encode()),
        )
        return calls._authorized(
            admitted,
            signature=signature or Signature(effects=tool.effects),
            decided_by=("test",),
            idempotency_key=key,
        )

    def terms(self, **fields):
        """Return terms that report to the bench."""
        fields.setdefault("session", "s")
        return Terms(on_progress=self.events.append, on_late=self.late.append, **fields)

    async def run(
        self,
        handler,
        arguments=None,
        *,
        tool=None,
        signature=None,
        token=None,
        key="key-1",
        authorized=None,
        implementation=None,
        **terms,
    ):
        """Run a handler as a tool and return the outcome."""
        tool = tool or self.tool()
        authorized = authorized or self.authorized(tool, arguments, signature, key)
        return await execute(
            authorized,
            implementation=implementation or Implementation(tool=tool, handler=handler),
            make_context=lambda attempt, token: types.SimpleNamespace(
                attempt=attempt, cancellation=token, idempotency_key=key
            ),
            runtime=self.runtime,
            terms=self.terms(**terms),
            token=token,
        )


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def bench(clock):
    bench = Bench(clock)
    yield bench
    bench.threads.close()


@pytest.fixture
def token():
    return CancelToken()


@pytest.fixture
def attempts():
    return Attempts


@pytest.fixture
def limits():
    return Limits


@pytest.fixture
def go():
    """Run a coroutine function in a fresh loop, with a limit against hanging tests."""

    def run(function):
        async def limited():
            async with asyncio.timeout(60):
                return await function()

        return asyncio.run(limited())

    return run


@pytest.fixture
def until():
    """Let the loop turn until something is so that a thread brings about."""

    async def wait(condition):
        while not condition():
            await asyncio.sleep(0)

    return wait
