"""The README's tables say what is so."""

from __future__ import annotations

import ast
import re

from pathlib import Path

import toolcrib_browser


HERE = Path(__file__).parent
README = (HERE.parent / "README.md").read_text("utf-8")
SOURCE = "\n".join(
    path.read_text("utf-8") for path in Path(toolcrib_browser.__file__).parent.glob("*.py")
)


def test_every_awkward_page_names_a_test_that_exists():
    """Under the name that the table gives."""
    table = README.partition("## Awkward pages")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    named = [re.search(r"`(test_\w+)` \|$", row) for row in rows]
    assert len(rows) >= 19
    assert all(named)
    functions = {
        node.name
        for path in HERE.glob("test_*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert {match[1] for match in named} <= functions


def test_every_code_is_in_the_table_and_every_code_of_the_table_is_given():
    """A code that nobody explains, or nobody gives, is of no use."""
    table = README.partition("## Codes")[2]
    explained = set(re.findall(r"`(browser\.\w+)`", table))
    given = set(re.findall(r'code="(browser\.\w+)"', SOURCE))
    assert explained == given


def test_every_setting_is_explained():
    """By its name."""
    import attrs

    from toolcrib_browser.settings import BrowserSettings

    for field in attrs.fields(BrowserSettings):
        name = re.escape(field.name)
        assert re.search(rf"`{name}\b|\b{name} =|pack\.browser\.{name}\b", README), name
