"""Patches over several files: all of it, or nothing."""

import os
import stat

import pytest

from toolcrib import Invalid, NotFound, Refused

from toolcrib_files.faults import Fault
from toolcrib_files.hunks import apply
from toolcrib_files.patch_grammar import parse


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def update(path: str, *hunk: str) -> list[str]:
    return [f"*** Update File: {path}", "@@", *hunk]


def test_all_kinds_of_change_in_one(tree, files, said):
    tree.write("a.txt", "one\ntwo\n")
    tree.write("gone.txt", "x\n")
    tree.write("old/name.txt", "keep\nchange\n")
    files.run("read", path="gone.txt")
    result = files.run(
        "patch",
        patch=patch(
            "*** Add File: new/b.txt",
            "+first",
            "+",
            "*** Delete File: gone.txt",
            *update("a.txt", "-one", "+1", " two"),
            "*** Update File: old/name.txt",
            "*** Move to: new/name.txt",
            "@@",
            " keep",
            "-change",
            "+changed",
        ),
    )
    assert tree.names() == ["a.txt", "new", "new/b.txt", "new/name.txt", "old"]
    assert (tree.ws / "new/b.txt").read_text() == "first\n\n"
    assert (tree.ws / "a.txt").read_text() == "1\ntwo\n"
    assert (tree.ws / "new/name.txt").read_text() == "keep\nchanged\n"
    assert result.summary == "4 files changed"
    assert [f["path"] for f in result.structured["files"]] == [
        "new/b.txt",
        "gone.txt",
        "a.txt",
        "old/name.txt",
    ]
    assert "moved old/name.txt -> new/name.txt" in said(result)


def test_failure_of_one_file_leaves_all_as_they_were(tree, files):
    tree.write("a", "one\n")
    tree.write("b", "two\n")
    text = patch(*update("a", "-one", "+1"), *update("b", "-three", "+3"))
    failure = files.fails("files.no_match", "patch", patch=text)
    assert "Patch line 7" in failure.text
    assert (tree.ws / "a").read_text() == "one\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nnew\r\nc\r\n"),
        (b"a\nb\nc", b"a\nB\nnew\nc"),
        (b"a\r\nb\nc\r\n", b"a\r\nB\nnew\nc\r\n"),
        (b"a\rb\rc\r", b"a\rB\rnew\rc\r"),
    ],
    ids=["crlf", "no final newline", "mixed", "cr"],
)
def test_each_line_keeps_its_own_ending(tree, files, before, after):
    path = tree.write("f", before)
    files.run("patch", patch=patch(*update("f", " a", "-b", "+B", "+new", " c")))
    assert path.read_bytes() == after


def test_patch_text_with_crlf_is_the_same_patch(tree, files):
    path = tree.write("f", "a\nb\n")
    files.run("patch", patch=patch(*update("f", "-a", "+A", " b")).replace("\n", "\r\n"))
    assert path.read_bytes() == b"A\nb\n"


def test_replaced_last_line_without_newline_stays_without(tree, files):
    path = tree.write("f", "a\nb")
    files.run("patch", patch=patch(*update("f", "-b", "+B", "+C")))
    assert path.read_bytes() == b"a\nB\nC"


def test_lines_can_be_appended(tree, files):
    path = tree.write("f", "a\nb")
    files.run("patch", patch=patch(*update("f", "+c")))
    assert path.read_bytes() == b"a\nb\nc"


def test_hunk_that_fits_several_places_is_refused(tree, files):
    path = tree.write("f", "x\ny\nx\ny\n")
    failure = files.fails("files.ambiguous", "patch", patch=patch(*update("f", "-x", "+z")))
    assert "lines 1, 3" in failure.text
    assert path.read_text() == "x\ny\nx\ny\n"


def test_locator_says_which_place_is_meant(tree, files):
    path = tree.write("f", "def a():\n  x\ndef b():\n  x\n")
    text = patch("*** Update File: f", "@@ def b():", "-  x", "+  y")
    files.run("patch", patch=text)
    assert path.read_text() == "def a():\n  x\ndef b():\n  y\n"


def test_locators_narrow_one_after_the_other(tree, files):
    path = tree.write(
        "f", "class A:\n def f():\n  x\nclass B:\n def f():\n  x\n def g():\n  x\n"
    )
    text = patch("*** Update File: f", "@@ class B:", "@@  def f():", "-  x", "+  y")
    files.run("patch", patch=text)
    assert path.read_text().splitlines()[5] == "  y"
    assert path.read_text().count("  x") == 2


def test_locator_that_stands_twice_is_refused(tree, files):
    tree.write("f", "def f():\n  x\ndef f():\n  x\n")
    text = patch("*** Update File: f", "@@ def f():", "-  x", "+  y")
    assert "lines 1, 3" in files.fails("files.ambiguous", "patch", patch=text).text


def test_end_of_file_marker_pins_a_hunk_to_the_end(tree, files):
    path = tree.write("f", "x\ny\nx\n")
    files.run("patch", patch=patch(*update("f", "-x", "+z", "*** End of File")))
    assert path.read_text() == "x\ny\nz\n"


def test_hunks_never_go_back_behind_the_one_before(tree, files):
    tree.write("f", "a\nb\nc\n")
    text = patch("*** Update File: f", "@@", "-c", "+C", "@@", "-a", "+A")
    failure = files.fails("files.no_match", "patch", patch=text)
    assert "behind line 3" in failure.text


def test_hunk_cannot_match_what_the_one_before_wrote(tree, files):
    tree.write("f", "a\nend\n")
    text = patch("*** Update File: f", "@@", "-a", "+b", "@@", "-b", "+c")
    files.fails("files.no_match", "patch", patch=text)


def test_blanks_are_forgiven_the_files_own_stay_and_this_is_said(tree, files):
    path = tree.write("f", "  keep  \n\told\n")
    result = files.run("patch", patch=patch(*update("f", " keep", "-old", "+new")))
    assert path.read_text() == "  keep  \nnew\n"
    assert "blanks_around_ignored" in result.notes


def test_empty_line_of_a_hunk_is_an_empty_line_that_stays():
    assert parse(patch(*update("f", " a", "", "-b")))[0].hunks[0].lines[1] == (" ", "")


SYNTAX = {
    "nothing": "",
    "no begin": "hello",
    "no end": "*** Begin Patch\n*** Delete File: a\n",
    "text behind": patch("*** Delete File: a") + "more\n",
    "no files": patch(),
    "unknown section": patch("*** Rename File: a"),
    "added line without plus": patch("*** Add File: a", "text"),
    "added file without lines": patch("*** Add File: a"),
    "update without hunk": patch("*** Update File: a"),
    "hunk line without sign": patch(*update("a", "text")),
    "empty hunk": patch(*update("a")),
    "empty path": patch("*** Delete File:  "),
    "too many files": patch(*[f"*** Delete File: f{n}" for n in range(101)]),
    "too long": patch("*** Add File: a", "+" + "x" * 1_100_000),
}


@pytest.mark.parametrize("text", SYNTAX.values(), ids=SYNTAX)
def test_what_is_no_patch_is_refused_with_the_line(text):
    with pytest.raises(Fault, match="Patch line") as caught:
        parse(text)
    assert caught.value.code == "files.patch_syntax"
    assert caught.value.pointer == "/patch"


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", "a//b", "a\\b", "a/"])
def test_paths_are_relative_and_plain(tree, files, path):
    failure = files.fails(
        "files.path_invalid", "patch", patch=patch(f"*** Add File: {path}", "+x")
    )
    assert isinstance(failure, Invalid)
    assert tree.names() == []


def test_version_control_is_left_alone(tree, files):
    text = patch("*** Add File: .git/hooks/pre-commit", "+x")
    files.fails("files.protected", "patch", patch=text)


# Adding and moving never overwrite.


def _refused(files, *lines, code="files.exists"):
    failure = files.fails(code, "patch", patch=patch(*lines))
    assert isinstance(failure, Refused | Invalid)


def test_add_over_an_existing_file_is_refused(tree, files):
    path = tree.write("f", "mine\n")
    _refused(files, "*** Add File: f", "+theirs")
    assert path.read_text() == "mine\n"


def test_move_over_an_existing_file_is_refused(tree, files):
    tree.write("a", "a\n")
    tree.write("b", "b\n")
    _refused(files, "*** Update File: a", "*** Move to: b")
    assert (tree.ws / "b").read_text() == "b\n"


def test_move_over_a_folder_is_refused(tree, files):
    tree.write("a", "a\n")
    (tree.ws / "d").mkdir()
    _refused(files, "*** Update File: a", "*** Move to: d")
    assert tree.names() == ["a", "d"]


def test_add_over_a_dangling_link_is_refused(tree, files):
    (tree.ws / "f").symlink_to("f")
    _refused(files, "*** Add File: f", "+x", code="files.path_changed")


def test_add_below_a_file_is_refused(tree, files):
    tree.write("f", "a\n")
    _refused(files, "*** Add File: f/x", "+x", code="files.not_folder")
    assert tree.names() == ["f"]


def test_two_adds_of_one_path_are_refused(tree, files):
    lines = ("*** Add File: f", "+x", "*** Add File: ./f", "+y")
    _refused(files, *lines, code="files.patch_overlap")
    assert tree.names() == []


def test_two_moves_to_one_path_are_refused(tree, files):
    tree.write("a", "a\n")
    tree.write("b", "b\n")
    lines = ("*** Update File: a", "*** Move to: c", "*** Update File: b", "*** Move to: c")
    _refused(files, *lines, code="files.patch_overlap")
    assert tree.names() == ["a", "b"]


# A file moved onto itself is still there.


@pytest.mark.parametrize("target", ["foo", "./foo", "link"])
def test_update_that_moves_a_file_onto_itself_keeps_it(tree, files, target):
    path = tree.write("foo", "old\n")
    (tree.ws / "link").symlink_to("foo")
    text = patch("*** Update File: foo", f"*** Move to: {target}", "@@", "-old", "+new")
    files.run("patch", patch=text)
    assert path.read_text() == "new\n"
    assert not path.is_symlink()
    assert tree.names() == ["foo", "link"]


def test_move_onto_another_name_of_the_same_file_is_refused(tree, files):
    path = tree.write("foo", "old\n")
    os.link(path, tree.ws / "twin")
    text = patch("*** Update File: foo", "*** Move to: twin", "@@", "-old", "+new")
    files.fails("files.exists", "patch", patch=text)
    assert path.read_text() == "old\n"
    assert (tree.ws / "twin").read_text() == "old\n"


def test_change_of_letter_case_alone_works_where_names_have_case(tree, files):
    tree.write("foo", "old\n")
    files.run("patch", patch=patch("*** Update File: foo", "*** Move to: FOO"))
    assert tree.names() == ["FOO"]


def test_move_without_hunks_keeps_every_byte_and_the_permissions(tree, files):
    path = tree.write("a.bin", b"\x00\xff\r\n")
    path.chmod(0o754)
    files.run("patch", patch=patch("*** Update File: a.bin", "*** Move to: d/b.bin"))
    assert (tree.ws / "d/b.bin").read_bytes() == b"\x00\xff\r\n"
    assert stat.S_IMODE((tree.ws / "d/b.bin").stat().st_mode) == 0o754


# What is destroyed was seen.


def test_file_that_was_not_read_is_not_deleted(tree, files):
    tree.write("f", "a\n")
    files.fails("files.unread", "patch", patch=patch("*** Delete File: f"))
    files.run("read", path="f")
    files.run("patch", patch=patch("*** Delete File: f"))
    assert tree.names() == []


def test_file_that_changed_since_it_was_read_is_not_patched(tree, files):
    path = tree.write("f", "a\nb\n")
    files.run("read", path="f")
    path.write_text("a\nc\n")
    files.fails("files.changed", "patch", patch=patch(*update("f", "-a", "+A")))


def test_missing_file_is_told_with_its_line(files):
    failure = files.fails("files.not_found", "patch", patch=patch(*update("no", "-a", "+b")))
    assert isinstance(failure, NotFound)
    assert "Patch line 2" in failure.text


def test_patch_without_effect_is_invalid(tree, files):
    tree.write("f", "a\n")
    files.fails("files.no_change", "patch", patch=patch(*update("f", " a")))


def test_broken_notebook_is_refused(tree, files):
    tree.write("n.ipynb", '{"cells": [],\n"x": 1}\n')
    text = patch(*update("n.ipynb", '-"x": 1}', '+"x": }'))
    files.fails("files.notebook_broken", "patch", patch=text)


def test_bytes_that_are_no_text_survive_a_patch(tree, files):
    path = tree.write("f", b"\xff\xfe bad\nold\n")
    files.run("patch", patch=patch(*update("f", "-old", "+new")))
    assert path.read_bytes() == b"\xff\xfe bad\nnew\n"


def test_hunks_find_lines_by_position_not_by_speed():
    hunks = parse(patch(*update("f", " 4999", "-5000", "+x")))[0].hunks
    text = "".join(f"{n}\n" for n in range(1, 9001))
    assert apply(text, hunks, "f").text.split("\n")[4999] == "x"
