"""Output is bounded, counted exactly, and never cut inside a character."""

from __future__ import annotations

import pytest

from hypothesis import given
from hypothesis import strategies as st

from toolcrib_runners import Recorder
from toolcrib_runners.environment import BASE, environment


@given(st.lists(st.binary(max_size=50), max_size=40), st.integers(0, 200))
def test_head_and_tail_are_exact(pieces, limit):
    """Whatever comes in pieces, the ends are kept and the rest is counted."""
    recorder = Recorder(limit)
    for piece in pieces:
        recorder.write(piece)
    whole, kept = b"".join(pieces), recorder.captured()
    assert kept.total == len(whole)
    assert len(kept.data) == min(limit, len(whole))
    assert whole.startswith(kept.head)
    assert whole.endswith(kept.tail)
    assert kept.dropped == len(whole) - len(kept.data)


@given(st.text(min_size=1), st.integers(1, 40), st.integers(0, 60))
def test_no_character_is_split(text, times, limit):
    """Text that was whole shows no broken character, wherever it is cut."""
    data = (text * times).replace("\ufffd", "?").encode("utf-8", "replace")
    recorder = Recorder(limit)
    for start in range(0, len(data), 7):
        recorder.write(data[start : start + 7])
    assert "\ufffd" not in recorder.captured().text()


def test_invalid_bytes_are_shown_as_such():
    """What is not UTF-8 is replaced, not refused."""
    recorder = Recorder(100)
    recorder.write(b"a\xff\xfeb")
    assert recorder.captured().text() == "a\ufffd\ufffdb"


def test_the_note_counts_what_is_not_shown():
    """Bytes of a cut character count as left out."""
    recorder = Recorder(5)
    recorder.write("ééééé".encode())
    assert recorder.captured().text() == "é\n[… 6 of 10 bytes left out …]\né"


def test_memory_stays_under_three_times_the_limit():
    """The buffers do not grow with the output."""
    recorder = Recorder(1000)
    for _ in range(10_000):
        recorder.write(b"x" * 777)
        assert len(recorder._head) + len(recorder._tail) <= 3000


def test_a_negative_limit_is_refused():
    """It would mean nothing."""
    with pytest.raises(ValueError, match="negative"):
        Recorder(-1)


def test_a_child_gets_no_secrets_of_the_host():
    """Only the base, what keeps it quiet, and what it is meant to get."""
    host = {"PATH": "/bin", "OPENAI_API_KEY": "sk", "LC_ALL": "C.UTF-8", "AWS_SECRET": "x"}
    env = environment({"MINE": "1"}, host=host)
    assert (env["PATH"], env["LC_ALL"], env["MINE"]) == ("/bin", "C.UTF-8", "1")
    assert "sk" not in env.values()
    assert "AWS_SECRET" not in env
    assert (env["GIT_TERMINAL_PROMPT"], env["PAGER"]) == ("0", "cat")


def test_what_is_meant_for_the_child_wins():
    """The caller may set a pager after all."""
    assert environment({"PAGER": "less"}, host={})["PAGER"] == "less"


@pytest.mark.parametrize("name", BASE)
def test_no_name_of_the_base_is_where_secrets_live(name):
    """Nobody adds a key to the base unseen."""
    assert not any(word in name for word in ("KEY", "TOKEN", "SECRET", "PASS", "AUTH"))
