"""Lines of TOML keys."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st
from toolcrib.policy.tomllines import lines_of


TEXT = '''# first
packs = ["a", # one
  "b",
  """many
  ] lines"""
]
mode="ask" # = "x"
rules = [
  'deny x(path="]")',

  "ask \\"y\\" #",
]
[owners]
web = "t"
"q.\\u0041" = '\\'
a . b."c" = {x = 1, y = [1,
2], z = {}}
[[p]]
k = 1
[[p]]
k = 2
[p.q]
z = 1979-05-27 07:32:00
empty = ""
triple = """"quoted"""""
'''


def test_every_key_and_item_has_its_line():
    """Comments, texts of all kinds, inline tables, arrays of tables."""
    tomllib.loads(TEXT)
    found = lines_of(TEXT)
    assert found["packs",] == 2
    assert [found["packs", i] for i in range(3)] == [2, 3, 4]
    assert found["mode",] == 7
    assert [found["rules", i] for i in range(2)] == [9, 11]
    assert found["owners",] == 13
    assert found["owners", "web"] == 14
    assert found["owners", "q.A"] == 15
    assert found["owners", "a", "b", "c"] == 16
    assert found["owners", "a", "b", "c", "y", 1] == 17
    assert found["owners", "a", "b", "c", "z"] == 17
    assert [found["p", i, "k"] for i in range(2)] == [19, 21]
    assert found["p", 1, "q", "z"] == 23
    assert found["p", 1, "q", "triple"] == 25


_KEYS = st.text("abcdef-_.\"'#[]= \n\\é", min_size=1, max_size=5)
_VALUES = st.recursive(
    st.integers() | st.booleans() | st.text("ab\"'#[]{}=,\n\\é", max_size=8),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


def _quoted(text: str) -> str:
    out = "".join(f"\\u{ord(c):04x}" if c in '"\\\n' else c for c in text)
    return f'"{out}"'


def _value(value: object) -> str:
    if isinstance(value, list):
        return "[" + ",\n".join(_value(v) for v in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value) if isinstance(value, str) else str(value)


@given(st.dictionaries(_KEYS, _VALUES, max_size=5))
def test_lines_are_those_where_the_keys_were_written(table):
    """Whatever is in the texts around them."""
    lines: list[str] = []
    expected = {}
    for key, value in table.items():
        lines.append("# comment = [")
        expected[key] = len("\n".join(lines).split("\n")) + 1
        lines.append(f"{_quoted(key)} = {_value(value)}")
    text = "\n".join(lines) + "\n"
    assert tomllib.loads(text) == table
    found = lines_of(text)
    assert {k[0]: v for k, v in found.items() if len(k) == 1} == expected
