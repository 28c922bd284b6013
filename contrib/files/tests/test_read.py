"""Windows into files."""

import base64
import os

import pytest

from toolcrib import (
    File,
    Image,
    Invalid,
    NotFound,
    Refused,
)


def test_lines_come_with_their_numbers(tree, files, said):
    tree.write("f", "one\ntwo\n")
    result = files.run("read", path="f")
    assert said(result) == "     1\tone\n     2\ttwo\n"
    assert result.summary == "f: lines 1-2 of 2"
    assert result.structured["newline"] == "lf"
    assert result.structured["final_newline"] is True
    assert result.notes == ()


def test_window_ends_with_the_place_to_go_on(tree, files, said):
    tree.write("f", "".join(f"line {n}\n" for n in range(1, 5001)))
    first = files.run("read", path="f")
    assert first.structured["end"] == 2000
    assert first.structured["next_start"] == 2001
    assert "start=2001" in said(first)
    assert "partial" in first.notes
    rest = files.run("read", path="f", start=4001, limit=1000)
    assert rest.structured["end"] == 5000
    assert rest.structured["next_start"] is None


def test_windows_join_to_the_whole_file(tree, files, said):
    lines = [f"{n} " + "x" * (n % 300) for n in range(1, 1500)]
    tree.write("f", "\n".join(lines) + "\n")
    got, start = [], 1
    for _ in range(50):
        if start is None:
            break
        result = files.run("read", path="f", start=start, limit=400)
        got += [line.split("\t", 1)[1] for line in result.content[0].text.splitlines()]
        start = result.structured["next_start"]
    assert got == lines


def test_start_below_zero_counts_from_the_end(tree, files, said):
    tree.write("f", "a\nb\nc\n")
    assert "     2\tb\n     3\tc\n" in said(files.run("read", path="f", start=-2))
    assert said(files.run("read", path="f", start=-99)).startswith("     1\ta")


def test_start_behind_the_end_is_invalid(tree, files):
    tree.write("f", "a\n")
    failure = files.fails("files.past_end", "read", path="f", start=5)
    assert isinstance(failure, Invalid)
    assert "1 line," in failure.text


def test_long_line_is_clipped_and_can_be_read_on(tree, files, said):
    tree.write("f", "x" * 1999 + "yZ" + "\nshort\n")
    result = files.run("read", path="f")
    assert result.structured["clipped"] == [1]
    assert "partial" in result.notes
    assert "column" in said(result)
    rest = files.run("read", path="f", column=2001)
    assert rest.content[0].text.startswith("     1\tZ\n")


def test_empty_file_says_so(tree, files, said):
    tree.write("f")
    assert said(files.run("read", path="f")) == "The file is empty."


def test_characters_are_bounded_whatever_the_limit(tree, files):
    tree.write("f", ("y" * 1900 + "\n") * 200)
    result = files.run("read", path="f", limit=200)
    assert len(result.content[0].text) < 60_000
    assert result.structured["next_start"] is not None


PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


def test_image_is_a_picture_whatever_its_name(tree, files):
    tree.write("f.txt", PNG)
    result = files.run("read", path="f.txt")
    assert result.content[1] == Image(base64.b64encode(PNG).decode(), "image/png")
    assert result.structured["kind"] == "image"


def test_svg_is_text(tree, files, said):
    tree.write("f.svg", "<svg/>\n")
    assert "<svg/>" in said(files.run("read", path="f.svg"))


def test_other_bytes_are_a_file(tree, files):
    tree.write("f.bin", b"\x00\x01\x02")
    block = files.run("read", path="f.bin").content[1]
    assert isinstance(block, File)
    assert base64.b64decode(block.data) == b"\x00\x01\x02"


def test_bytes_that_are_too_many_are_told_and_not_given(tree, files):
    tree.write("f.bin", bytes(300_000))
    result = files.run("read", path="f.bin")
    assert len(result.content) == 1
    assert "too_large" in result.notes


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
def test_encodings_are_recognised(tree, files, said, encoding):
    tree.write("f", "Grüße aus München\nzwei\n".encode(encoding))
    result = files.run("read", path="f")
    assert "Grüße aus München" in said(result)
    assert not result.structured["lossy"]


def test_folder_is_answered_with_the_tool_for_it(tree, files):
    (tree.ws / "d").mkdir()
    assert "files.list" in files.fails("files.is_folder", "read", path="d").text
    assert "files.list" in files.fails("files.is_folder", "read", path=".").text


def test_missing_file_is_not_found(files):
    assert isinstance(files.fails("files.not_found", "read", path="no"), NotFound)


def test_pipe_is_refused_and_not_waited_for(tree, files):
    os.mkfifo(tree.ws / "pipe")
    assert isinstance(files.fails("files.not_regular", "read", path="pipe"), Refused)


def test_reading_that_failed_does_not_count_as_seen(tree, files):
    path = tree.write("f", "a\n")
    files.fails("files.past_end", "read", path="f", start=9)
    files.fails("files.unread", "write", path="f", content="b\n")
    assert path.read_text() == "a\n"


def test_too_large_a_file_names_the_way_to_its_lines(tree, files):
    path = tree.write("f")
    os.truncate(path, 65 * 1024 * 1024)
    assert "files.grep" in files.fails("files.too_large", "read", path="f").text


def test_reading_changes_nothing(tree, files):
    path = tree.write("f", "a\n")
    before = path.stat()
    files.run("read", path="f")
    after = path.stat()
    assert (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns)
    assert tree.names() == ["f"]
    assert list(tree.state.iterdir()) == []


def test_bare_carriage_returns_end_lines_where_no_line_feed_is(tree, files):
    tree.write("f", b"10%\r20%\r30%")
    result = files.run("read", path="f")
    assert result.structured["total"] == 3
    assert result.structured["newline"] == "cr"
