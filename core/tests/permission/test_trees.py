"""Calls that walk a folder by themselves: rules about what lies below speak of them too."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest

from hypothesis import given
from toolcrib import Resource, Signature, resources
from toolcrib.rules.globs import MANY, ONE, Glob, fits, reaches


@pytest.fixture
def ws(tmp_path):
    """A folder with a file and a folder in it."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "notes.txt").write_text("x")
    return tmp_path.resolve()


def walk(path):
    """The signature of a call that reads all below a path."""
    return Signature(reads=[resources.Path(path, tree=True)])


@pytest.mark.parametrize(
    "pattern",
    ["{ws}/sub/key.pem", "{ws}/sub/*", "**/.env", "sub/deep/**", "{ws}/*/key.pem", "**/*.pem"],
)
@pytest.mark.parametrize("verdict", ["deny", "ask"])
def test_rule_about_something_below_has_a_person_asked(judged, ws, pattern, verdict):
    """Nobody can tell whether the file is there when the call runs."""
    rules = [f"{verdict} *(path={pattern.format(ws=ws)})", "allow *"]
    assert judged(walk(ws / "sub"), *rules, workspace=str(ws)) == "ask"
    assert judged(Signature(reads=[resources.Path(ws / "sub")]), *rules, workspace=str(ws)) == (
        "run"
    )


@pytest.mark.parametrize(
    "pattern", ["{ws}/other/**", "{ws}/sub", "/elsewhere/**", "*.pem", "{ws}/sub/notes.txt"]
)
def test_rule_about_something_else_has_nobody_asked(judged, ws, pattern):
    """A rule for another folder, and any rule where the path is a file."""
    rules = [f"deny *(path={pattern.format(ws=ws)})", "allow *"]
    place = ws / "sub" / "notes.txt" if pattern.endswith("notes.txt") else ws / "sub"
    wanted = "rule.denied" if pattern in {"{ws}/sub", "{ws}/sub/notes.txt"} else "run"
    assert judged(walk(place), *rules, workspace=str(ws)) == wanted


def test_file_is_not_walked(judged, ws):
    """There is nothing below it."""
    rules = ["deny *(path=**/.env)", "allow *"]
    assert judged(walk(ws / "sub" / "notes.txt"), *rules, workspace=str(ws)) == "run"


def test_rule_that_means_all_but_a_folder_leaves_that_folder_alone(judged, ws):
    """All below it is excepted with it; above it, something is not."""
    rules = [f"deny *(path=!{ws}/sub/**)", "allow *"]
    assert judged(walk(ws / "sub"), *rules, workspace=str(ws)) == "run"
    rules = [f"deny *(path=!{ws}/sub/*)", "allow *"]
    (ws / "sub" / "inner").mkdir()
    assert judged(walk(ws / "sub" / "inner"), *rules, workspace=str(ws)) == "ask"


def test_relative_path_is_walked_where_it_lies(judged, ws):
    """It is resolved when it is judged."""
    rules = [f"deny *(path={ws}/sub/key.pem)", "allow *"]
    relative = Signature(reads=[Resource("path", "sub", tree=True)])
    assert judged(relative, *rules, workspace=str(ws)) == "ask"


def test_no_rule_answers_for_what_lies_below(judged, ws):
    """Not even one that allows the call by name."""
    rules = ["allow files.read", f"deny *(path={ws}/sub/*)"]
    assert judged(walk(ws / "sub"), *rules, workspace=str(ws)) == "ask"


PARTS = st.sampled_from(["a", "b", "ab"])
TOKENS = st.sampled_from(["a", "b", ONE, MANY, Glob(("a", "")), Glob(("", "b"))])


@given(tokens=st.lists(TOKENS, max_size=5), parts=st.lists(PARTS, max_size=4))
def test_pattern_reaches_below_exactly_where_some_path_below_fits(tokens, parts):
    """Compared with trying every path that goes on for up to as many parts as the pattern."""
    alphabet = ("a", "b", "ab")
    below = [[]]
    found = False
    for _ in range(len(tokens) + 1):
        below = [[*path, part] for path in below for part in alphabet][:400]
        found = found or any(fits(tokens, [*parts, *path]) for path in below)
    if len(tokens) < 5:
        assert reaches(tokens, parts) == found
    elif found:
        assert reaches(tokens, parts)
