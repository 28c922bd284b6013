"""The language of rules: what can be said, and what a slip is told."""

from __future__ import annotations

import pytest

from hypothesis import given
from hypothesis import strategies as st
from toolcrib import rules
from toolcrib.errors import RuleSyntaxError


@pytest.mark.parametrize(
    "text",
    [
        "deny files.read(path=**/.env*)",
        "allow web.fetch(host=*.example.com)",
        "ask mcp.github.*",
        "allow *",
        "allow files.write(path=src/**, path=!src/vendor/**)",
        'allow "mcp.srv.odd name (1), x"(server=srv)',
        'deny "mcp.srv.star \\*"',
        "allow shell.run(command=\"git commit -m 'a, (b)*'\")",
        "allow web.fetch(url=https://example.com/docs, mode=ask)",
        "deny *(effect=net_write, agent=worker)",
        "allow db.query(table=public.*, access=read)",
        "allow chat.send(chat-channel=#general)",
        "allow task.add(state=lists/**)",
    ],
)
def test_a_rule_reads_back_as_itself(text):
    """The standard form of a rule is its text."""
    rule = rules.parse(text)
    assert rule.text == text
    assert rules.parse(rule.text) == rule


def test_blanks_make_no_difference():
    """Nor does where a rule stands."""
    loose = rules.parse(
        "  deny   files.read ( path = **/.env* , access = read ) ", file="f", line=3
    )
    assert loose == rules.parse("deny files.read(path=**/.env*, access=read)")
    assert loose.name == "rule 'deny files.read(path=**/.env*, access=read)' (f:3)"


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("", 0, "a rule reads"),
        ("alow files.read", 0, "allow, ask or deny"),
        ("deny", 4, "expected a tool"),
        ("deny Drop", 5, "names no tool"),
        ("deny mcp__srv__drop", 5, "names no tool"),
        ("deny files.", 5, "names no tool"),
        ("deny files.read(pth=x)", 16, "did you mean 'path'"),
        ("deny files.read(path)", 20, "expected '='"),
        ("deny files.read(path=)", 21, "expected a pattern"),
        ("deny files.read(path=x", 15, "not closed"),
        ('deny files.read(path="x)', 21, "quote is not closed"),
        ("deny files.read(path=x) y", 24, "should end here"),
        ("deny files.read(path=a(b))", 22, "double quotes"),
        ("deny files.read(path=a/b**)", 23, "whole parts"),
        ("deny files.read(path=a/../b)", 23, "start of a relative path"),
        ("deny files.read(path=C:\\Users)", 23, "write '/'"),
        ("deny web.fetch(host=exa*mple.com)", 20, "whole labels"),
        ("deny web.fetch(host=https://x.com)", 20, "give the name alone"),
        ("deny web.fetch(host=a b.*)", 20, "not a label"),
        ("deny web.fetch(url=example.com)", 19, "scheme and host"),
        ("deny web.fetch(url=https://e.com/a?b=c)", 34, "before its query"),
        ("deny web.fetch(url=gopher://e.com)", 19, "the scheme is one of"),
        ("deny x.y(effect=fs_wrte)", 16, "is no effect"),
        ("deny x.y(mode=yolo)", 14, "is no mode"),
        ("deny x.y(command='a)", 17, "single quote"),
        ("deny x.y(path=a\u202eb)", 15, "invisible characters"),
    ],
)  # fmt: skip
def test_a_slip_is_pointed_at(text, column, says):
    """The message says what is wrong, and the caret where."""
    with pytest.raises(RuleSyntaxError, match=says) as caught:
        rules.parse(text, file="policy.toml", line=7)
    assert caught.value.column == column
    assert str(caught.value).startswith("policy.toml:7: ")
    assert str(caught.value).endswith(f"\n  {text}\n  {' ' * column}^")


def test_lines_of_a_file_know_where_they_stand():
    """Empty lines and remarks are passed over."""
    found = rules.parse_lines("# mine\n\nallow *\n  deny a.b\n", file="r")
    assert [(rule.text, rule.line) for rule in found] == [("allow *", 3), ("deny a.b", 4)]


@given(st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), min_size=1))
def test_an_escaped_text_fits_itself_only(text):
    """Whatever stands in it, a quoted pattern of a name means that name."""
    rule = rules.parse(f"allow a.b(server={rules.quote(rules.escape(text))})")
    (field,) = rule.fields
    assert field.pattern.tokens == (text,)
    assert rules.parse(rule.text) == rule


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), min_size=1),
        min_size=1,
    )
)
def test_an_exact_command_fits_its_own_words(words):
    """Stars, quotes and blanks of a saved command are no wildcards."""
    from toolcrib import resources  # noqa: PLC0415

    value = resources.Command(words).value
    rule = rules.parse(f"allow a.b(command={rules.quote(rules.exact('command', value))})")
    assert list(rule.fields[0].pattern.tokens) == words


@given(st.text())
def test_any_text_is_read_or_refused(text):
    """No text makes the parser fail in another way."""
    try:
        rule = rules.parse(text)
    except RuleSyntaxError as error:
        assert 0 <= error.column <= len(text)  # noqa: PT017
    else:
        assert rules.parse(rule.text) == rule


@given(st.text(alphabet="allowdenysk .*()=,\"\\!/ab-'path:", max_size=40))
def test_any_text_of_the_alphabet_is_read_or_refused(body):
    """The same, closer to the grammar."""
    try:
        rule = rules.parse("deny a.b(" + body + ")")
    except RuleSyntaxError:
        return
    assert rules.parse(rule.text) == rule
