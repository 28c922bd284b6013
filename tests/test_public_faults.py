"""The map of public faults names tests that exist and that run."""

from __future__ import annotations

import ast
import importlib.util
import re

from collections import Counter
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest


ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "public-faults.md"
ROWS = re.findall(r"^\| (B\d{3}) \| (.+?) \| (.+?) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
NAMED = sorted({name for *_, shown in ROWS for name in re.findall(r"`([^`]+)`", shown)})


@cache
def functions(path):
    """The test functions of a file, without importing it."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.fixture(scope="module")
def watching():
    """The part of the suite's conftest that watches what ran."""
    spec = importlib.util.spec_from_file_location("watching", ROOT / "tests" / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_exists(name):
    path, _, function = name.partition("::")
    assert (ROOT / path).is_file(), path
    assert function in functions(path)


def test_every_case_says_what_holds_and_what_shows_it():
    """Once each; what has no test yet belongs to a pack that is not there."""
    assert len(ROWS) >= 70
    counts = Counter(number for number, *_ in ROWS)
    assert [number for number, count in counts.items() if count > 1] == []
    for number, text, shown in ROWS:
        assert text.endswith("."), number
        assert shown == "with its pack" or "`" in shown, number


def test_tests_are_named_after_the_behaviour_and_not_after_the_case():
    """A number says nothing when it fails."""
    assert [name for name in NAMED if re.search(r"[bB]\d{3}", name)] == []


def test_cases_of_packs_are_listed_once():
    """What comes with a pack is in no other area."""
    listed = re.findall(
        r"^\| [a-z-]+ \| ((?:B\d{3}(?:, )?)+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    later = [number for row in listed for number in row.split(", ")]
    assert len(later) == len(set(later))
    assert set(later).isdisjoint(number for number, *_ in ROWS)


def test_the_page_is_read_alike_by_the_watcher(watching):
    assert watching.named_tests(PAGE) == set(NAMED)


def report(nodeid, *, when="call", passed=True):
    return SimpleNamespace(nodeid=nodeid, when=when, passed=passed)


def test_a_full_run_fails_if_a_named_test_did_not_pass(watching):
    """Skipped, deselected, or gone: it did not run."""
    ran, session = watching.Ran(), SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    for name in NAMED[1:]:
        ran.pytest_runtest_logreport(report(f"{name}[some parameter]"))
    ran.pytest_runtest_logreport(report(NAMED[0], when="setup"))
    ran.pytest_runtest_logreport(report(NAMED[0], passed=False))
    ran.pytest_sessionfinish(session)
    assert ran.missing == [NAMED[0]]
    assert session.exitstatus == pytest.ExitCode.TESTS_FAILED


def test_each_named_test_must_pass_in_a_full_run_of_its_kind(watching):
    """Those that need a peer where peers are run, all others where they are not."""
    ordinary, peers = watching.wanted_of("not peer"), watching.wanted_of("peer")
    assert ordinary | peers == watching.wanted_of("") == set(NAMED)
    assert not ordinary & peers
    assert any(name.startswith("plugins/browser/") for name in peers)
    assert any(name.startswith("plugins/browser/") for name in ordinary)


def test_a_full_run_in_which_all_passed_is_left_alone(watching):
    ran, session = watching.Ran(), SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    for name in NAMED:
        ran.pytest_runtest_logreport(report(name))
    ran.pytest_sessionfinish(session)
    assert session.exitstatus == pytest.ExitCode.OK
