"""The program that measures: its rows have targets, its table tells what was measured."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

from pathlib import Path

import pytest


HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench", HERE / "run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench"] = module  # attrs looks its classes' module up
    spec.loader.exec_module(module)
    return module


def test_every_row_has_a_target_and_says_what_it_measures(bench):
    """And every target has a row."""
    assert set(bench.rows()) == set(bench.TARGETS)
    assert all(says for _, says in bench.rows().values())


def test_every_target_is_documented():
    """Where the way to reproduce it is."""
    page = (HERE.parents[1] / "docs" / "performance.md").read_text(encoding="utf-8")
    for row in ("cold-import", "first-call", "call-durable", "ten-thousand-tools"):
        assert f"`{row}`" in page


@pytest.mark.parametrize(
    ("ours", "peer", "holds"),
    [(1.0, None, True), (1.6, None, False), (1.0, 14.0, False), (1.0, 15.0, True)],
)
def test_a_target_is_judged_by_floor_and_peer(bench, ours, peer, holds):
    """A peer that was not measured says nothing."""
    measured = bench.Measured(ours, 1.0, peer)
    assert bench.TARGETS["cold-import"].judge(measured) is holds


def test_times_read_well(bench):
    """Three figures and a unit."""
    assert [bench.human(t) for t in (1.5, 0.0123, 4.56e-6, 7e-8, None)] == [
        "1.5 s",
        "12.3 ms",
        "4.56 µs",
        "70 ns",
        "-",
    ]


def test_a_row_is_measured_in_a_process_of_its_own():
    """Ours and the floor, in seconds."""
    command = [sys.executable, str(HERE / "run.py"), "project-again", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert measured["row"] == "project-again"
    assert 0 < measured["ours"] < 1
    assert 0 < measured["floor"] < 1


def test_a_row_that_does_not_exist_is_named():
    command = [sys.executable, str(HERE / "run.py"), "no-such-row"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "no-such-row" in done.stderr
