"""Edits by exact text."""

import os

import pytest

from toolcrib import Invalid, NotFound, Refused

from toolcrib_files.exact import Edit, apply


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"one\r\ntwo\r\n", "one", "1", b"1\r\ntwo\r\n"),
        (b"one\ntwo\n", "two", "2", b"one\n2\n"),
        (b"a\r\nb\nc\r\n", "b", "B", b"a\r\nB\nc\r\n"),
        (b"10%\r20%\r30%", "20%", "25%", b"10%\r25%\r30%"),
        (b"one\ntwo", "two", "2", b"one\n2"),
        (b"one\ntwo\n", "one", "1", b"1\ntwo\n"),
    ],
    ids=["crlf", "lf", "mixed", "bare cr", "no final newline", "final newline"],
)
def test_edit_leaves_line_endings_it_did_not_touch(tree, files, before, old, new, after):
    path = tree.write("f", before)
    files.edit("f", old, new)
    assert path.read_bytes() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"x\r\na\r\nb\r\ny\r\n", b"x\r\n1\r\n2\r\n3\r\ny\r\n"),
        (b"x\na\nb\ny", b"x\n1\n2\n3\ny"),
        (b"x\ra\rb\ry\r", b"x\r1\r2\r3\ry\r"),
        (b"x\na\r\nb\ny\n", b"x\n1\r\n2\r\n3\ny\n"),
    ],
    ids=["crlf", "lf", "cr", "mixed"],
)
def test_block_of_two_lines_is_found_and_its_new_lines_end_like_those_around(
    tree, files, before, after
):
    path = tree.write("f", before)
    files.edit("f", "a\nb", "1\n2\n3")
    assert path.read_bytes() == after


def test_appending_keeps_the_state_of_the_final_newline(tree, files):
    path = tree.write("f", b"a\r\nb")
    files.edit("f", "b", "b\nc")
    assert path.read_bytes() == b"a\r\nb\r\nc"


def test_mixed_line_endings_stay_line_by_line(tree, files):
    path = tree.write("f", b"a\r\nb\nc\r\n")
    files.edit("f", "a\nb\nc", "A\nB\nC")
    assert path.read_bytes() == b"A\r\nB\nC\r\n"


def test_line_ends_that_are_written_out_stay_as_written(tree, files):
    path = tree.write("f", b"a\nb\n")
    files.edit("f", "a", "1\r\n2")
    assert path.read_bytes() == b"1\r\n2\nb\n"


TEMPLATES = ["$&", "$1", "$$", r"\1", r"\g<0>", r"\n", "{0}", "%s", "a\0b", "${x}", r"\u0041"]


@pytest.mark.parametrize("new", TEMPLATES)
@pytest.mark.parametrize("replace_all", [False, True])
def test_replacement_text_is_no_template(tree, files, new, replace_all):
    path = tree.write("f", "x OLD y\n")
    result = files.edit("f", "OLD", new, replace_all=replace_all)
    assert path.read_bytes() == f"x {new} y\n".encode()
    assert result.structured["files"][0]["added"] == 1
    assert result.structured["files"][0]["removed"] == 1


def test_ambiguous_text_is_refused_with_its_line_numbers(tree, files):
    path = tree.write("f", "a\nb\na\nc\na\n")
    failure = files.fails("files.ambiguous", "edit", path="f", edits=[{"old": "a", "new": "z"}])
    assert "3 places (lines 1, 3, 5)" in failure.text
    assert isinstance(failure, Invalid)
    assert failure.path == "/edits/0/old"
    assert path.read_bytes() == b"a\nb\na\nc\na\n"


def test_every_place_is_replaced_when_all_are_meant(tree, files):
    path = tree.write("f", "a\nb\na\nc\na\n")
    result = files.edit("f", "a", "z", replace_all=True)
    assert path.read_bytes() == b"z\nb\nz\nc\nz\n"
    assert result.structured["files"][0]["replaced"] == [1, 3, 5]


def test_expected_count_that_is_met_replaces_all(tree, files):
    path = tree.write("f", "a a\n")
    files.edit("f", "a", "z", count=2)
    assert path.read_bytes() == b"z z\n"


def test_expected_count_that_differs_changes_nothing(tree, files):
    path = tree.write("f", "a\na\na\n")
    edits = [{"old": "a", "new": "z", "count": 2}]
    failure = files.fails("files.count_mismatch", "edit", path="f", edits=edits)
    assert "3 places" in failure.text
    assert path.read_bytes() == b"a\na\na\n"


@pytest.mark.parametrize("more", [{}, {"replace_all": True}, {"count": 2}])
def test_overlapping_places_are_never_replaced(tree, files, more):
    path = tree.write("f", "aaa\n")
    edits = [{"old": "aa", "new": "z", **more}]
    files.fails("files.ambiguous", "edit", path="f", edits=edits)
    assert path.read_bytes() == b"aaa\n"


def test_empty_search_text_is_invalid(tree, files):
    tree.write("f", "a\n")
    failure = files.fails(
        "files.empty_search", "edit", path="f", edits=[{"old": "", "new": "z"}]
    )
    assert isinstance(failure, Invalid)


def test_search_equal_to_replacement_is_invalid(tree, files):
    tree.write("f", "a\n")
    failure = files.fails("files.no_change", "edit", path="f", edits=[{"old": "a", "new": "a"}])
    assert isinstance(failure, Invalid)


def test_edits_see_the_original_and_not_each_other(tree, files):
    path = tree.write("f", "one two\n")
    files.run(
        "edit", path="f", edits=[{"old": "one", "new": "two"}, {"old": "two", "new": "3"}]
    )
    assert path.read_text() == "two 3\n"


def test_one_edit_that_fails_leaves_all_undone(tree, files):
    path = tree.write("f", "one two\n")
    edits = [{"old": "one", "new": "1"}, {"old": "three", "new": "3"}]
    failure = files.fails("files.no_match", "edit", path="f", edits=edits)
    assert failure.code == "files.no_match"
    assert isinstance(failure, NotFound)
    assert path.read_text() == "one two\n"


def test_edits_that_overlap_are_refused(tree, files):
    tree.write("f", "abcdef\n")
    edits = [{"old": "abc", "new": "x"}, {"old": "cde", "new": "y"}]
    files.fails("files.overlapping", "edit", path="f", edits=edits)


@pytest.mark.parametrize(
    ("content", "old", "expected"),
    [
        ("def total(self):\n", "def totel(self):", "line 1 (similar)"),
        ("    x  = 1\n", "  x = 1", "line 1 (only blanks differ)"),
        ("say(“hi”)\n", 'say("hi")', "only quotation marks differ"),
        ("completely different\n", "zzzz qqqq", "No line is like it"),
    ],
)
def test_text_that_is_not_there_is_answered_with_what_is_most_like_it(
    tree, files, content, old, expected
):
    tree.write("f", content)
    failure = files.fails("files.no_match", "edit", path="f", edits=[{"old": old, "new": "n"}])
    assert expected in failure.text


def test_second_half_of_a_crlf_is_no_place_of_its_own():
    text, _ = apply("a\r\nb", [Edit(old="\nb", new="\nc")])
    assert text == "a\r\nc"
    assert apply("a\r\n\r\nb", [Edit(old="\n\nb", new="\nb")])[0] == "a\r\nb"


def test_bytes_that_are_no_text_survive_an_edit_elsewhere(tree, files, said):
    path = tree.write("f", b"first \xff\xfe bytes\nsecond\n")
    shown = files.run("read", path="f")
    assert shown.structured["lossy"]
    assert "lossy" in shown.notes
    assert "\ufffd\ufffd" in said(shown)
    files.edit("f", "second", "2nd")
    assert path.read_bytes() == b"first \xff\xfe bytes\n2nd\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-16-be", "utf-32"])
def test_encoding_and_mark_of_a_file_are_kept(tree, files, encoding):
    text = "größe = 1\r\nmehr Zeilen Text\r\n"
    path = tree.write("f", text.encode(encoding))
    files.edit("f", "größe = 1", "größe = 2")
    assert path.read_bytes() == text.replace("1", "2").encode(encoding)


def test_legacy_encoding_is_kept(tree, files):
    text = "Die Straße führt über den großen Fluß, später läuft sie müde zurück.\n" * 5
    path = tree.write("f", text.encode("cp1252"))
    result = files.run("read", path="f")
    assert not result.structured["lossy"]
    assert "encoding_guessed" in result.notes
    files.edit("f", "später", "früher", replace_all=True)
    assert path.read_bytes() == text.replace("später", "früher").encode("cp1252")


def test_character_that_the_encoding_cannot_write_is_refused(tree, files):
    text = "Die Straße führt über den großen Fluß, später läuft sie müde zurück.\n" * 5
    path = tree.write("f", text.encode("cp1252"))
    edits = [{"old": "später", "new": "雪", "replace_all": True}]
    files.fails("files.unencodable", "edit", path="f", edits=edits)
    assert path.read_bytes() == text.encode("cp1252")


def test_binary_file_has_no_text_to_edit(tree, files):
    tree.write("f", b"\x00\x01\x02abc")
    files.fails("files.binary", "edit", path="f", edits=[{"old": "abc", "new": "x"}])


def _touch_now(path):
    os.utime(path)


def _touch_back(path):
    os.utime(path, (1, 1))


def _save_same(path):
    path.write_bytes(path.read_bytes())


@pytest.mark.parametrize("harmless", [_touch_now, _touch_back, _save_same])
def test_file_that_was_only_touched_has_not_changed(tree, files, harmless):
    path = tree.write("f", "one\ntwo\n")
    files.run("read", path="f")
    harmless(path)
    files.edit("f", "one", "1")
    assert path.read_text() == "1\ntwo\n"


def test_file_that_changed_under_its_old_time_stamp_is_refused(tree, files):
    path = tree.write("f", "one\ntwo\n")
    stamp = path.stat()
    files.run("read", path="f")
    path.write_text("one\nTWO\n")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    failure = files.fails("files.changed", "edit", path="f", edits=[{"old": "one", "new": "1"}])
    assert isinstance(failure, Refused)
    assert path.read_text() == "one\nTWO\n"


def test_reading_again_makes_the_edit_possible(tree, files):
    path = tree.write("f", "one\n")
    files.run("read", path="f")
    path.write_text("one\ntwo\n")
    files.fails("files.changed", "edit", path="f", edits=[{"old": "one", "new": "1"}])
    files.run("read", path="f")
    files.edit("f", "one", "1")
    assert path.read_text() == "1\ntwo\n"


def test_own_edits_do_not_count_as_foreign_changes(tree, files):
    path = tree.write("f", "a\nb\n")
    files.run("read", path="f")
    files.edit("f", "a", "1")
    files.edit("f", "b", "2")
    assert path.read_text() == "1\n2\n"


def test_digest_of_the_caller_is_compared(tree, files):
    path = tree.write("f", "a\n")
    digest = files.run("read", path="f").structured["digest"]
    path.write_text("a\nb\n")
    edits = [{"old": "a", "new": "1"}]
    files.memory.tracker.__init__()  # another session
    files.fails("files.changed", "edit", path="f", edits=edits, expect_digest=digest)
    assert path.read_text() == "a\nb\n"


NOTEBOOK = '{"cells": [{"cell_type": "code", "source": ["print(1)\\n"]}], "nbformat": 4}\n'


def test_edit_that_would_break_a_notebook_is_refused(tree, files):
    path = tree.write("n.ipynb", NOTEBOOK)
    edits = [{"old": "print(1)", "new": 'print("1")'}]
    files.fails("files.notebook_broken", "edit", path="n.ipynb", edits=edits)
    assert path.read_text() == NOTEBOOK


def test_edit_that_keeps_a_notebook_sound_touches_nothing_else(tree, files):
    path = tree.write("n.ipynb", NOTEBOOK)
    files.edit("n.ipynb", "print(1)", "print(2)")
    assert path.read_text() == NOTEBOOK.replace("print(1)", "print(2)")


def test_file_that_is_not_there_is_told_apart(files):
    failure = files.fails(
        "files.not_found", "edit", path="no", edits=[{"old": "a", "new": "b"}]
    )
    assert isinstance(failure, NotFound)
