"""The pack as the core sees it."""

import ast
import subprocess
import sys

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from toolcrib.testing import check_pack

import toolcrib_web

from toolcrib_web import pack


SOURCE = Path(toolcrib_web.__file__).parent
TOOLS = {tool.name: tool for tool in pack.tools()}


def test_pack_holds_to_its_contract():
    assert check_pack(pack) == []


def test_manifest_is_what_the_code_says():
    pytest.importorskip("docstring_parser")  # manifests are written with toolcrib[author]
    assert check_pack(pack, manifest=SOURCE / "toolcrib.json") == []


def test_pack_is_found_by_its_entry_point():
    (found,) = entry_points(group="toolcrib.packs.v1", name="web")
    # Other tests load packs anew, so the object may be a younger one of the same kind.
    assert (found.value, found.load().id) == ("toolcrib_web:pack", pack.id)


def test_pack_has_its_two_tools():
    assert {tool.id for tool in TOOLS.values()} == {"web.fetch", "web.search"}


def test_which_tools_may_be_replayed():
    assert {name: str(tool.idempotent) for name, tool in TOOLS.items()} == {
        "fetch": "keyed",
        "search": "no",
    }


def test_what_comes_from_the_web_is_labelled():
    for tool in TOOLS.values():
        assert {str(label) for label in tool.labels} == {"returns_untrusted", "sends_out"}


def test_sources_import_nothing_of_other_packs():
    allowed = {"toolcrib", "toolcrib_net", "toolcrib_web"}
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
    code = (
        "import sys, toolcrib_web; heavy = {'httpcore2', 'trafilatura', 'lxml', 'hishel',"
        " 'pypdf', 'feedparser', 'ddgs', 'html_to_markdown', 'h2', 'sqlite3'};"
        " print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"url": "https://Docs.Example.com/a"}, "allow web.fetch(host=docs.example.com)"),
        ({"url": "https://example.com/", "method": "POST"}, None),
        ({"url": "https://example.com/", "redirects": "any"}, None),
    ],
)
def test_always_offers_the_host_and_only_for_reading(arguments, rule):
    tool = next(i for i in pack.implementations() if i.tool.id == "web.fetch")
    assert tool.companions.generalize(**arguments) == rule


def test_preview_of_a_write_shows_what_is_sent():
    tool = next(i for i in pack.implementations() if i.tool.id == "web.fetch")
    shown = tool.companions.preview(url="https://example.com/a", method="POST", body="data")
    assert shown == "POST https://example.com/a\n\ndata"
