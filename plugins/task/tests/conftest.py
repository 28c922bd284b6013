"""A store in a folder of the test's own, and a clock that only the test moves."""

from __future__ import annotations

import pytest

from toolcrib.testing import Clock

from toolcrib_task.store import SqliteTasks


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    opened = SqliteTasks(tmp_path / "tasks.db", time=clock)
    yield opened
    opened.close()
