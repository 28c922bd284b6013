"""A store in a folder of the test's own, and a clock that only the test moves."""

from __future__ import annotations

import pytest

from toolcrib_task.store import SqliteTasks


class Clock:
    """Time that only the test moves."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    opened = SqliteTasks(tmp_path / "tasks.db", time=clock)
    yield opened
    opened.close()
