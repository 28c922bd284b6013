"""The pack as the core sees it."""

from __future__ import annotations

import ast
import subprocess
import sys

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from toolcrib.testing import check_pack

import toolcrib_browser

from toolcrib_browser import pack


SOURCE = Path(toolcrib_browser.__file__).parent
TOOLS = {tool.name: tool for tool in pack.tools()}


def test_pack_holds_to_its_contract():
    """Nothing in it would go wrong elsewhere."""
    assert check_pack(pack) == []


def test_manifest_is_what_the_code_says():
    """It is written again after every change of a tool."""
    pytest.importorskip("docstring_parser")  # manifests are written with toolcrib[author]
    assert check_pack(pack, manifest=SOURCE / "toolcrib.json") == []


def test_pack_is_found_by_its_entry_point():
    """Under its id."""
    (found,) = entry_points(group="toolcrib.packs.v1", name="browser")
    # Other tests load packs anew, so the object may be a younger one of the same kind.
    assert (found.value, found.load().id) == ("toolcrib_browser:pack", pack.id)


def test_pack_has_its_six_tools():
    """And no others."""
    names = {"navigate", "snapshot", "interact", "wait", "inspect", "page"}
    assert {tool.id for tool in TOOLS.values()} == {f"browser.{name}" for name in names}


def test_no_tool_may_be_replayed():
    """A page is never twice the same."""
    assert {str(tool.idempotent) for tool in TOOLS.values()} == {"no"}


def test_only_what_looks_is_a_read():
    """By their effects, and so by their kinds."""
    kinds = {name: str(tool.kind) for name, tool in TOOLS.items()}
    assert kinds == {
        "snapshot": "read_only",
        "wait": "read_only",
        "inspect": "read_only",
        "navigate": "execute",
        "interact": "execute",
        "page": "execute",
    }


def test_what_pages_say_is_labelled_untrusted():
    """Of every tool."""
    for tool in TOOLS.values():
        assert "returns_untrusted" in {str(label) for label in tool.labels}


def test_sources_import_nothing_of_other_packs():
    """Only the core's public names and the network library."""
    allowed = {"toolcrib", "toolcrib_net", "toolcrib_browser"}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                head, _, rest = name.partition(".")
                if head.startswith("toolcrib"):
                    assert head in allowed, (path, name)
                if head == "toolcrib":
                    assert rest in {"", "resources"}, (path, name)


def test_import_loads_no_heavy_library():
    """A browser's driver costs a second; listing tools must not."""
    code = (
        "import sys, toolcrib_browser; heavy = {'playwright', 'greenlet', 'html_to_markdown',"
        " 'httpcore2', 'h11'}; print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
