"""A call that fails the same way again and again is stopped."""

from __future__ import annotations

import pytest

from toolcrib.errors import Failed
from toolcrib.execution import LoopGuard


def runner(bench, guard):
    async def run(handler, arguments=None, tool=None):
        return await bench.run(
            lambda ctx, **a: handler(), arguments, guard=guard, tool=tool or bench.tool()
        )

    return run


def failing(text="broke"):
    def handler():
        raise Failed(text)

    return handler


def test_the_same_failure_is_stopped_after_the_limit(bench, go):
    """The fourth equal attempt does not run, and the text says what to do."""

    async def main():
        run = runner(bench, LoopGuard(3))
        return [await run(failing()) for _ in range(4)]

    *first, last = go(main)
    assert [o.code for o in first] == ["tool.failed"] * 3
    assert (last.status, last.code, last.attempts) == ("refused", "call.looping", 0)
    assert "3 times" in last.text


def test_other_calls_between_change_nothing(bench, go):
    """Alternating with a call that works does not hide the loop, and harms it not."""

    async def main():
        run = runner(bench, LoopGuard(3))
        outcomes = []
        for _ in range(4):
            outcomes.append(await run(failing(), {"x": 1}))
            outcomes.append(await run(lambda: "fine", {"y": 1}))
        return outcomes

    outcomes = go(main)
    assert [o.code for o in outcomes[::2]] == ["tool.failed"] * 3 + ["call.looping"]
    assert all(o.ok for o in outcomes[1::2])


def test_numbers_in_the_text_do_not_hide_a_loop(bench, go):
    """A counter or time in a message does not make it another failure."""

    async def main():
        run = runner(bench, LoopGuard(2))
        return [await run(failing(f"broke at {n}")) for n in range(3)]

    assert go(main)[-1].code == "call.looping"


@pytest.mark.parametrize("between", [lambda: "worked", failing("another way entirely")])
def test_a_success_or_another_failure_starts_anew(bench, go, between):
    """Only equal failures in a row count."""

    async def main():
        run = runner(bench, LoopGuard(2))
        for handler in (failing(), between, failing()):
            await run(handler)
        return await run(failing())

    assert go(main).code == "tool.failed"


def test_a_stopped_call_may_probe_ever_less_often(bench, go):
    """What was mended meanwhile is found out, but a loop is slowed more and more."""

    async def main():
        run = runner(bench, LoopGuard(1))
        return [await run(failing()) for _ in range(9)]

    ran = ["R" if o.attempts else "-" for o in go(main)]
    assert "".join(ran) == "R-R--R---"


def test_a_probe_that_works_frees_the_call(bench, go):
    """Success forgets everything."""

    async def main():
        run = runner(bench, LoopGuard(1))
        return [(await run(h)).code for h in (failing(), failing(), lambda: "ok", failing())]

    assert go(main) == ["tool.failed", "call.looping", None, "tool.failed"]


def test_other_arguments_are_another_call(bench, go):
    """The guard never stops a call that was not made before."""

    async def main():
        run = runner(bench, LoopGuard(1))
        await run(failing(), {"a": 1})
        return await run(failing(), {"a": 2})

    assert go(main).code == "tool.failed"


def test_memory_is_bounded(bench, go):
    """Old calls are forgotten."""

    async def main():
        run = runner(bench, LoopGuard(1, remembered=2))
        for n in range(3):
            await run(failing(), {"n": n})
        return await run(failing(), {"n": 0}), await run(failing(), {"n": 2})

    forgotten, known = go(main)
    assert forgotten.code == "tool.failed"
    assert known.code == "call.looping"


def test_zero_switches_it_off(bench, go):
    """Policy may leave loops to somebody else."""

    async def main():
        run = runner(bench, LoopGuard(0))
        return [(await run(failing())).code for _ in range(5)]

    assert set(go(main)) == {"tool.failed"}
