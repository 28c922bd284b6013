"""The receipt of a call that was stopped says what it would have done, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib import Context, Deny, Pack, Signature, resources
from toolcrib.vocabulary import Effect


PACK = Pack("desk", title="Desk", version="1")


@PACK.tool(effects={"fs_read", "fs_write"})
async def note(ctx: Context, path: Path) -> str:
    """Write a note."""
    return "noted"


@note.signature
def _(path: Path) -> Signature:
    return Signature(writes=[resources.Path(path)])


@PACK.tool(effects={"fs_read"})
async def peek(ctx: Context, path: str) -> str:
    """Look, and write without saying so."""
    return "seen"


@peek.signature
def _(path: str) -> Signature:
    return Signature(writes=[resources.Path(path)])


def stopped(run, tool, arguments, approver=None, **policy):
    """Return the one receipt of a call that did not run."""

    async def scenario(session):
        outcome = await session.call(tool, arguments, approver=approver)
        assert not outcome.ok
        assert outcome.ended is None
        (receipt,) = session.toolbox.ledger.receipts(session.conversation)
        assert receipt.code == outcome.code
        return receipt

    return run(scenario, PACK, **policy)


@pytest.mark.parametrize(
    ("policy", "approver", "code"),
    [
        ({"rules": ["deny desk.note(path=*.txt)"]}, None, "rule.denied"),
        ({"mode": "plan"}, None, "mode.denied"),
        ({}, lambda question: Deny(by="bob"), "person.denied"),
        ({}, None, "question.open"),
    ],
)
def test_it_has_effects_and_resources(run, tmp_path, policy, approver, code):
    """Whoever stopped it."""
    receipt = stopped(run, "desk.note", {"path": "n.txt"}, approver, **policy)
    assert receipt.code == code
    assert receipt.effects == {Effect.FS_WRITE}
    assert receipt.resources == (f"write path {tmp_path.resolve()}/n.txt",)


def test_one_that_is_too_wide_has_what_it_wanted(run, tmp_path):
    """That is what was refused."""
    path = str(tmp_path.resolve() / "x")
    receipt = stopped(run, "desk.peek", {"path": path})
    assert receipt.code == "signature.wider"
    assert receipt.effects == {Effect.FS_WRITE}
    assert receipt.resources == (f"write path {path}",)


def test_it_has_the_time_at_which_it_was_stopped(run):
    """And no start, because nothing started."""

    class Clock:
        """A clock that stands still."""

        def time(self):
            """Return the time of the test."""
            return 4_000.0

        def monotonic(self):
            """Return the time of the test."""
            return 0.0

        async def sleep(self, seconds):
            """Pass at once."""

    async def scenario(session):
        await session.call("desk.note", {"path": "n"})
        (receipt,) = session.toolbox.ledger.receipts(session.conversation)
        return receipt.started, receipt.ended

    assert run(scenario, PACK, parts={"clock": Clock()}) == (None, 4_000.0)
