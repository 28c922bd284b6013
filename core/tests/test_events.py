"""Event logs are read by cursor; what the bound pushed out is a gap."""

from __future__ import annotations

from toolcrib.events import Event, EventLog, Gap


def names(events):
    return [e.name if isinstance(e, Event) else e for e in events]


def test_readers_have_positions_of_their_own():
    """One reader's reading takes nothing from another."""
    log = EventLog()
    log.append(Event(name="a"))
    cursor, first = log.read(0)
    log.append(Event(name="b"))

    assert names(first) == ["a"]
    assert names(log.read(cursor)[1]) == ["b"]
    assert names(log.read(0)[1]) == ["a", "b"]


def test_the_newest_update_of_one_thing_wins():
    """An older event with the same key is superseded, which is no gap."""
    log = EventLog()
    log.append(Event(name="old"), key="x")
    log.append(Event(name="other"), key="y")
    log.append(Event(name="new"), key="x")

    assert names(log.read(0)[1]) == ["other", "new"]


def test_events_that_were_pushed_out_are_said_to_be_missing():
    """A slow reader is told how many events it missed."""
    log = EventLog(bound=2)
    for name in "abcd":
        log.append(Event(name=name))

    assert names(log.read(0)[1]) == [Gap(2), "c", "d"]
