"""Reading ECMA-262 patterns for Python's engine."""

from __future__ import annotations

import re
import time

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
def test_what_is_accepted_is_fast_up_to_its_limit(pattern):
    """The longest text that is tried, made to fail late, takes well under a second."""
    found = read(pattern)
    compiled = re.compile(found.python)
    length = found.limit or 20_000
    for unit in ("a", "a.", "0", "a,", "GET,", "a-T0"):
        text = (unit * length)[: length - 1] + "\x00"
        start = time.perf_counter()
        compiled.search(text)
        assert time.perf_counter() - start < 2, unit
