"""The page on the reference systems is whole, and the tests that it names exist."""

from __future__ import annotations

import ast
import re

from functools import cache
from pathlib import Path

import pytest


ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "reference-systems.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
NAMED = sorted(set(re.findall(r"`([\w/.-]+\.py::\w+)`", PAGE)))
PACKS = {"web", "task", "goal", "lsp", "browser", "mcp", "shell", "files"}


@cache
def functions(path):
    """Return the names of the test functions of a file, without importing it."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_exists(name):
    """A test that is renamed or dropped takes its promise with it."""
    path, _, function = name.partition("::")
    assert (ROOT / path).is_file(), path
    assert function in functions(path)


def test_each_of_the_88_weaknesses_is_answered_once():
    """By a sentence, and by tests, a pack, or why it does not apply."""
    assert [int(number) for number, *_ in ROWS] == list(range(1, 89))
    for number, text, shown in ROWS:
        assert text.endswith("."), number
        packs = set(re.findall(r"the (\w+) pack", shown))
        assert packs <= PACKS, number
        assert packs or "`" in shown, number
