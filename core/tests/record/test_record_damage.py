"""A ledger that was damaged where SQLite does not notice: said in one way, never guessed."""

from __future__ import annotations

import sqlite3

import pytest

from toolcrib.errors import RecordError
from toolcrib.record import Ledger


@pytest.fixture
def kept(tmp_path, make):
    """A ledger with a call that ran, one that did not end, a question and a grant."""
    tmp_path.chmod(0o700)
    path = tmp_path / "ledger"
    done, begun = make.authorized(), make.authorized()
    with Ledger.open(path) as ledger:
        ledger.intent(done, conversation="c", principal="alice")
        ledger.outcome(make.outcome(done))
        ledger.intent(begun, conversation="c", principal="alice")
        ledger.save_batch("b-1", "c", 1, questions=[make.question(batch_id="b-1")])
        ledger.grant(make.grant(conversation="c"))
        ledger.stop("c", by="ada")
    return path, done


def replay(ledger, call):
    return ledger.replay(call, conversation="c", arguments_digest=None)


READERS = {
    "entries": {
        "receipts": lambda ledger, done: ledger.receipts("c"),
        "export": lambda ledger, done: list(ledger.export()),
        "tail": lambda ledger, done: ledger.tail(),
        "unfinished": lambda ledger, done: ledger.unfinished(),
        "stopped": lambda ledger, done: ledger.stopped("c", since=0.0),
    },
    "outcomes": {
        "recorded": lambda ledger, done: ledger.recorded(done.call.id),
        "replay": lambda ledger, done: replay(ledger, done.call),
        "prune": lambda ledger, done: ledger.prune(before=9e12),
    },
    "questions": {"questions": lambda ledger, done: ledger.questions()},
    "grants": {"grants": lambda ledger, done: ledger.grants()},
}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"outcome":{}}', "\\u0000"])
@pytest.mark.parametrize(
    ("table", "reader"), [(table, name) for table, names in READERS.items() for name in names]
)
def test_what_cannot_be_read_is_said_with_a_way_back(kept, table, reader, text):
    """Whatever stands there instead, and whoever reads it."""
    path, done = kept
    connection = sqlite3.connect(path)
    connection.execute(f"UPDATE {table} SET body = ?", (text,))
    connection.commit()
    connection.close()

    with Ledger.open(path) as ledger:
        assert ledger.verify() or table in {"questions", "grants"}
        if reader in {"export", "tail"} and text in {"[]", '{"outcome":{}}'}:
            # What only hands on JSON leaves judging it to the chain.
            READERS[table][reader](ledger, done)
            return
        with pytest.raises(RecordError, match=r"ledger is damaged.*toolcrib ledger verify"):
            READERS[table][reader](ledger, done)


def test_a_text_that_is_no_text_any_more_is_damage(kept):
    """SQLite hands on any bytes."""
    path, _ = kept
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entries SET body = CAST(x'ff00ff' AS TEXT)")
    connection.commit()
    connection.close()

    with Ledger.open(path) as ledger, pytest.raises(RecordError, match="is damaged"):
        ledger.receipts("c")
