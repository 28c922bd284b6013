"""The hash chain: what it detects, in the file and in an export."""

from __future__ import annotations

import hashlib
import json
import sqlite3

import attrs
import pytest

from hypothesis import given, settings
from hypothesis import strategies as st
from toolcrib import canonical
from toolcrib.record import Anchor, Entry, Ledger, check_export
from toolcrib.record.chain import check, link


def chain(bodies, conversation="c"):
    previous, entries = "", []
    for number, body in enumerate(bodies, 1):
        text = canonical.dumps(body)
        fields = {
            "conversation": conversation,
            "kind": "outcome",
            "number": number,
            "previous": previous,
            "time": float(number),
        }
        previous = link(body=text, **fields)
        entries.append(Entry(seq=number, text=text, digest=previous, **fields))
    return entries


def faults(entries, head, base=None):
    return list(check(entries, conversation="c", base=base or Anchor(), head=head))


bodies = st.lists(st.dictionaries(st.text(), st.integers() | st.text()), min_size=2, max_size=9)


@given(bodies)
def test_an_untouched_chain_holds(values):
    """Whatever the bodies are."""
    entries = chain(values)

    assert faults(entries, Anchor(len(entries), entries[-1].digest)) == []


@settings(max_examples=150)
@given(bodies, st.data())
def test_every_tampering_is_found(values, data):
    """Change, removal, swap, doubling and cutting the end all leave a fault."""
    entries = chain(values)
    head = Anchor(len(entries), entries[-1].digest)
    place = data.draw(st.integers(0, len(entries) - 1))
    how = data.draw(st.sampled_from(["change", "remove", "swap", "double", "cut", "recompute"]))
    if how == "change":
        entries[place] = attrs.evolve(entries[place], text='{"other":1}')
        if values[place] == {"other": 1}:
            return
    elif how == "remove":
        del entries[place]
    elif how == "swap":
        other = (place + 1) % len(entries)
        entries[place], entries[other] = entries[other], entries[place]
    elif how == "double":
        entries.insert(place, entries[place])
    elif how == "cut":
        del entries[place:]
    else:
        entries[place] = chain([*values[:place], {"forged": 1}])[place]
        if values[place] == {"forged": 1}:
            return

    assert faults(entries, head)


def test_a_base_stands_for_what_was_removed():
    """A chain that was shortened at its old end is checked from its anchor."""
    entries = chain([{"a": 1}, {"a": 2}, {"a": 3}])
    head = Anchor(3, entries[2].digest)

    assert faults(entries[1:], head, base=Anchor(1, entries[0].digest)) == []
    assert faults(entries[1:], head, base=Anchor(1, "sha256:0"))


def test_anybody_can_recompute_a_digest(ledger, run):
    """Canonical JSON and SHA-256 are all it takes."""
    run(ledger)
    lines = [json.loads(line) for line in ledger.export("c")]
    entry = next(line for line in lines if line["type"] == "entry")
    covered = {
        k: entry[k] for k in ("body", "conversation", "kind", "number", "previous", "time")
    }
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    assert entry["digest"] == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def test_an_export_can_be_checked_alone(ledger, run):
    """The lines prove themselves, and show what was done to them."""
    for name in ("c", "d", "c"):
        run(ledger, conversation=name)
    lines = list(ledger.export())

    assert list(check_export(lines)) == []
    assert list(check_export(lines[:3] + lines[4:]))
    assert list(check_export([line.replace("alice", "mallory") for line in lines]))
    assert list(check_export([*lines, "not json"]))
    assert list(check_export([line for line in lines if '"head"' not in line]))


def test_heads_kept_elsewhere_prove_the_past(ledger, run):
    """Even a ledger that was rewritten as a whole cannot match an old head."""
    run(ledger)
    head = ledger.head("c")
    run(ledger)

    assert ledger.verify("c", head=head) == ()
    assert ledger.verify("c", head=Anchor(head.number, "sha256:0"))
    assert ledger.verify("c", head=Anchor(99, head.digest))


def test_an_unknown_conversation_is_a_fault(ledger):
    """Nothing is not the same as nothing wrong."""
    assert ledger.verify("nobody")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entries SET body = replace(body, 'alice', 'mallory') WHERE number = 3",
        "UPDATE entries SET kind = 'refusal' WHERE number = 2",
        "UPDATE entries SET time = 0 WHERE number = 2",
        "DELETE FROM entries WHERE number = 3 AND conversation = 1",
        "DELETE FROM entries WHERE number = 6",
        "DELETE FROM entries WHERE number = 1 AND conversation = 1",
        """
        UPDATE conversations SET base = 1, base_head =
            (SELECT digest FROM entries WHERE conversation = 1 AND number = 1) WHERE id = 1;
        DELETE FROM entries WHERE number = 1 AND conversation = 1
        """,
        """
        UPDATE entries SET number = 20 WHERE number = 4;
        UPDATE entries SET number = 4 WHERE number = 5;
        UPDATE entries SET number = 5 WHERE number = 20
        """,
        "UPDATE outcomes SET body = replace(body, 'hello', 'olleh')",
        "DELETE FROM outcomes",
        "DELETE FROM entries WHERE conversation = 1; DELETE FROM conversations WHERE id = 1",
    ],
)
def test_damage_to_the_file_is_found(tmp_path, make, run, damage):
    """Who edits the database leaves a trace."""
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        for _ in range(3):
            run(ledger)
        assert ledger.verify() == ()
    with sqlite3.connect(path) as connection:
        connection.executescript(damage)
    connection.close()

    with Ledger.open(path) as ledger:
        assert ledger.verify()
