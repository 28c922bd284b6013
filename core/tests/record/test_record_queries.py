"""Events by cursor, and removal that keeps the chains verifiable."""

from __future__ import annotations

import pytest

from toolcrib.errors import RecordError
from toolcrib.question import Deny
from toolcrib.record import Ledger, check_export


def test_each_reader_has_its_own_cursor(ledger, run):
    """Nothing is told twice to one reader, nothing is kept from another."""
    run(ledger)
    first = ledger.tail()
    run(ledger)
    second = ledger.tail(first.cursor)

    assert [e.kind for e in first.events] == ["began", "intent", "outcome"]
    assert [e.kind for e in second.events] == ["intent", "outcome"]
    assert ledger.tail(second.cursor) == type(second)((), second.cursor)
    assert ledger.tail().events == first.events + second.events


def test_a_tail_can_be_read_in_pages(ledger, run):
    """With a limit, and of one conversation."""
    for name in ("c", "d", "c"):
        run(ledger, conversation=name)
    seen, cursor = [], 0
    while (page := ledger.tail(cursor, conversation="c", limit=3)).events:
        seen += [e.kind for e in page.events]
        cursor = page.cursor

    assert seen == ["intent", "outcome"] * 2


def test_a_slow_reader_is_told_of_the_gap(ledger, run, clock):
    """Before what is left."""
    run(ledger)
    run(ledger)
    cursor = ledger.tail(limit=2).cursor
    clock.now = 2000.0
    run(ledger)
    ledger.prune(before=1500.0)

    events = ledger.tail(cursor, conversation="c").events

    assert [e.kind for e in events] == ["gap", "intent", "outcome", "pruned"]
    assert events[0].body == {"through": 4}
    current = ledger.tail().cursor
    assert ledger.tail(current).events == ()


def test_a_gap_is_told_with_its_page(ledger, run, clock):
    """A reader by pages neither skips a gap nor is told of it out of order."""
    run(ledger, conversation="c")
    run(ledger, conversation="d")
    clock.now = 2000.0
    ledger.prune(before=1500.0, conversation="d")

    seen, cursor = [], 0
    while (page := ledger.tail(cursor, limit=2)).events:
        seen += [(e.conversation, e.kind) for e in page.events]
        cursor = page.cursor

    assert seen == [
        ("", "began"),
        ("c", "intent"),
        ("c", "outcome"),
        ("", "began"),
        ("d", "gap"),
        ("d", "pruned"),
    ]


def test_pruning_keeps_the_chain_and_the_replay(ledger, make, run, clock):
    """Old content goes; that the call ran, and how it ended, stays."""
    old = run(ledger)
    clock.now = 2000.0
    young = run(ledger)

    pruned = ledger.prune(before=1500.0)

    assert (pruned.entries, pruned.contents) == (2, 1)
    assert ledger.verify() == ()
    assert list(check_export(ledger.export())) == []
    assert [r.call_id for r in ledger.receipts("c")] == [young.call.id]
    found = ledger.intent(old, conversation="c", principal="alice")
    assert found.state == "finished"
    assert found.outcome.ok
    assert found.outcome.result.content == ()
    assert found.outcome.details == {"pruned": True}


def test_pruning_twice_keeps_the_chain(ledger, run, clock):
    """The chain's anchor moves on."""
    for _ in range(4):
        run(ledger)
        ledger.prune(before=clock.now)
        clock.now += 10.0

    assert ledger.verify() == ()
    assert ledger.head("c").number == 11
    assert ledger.prune(before=clock.now).entries == 3
    assert ledger.verify() == ()


def test_pruning_one_conversation_leaves_the_others(ledger, run, clock):
    """Each chain has its own age."""
    for name in ("c", "d"):
        run(ledger, conversation=name)
    clock.now = 2000.0

    ledger.prune(before=1500.0, conversation="c")

    assert [r.conversation for r in ledger.receipts()] == ["d"]
    assert ledger.verify() == ()


def test_pruning_leaves_what_is_unfinished(ledger, make, run, clock):
    """A call without an outcome is never forgotten by age."""
    run(ledger)
    open_call = make.authorized()
    ledger.intent(open_call, conversation="c", principal="alice")
    run(ledger)
    clock.now = 2000.0

    ledger.prune(before=1500.0)

    assert [u.call_id for u in ledger.unfinished()] == [open_call.call.id]
    assert ledger.outcome(make.outcome(open_call))
    assert ledger.verify() == ()


def test_pruning_leaves_pending_questions_and_their_batch(ledger, make, clock):
    """People may take their time."""
    asked, answered = make.question(batch_id="b-1"), make.question(batch_id="b-2")
    ledger.save_batch("b-1", "c", 1, questions=[asked])
    ledger.save_batch("b-2", "c", 2, questions=[answered])
    ledger.decision(answered.id, Deny(by="bob"))
    clock.now = 2000.0

    assert ledger.prune(before=1500.0).batches == 1
    assert ledger.load_batch("b-1").payload == 1
    assert ledger.load_batch("b-2") is None
    assert [i.question for i in ledger.questions()] == [asked]
    assert ledger.verify() == ()


def test_forgetting_leaves_nothing_but_a_note(ledger, make, run):
    """The name is not even in the note."""
    done = run(ledger, conversation="secret-name")
    run(ledger)
    ledger.grant(make.grant(conversation="secret-name"))

    assert ledger.forget("secret-name")
    assert not ledger.forget("secret-name")

    assert ledger.conversations() == ("c",)
    assert ledger.grants() == ()
    assert ledger.recorded(done.call.id) is None
    assert [e.kind for e in ledger.entries("")] == ["began", "began", "forgot"]
    assert ledger.verify() == ()
    assert ledger.intent(done, conversation="secret-name", principal="alice") is None
    assert ledger.verify() == ()


def test_a_trial_counts_what_would_go_and_keeps_it(ledger, run, clock):
    """For pruning and for forgetting; the counts are those of the real thing."""
    run(ledger)
    clock.now = 2000.0
    before = list(ledger.export())

    tried = ledger.prune(before=1500.0, trial=True), ledger.forget("c", trial=True)

    assert list(ledger.export()) == before
    assert tried[0] == ledger.prune(before=1500.0)
    assert (tried[1].entries, tried[1].contents) == (2, 1)
    assert ledger.verify() == ()
    run(ledger)
    assert ledger.verify() == ()


def test_a_conversation_is_not_forgotten_while_a_call_of_it_runs(ledger, make):
    """Its outcome could be noted nowhere."""
    running = make.authorized()
    ledger.intent(running, conversation="c", principal="alice")

    with pytest.raises(RecordError, match="runs at this moment"):
        ledger.forget("c")

    assert ledger.outcome(make.outcome(running))
    assert ledger.forget("c")
    assert ledger.verify() == ()


def test_compacting_leaves_no_copy_of_what_was_removed(tmp_path, make):
    """Neither in the file nor in its log; and it is smaller."""
    tmp_path.chmod(0o700)
    path = tmp_path / "ledger"
    files = [path, tmp_path / "ledger-wal"]
    with Ledger.open(path) as ledger:
        for number in range(50):
            authorized = make.authorized()
            name = f"gone-{number}"
            ledger.intent(authorized, conversation=name, principal="hidden-principal")
            ledger.outcome(make.outcome(authorized))
        size = path.stat().st_size + files[1].stat().st_size
        for number in range(50):
            ledger.forget(f"gone-{number}")
        ledger.compact()
        held = b"".join(file.read_bytes() for file in files)
        assert b"hidden-principal" not in held
        assert len(held) < size
        assert ledger.verify() == ()


def test_the_conversation_last_used_is_that_of_the_newest_receipt(ledger, run):
    """Not the one that began last."""
    assert ledger.last_used() is None
    run(ledger, conversation="a")
    run(ledger, conversation="b")
    run(ledger, conversation="a")
    assert ledger.last_used() == "a"
