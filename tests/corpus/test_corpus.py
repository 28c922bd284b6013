"""The program that takes declarations through everything, on a few of our own."""

from __future__ import annotations

import json
import subprocess
import sys

from pathlib import Path

import pytest


PROGRAM = Path(__file__).with_name("run.py")
PLAIN = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
DECLARED = [
    ("@acme/server", "read_file", PLAIN),
    ("@acme/server", "list", {"type": "object"}),
    ("@acme/server", "ctx", {"type": "object", "properties": {"ctx": {"type": "string"}}}),
    ("other", "read_file", PLAIN),
    (
        "other",
        "tree",
        {
            "type": "object",
            "$defs": {
                "N": {
                    "type": "object",
                    "properties": {"n": {"type": "array", "items": {"$ref": "#/$defs/N"}}},
                }
            },
            "properties": {"root": {"$ref": "#/$defs/N"}, "at": {"format": "date-time"}},
            "required": ["root"],
        },
    ),
    (
        "9 lives",
        "pick",
        {
            "type": "object",
            "properties": {
                "how": {"anyOf": [{"const": "x"}, {"type": "null"}]},
                "n": {"type": "integer", "minimum": 10, "multipleOf": 10},
            },
            "required": ["how", "n"],
            "additionalProperties": True,
        },
    ),
]


@pytest.fixture
def corpus(tmp_path):
    def run(declared):
        path = tmp_path / "tools.jsonl"
        lines = [
            json.dumps({"server": server, "tool": {"name": name, "inputSchema": schema}})
            for server, name, schema in declared
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [sys.executable, str(PROGRAM), str(path)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    return run


def test_every_declaration_goes_through_everything(corpus):
    """Names that servers share, names of ours, recursion, open objects."""
    done = corpus(DECLARED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n0 broken" in done.stdout
    assert "shown in openai, strict" in done.stdout
    assert f"{len(DECLARED):>6}  with a sample: ok" in done.stdout


def test_fifty_arguments_of_each_tool_are_sent_and_undone(corpus):
    """In every form; what a form lets pass that the tool refuses is explained by a loss."""
    done = corpus(DECLARED)
    assert f"{len(DECLARED):>6}  50 arguments that fit" in done.stdout
    assert f"{50 * len(DECLARED):>6}  sent and back" in done.stdout
    assert "wrong, and may not be sent" in done.stdout


BROKEN = """
import sys
sys.path.insert(0, sys.argv[1])
import attrs
import laws
laws._BROKEN = 300
from toolcrib import Description, Tool
from toolcrib.projection import dialect, project

schema = {"type": "object", "properties": {"m": {"type": "object",
          "additionalProperties": {"type": "integer"}},
          "n": {"type": "integer", "multipleOf": 3}}, "required": ["m", "n"]}
tool = Tool(id="a.b", title="", description=Description("D."), input_schema=schema)
(entry,) = project((tool,), dialect("openai"), strict=True).entries
(loose,) = project((tool,), dialect("anthropic"), strict=True).entries
for one, speaks in ((entry, "openai"), (attrs.evolve(entry, inverse=None), "openai"),
                    (attrs.evolve(loose, losses=()), "anthropic")):
    said = []
    made = laws.Generated([tool])
    made.judge(tool, one, dialect(speaks), must=lambda holds, what: holds or said.append(what))
    kinds = {kind for what in said for kind in ("may not be sent", "comes back", "no loss")
             if kind in what}
    print(",".join(sorted(kinds)) or "nothing")
"""


def test_the_laws_notice_a_way_back_that_is_missing_and_a_loss_that_is_not_told():
    """Each by its own words."""
    command = [sys.executable, "-c", BROKEN, str(PROGRAM.parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines() == ["nothing", "may not be sent,no loss", "no loss"]


def test_what_cannot_be_enforced_is_counted_by_keyword(corpus):
    """And the other tools go on."""
    bad = {"type": "object", "properties": {"a": {"type": "strng"}}}
    done = corpus([*DECLARED, ("other", "bad", bad)])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "refused for 'type'" in done.stdout
    assert f"{len(DECLARED):>6}  with a sample: ok" in done.stdout
