"""What the stage costs must not grow with what is configured."""

from __future__ import annotations

import time

import pytest

from toolcrib import permission, resources
from toolcrib.signature import Signature


def _cost(function, *, calls=300, rounds=9):
    """The least time of one call, in microseconds of this process."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(calls):
            function()
        best = min(best, (time.process_time() - start) / calls)
    return best * 1e6


KINDS = {
    "tools": lambda n: f"deny pack{n}.tool{n}",
    "hosts": lambda n: f"allow files.read(host=h{n}.example.com)",
    "domains": lambda n: f"deny files.read(host=*.d{n}.com)",
    "addresses": lambda n: f"deny files.*(url=https://h{n}.com/a/b)",
    "folders": lambda n: f"allow files.read(path=d{n}/**)",
    "names": lambda n: f"deny *(path=**/secret{n})",
    "programs": lambda n: f"deny *(command=program{n} *)",
    "tables": lambda n: f"ask *(table=t{n}.*)",
}
CALL = Signature(
    reads=[resources.Path("/ws/src/deep/in/a.py"), resources.Url("https://x.y.example.com/a")],
    writes=[resources.Command("git status"), resources.Table("a.b")],
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_rules_cost_hardly_more_than_ten(kind, make):
    """The bound leaves room for a busy machine; ten times as much would be a scan."""
    from toolcrib.vocabulary import Effect  # noqa: PLC0415

    admitted = make.call(make.tool(effects=list(Effect)))
    few, many = (
        make.context(["ask other.*", *(KINDS[kind](n) for n in range(count))])
        for count in (10, 1000)
    )
    run = permission.authorize
    extra = _cost(lambda: run(admitted, CALL, many)) - _cost(lambda: run(admitted, CALL, few))
    assert extra <= 30


@pytest.mark.parametrize("rule", [None, "allow files.write(path=d{}/**)"])
def test_ten_thousand_grants_are_a_lookup(rule, make):
    """Of exact calls and of rules."""
    admitted = make.call(make.tool(id="files.write", effects=["fs_write"]))
    call = Signature(writes=[resources.Path("/ws/d9999/a")])

    def context(count):
        grants = [
            make.grant(
                admitted,
                id=f"g{n}",
                rule=rule and rule.format(n + 10_000 - count),
                arguments_digest=None if rule else f"sha256:{n}",
            )
            for n in range(count - 1)
        ]
        last = make.grant(admitted, id="last", rule=rule and rule.format(9999))
        return make.context(grants=[*grants, last])

    few, many = context(10), context(10_000)
    assert permission.authorize(admitted, call, many).grant_id == "last"
    run = permission.authorize
    extra = _cost(lambda: run(admitted, call, many)) - _cost(lambda: run(admitted, call, few))
    assert extra <= 30


def test_a_simple_read_is_cheap(make):
    """With no rules, the stage is a small part of a call."""
    admitted = make.call(make.tool())
    call = Signature(reads=[resources.Path("/ws/a")])
    context = make.context()
    assert _cost(lambda: permission.authorize(admitted, call, context)) <= 25
