"""``explain`` and ``rules``: what a tool is, and why a call would run or not."""

from __future__ import annotations

import json

import pytest


NOTE = ("desk.note", '{"path": "n", "text": "x"}')


def test_a_tool_is_explained_without_its_code(home, desk):
    """Declaration, provenance, effects, parameters and the rules that name it."""
    home.allow('packs = ["toolcrib-desk"]\nrules = ["ask desk.note"]\n')
    text = home.run("explain", "desk.note").stdout
    for expected in (
        "desk.note: Note",
        "toolcrib-desk 1.0",
        "effects     fs_write",
        "path (string, required): File",
        "ask desk.note",
    ):
        assert expected in text
    assert not (desk / "imported").exists()


def test_a_wire_name_is_understood(home, desk):
    """It is what stands in a transcript."""
    assert home.json("explain", "desk_note")["id"] == "desk.note"


def test_a_withheld_tool_says_why(home, desk):
    """Its declaration is there all the same."""
    home.allow('packs = ["toolcrib-desk"]\n[hide]\ntools = ["desk.note"]\n')
    facts = home.json("explain", "desk.note", code=14)
    assert facts["withheld"]["code"] == "tool.hidden"
    assert facts["effects"] == ["fs_write"]
    assert "withheld: policy hides desk.note" in home.run("explain", "desk.note").stdout


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("desk.nots", 11, "desk.note"),
        ("other.ping", 11, "toolcrib-other"),
        ("crib.search", 0, "Find tools"),
    ],
)
def test_a_name_that_is_no_tool(home, site, name, code, text):
    """Near names are suggested; a pack that is not enabled is named."""
    site.install("toolcrib-desk")
    home.allow('packs = ["toolcrib-desk"]')
    site.install("toolcrib-other", "", manifest=site.manifest("other"))
    result = home.run("explain", name)
    assert result.exit_code == code
    assert text in result.output


def test_a_projection_shows_what_is_lost(home, site):
    """Declaration first, then every loss, without the pack's code."""
    manifest = json.loads(site.manifest("deep"))
    manifest["tools"][0]["input_schema"] = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "^(?=x)", "minLength": 2}},
    }
    site.install("toolcrib-deep", "raise SystemExit", manifest=json.dumps(manifest).encode())
    home.allow('packs = ["toolcrib-deep"]')
    facts = home.json("explain", "deep.ping", "--dialect", "openai", "--strict")
    assert facts["declarations"][0]["function"]["name"] == "deep_ping"
    assert facts["entries"][0]["losses"]
    assert home.run("explain", "deep.ping", "--dialect", "mcp").exit_code == 0
    assert home.run("explain", "deep.ping", "--dialect", "klingon").exit_code == 2


def test_a_decision_is_explained_whole(home, desk):
    """Verdict, parts, preview, steps and the rule that would let it run; nothing ran."""
    result = home.run("explain", *NOTE)
    assert result.exit_code == 13
    for expected in (
        "desk.note: ask",
        "mode ask does not run it",
        "+ x",
        "append",
        f"allow desk.note(path={home.workspace}/n)",
    ):
        assert expected in result.stdout
    assert not (home.workspace / "n").exists()
    assert not (home.state / "ledger.sqlite").exists()


@pytest.mark.parametrize(
    ("rules", "mode", "verdict"),
    [
        ("", "edits", "run"),
        ("allow desk.note(path=n)", "ask", "run"),
        ("deny desk.note(path=**/n)", "trust", "refuse"),
        ("", "plan", "refuse"),
        ("ask desk.*", "edits", "ask"),
    ],
)
def test_the_exit_code_says_what_would_happen(home, desk, rules, mode, verdict):
    """The same words and codes as a real call would have."""
    code = {"run": 0, "refuse": 12, "ask": 13}[verdict]
    home.allow(f'packs = ["toolcrib-desk"]\nrules = {[rules] if rules else []}\n')
    for command in (["explain"], ["rules", "explain"]):
        facts = home.json(*command, *NOTE, "--mode", mode, code=code)
        assert facts["verdict"] == verdict
        # A mode that offers no such tool has nothing to ask its code for.
        assert facts["debug_steps"] == ([] if mode == "plan" else ["open n", "append"])
    assert home.run("call", *NOTE, "--mode", mode, "--no-ask").exit_code == code


@pytest.mark.parametrize(
    ("arguments", "code"), [("{", 10), ('{"path": 3}', 10), ("@missing.json", 2)]
)
def test_wrong_arguments_are_explained(home, desk, arguments, code):
    """They are refused before any rule is asked."""
    assert home.run("explain", "desk.note", arguments).exit_code == code


def test_arguments_come_from_a_file_or_a_pipe(home, desk):
    """So that no shell has to quote them."""
    (home.workspace / "a.json").write_text(NOTE[1])
    assert home.run("explain", "desk.note", "@a.json").exit_code == 13
    assert home.run("explain", "desk.note", "-", given=NOTE[1]).exit_code == 13


def test_lint_reports_each_rule_that_does_nothing(home, desk):
    """With its place in the file; exit code 1 only for errors."""
    home.allow('packs = ["toolcrib-desk"]\nrules = [\n"deny desk.nots",\n"ask desk.*"\n]\n')
    (finding,) = home.json("rules", "lint", code=1)
    assert (finding["code"], finding["line"]) == ("rule.nothing", 3)
    home.allow('packs = ["toolcrib-desk"]\nrules = ["ask desk.*"]\n')
    assert home.run("rules", "lint").exit_code == 0


def test_rules_are_tried_out_on_a_transcript(home, desk, asked):
    """Differences are told, looser or stricter; nothing runs."""
    (home.workspace / "new.rules").write_text("# try\nallow desk.note(path=**)\n")
    (home.workspace / "new.toml").write_text('rules = ["deny desk.ping"]\n')
    calls = asked(("desk_note", {"path": "n", "text": "x"}), ("desk_ping", {}), ("nope", {}))
    (home.workspace / "calls.json").write_text(json.dumps(calls))
    found = home.json("rules", "shadow", "new.rules", "calls.json", code=1)
    assert found["calls"] == 2
    assert [(d["tool"], d["direction"]) for d in found["differences"]] == [
        ("desk.note", "looser")
    ]
    found = home.json("rules", "shadow", "new.toml", "calls.json", code=1)
    assert [(d["tool"], d["direction"]) for d in found["differences"]] == [
        ("desk.ping", "stricter")
    ]
    (home.workspace / "same.rules").write_text("")
    result = home.run("rules", "shadow", "same.rules", "calls.json", "--dialect", "anthropic")
    assert result.exit_code == 0, result.output
    assert "it looks like one of openai: passed over" in result.stderr
    assert home.run("rules", "shadow", "same.rules", "calls.json").exit_code == 0
    assert not (home.workspace / "n").exists()


def test_foreign_rules_are_taken_over_or_named(home):
    """What is printed is TOML for the policy; what was left out is on stderr."""
    lists = {"permissions": {"allow": ["Bash(git status)", "Read"], "deny": ["Nothing(x)"]}}
    (home.workspace / "settings.json").write_text(json.dumps(lists))
    result = home.run("rules", "import", "settings.json")
    assert result.exit_code == 1
    assert "Nothing(x)" in result.stderr
    home.allow(result.stdout)
    assert home.run("rules", "lint").exit_code == 1
    facts = home.json("rules", "import", "settings.json", code=1)
    assert [one["status"] for one in facts] == ["exact", "exact", "unknown"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"allow": "Read"}', '{"other": []}'])
def test_what_is_no_list_of_rules_is_wrong_use(home, text):
    """Each kind has a sentence."""
    result = home.run("rules", "import", "-", given=text)
    assert result.exit_code == 2
    assert result.stderr


def test_rules_are_narrowed_by_what_ran(home, desk):
    """The suggestion names what was used, and what was never used."""
    home.allow(
        'packs = ["toolcrib-desk"]\nrules = ["allow desk.note(path=**)", "allow desk.ping"]\n'
    )
    assert home.run("rules", "suggest").exit_code == 4
    assert home.run("call", *NOTE).exit_code == 0
    found = home.json("rules", "suggest")
    assert [one["rules"] for one in found] == [["allow desk.note(path=n)"], []]
    assert found[0]["uses"] == 1
    assert "never used" in home.run("rules", "suggest").stdout


def test_parameters_are_told_with_what_is_in_them(home, site):
    """Choices, unions and what an array holds."""
    code = (
        "from typing import Literal\n"
        "from toolcrib import Pack\n"
        "pack = Pack('kinds')\n"
        "@pack.tool(effects=[])\n"
        "def f(ctx, a: int | str, b: list[str], c: list[list[int]] | None,"
        " d: Literal['x', 'y']) -> None:\n"
        "    'Take them.'\n"
    )
    site.install("toolcrib-kinds", code)
    home.allow("packs = ['toolcrib-kinds']")
    text = home.run("explain", "kinds.f").stdout
    for line in (
        "a (integer or string, required)",
        "b (array of string, required)",
        "c (array of array of integer or null, required)",
        'd (one of "x", "y", required)',
    ):
        assert line in text
