"""Fixtures: a workspace with a scriptable server."""

from __future__ import annotations

import sys

from pathlib import Path

import pytest


sys.path.insert(0, str(Path(__file__).parent))

from lsp_kit import Fake, fake_settings


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """A workspace with two files, beside a folder that is none of it."""
    root = tmp_path.resolve()
    ws = root / "ws"
    ws.mkdir()
    (root / "outside.src").write_text("def secret\n")
    made = Fake(ws, root, fake_settings(root / "plan.json", root / "log.jsonl"))
    made.write("a.src", "def one\none two\n")
    made.write("b.src", "def two\nuse one\n")
    made.plan()
    return made
