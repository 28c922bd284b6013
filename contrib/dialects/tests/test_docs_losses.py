"""The page that tells what each dialect is told is written by a program, and is current."""

from __future__ import annotations

import runpy

from pathlib import Path

import pytest


SCRIPT = Path(__file__).parents[3] / "docs" / "losses.py"


@pytest.mark.skipif(not SCRIPT.exists(), reason="only in the workspace")
def test_the_page_of_losses_is_current():
    """No cell of the table is written by hand."""
    written = runpy.run_path(str(SCRIPT))
    assert written["PAGE"].read_text(encoding="utf-8") == written["page"]()
