"""Which calls exclude each other, and that nobody waits for ever."""

from __future__ import annotations

import asyncio

import pytest

from hypothesis import given, settings
from hypothesis import strategies as st
from toolcrib.execution import Locks, claims_of
from toolcrib.signature import Resource, Signature
from toolcrib.tool import Description, Tool
from toolcrib.vocabulary import Concurrency, Effect


def tool(concurrency="shared", effects=frozenset(Effect)):
    return Tool(
        id="p.t",
        title="T",
        description=Description("T."),
        input_schema={"type": "object"},
        effects=frozenset(effects),
        concurrency=Concurrency(concurrency),
    )


def file(value):
    return Resource("path", value)


def claims(*, reads=(), writes=(), effects=(), concurrency="shared"):
    signature = Signature(reads=reads, writes=writes, effects=effects)
    return claims_of(tool(concurrency), signature)


def exclude(one, other):
    """Whether two calls may not run beside each other, asked both ways round."""
    answers = set()
    for first, second in ((one, other), (other, one)):
        locks = Locks()
        assert locks.take(first)
        answers.add(not locks.take(second))
    (answer,) = answers
    return answer


HOST, URL = Resource("host", "a.example"), Resource("url", "https://a.example/x/y?q=1")


@pytest.mark.parametrize(
    ("one", "other", "excluded"),
    [
        # shared: only writers of the resource exclude.
        (claims(reads=[file("/w/a")]), claims(reads=[file("/w/a")]), False),
        (claims(writes=[file("/w/a")]), claims(reads=[file("/w/a")]), True),
        (claims(writes=[file("/w/a")]), claims(writes=[file("/w/a")]), True),
        (claims(writes=[file("/w/a")]), claims(writes=[file("/w/b")]), False),
        # exclusive: never beside a call that shares a resource.
        (
            claims(reads=[file("/w/a")], concurrency="exclusive"),
            claims(reads=[file("/w/a")]),
            True,
        ),
        (
            claims(reads=[file("/w/a")], concurrency="exclusive"),
            claims(reads=[file("/w/b")], concurrency="exclusive"),
            False,
        ),
        # containment, both ways, and not by text.
        (claims(writes=[file("/w")]), claims(reads=[file("/w/deep/a")]), True),
        (claims(writes=[file("/w/deep/a")]), claims(reads=[file("/w")]), True),
        (claims(writes=[file("/w/a")]), claims(reads=[file("/w/ab")]), False),
        (claims(writes=[file("/")]), claims(reads=[file("/w")]), True),
        # any resource of a type means all of the type, and only that type.
        (claims(effects=["fs_write"]), claims(reads=[file("/w/a")]), True),
        (claims(effects=["fs_read"]), claims(writes=[file("/w/a")]), True),
        (claims(effects=["fs_read"]), claims(reads=[file("/w/a")]), False),
        (claims(effects=["fs_write"]), claims(reads=[HOST]), False),
        (claims(effects=["net_write"]), claims(reads=[URL]), True),
        (claims(effects=["process"]), claims(effects=["process"]), False),
        (
            claims(effects=["process"], concurrency="exclusive"),
            claims(reads=[Resource("command", "git push")]),
            True,
        ),
        # a host contains its addresses.
        (claims(writes=[HOST]), claims(reads=[URL]), True),
        (claims(writes=[Resource("host", "b.example")]), claims(reads=[URL]), False),
        (claims(writes=[Resource("url", "http://[bad")]), claims(reads=[URL]), True),
        # types of packs: the value itself, nothing contained.
        (
            claims(writes=[Resource("page", "1")], effects=["browser"]),
            claims(writes=[Resource("page", "2")], effects=["browser"]),
            False,
        ),
        (
            claims(writes=[Resource("page", "1")], effects=["browser"]),
            claims(reads=[Resource("page", "1")], effects=["browser"]),
            True,
        ),
        (
            claims(effects=["browser"], concurrency="exclusive"),
            claims(effects=["browser"], concurrency="exclusive"),
            True,
        ),
    ],
)
def test_conflicts(one, other, excluded):
    """Two calls exclude each other exactly where the contract says so."""
    assert exclude(one, other) is excluded


def test_a_call_without_effects_claims_nothing():
    """A tool that touches nothing is never held up."""
    assert claims_of(tool("exclusive", effects=()), Signature()) == ()


def test_an_empty_signature_claims_everything_declared():
    """Saying nothing means everything that the tool declares."""
    got = claims_of(tool("exclusive", effects={Effect.FS_WRITE}), Signature())
    assert got == (("path:", True, ()),)


def test_claims_are_sorted_and_the_stronger_one_is_kept():
    """One resource read and written is one claim, for itself alone."""
    got = claims(reads=[file("/b"), file("/a")], writes=[file("/b")])
    assert [(key, exclusive) for key, exclusive, _ in got] == [
        ("path:a", False),
        ("path:b", True),
    ]


def test_earlier_waiters_go_first(go):
    """A stream of readers cannot starve a writer that asked before them."""

    async def main():
        locks = Locks()
        read, write = claims(reads=[file("/a")]), claims(writes=[file("/a")])
        assert locks.take(read)
        writer = locks.ask(write)
        assert not locks.take(read)
        reader = locks.ask(read)
        locks.give(read)
        assert writer.future.done()
        assert not reader.future.done()
        locks.give(write)
        assert reader.future.done()

    go(main)


def test_an_earlier_waiter_is_not_overtaken_when_others_leave(go):
    """A waiter that needs two resources is not starved by one that needs one of them."""

    async def main():
        locks = Locks()
        a, other = claims(writes=[file("/a")]), claims(writes=[file("/c")])
        assert locks.take(a)
        assert locks.take(other)
        both = locks.ask(claims(writes=[file("/a"), file("/b")]))
        one = locks.ask(claims(writes=[file("/b")]))
        locks.give(other)
        assert not one.future.done()
        locks.give(a)
        assert both.future.done()
        assert not one.future.done()

    go(main)


def test_a_withdrawn_waiter_blocks_nobody(go):
    """When a waiting writer gives up, the readers behind it go on."""

    async def main():
        locks = Locks()
        read, write = claims(reads=[file("/a")]), claims(writes=[file("/a")])
        assert locks.take(read)
        writer = locks.ask(write)
        reader = locks.ask(read)
        locks.withdraw(writer)
        assert reader.future.done()
        assert locks.waiting == 0

    go(main)


PATHS = st.sampled_from(["/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f"])
SIGNATURES = st.tuples(
    st.lists(PATHS, max_size=2),
    st.lists(PATHS, max_size=2),
    st.sampled_from([(), ("fs_read",), ("fs_write",), ("net_read",)]),
    st.sampled_from(["shared", "exclusive"]),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), SIGNATURES),
        st.tuples(st.sampled_from(["give", "cancel", "withdraw"]), st.integers(0, 30)),
    ),
    max_size=40,
)


def overlap(one, other):
    return (
        one == other
        or (one in {"path:", "net:"} and other.startswith(one))
        or (other.startswith(one + "/"))
    )


def clash(some, others):
    """Exclusion, said the slow and plain way."""
    return any(
        (a[1] or b[1]) and (overlap(a[0], b[0]) or overlap(b[0], a[0]))
        for a in some
        for b in others
    )


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_exclusion_holds_and_everybody_gets_through(steps):
    """Whatever is asked, given back and withdrawn: no two clash, and nobody hangs."""

    async def main():
        locks = Locks()
        # Cancelled waiters withdraw only a moment later, as in the event loop.
        held, waiting, leaving = [], [], []

        def settle():
            for waiter in [w for w in waiting if w.future.done()]:
                waiting.remove(waiter)
                held.append(waiter.claims)
            for n, one in enumerate(held):
                assert not any(clash(one, other) for other in held[n + 1 :])
            # Whoever waits is held up by somebody, held or earlier in line.
            for n, waiter in enumerate(waiting):
                ahead = held + [w.claims for w in waiting[:n] + leaving]
                assert any(clash(waiter.claims, other) for other in ahead)

        for step, value in steps:
            if step == "ask":
                reads, writes, effects, concurrency = value
                wanted = claims(
                    reads=map(file, reads),
                    writes=map(file, writes),
                    effects=effects,
                    concurrency=concurrency,
                )
                if locks.take(wanted):
                    held.append(wanted)
                else:
                    waiting.append(locks.ask(wanted))
            elif step == "give" and held:
                locks.give(held.pop(value % len(held)))
            elif step == "cancel" and waiting:
                leaving.append(waiting.pop(value % len(waiting)))
                leaving[-1].future.cancel()
            elif step == "withdraw" and leaving:
                locks.withdraw(leaving.pop(value % len(leaving)))
            elif step == "withdraw" and waiting:
                locks.withdraw(waiting.pop(value % len(waiting)))
            settle()
        while leaving:
            locks.withdraw(leaving.pop())
            settle()
        while held:
            locks.give(held.pop())
            settle()
        assert not waiting
        assert locks.waiting == 0
        assert locks.take(claims(effects=["fs_write", "net_write"], concurrency="exclusive"))

    asyncio.run(main())
