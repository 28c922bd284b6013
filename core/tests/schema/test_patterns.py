"""Reading ECMA-262 patterns for Python's engine."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from toolcrib.schema.failures import PatternError
from toolcrib.schema.patterns import read


def _finds(pattern, text):
    return re.search(read(pattern).python, text) is not None


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        (r"^\d$", "7", True),
        (r"^\d$", "\u0667", False),
        (r"^\w+$", "é", False),
        (r"^\s$", "\ufeff", True),
        ("^.$", "\u2028", False),
        ("^.$", "\x85", True),
        (r"^[\d-x]$", "-", None),
        (r"^[a\-z]$", "-", True),
        (r"^[^]$", "\n", True),
        ("[]", "", False),
        (r"^\u0041\x42\cJ$", "AB\n", True),
        (r"^\ud83d\ude00$", "\U0001f600", True),
        (r"^\u{1f600}$", "\U0001f600", True),
        ("^(?<year>\\d{4})$", "2024", True),
        ("^(?P<year>\\d{4})$", "2024", True),
        ("^(?:ab|c)+?$", "abcab", True),
        ("^a{,3}$", "a{,3}", True),
        ("^a{2}$", "aa", True),
        ("^https?:\\/\\/", "http://x", True),
        ("^(?!.*b)a", "aab", False),
        (r"^[\b]$", "\b", True),
        (r"\bé", "é", False),
        ("$ne", "x", False),
        ("^\\$ne$", "$ne", True),
        ("[$^]", "^", True),
    ],
)
def test_patterns_mean_what_ecma_says(pattern, text, found):
    """The Python expression finds what an ECMA-262 engine finds."""
    if found is None:
        with pytest.raises(PatternError):
            read(pattern)
        return
    assert _finds(pattern, text) is found


@pytest.mark.parametrize(
    "pattern", ["(", ")", "[a", "*a", "a**", "a{2,1}", "[z-a]", r"\Z", "(?i)a", "\\", "a++"]
)
def test_what_is_no_pattern_is_refused(pattern):
    """A typing mistake is refused for every engine."""
    with pytest.raises(PatternError) as caught:
        read(pattern)
    assert not caught.value.elsewhere


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "^(a|a)*$",
        "^(a?)*$",
        "^(a*)*b",
        "(x+x+)+y",
        "^(a{1,9}){1,9}$",
        "^(ab|a|b)*$",
        "(?<=a)b",
        r"^(a)\1$",
        r"\p{L}",
        "^(" + "|".join(f"{n}" for n in range(400)) + ")+$",
        "^[a-z]*" * 9,
    ],
)
def test_what_python_cannot_match_safely_is_for_another_engine(pattern):
    """Ambiguous loops, look behind, back references and properties are not Python's."""
    with pytest.raises(PatternError) as caught:
        read(pattern)
    assert caught.value.elsewhere


@pytest.mark.parametrize(
    "pattern",
    [
        "^(?:[A-Za-z0-9_'+\\-]+\\.)*[A-Za-z0-9_'+\\-]*@(?:[a-z0-9][a-z0-9\\-]*\\.)+[a-z]{2,}$",
        "^[^,]+(,[^,]+)*$",
        r"^\d+(\.\d+)?$",
        "^(GET|POST|PUT)(,(GET|POST|PUT))*$",
        "^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9]$",
        ".+-T[0-9]+",
        "^a*a*a*$",
        "a*a*b",
    ],
)
def test_what_is_accepted_ends_up_to_its_limit(pattern):
    """The longest texts that are tried, made to fail late, do not hang Python's engine."""
    found = read(pattern)
    length = found.limit or 20_000
    units = ("a", "a.", "0", "a,", "GET,", "a-T0")
    texts = [(unit * length)[: length - 1] + "\x00" for unit in units]
    code = "import json, re, sys; p, ts = json.load(sys.stdin); [re.search(p, t) for t in ts]"
    # The engine counts no steps, and nothing interrupts it: a program can be killed. All
    # texts take it well under a second, and some days if the limit were too high.
    subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([found.python, texts]), text=True, timeout=60, check=True,
    )  # fmt: skip
