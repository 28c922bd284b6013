"""What all tests of the core share: a measure of work that no other program's load changes."""

from __future__ import annotations

import contextlib
import sys

import pytest


class TooMuchWork(BaseException):
    """Raised in the work itself, so that nothing that doubles without end is waited for."""


@contextlib.contextmanager
def lines_at_most(most):
    """Count the lines of Python that run in functions called within; fail beyond some.

    Yields a list that holds the number so far.
    """
    count = [0]

    def look(frame, event, argument):
        if event == "line":
            count[0] += 1
            if count[0] > most:
                msg = f"more than {most} lines ran"
                raise TooMuchWork(msg)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        yield count
    finally:
        sys.settrace(before)


@pytest.fixture
def at_most():
    """Return the counter of lines."""
    return lines_at_most
