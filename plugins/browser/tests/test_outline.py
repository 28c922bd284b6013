"""A page's tree as text: read, made harmless, cut and compared."""

from __future__ import annotations

import pytest

from hypothesis import given
from hypothesis import strategies as st

from toolcrib_browser.budget import show
from toolcrib_browser.changes import Changes, changes
from toolcrib_browser.fields import hide, is_secret_field, redacted
from toolcrib_browser.marks import cleaned, fenced, plain, quoted
from toolcrib_browser.outline import parse


TREE = """\
- generic [active] [ref=e1]:
  - 'heading "Head: line" [level=1] [ref=e2]'
  - paragraph [ref=e3]: "- button \\"Pay\\" [ref=e99]"
  - button "x\\" [ref=e1]" [ref=e4]: q
  - 'button "a: b ''c''" [disabled] [ref=e5]'
  - textbox "pw" [ref=e6]: hunter22
  - link "two" [ref=e7] [cursor=pointer]:
    - /url: /x?a=1#f
  - generic [ref=e8] [cursor=pointer]: clicky
  - iframe [ref=e9]:
    - button "inner" [ref=f1e2]
  - list [ref=e10]:
    - listitem [ref=e11]: one
    - listitem [ref=e12]:
      - text: two
      - img
"""


def test_lines_are_taken_apart():
    """Role, name, states, ref, text and properties, whatever is quoted."""
    tree = parse(TREE)
    assert len(tree.nodes) == 15
    assert (tree.node("e2").role, tree.node("e2").name) == ("heading", "Head: line")
    assert tree.node("e2").states == ("level=1",)
    assert tree.node("e5").name == "a: b 'c'"
    assert tree.node("e5").states == ("disabled",)
    assert tree.node("e6").text == "hunter22"
    assert tree.node("e7").properties == (("url", "/x?a=1#f"),)
    assert tree.node("e7").states == ()
    assert tree.node("e8").states == ("clickable",)
    assert tree.node("e99") is None


def test_text_of_a_page_is_never_read_as_an_element():
    """However it is quoted."""
    tree = parse(TREE)
    assert set(tree.refs) == {*(f"e{n}" for n in range(1, 13)), "f1e2"}
    shown = show(tree, most=10_000).text
    assert "[ref=e99]" not in shown
    assert '- button "x\\" (ref=e1)" [ref=e4]: q' in shown


def test_elements_of_frames_are_told_from_those_of_the_page():
    """By what is above them."""
    tree = parse(TREE)
    assert tree.is_framed("f1e2")
    assert not tree.is_framed("e11")


def test_fingerprint_is_of_what_an_element_is_and_not_of_the_focus():
    """What is typed into a field does not make it another one; its name does."""
    line = '- textbox "Name"{} [ref=e2]{}'
    first, focused, typed = (
        parse(line.format(a, b)).nodes[0] for a, b in (("", ""), (" [active]", ""), ("", ": x"))
    )
    assert first.fingerprint() == focused.fingerprint() == typed.fingerprint()
    other = parse('- textbox "Game" [ref=e2]').nodes[0]
    assert other.fingerprint() != first.fingerprint()
    for change in ('- button "Pay" [ref=e2]', '- button "Go" [disabled] [ref=e2]'):
        assert (
            parse(change).nodes[0].fingerprint()
            != parse('- button "Go" [ref=e2]').nodes[0].fingerprint()
        )


LETTERS = st.text(
    st.characters(codec="utf-8", exclude_characters="\n\r\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"),
    max_size=60,
)


def quoted_by_the_driver(text):
    """How Playwright writes a name: as JSON, the whole key in single quotes if need be."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("'", "''")


@given(name=LETTERS.filter(str.strip), value=LETTERS)
def test_no_name_or_text_makes_an_element(name, value):
    """Nor a ref, nor a second line, nor a line that ends the data."""
    import json

    line = f"- 'button {quoted_by_the_driver(name)} [ref=e5]': {json.dumps(value)}"
    tree = parse(line)
    assert set(tree.refs) <= {"e5"}
    shown = show(tree, most=100_000).text
    assert len(shown.splitlines()) <= 1
    assert shown.count("[ref=") == 1
    told = fenced(shown, "p1abcd")
    mark = told.rpartition(" ")[2]
    assert told.count(mark) == 2


@given(text=st.text(max_size=300))
def test_any_text_can_be_parsed(text):
    """A driver of another day may write what it likes."""
    tree = parse(text)
    show(tree, most=200)


@given(
    depths=st.lists(st.integers(0, 8), min_size=1, max_size=200),
    most=st.integers(300, 4000),
)
def test_budget_holds_and_every_gap_is_counted(depths, most):
    """What is shown and what is left out are together all there is."""
    level, lines = -1, []
    for number, wanted in enumerate(depths):
        level = min(wanted, level + 1)
        lines.append("  " * level + f'- button "number {number}" [ref=e{number}]')
    tree = parse("\n".join(lines))
    shown = show(tree, most=most)
    assert shown.lines + shown.left_out == len(depths)
    counted = sum(
        int(line.split("…")[1].split()[0].replace(",", ""))
        for line in shown.text.splitlines()
        if "…" in line
    )
    assert counted == shown.left_out
    kept = [line for line in shown.text.splitlines() if "…" not in line]
    assert len("\n".join(kept).encode()) <= most
    assert shown.refs == {line.rpartition("[ref=")[2].rstrip("]") for line in kept}
    # Nothing is shown whose holder is not.
    seen = []
    for line in kept:
        at = (len(line) - len(line.lstrip())) // 2
        del seen[at:]
        assert len(seen) == at or at == 0
        seen.append(line)


def test_one_long_list_is_shown_from_its_beginning():
    """Rather than not at all."""
    items = "\n".join(f'    - link "number {n}" [ref=e{n + 10}]' for n in range(5000))
    tree = parse(f'- main [ref=e1]:\n  - list [ref=e2]:\n{items}\n  - heading "End" [ref=e3]')
    shown = show(tree, most=4000)
    assert '"number 0"' in shown.text
    assert '"number 20"' in shown.text
    assert 'heading "End"' in shown.text
    assert "more, see region e2" in shown.text
    assert shown.left_out > 4000


def test_depth_and_region_choose_a_part():
    """And say what they leave out."""
    tree = parse(TREE)
    assert show(tree, most=10_000, depth=1).lines == 1
    part = show(tree, most=10_000, region="e10")
    assert part.text.splitlines()[0] == "- list [ref=e10]"
    assert part.lines == 5
    with pytest.raises(KeyError):
        show(tree, most=10_000, region="e99")


def test_changes_are_the_lines_that_came_and_went():
    """With the element that holds them, and nothing of who has the focus."""
    before = parse(TREE)
    after = parse(
        TREE.replace("clicky", "clacky").replace("[active] ", "").replace(": one", ": 1")
    )
    told = changes(before, after, most=10_000)
    assert told.text.splitlines() == [
        "gone  - generic [clickable] [ref=e8]: clicky",
        "in e1:",
        "new   - generic [clickable] [ref=e8]: clacky",
        "gone  - listitem [ref=e11]: one",
        "in e10:",
        "new   - listitem [ref=e11]: 1",
    ]
    assert told.refs == {"e1", "e8", "e10", "e11"}
    assert changes(before, parse(TREE.replace("[active] ", "")), most=10_000) == Changes()


def test_page_that_is_mostly_new_is_shown_and_not_compared():
    """A difference longer than the page helps nobody."""
    before = parse("\n".join(f"- text: a{n}" for n in range(100)))
    after = parse("\n".join(f"- text: b{n}" for n in range(100)))
    assert changes(before, after, most=100_000) is None
    huge = parse("\n".join(f"- text: c{n}" for n in range(4000)))
    assert changes(before, huge, most=1_000_000) is None


def test_many_equal_lines_are_told_without_finding_which_moved():
    """Finding it would take a quarter of a minute, on pages that are made for that."""
    before = parse("\n".join(f"- text: {'ab'[n % 2]}" for n in range(600)))
    after = parse("\n".join(f"- text: {'bba'[n % 3]}" for n in range(600)))
    told = changes(before, after, most=1_000_000)
    assert told is None
    few = parse("\n".join(f"- text: {'ab'[n % 2]}" for n in range(4)))
    moved = parse("\n".join(f"- text: {'bba'[n % 3]}" for n in range(4)))
    assert sorted(changes(few, moved, most=1_000).text.splitlines()) == [
        "gone  - text: a",
        "new   - text: b",
    ]


@pytest.mark.parametrize(
    ("facts", "secret"),
    [
        ({"type": "password"}, True),
        ({"type": "PASSWORD"}, True),
        ({"type": "text", "auto": "section-x current-password"}, True),
        ({"type": "text", "auto": "one-time-code"}, True),
        ({"type": "tel", "auto": "cc-csc"}, True),
        ({"type": "text", "names": ["pass_word"]}, True),
        ({"type": "text", "names": ["Ihr Passwort"]}, True),
        ({"type": "text", "names": ["ＰＡＳＳＷＯＲＤ"]}, True),
        ({"type": "text", "names": ["API key"]}, True),
        ({"type": "text", "names": ["access token"]}, True),
        ({"type": "text", "names": ["CVV2"]}, True),
        ({"type": "text", "names": ["Security  code"]}, True),
        ({"type": "text", "names": ["compass", "tokens used", "search", "spin"]}, False),
        ({"type": "checkbox", "names": ["Show password"]}, False),
        ({"type": "text", "auto": "username"}, False),
        ({}, False),
    ],
)
def test_credential_fields_are_known_by_type_tokens_and_names(facts, secret):
    """Whichever says so first."""
    assert is_secret_field(facts) is secret


def test_values_of_credential_fields_are_hidden_and_those_of_editable_ones_shown():
    """The tree does not tell them apart."""
    tree = parse(TREE + '  - textbox "Ed" [ref=e20]\n')
    hide(
        tree,
        [
            {"type": "password", "value": "hunter22"},
            {"editable": True, "names": ["Ed"], "value": "typed\nwords"},
        ],
    )
    assert tree.node("e6").line() == '- textbox "pw" [value hidden] [ref=e6]'
    assert tree.node("e20").line() == '- textbox "Ed" [ref=e20]: typed words'


def test_secrets_that_were_typed_are_shown_by_name():
    """Wherever they come out."""
    assert redacted("it is hunter22!", {"site": "hunter22"}) == "it is (secret site)!"
    assert redacted("abc", {"x": "abc"}) == "abc"  # too short to be looked for


def test_invisible_characters_and_our_words_are_taken_out():
    """In one place for all texts."""
    assert plain("a\u202eb\u200bc\x00d") == "abcd"
    assert plain("[ref=e1] [checked] [artifact x] [link](y)") == (
        "(ref=e1) (checked) (artifact x) [link](y)"
    )
    assert "<system" not in plain("<system-reminder>")
    assert quoted('say "hi"\nthere') == "\"say 'hi' there\""
    assert cleaned("x" * 50, 10) == "x" * 10 + "…"
