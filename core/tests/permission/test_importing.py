"""Lists of foreign rules: carried over exactly, or reported."""

from __future__ import annotations

import json

from pathlib import Path

import pytest

from toolcrib import permission, resources, rules
from toolcrib.signature import Signature


ROWS = json.loads((Path(__file__).parent / "data" / "foreign-rules.json").read_text("utf-8"))


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row['n']} {row['list']} {row['rule']}"[:60]
)
def test_a_foreign_rule_is_carried_over_or_reported(row, judged, make):
    """And what was carried over fits what it did before, and no more."""
    (found,) = permission.carry_over({row["list"]: [row["rule"]]})
    assert found.status == row["is"]
    assert found.source == row["rule"]
    carried = row["is"] in {"exact", "narrowed", "widened"}
    assert (found.rule is not None) is carried
    assert bool(found.text) is (row["is"] != "exact")
    assert row.get("says", "") in found.text
    if "here" in row:
        assert found.rule == rules.parse(row["here"])
    tool = make.tool(id="shell.run", effects=["process"])
    for command, fits in [(c, True) for c in row.get("hits", [])] + [
        (c, False) for c in row.get("not", [])
    ]:
        call = Signature(writes=[resources.Command(command)])
        answer = judged(
            call, found.rule, tool=tool, mode="trust" if row["list"] == "deny" else "ask"
        )
        expected = "run" if row["list"] == "allow" else "rule.denied"
        assert (answer == expected) is fits, command


@pytest.mark.parametrize("row", [r for r in ROWS if "lint" in r], ids=lambda r: r["rule"])
def test_a_rule_that_allows_any_program_is_told(row, make):
    """As wide here as it was there, but now somebody says so."""
    (found,) = permission.carry_over({row["list"]: [row["rule"]]})
    tool = make.tool(id="shell.run", effects=["process"])
    assert row["lint"] in [f.code for f in permission.lint([found.rule], [tool])]


def test_a_report_reads_as_a_line():
    """For the command line."""
    one, two = permission.carry_over({"deny": ["Bash(rm:*)", "Bash(sudo :* )"]})
    assert str(one) == "deny Bash(rm:*): exact → deny shell.*(command=rm *)"
    assert str(two).startswith("deny Bash(sudo :* ): dead (stray blanks")
