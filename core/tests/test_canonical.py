"""Canonical JSON text and bounded parsing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from hypothesis import given
from hypothesis import strategies as st
from toolcrib import canonical


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_canonical_text_reads_back_as_the_same_value(value):
    """Nothing is lost, lone surrogates included, and the text is UTF-8."""
    text = canonical.dumps(value)

    text.encode()
    assert json.loads(text) == value


def test_key_order_does_not_change_the_digest():
    """Equal values have equal digests whatever order they were built in."""
    assert canonical.digest({"a": 1, "b": [2]}) == canonical.digest({"b": [2], "a": 1})


def test_digest_is_the_same_in_another_process():
    """No hash seed enters the digest."""
    value = {"z": {"é": [1, None]}, "a": True}
    code = f"from toolcrib import canonical; print(canonical.digest({value!r}))"

    seeds = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }

    assert seeds == {canonical.digest(value)}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_json_has_no_canonical_text(value):
    """NaN and infinity are refused."""
    with pytest.raises(ValueError, match="JSON"):
        canonical.dumps(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "a": 2}', "key 'a' is given twice"),
        ("[NaN]", "NaN is not JSON"),
        ("[" * 201 + "]" * 201, "nested deeper than 200"),
        ('"' + "x" * 100 + '"', "larger than 50 bytes"),
        ('{"a": 1', "delimiter"),
    ],
)
def test_text_that_is_not_strict_json_is_refused_with_the_reason(text, said):
    """Duplicate keys, NaN, depth, size and truncation each have their own sentence."""
    limit = 50 if "larger" in said else 1 << 20
    with pytest.raises(ValueError, match=said):
        canonical.loads(text, max_bytes=limit)


def test_brackets_inside_strings_are_not_depth():
    """A text of brackets is no nesting."""
    text = json.dumps({"a": "[" * 500 + '"\\'})

    assert canonical.loads(text) == {"a": "[" * 500 + '"\\'}


def test_a_byte_order_mark_is_not_part_of_the_text():
    """Bytes may begin with a mark."""
    assert canonical.loads(b"\xef\xbb\xbf[1]") == [1]
