"""Questions about a place: named like people do, answered in one form."""

import pytest

from lsp_kit import good, places, text_of


def ask(fake, tool, **arguments):
    async def scenario(call):
        return await call(tool, **arguments)

    return fake.run(scenario)


def test_definition_is_found_by_line_and_name(fake):
    outcome = ask(fake, "definition", path="b.src", line=2, name="one")
    assert places(outcome) == ["a.src:1:5"]
    assert text_of(outcome) == "a.src:1:5: def one"


def test_name_that_stands_once_needs_no_line(fake):
    assert places(ask(fake, "definition", path="b.src", name="one")) == ["a.src:1:5"]


def test_line_and_column_are_enough(fake):
    assert places(ask(fake, "definition", path="b.src", line=2, column=5)) == ["a.src:1:5"]


def test_line_alone_means_its_first_word(fake):
    assert places(ask(fake, "definition", path="a.src", line=2)) == ["a.src:1:5"]


def test_references_are_in_the_order_of_files_and_lines(fake):
    outcome = ask(fake, "references", path="b.src", name="one")
    assert places(outcome) == ["a.src:1:5", "a.src:2:1", "b.src:2:5"]
    assert [e["text"] for e in good(outcome)["locations"]] == ["def one", "one two", "use one"]


def test_name_on_several_lines_is_refused_with_the_lines(fake):
    outcome = ask(fake, "definition", path="a.src", name="one")
    assert (outcome.status, outcome.code) == ("invalid", "lsp.ambiguous")
    assert "1: def one" in outcome.text
    assert "2: one two" in outcome.text


def test_name_that_is_elsewhere_is_refused_with_its_lines(fake):
    outcome = ask(fake, "definition", path="b.src", line=1, name="one")
    assert (outcome.status, outcome.code) == ("not_found", "lsp.name_not_there")
    assert "2: use one" in outcome.text


def test_part_of_a_word_is_no_name(fake):
    fake.write("c.src", "defone one_more\n")
    outcome = ask(fake, "definition", path="c.src", line=1, name="one")
    assert outcome.code == "lsp.name_not_there"


def test_last_part_of_a_dotted_name_is_meant(fake):
    fake.write("c.src", "use b.one now\n")
    assert places(ask(fake, "definition", path="c.src", name="b.one")) == ["a.src:1:5"]


def test_first_of_two_on_a_line_is_meant_and_said(fake):
    fake.write("c.src", "one and one\n")
    outcome = ask(fake, "definition", path="c.src", line=1, name="one")
    assert places(outcome) == ["a.src:1:5"]
    assert "column 9" in text_of(outcome)
    assert "name_stands_twice" in outcome.result.notes


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"line": 99}, "lsp.past_end"),
        ({"line": 1, "column": 99}, "lsp.past_end"),
        ({}, "lsp.no_place"),
        ({"line": 1, "name": "def", "column": 7}, "lsp.name_not_there"),
    ],
)
def test_place_that_is_none_is_refused(fake, arguments, code):
    assert ask(fake, "definition", path="a.src", **arguments).code == code


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", None])
def test_columns_are_the_same_whatever_the_server_counts(fake, encoding):
    fake.plan(encoding=encoding)
    fake.write("a.src", "def é😀x\n'é😀x' é😀x z\n".replace("é😀x", "x", 1))
    fake.write("c.src", "é😀 x é😀 x\n")
    outcome = ask(fake, "references", path="c.src", line=1, name="x", column=9)
    assert places(outcome)[-2:] == ["c.src:1:4", "c.src:1:9"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_answers_after_wide_characters_are_cut_right(fake, encoding):
    fake.plan(encoding=encoding, diagnostics="pull")
    fake.write("c.src", "'é😀x' BAD é😀x\n")
    found = good(ask(fake, "diagnostics", path="c.src"))["diagnostics"]
    (place,) = [each["location"] for each in found]
    assert (place["column"], place["end_column"], place["name"]) == (7, 10, "BAD")


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (None, []),
        ([], []),
        ("one", ["a.src:1:5"]),
        ("list", ["a.src:1:5"]),
        ("link", ["a.src:1:5"]),
        ("twice", ["a.src:1:5"]),
    ],
)
def test_every_form_of_answer_is_understood(fake, reply, found):
    uri = (fake.ws / "a.src").as_uri()
    span = {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 7}}
    one = {"uri": uri, "range": span}
    forms = {
        "one": one,
        "list": [one],
        "twice": [one, one],
        "link": [{"targetUri": uri, "targetRange": span, "targetSelectionRange": span}],
    }
    fake.plan(methods={"textDocument/definition": [[{"reply": forms.get(str(reply), reply)}]]})
    outcome = ask(fake, "definition", path="b.src", name="one")
    assert places(outcome) == found
    if not found:
        assert "knows no definition of 'one' at b.src:2:5" in text_of(outcome)


def test_answer_that_cannot_be_read_is_not_taken_for_none(fake):
    uri = (fake.ws / "a.src").as_uri()
    reply = [{"uri": 7}, 3, {"uri": uri, "range": {}}]
    fake.plan(methods={"textDocument/definition": [[{"reply": reply}]]})
    outcome = ask(fake, "definition", path="b.src", name="one")
    assert (outcome.status, outcome.code) == ("failed", "lsp.bad_answer")


def test_places_outside_of_the_workspace_are_named_and_not_read(fake):
    span = {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 10}}
    reply = {"uri": (fake.folder / "outside.src").as_uri(), "range": span}
    fake.plan(methods={"textDocument/definition": [[{"reply": reply}]]})
    outcome = ask(fake, "definition", path="b.src", name="one")
    (found,) = good(outcome)["locations"]
    assert found["outside"]
    assert found["text"] == ""
    assert "secret" not in text_of(outcome)


@pytest.mark.parametrize("path", ["../outside.src", "link.src"])
def test_paths_outside_of_the_workspace_are_refused(fake, path):
    (fake.ws / "link.src").symlink_to(fake.folder / "outside.src")
    outcome = ask(fake, "definition", path=path, line=1, name="secret")
    assert (outcome.status, outcome.code) == ("refused", "lsp.outside")
    assert fake.starts == 0


def test_file_that_is_not_there_is_said_before_a_server_starts(fake):
    outcome = ask(fake, "definition", path="nothing.src", line=1)
    assert (outcome.status, outcome.code) == ("not_found", "lsp.not_found")
    assert fake.starts == 0


@pytest.mark.parametrize(
    ("contents", "text"),
    [
        ("plain", "plain"),
        ({"language": "src", "value": "def one"}, "```src\ndef one\n```"),
        ({"kind": "markdown", "value": "**one**"}, "**one**"),
        (["first", {"language": "x", "value": "second"}], "first\n\n```x\nsecond\n```"),
    ],
)
def test_every_form_of_hover_is_understood(fake, contents, text):
    fake.plan(methods={"textDocument/hover": [[{"reply": {"contents": contents}}]]})
    outcome = ask(fake, "hover", path="b.src", name="one")
    assert text_of(outcome) == text


def test_pages_follow_each_other_and_end(fake):
    fake.write("c.src", "one\n" * 25)

    async def scenario(call):
        found, cursor = [], None
        while True:
            more = {} if cursor is None else {"cursor": cursor}
            outcome = await call("references", path="b.src", name="one", limit=10, **more)
            found += places(outcome)
            cursor = good(outcome)["cursor"]
            if cursor is None:
                return found, good(outcome)["total"]

    found, total = fake.run(scenario)
    assert len(found) == len(set(found)) == total == 28


def test_cursor_of_an_answer_that_changed_is_refused(fake):
    fake.write("c.src", "one\n" * 25)

    async def scenario(call):
        first = await call("references", path="b.src", name="one", limit=10)
        fake.write("c.src", "one\n" * 24)
        cursor = good(first)["cursor"]
        stale = await call("references", path="b.src", name="one", limit=10, cursor=cursor)
        bad = await call("references", path="b.src", name="one", cursor="x")
        return stale, bad

    stale, bad = fake.run(scenario)
    assert stale.code == "lsp.stale_cursor"
    assert bad.code == "lsp.bad_cursor"


def test_symbols_have_kinds_in_words(fake):
    found = good(ask(fake, "symbols", path="a.src"))["symbols"]
    assert [(s["name"], s["kind"], s["location"]["line"]) for s in found] == [
        ("one", "function", 1)
    ]


def test_symbols_of_the_workspace_leave_out_what_lies_outside(fake):
    span = {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 7}}
    hits = [
        {"name": name, "kind": 5, "location": {"uri": uri, "range": span}}
        for name, uri in (
            ("lonely_one", (fake.ws / "b.src").as_uri()),
            ("one", (fake.ws / "a.src").as_uri()),
            ("one", (fake.folder / "outside.src").as_uri()),
        )
    ]
    fake.plan(methods={"workspace/symbol": [[{"reply": hits}]]})
    outcome = ask(fake, "workspace_symbols", query="one")
    found = good(outcome)["symbols"]
    assert [s["location"]["path"] for s in found] == ["a.src", "b.src"]
    assert "1 hits outside of the workspace are left out" in text_of(outcome)


def test_method_that_a_server_lacks_is_unavailable_and_says_so(fake):
    fake.plan(capabilities={"referencesProvider": None})
    outcome = ask(fake, "references", path="b.src", name="one")
    assert (outcome.status, outcome.code) == ("unavailable", "lsp.unsupported")
    assert "references is not supported by fake" in outcome.text


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32601, "Method Not Found: textDocument/references"),
        (-32600, "unknown method textDocument/references"),
        (-32700, "JSON RPC parse error: method not found"),
        (-32603, "Unhandled method textDocument/references"),
    ],
)
def test_method_that_a_server_claimed_and_does_not_know(fake, code, message):
    error = {"code": code, "message": message}
    fake.plan(methods={"textDocument/references": [[{"error": error}]]})

    async def scenario(call):
        first = await call("references", path="b.src", name="one")
        second = await call("references", path="b.src", name="one")
        return first, second

    for outcome in fake.run(scenario):
        assert outcome.code == "lsp.unsupported"
    assert len(fake.logged("textDocument/references")) == 1


def test_other_errors_are_told_as_the_server_said_them(fake):
    error = {"code": -32603, "message": "internal: index broken"}
    fake.plan(methods={"textDocument/references": [[{"error": error}]]})
    outcome = ask(fake, "references", path="b.src", name="one")
    assert (outcome.status, outcome.code) == ("failed", "lsp.server_error")
    assert "index broken" in outcome.text
