"""What is read of a line, and what is said not to be understood."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolcrib import Access

from toolcrib_shell.grammar import read
from toolcrib_shell.judging import Folder, touched_by


def commands(line):
    found = read(line)
    assert not found.unclear, found.unclear
    return [[word.text for word in simple.words] for simple in found.commands]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("to''uch P", [["touch", "P"]]),
        ("\\touch $'\\x50'", [["touch", "P"]]),
        ("echo \"a  b\" 'c $d' e\\ f", [["echo", "a  b", "c $d", "e f"]]),
        ('echo "a\\$b\\"c"', [["echo", 'a$b"c']]),
        ('echo "$x" "a$x" b/$x', [["echo", '$"$x"', '$"a$x"', '$"b/$x"']]),
        ("a && b || c; d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("echo $(a `b`)", [["b"], ["a", '$"`b`"'], ["echo", '$"$(a `b`)"']]),
        ("echo a # ; b", [["echo", "a"]]),
        ("a \\\n  b", [["a", "b"]]),
        ("cat <<E | x\n$(y)\nE\nz", [["cat"], ["x"], ["y"], ["z"]]),
        ("cat <<'E'\n$(y)\nE", [["cat"]]),
        ("[ -f a ]", [["test", "-f", "a"]]),
        ("echo {} a#b !x", [["echo", "{}", "a#b", "!x"]]),
    ],
)
def test_words_are_what_the_shell_makes_of_them(line, words):
    """Quotes, escapes and nesting are seen through."""
    assert commands(line) == words


@pytest.mark.parametrize(
    "line",
    [
        'echo "a', "if true; then ls", "echo (", "ls )", "ls &&", "echo $(ls", "<<",
        "cat - <<X\na\nX", "cat <<X 2>&1 | sh\na\nX", "to\\\nuch P", "echo a\\\nb",
        "echo\rls", "echo\x0bls", "ls\u00a0-l\u3000x\x00", "f() { ls; }", "coproc ls",
        "echo ${!x}", "echo ${x@P}", "echo $((x))", "((x++))", "a[1]=2", "[[ -v x ]]",
        "[[ $x -eq 1 ]]", "echo a >f b", "exec 3<>f", 'echo $"a"', "let x",
        "for ((i=0;i<1;i++)); do ls; done", "echo `a \\`b\\``", "time { ls; }",
    ],
)  # fmt: skip
def test_what_is_not_certain_is_not_understood(line):
    """Errors, gaps in the tree, unknown kinds, and what evaluates a variable."""
    touched = touched_by(line)
    assert touched.doubts
    signature = touched.signature()
    assert {(r.type, r.access) for r in signature.resources if not r.value} >= {
        ("command", Access.READ), ("path", Access.READ), ("path", Access.WRITE),
    }  # fmt: skip


def test_lines_without_bound_are_not_read_for_ever():
    """Length and depth have limits."""
    assert touched_by("a" * 300_000).doubts
    assert touched_by("(" * 5000 + "ls" + ")" * 5000).doubts
    assert touched_by("; ".join(["ls"] * 1000)).doubts


def resources(line, **folder):
    touched = touched_by(line, folder=Folder(**folder))
    assert not touched.doubts, touched.doubts
    return {str(r) for r in touched.signature().resources}


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("cat .env", "read path .env"),
        ("cd a && echo x > b", "write path a/b"),
        ("echo x > ~/b", "write path /home/me/b"),
        ("sort -o out in", "write path (any)"),
        ("tee a b", "write path b"),
        ("cp -t d a", "write path (any)"),
        ("mv a b", "write path a"),
        ("cat a*.txt", "read path ."),
        ("xargs rm", "write path (any)"),
        ("find d -delete", "write path (any)"),
        ("env A=1 git log", "read command A=1 git log"),
        ("bash -c 'git log'", "read command git log"),
        ("curl -s https://example.com/x", "read host example.com"),
        ("git push", "write host (any)"),
        ("echo x | sed -i s/a/b/ f", "write path f"),
    ],
)
def test_everything_that_is_touched_is_named(line, wanted):
    """Files, hosts, and commands inside of commands."""
    if "home" in wanted:
        assert wanted in resources(line, home="/home/me")
    else:
        assert wanted in resources(line)


def test_a_program_in_the_workspace_is_named_by_its_place(tmp_path):
    """A rule for git is none for whatever is called git there."""
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = resources("git status", root=str(tmp_path), path=str(program.parent))
    assert f"read command {program} status" in found


BASH = shutil.which("bash")
PIECES = st.sampled_from([
    "echo", "ls", "a", "'b c'", '"d $e"', "$f", "$(g)", "`h`", "&&", ";", "|", "&", "\n", "(",
    ")", "{", "}", ">", "x", "<<E", "E", "$((1))", "if", "then", "fi", "\\", "#", "*", "~", "=",
    "k=v",     "${l:-m}", "2>&1", "!", "'", '"', "<(n)",
])  # fmt: skip


@settings(max_examples=800, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(PIECES, st.sampled_from([" ", ""])), max_size=12))
def test_no_program_runs_that_is_not_named(pieces):
    """Bash itself is asked which programs a line looks for; each must be named, or doubted."""
    line = "".join(piece + blank for piece, blank in pieces)
    touched = touched_by(line)
    if touched.doubts:
        return
    # Nothing is found on this PATH, and every program that is looked for is told.
    handler = 'command_not_found_handle() { printf "%s\\0" "$1" >&9; return 127; }\n'
    done = subprocess.run(
        [BASH, "--noprofile", "--norc", "-c", f"exec 9>&1 >/dev/null 2>&1\n{handler}{line}"],
        env={"PATH": "/nowhere"}, cwd="/proc/self",
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    looked_for = {name.decode() for name in done.stdout.split(b"\0") if name}
    named = {words[0] for words, _ in touched.commands}
    assert looked_for <= named


@pytest.mark.parametrize(
    ("line", "walked"),
    [
        ("grep -r x src", {"src"}),
        ("grep -rn x", {"."}),
        ("grep x src", set()),
        ("grep x src/*", {"src"}),
        ("rg x", {"."}),
        ("find src -name '*.py'", {"src"}),
        ("ls src", set()),
        ("ls -R src", {"src"}),
        ("rm -rf build", {"build"}),
        ("rm a", set()),
        ("cp -a src dst", {"src"}),
        ("cp a b", set()),
        ("mv src dst", {"src"}),
        ("tar -cf a.tar src", {"src"}),
        ("chmod -R go-r src", {"src"}),
        ("diff -r a b", {"a", "b"}),
        ("git grep x", {"."}),
        ("cd sub && grep -r x .", {".", "sub"}),
    ],
)
def test_folders_that_are_walked_are_marked(line, walked):
    """A rule about a file below them then has a person asked."""
    touched = touched_by(line, folder=Folder())
    assert {r.value for r in touched.signature().resources if r.tree} == walked
