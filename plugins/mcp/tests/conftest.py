"""Fixtures: a scriptable peer, and a watch over processes."""

from __future__ import annotations

import itertools
import json
import sys

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


sys.path.insert(0, str(Path(__file__).parent))

from mcp_kit import PEER, FakePeer, marked


@pytest.fixture
def peer(tmp_path: Path) -> Callable[..., FakePeer]:
    """Make a peer that follows a plan: ``peer({...}, trusted=True)``."""
    numbers = itertools.count()

    def make(plan: dict[str, Any], **config: Any) -> FakePeer:
        number = next(numbers)
        file = tmp_path / f"plan{number}.json"
        file.write_text(json.dumps(plan))
        log = tmp_path / f"log{number}.jsonl"
        args = [str(PEER), str(file), str(log)]
        first = {
            "command": sys.executable,
            "args": args,
            "first_delay": 0.05,
            "revision": "legacy",
        }
        return FakePeer(file, log, {**first, **config})

    return make


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """Fail if a server, or what it started, outlives the test."""
    before = set(marked())
    yield
    assert set(marked()) <= before
