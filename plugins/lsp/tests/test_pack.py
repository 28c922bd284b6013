"""The pack as the core sees it."""

import re

from pathlib import Path

import pytest

from toolcrib import Effect
from toolcrib.testing import check_pack

import toolcrib_lsp

from toolcrib_lsp import pack


ROOT = Path(toolcrib_lsp.__file__).parent
TOOLS = {tool.name: tool for tool in pack.tools()}
WRITING = {"rename", "code_action", "format"}


def test_pack_has_its_tools():
    assert set(TOOLS) == WRITING | {
        *("definition", "references", "implementation", "type_definition", "hover"),
        *("symbols", "workspace_symbols", "incoming_calls", "outgoing_calls"),
        *("diagnostics", "status", "code_actions"),
    }


def test_effects_are_no_wider_than_what_the_tools_do():
    for name, tool in TOOLS.items():
        wanted = {Effect.FS_READ} | ({Effect.FS_WRITE} if name in WRITING else set())
        assert tool.effects == (set() if name == "status" else wanted), name


def test_only_reading_tools_may_be_replayed():
    assert {n for n, t in TOOLS.items() if t.idempotent == "yes"} == set(TOOLS) - WRITING


def test_nothing_would_go_wrong_elsewhere():
    assert check_pack(pack, manifest=ROOT / "toolcrib.json") == []


def test_every_code_is_explained():
    """In the table of the README, and nothing else is."""
    readme = Path(__file__).parents[1] / "README.md"
    told = set(re.findall(r"`(lsp\.[a-z_0-9]+)`", readme.read_text().partition("## Codes")[2]))
    raised = set()
    for path in ROOT.glob("*.py"):
        raised |= set(re.findall(r'code="(lsp\.[a-z_0-9]+)"', path.read_text()))
    assert raised == told


@pytest.mark.parametrize("module", ["toolcrib_lsp.protocol", "lsprotocol"])
def test_types_of_the_protocol_are_loaded_by_the_first_server_only(module):
    import subprocess
    import sys

    code = f"import sys, toolcrib_lsp; print({module!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"False\n"
