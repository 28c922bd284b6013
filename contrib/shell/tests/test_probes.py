"""No rule that allows one command lets another thing happen: tried for real."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess

from pathlib import Path

import pytest

from toolcrib import Policy, Toolbox
from toolcrib.rules import parse
from toolcrib.testing import async_run

from toolcrib_shell import pack


spec = importlib.util.spec_from_file_location("kit", Path(__file__).parent / "conftest.py")
kit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kit)

CLASSES = {
    "chaining", "cd special case", "wildcard over operators", "wildcard and newline",
    "saved rule with a star", "quotes", "here-document", "parser gives up", "redirect target",
    "wrapper and eval", "equivalent forms", "env prefix", "git configuration", "path form",
    "traversal and prefix", "symlink", "letter case", "unicode", "MCP names", "MCP wildcards",
    "host rules",
}  # fmt: skip


def test_every_class_of_ways_around_a_rule_has_probes():
    """Twenty-one classes are known from reports; none is left out."""
    assert {probe["class"] for probe in kit.PROBES} >= CLASSES
    assert len(CLASSES) == 21
    assert len(kit.PROBES) >= 46 + 21


def test_probes_do_what_they_are_there_for(template, tmp_path):
    """A probe without its side effect would prove nothing; each is run bare, once."""
    wrong = []
    for number, probe in enumerate(kit.PROBES):
        if probe["happens"] == "perhaps":
            continue
        tree = kit.copy(template, tmp_path / f"t{number}")
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", probe["line"]],
            cwd=tree, env=kit.ENV, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=60, check=False, start_new_session=True,
        )  # fmt: skip
        if (tree / "P").exists() != (probe["happens"] == "yes"):
            wrong.append((probe["happens"], probe["line"]))
        shutil.rmtree(tree)
    assert not wrong


async def _asked(tree, state, rules, mode, lines):
    """Run lines with nobody to ask; return those whose side effect happened."""
    happened, ran = [], 0
    policy = Policy(
        local=[pack], workspace=tree, state=state, rules=[parse(rule) for rule in rules]
    )
    async with Toolbox(policy) as box, box.session("probe", mode=mode) as session:
        for line in lines:
            outcome = await session.call("shell.run", {"command": line, "timeout": 20})
            ran += outcome.status == "ok"
            if (tree / "P").exists() or (tree / "P").is_symlink():
                happened.append((rules, line, str(outcome.status)))
                subprocess.run(["rm", "-rf", str(tree / "P")], check=True)
    return happened, ran


@pytest.mark.parametrize("rule", kit.RULES)
def test_no_side_effect_happens_under_a_rule_without_being_asked(
    rule, tree, tmp_path, monkeypatch
):
    """Every probe, really run where the rule lets it; what happens must have been asked."""
    for name, value in kit.ENV.items():
        monkeypatch.setenv(name, value)
    lines = [probe["line"] for probe in kit.PROBES]
    happened, _ = async_run(_asked(tree, tmp_path / "state", [rule], "ask", lines))
    assert not happened


READERS = [
    f"allow shell.run(command={program} *)"
    for program in [
        "awk",
        "cat",
        "cd",
        "date",
        "echo",
        "env",
        "find",
        "git",
        "grep",
        "head",
        "ls",
        "printf",
        "pwd",
        "sed",
        "sort",
        "test",
        "timeout",
        "true",
        "wc",
        "xargs",
    ]
]


def test_no_side_effect_happens_under_many_rules_together(tree, tmp_path, monkeypatch):
    """Parts that are allowed one by one do not add up to something that is not."""
    for name, value in kit.ENV.items():
        monkeypatch.setenv(name, value)
    lines = [probe["line"] for probe in kit.PROBES]
    happened, _ = async_run(_asked(tree, tmp_path / "state", READERS, "ask", lines))
    assert not happened


TOUCHING = [
    p["line"]
    for p in kit.PROBES
    if p["happens"] == "yes"
    and p["class"] in {"equivalent forms", "wrapper and eval", "chaining"}
]


def test_a_rule_that_denies_is_not_dodged_even_where_all_else_is_trusted(
    tree, tmp_path, monkeypatch
):
    """What is denied is refused in each of its forms, or asked where nobody can tell."""
    for name, value in kit.ENV.items():
        monkeypatch.setenv(name, value)
    rules = ["deny shell.run(command=touch *)"]
    happened, _ = async_run(_asked(tree, tmp_path / "state", rules, "trust", TOUCHING))
    assert not happened


PLAIN = [
    "git status", "git diff --stat", "git log -n 3 --oneline",
    "git log --format='%h %s' | head -n 2",
    "git diff HEAD -- f | grep '^+'", "ls -la", "ls sub && cat sub/g", "cat f | wc -l",
    "find . -name '*.py' -not -path './sub/*'",
    "find . -type f -exec grep -l a {} + > /dev/null",
    "grep -rn 'a|b && c > d' .", "echo 'a && rm b; $(x)'", 'echo "$HOME is home"', "echo $HOME",
    "sed -n '1,2p' f", "sed 's/a/b/g' f", "awk -F: '{print $1}' f", "sort f | head -n 1",
    "cat <<'EOF'\n$(x) `y`\nEOF", "test -f f && echo yes", "[ -d sub ] || echo no", "date +%F",
    "if [ -f f ]; then cat f; else echo none; fi", "cd sub && ls && cat g", "env A=1 true",
    "timeout 5 git status", "git log 2>/dev/null | head -n 1 || true", "ls # with a comment",
    "[[ -f f && -d sub ]] && echo both", "pwd; true", "echo a \\\n  b", "printf '%s\\n' a b",
    'x="a b"; echo "$x"', "git rev-parse --short HEAD", "git grep -n a", "wc -l < f",
]  # fmt: skip
# A file that is not known may lie anywhere; a variable may change what a program does.
NOT_BY_THESE = {"find . -type f -exec grep -l a {} + > /dev/null", "env A=1 true"}


def test_plain_lines_run_without_a_question(tree, tmp_path, monkeypatch):
    """A grammar is no excuse to ask about everything."""
    for name, value in kit.ENV.items():
        monkeypatch.setenv(name, value)

    async def main():
        policy = Policy(
            local=[pack],
            workspace=tree,
            state=tmp_path / "s",
            rules=[parse(r) for r in READERS],
        )
        asked = []
        async with Toolbox(policy) as box, box.session("plain") as session:
            for line in PLAIN:
                outcome = await session.call("shell.run", {"command": line, "timeout": 20})
                if outcome.status != "ok":
                    asked.append((line, str(outcome.status), outcome.text))
        return asked

    assert [line for line, *_ in async_run(main()) if line not in NOT_BY_THESE] == []
