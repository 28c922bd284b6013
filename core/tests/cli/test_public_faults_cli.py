"""The command line sends what was typed, and nothing that was not."""

from __future__ import annotations

import json

import pytest


PACK = '''
import json

from typing import Any

from toolcrib import Context, Pack

pack = Pack("echo")


@pack.tool(
    effects=[],
    input_schema={
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "n": {"type": "integer"},
            "items": {"type": "array"},
            "table": {"type": "object"},
            "choice": {"enum": ["a", None]},
            "nothing": {"type": ["string", "null"], "default": None},
        },
    },
)
def back(ctx: Context, **arguments: Any) -> str:
    """Give back what arrived."""
    return json.dumps(arguments, sort_keys=True)
'''


@pytest.fixture
def echo(home, site):
    site.install("toolcrib-echo", PACK)
    home.allow('packs = ["toolcrib-echo"]\n')
    return home


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"text": ""},
        {"choice": None},
        {"choice": "a"},
        {"items": []},
        {"table": {}},
        {"n": 0, "text": "x"},
    ],
    ids=json.dumps,
)
def test_what_is_left_out_is_not_sent_and_what_is_given_arrives(echo, given):
    """No null, no empty text, no empty list in the place of nothing."""
    result = echo.run("call", "echo.back", json.dumps(given))
    assert result.exit_code == 0, result.output
    arrived = json.loads(result.stdout)
    arrived.pop("nothing", None)  # its declared default, which is null
    assert arrived == given


def test_no_arguments_at_all_are_none(echo):
    """The call runs with the tool's own defaults."""
    result = echo.run("call", "echo.back")
    assert result.exit_code == 0
    assert json.loads(result.stdout) in ({}, {"nothing": None})
