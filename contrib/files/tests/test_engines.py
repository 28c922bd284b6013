"""Both search engines find the same: generated patterns over generated files."""

import os
import re
import tempfile

from pathlib import Path

import pytest

from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_files import ripgrep
from toolcrib_files.content_search import Query, grep
from toolcrib_files.faults import Fault
from toolcrib_files.patterns import compile_pattern
from toolcrib_files.places import locate


needs_ripgrep = pytest.mark.skipif(
    ripgrep.find_program() is None, reason="compares with ripgrep, which is not here"
)

# One atom to a part, and a space.
ATOMS = st.sampled_from(
    [
        " ",
        *re.split(" +", r"a b B é ß . \d \w \s \W \S \D \b ^ $ [ab] [^a] [a-c] [^\s] \."),
        *re.split(" +", r"{ 0 _ \t []x] [[:alpha:]] \x41 \u00e9 [^\W_] K ſ"),
    ]
)
REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{0,1}", "{1,}", "*?", "+?"])


@st.composite
def patterns(draw, depth=2):
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        if depth and draw(st.integers(0, 4)) == 0:
            inner = draw(patterns(depth=depth - 1))
            parts.append(draw(st.sampled_from(["(", "(?:", "(?i:", "(?P<n>"])) + inner + ")")
            if parts[-1].startswith("(?P<n>") and any("(?P<n>" in p for p in parts[:-1]):
                parts[-1] = parts[-1].replace("(?P<n>", "(?:")
        else:
            parts.append(draw(ATOMS))
        if parts[-1] not in ("^", "$", r"\b"):
            parts[-1] += draw(REPEATS)
    text = "".join(parts)
    if draw(st.integers(0, 3)) == 0:
        text += "|" + draw(ATOMS)
    return draw(st.sampled_from(["", "", "(?i)"])) + text if depth == 2 else text


PIECES = st.sampled_from(
    [
        *(bytes([byte]) for byte in b"abAB 0_.{\txK]\n\r\xff\xe9\x0b\x0c"),
        *(b"\r\n", b"\xc3\xa9", b"\xc3\x9f", b"\xe2\x84\xaa", b"\xc5\xbf"),
        *(b"\xc2\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80"),
    ]
)
CONTENTS = st.lists(PIECES, max_size=40).map(b"".join)


def _found(root, pattern, program, **more):
    answer = grep(
        locate(root, "."), Query(pattern=pattern, limit=1000, **more), program=program
    )
    return answer.engine, [
        (file.path, [(line.line, line.text) for line in file.lines], file.count)
        for file in answer.files
    ]


@needs_ripgrep
@settings(max_examples=100, deadline=None)
@given(
    pattern=patterns(),
    contents=st.lists(CONTENTS, min_size=1, max_size=4),
    ignore_case=st.booleans(),
)
def test_both_engines_find_the_same_lines(pattern, contents, ignore_case):
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.realpath(folder)
        for number, data in enumerate(contents):
            # Text first, so that the bytes in question are searched as they are.
            (Path(root) / f"f{number}").write_bytes(b"a\n" * 4100 + data)
        try:
            engine, one = _found(root, pattern, ripgrep.find_program(), ignore_case=ignore_case)
        except Fault as fault:
            assert fault.code == "files.bad_pattern"  # noqa: PT017 - both engines refuse it
            return
        _, two = _found(root, pattern, None, ignore_case=ignore_case)
        assert one == two
        assert engine == "ripgrep"


@needs_ripgrep
@settings(max_examples=40, deadline=None)
@given(
    text=st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0"),
        min_size=1,
        max_size=20,
    )
)
def test_literal_text_is_found_by_both_engines_whatever_it_is(text):
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.realpath(folder)
        (Path(root) / "f").write_text(f"no\n-{text}-\n", newline="")
        for program in (ripgrep.find_program(), None):
            found = _found(root, text, program, literal=True)[1]
            assert [line for _, lines, _ in found for line, _ in lines] == [2]


@settings(max_examples=150, deadline=None)
@given(pattern=patterns(), line=st.text("abAB é_0.{\t", max_size=12))
def test_translated_pattern_means_what_it_says(pattern, line):
    """Against the standard library, on lines where its classes agree with ours."""
    try:
        ours = compile_pattern(pattern)
    except Fault:
        return
    plain = re.sub(r"\[\[:alpha:\]\]", "[A-Za-z]", pattern)
    try:
        theirs = re.compile(plain.replace("[^\\W_]", "[A-Za-z0-9]"), re.ASCII)
    except re.error:
        return
    if "(?i" in pattern:
        line = re.sub("[^ -~\t]", "", line)
    assert bool(ours.python.search(line)) == bool(theirs.search(line))
