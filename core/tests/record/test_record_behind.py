"""The ledger in memory writes behind: in small parts, and nobody can tell from outside."""

from __future__ import annotations

import pytest

from toolcrib.codes import refuse
from toolcrib.errors import StageError
from toolcrib.outcome import Outcome
from toolcrib.record import Ledger, memory


@pytest.fixture
def parts(monkeypatch):
    """A ledger that soon has to write, and how many rows it wrote each time."""
    monkeypatch.setattr(memory, "_MOST_WAITING", 20)
    monkeypatch.setattr(memory, "_AT_ONCE", 5)
    written = []
    with Ledger.open() as ledger:
        before = 0

        def noted():
            nonlocal before
            rows = ledger._execute("SELECT count(*) FROM entries").fetchone()[0]
            if rows > before:
                written.append(rows - before)
            before = rows

        yield ledger, noted, written


def test_it_writes_a_few_rows_at_a_time(parts, run):
    """All at once would hold up whoever makes the next call."""
    ledger, noted, written = parts
    for _ in range(100):
        run(ledger)
        noted()
    assert len(written) > 30
    # The first has the beginning of the conversation as well.
    assert max(written[1:]) <= 5


def test_everything_is_there_in_order(parts, run):
    """Calls that are rows already, and those that are not yet."""
    ledger, _, _ = parts
    calls = [run(ledger) for _ in range(40)]
    receipts = ledger.receipts("c")
    assert [each.call_id for each in receipts] == [each.call.id for each in calls]
    assert ledger.verify() == ()


def test_what_was_written_is_known(parts, run, make):
    """A call that is a row by now is replayed, and never has two outcomes."""
    ledger, _, _ = parts
    first, *_ = [run(ledger) for _ in range(40)]
    assert ledger.knows(first.call, conversation="c")
    with pytest.raises(StageError):
        ledger.outcome(make.outcome(first))
    assert ledger.replay(first.call, conversation="c").state == "finished"


def test_call_that_runs_long_ends_after_its_intent_was_written(parts, run, make):
    """Its outcome finds it."""
    ledger, _, _ = parts
    long = make.authorized()
    ledger.intent(long, conversation="c", principal="alice")
    for _ in range(40):
        run(ledger)
    assert ledger.outcome(make.outcome(long))
    assert ledger.replay(long.call, conversation="c").state == "finished"
    assert ledger.verify() == ()


def test_refusals_alone_are_written_too(parts, make):
    """A model that is refused for ever does not fill the memory."""
    ledger, noted, written = parts
    for _ in range(60):
        call = make.call()
        refusal = refuse("tool.unknown", make.tool.id, "There is no such tool.")
        outcome = Outcome.from_refusal(refusal, call_id=call.id, tool_id=make.tool.id)
        ledger.refusal(outcome, call=call, conversation="c", principal="alice")
        noted()
    assert sum(written) > 30
