"""Whole files, written in one step."""

import errno
import os
import stat
import struct
import threading

import pytest

from toolcrib import Busy, Invalid, Refused

from toolcrib_files import replacing
from toolcrib_files.faults import Fault
from toolcrib_files.places import locate
from toolcrib_files.texts import digest


def test_new_file_gets_exactly_the_content(tree, files):
    result = files.run("write", path="a/b/new.txt", content="x\r\ny")
    assert (tree.ws / "a/b/new.txt").read_bytes() == b"x\r\ny"
    assert result.summary == "added a/b/new.txt (+2 -0)"
    assert result.structured["files"][0]["change"] == "added"


def test_new_file_has_the_permissions_that_the_mask_gives(tree, files):
    old = os.umask(0o027)
    try:
        files.run("write", path="new", content="x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tree.ws / "new").stat().st_mode) == 0o640


def test_permissions_of_a_file_stay(tree, files):
    path = tree.write("f", "a\n")
    path.chmod(0o751)
    files.edit("f", "a", "b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o751


def test_new_bytes_do_not_run_as_the_owner_of_the_file(tree, files):
    path = tree.write("f", "a\n")
    path.chmod(0o6755)
    files.edit("f", "a", "b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def _give_list(path):
    """Let user 1234 read and write, and the file's group nothing; the mode shows 0660."""
    entries = [(1, 6, -1), (2, 6, 1234), (4, 0, -1), (16, 6, -1), (32, 0, -1)]
    packed = [struct.pack("<HHi", tag, rights, who) for tag, rights, who in entries]
    try:
        os.setxattr(path, "system.posix_acl_access", struct.pack("<I", 2) + b"".join(packed))
    except (AttributeError, OSError):
        pytest.skip("this file system has no access lists")


def test_access_list_and_attributes_of_a_file_stay(tree, files):
    path = tree.write("f", "a\n")
    _give_list(path)
    os.setxattr(path, "user.note", b"mine")
    before = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    files.edit("f", "a", "b")
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == before


def test_group_that_an_access_list_kept_out_stays_out_where_the_list_cannot_go(
    tree, files, monkeypatch
):
    path = tree.write("f", "a\n")
    _give_list(path)

    def refuse(*_):
        raise OSError(errno.EPERM, "not here")

    monkeypatch.setattr(os, "setxattr", refuse)
    files.edit("f", "a", "b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_group_that_an_access_list_kept_out_stays_out_of_a_moved_file(tree, files):
    _give_list(tree.write("f", "a\n"))
    files.run(
        "patch", patch="*** Begin Patch\n*** Update File: f\n*** Move to: g\n*** End Patch"
    )
    assert stat.S_IMODE((tree.ws / "g").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        ".GIT",
        ".Git ",
        ".git.",
        ".g\u200cit",
        "\uff0egit",
        ".git::$DATA",
        "GIT~1",
        ".Hg",
    ],
)
def test_version_control_is_not_written_to_under_a_name_that_some_system_takes_for_it(
    tree, files, name
):
    with pytest.raises(Refused) as caught:
        files.run("write", path=f"{name}/hooks/x", content="x")
    assert caught.value.code == "files.protected"
    assert not any(tree.ws.iterdir())


def test_existing_file_that_was_not_read_is_not_replaced(tree, files):
    path = tree.write("f", "a\n")
    assert isinstance(files.fails("files.unread", "write", path="f", content="b\n"), Refused)
    assert path.read_text() == "a\n"


def test_part_of_a_file_is_not_the_whole(tree, files):
    path = tree.write("f", "a\nb\nc\nd\n")
    files.run("read", path="f", start=2, limit=2)
    failure = files.fails("files.unread", "write", path="f", content="x\n")
    assert "1, 4" in failure.text
    files.run("read", path="f", start=1, limit=1)
    files.fails("files.unread", "write", path="f", content="x\n")
    files.run("read", path="f", start=4, limit=1)
    files.run("write", path="f", content="x\n")
    assert path.read_text() == "x\n"


def test_clipped_line_is_not_a_line_that_was_seen(tree, files):
    tree.write("f", "x" * 3000 + "\n")
    files.run("read", path="f")
    files.fails("files.unread", "write", path="f", content="y\n")


def test_file_that_was_read_whole_is_replaced(tree, files):
    path = tree.write("f", "a\n")
    files.run("read", path="f")
    files.run("write", path="f", content="b\n")
    files.run("write", path="f", content="c\n")
    assert path.read_text() == "c\n"


def test_digest_of_the_caller_stands_for_a_reading(tree, files):
    path = tree.write("f", "a\n")
    assert "expect_digest" in files.fails("files.unread", "write", path="f", content="b\n").text
    files.run("write", path="f", content="b\n", expect_digest=digest(b"a\n"))
    assert path.read_text() == "b\n"


def test_empty_file_may_be_filled_unread(tree, files):
    path = tree.write("f")
    files.run("write", path="f", content="b\n")
    assert path.read_text() == "b\n"


def test_file_that_changed_since_it_was_read_is_not_replaced(tree, files):
    path = tree.write("f", "a\n")
    files.run("read", path="f")
    path.write_text("new\n")
    files.fails("files.changed", "write", path="f", content="b\n")
    assert path.read_text() == "new\n"


def test_file_that_vanished_is_made_only_without_a_digest(tree, files):
    files.fails("files.changed", "write", path="f", content="b", expect_digest="0" * 64)
    assert tree.names() == []


def test_content_with_question_marks_for_unreadable_bytes_is_refused(tree, files, said):
    before = b"ok \xff\xfe\nmore\n"
    path = tree.write("f", before)
    shown = files.run("read", path="f")
    content = "".join(
        line.split("\t", 1)[1] + "\n" for line in shown.content[0].text.splitlines()
    )
    files.fails("files.lossy", "write", path="f", content=content)
    assert path.read_bytes() == before


def test_encoding_of_a_file_stays_when_it_is_replaced(tree, files):
    path = tree.write("f", "größe\n".encode("utf-16"))
    files.run("read", path="f")
    files.run("write", path="f", content="größer\n")
    assert path.read_bytes() == "größer\n".encode("utf-16")


def test_content_that_is_there_already_is_told(tree, files):
    tree.write("f", "a\n")
    files.run("read", path="f")
    failure = files.fails("files.no_change", "write", path="f", content="a\n")
    assert isinstance(failure, Invalid)


def test_folder_is_not_replaced_by_a_file(tree, files):
    (tree.ws / "d").mkdir()
    files.fails("files.is_folder", "write", path="d", content="x")
    files.fails("files.is_folder", "write", path=".", content="x")


def test_file_under_a_file_is_refused_before_anything_is_made(tree, files):
    tree.write("f", "a\n")
    files.fails("files.not_folder", "write", path="f/x/y", content="x")
    assert tree.names() == ["f"]


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "sub/.git/config", ".hg/hgrc"])
def test_version_control_is_not_written_to(tree, files, path):
    assert isinstance(files.fails("files.protected", "write", path=path, content="x"), Refused)
    assert tree.names() == []


def test_read_only_file_is_refused_even_to_root(tree, files):
    path = tree.write("f", "a\n")
    path.chmod(0o444)
    files.fails("files.read_only", "edit", path="f", edits=[{"old": "a", "new": "b"}])
    assert path.read_text() == "a\n"


def test_nothing_is_left_over_when_writing_fails(tree, files, monkeypatch):
    path = tree.write("f", "a\n")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(replacing, "_write", full)
    files.fails("files.disk_full", "edit", path="f", edits=[{"old": "a", "new": "b"}])
    files.fails("files.disk_full", "write", path="d/new", content="x")
    assert tree.names() == ["f"]
    assert path.read_text() == "a\n"


@pytest.mark.parametrize("named", [False, True])
def test_interruption_leaves_the_old_file_and_nothing_else(tree, files, monkeypatch, named):
    path = tree.write("f", "a\n")
    if named:
        monkeypatch.setattr(replacing.Folder, "open_unnamed", lambda *_: None)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(replacing.Folder, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.edit("f", "a", "b")
    assert tree.names() == ["f"]
    assert path.read_text() == "a\n"


def test_writing_works_without_files_that_have_no_name(tree, files, monkeypatch):
    monkeypatch.setattr(replacing.Folder, "open_unnamed", lambda *_: None)
    path = tree.write("f", "a\n")
    files.edit("f", "a", "b")
    files.run("write", path="new", content="x")
    assert path.read_text() == "b\n"
    assert tree.names() == ["f", "new"]


def test_file_that_appears_meanwhile_is_never_overwritten(tree, monkeypatch):
    place = locate(str(tree.ws), "f")
    real = replacing._fill

    def slow(*args):
        tree.write("f", "theirs\n")
        return real(*args)

    monkeypatch.setattr(replacing, "_fill", slow)
    with pytest.raises(Fault, match="exists"):
        replacing.create(place, b"mine\n")
    assert (tree.ws / "f").read_text() == "theirs\n"
    assert tree.names() == ["f"]


def test_file_that_changes_while_it_is_replaced_wins(tree, monkeypatch):
    path = tree.write("f", "a\n")
    place = locate(str(tree.ws), "f")
    real = replacing._fill

    def slow(*args):
        path.write_text("theirs\n")
        return real(*args)

    monkeypatch.setattr(replacing, "_fill", slow)
    with pytest.raises(Fault, match="changed"):
        replacing.replace(place, b"mine\n", expected=digest(b"a\n"))
    assert path.read_text() == "theirs\n"
    assert tree.names() == ["f"]


def test_many_writers_at_once_lose_nothing(tree):
    """Compare and swap: of two writers that start from one content, one must try again."""
    path = tree.write("f", "0")
    place = locate(str(tree.ws), "f")
    lost = []

    def add() -> None:
        for _ in range(20):
            while True:
                before = path.read_bytes()
                try:
                    replacing.replace(
                        place, str(int(before) + 1).encode(), expected=digest(before)
                    )
                    break
                except Fault as fault:
                    if fault.code not in ("files.changed", "files.busy"):
                        lost.append(fault)
                        return

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lost == []
    assert path.read_text() == "80"
    assert tree.names() == ["f"]


def test_busy_is_a_failure_of_its_own():
    from toolcrib_files.definition import _failure

    assert isinstance(_failure(Fault("x", kind="busy", code="files.busy")), Busy)


def test_call_that_was_cancelled_writes_nothing(tree, files, monkeypatch):
    import asyncio

    from toolcrib_files.definition import Desk

    def cancelled(_):
        raise asyncio.CancelledError

    monkeypatch.setattr(Desk, "stop", cancelled)
    with pytest.raises(asyncio.CancelledError):
        files.run("write", path="new", content="x")
    assert tree.names() == []
