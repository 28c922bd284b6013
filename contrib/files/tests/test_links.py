"""Links, hard links, and the folders that they lead to."""

import os

import pytest

from toolcrib import Failed, Refused

from toolcrib_files.places import locate
from toolcrib_files.reading import load


def test_link_stays_and_its_target_gets_the_content(tree, files):
    target = tree.write("real/a", "old\n")
    link = tree.ws / "a"
    link.symlink_to("real/a")
    files.edit("a", "old", "new")
    assert link.is_symlink()
    assert os.readlink(link) == "real/a"
    assert target.read_text() == "new\n"
    assert tree.names() == ["a", "real", "real/a"]


def test_reading_through_a_link_counts_for_its_target(tree, files):
    target = tree.write("real/a", "old\n")
    (tree.ws / "a").symlink_to("real/a")
    files.run("read", path="a")
    files.run("write", path="real/a", content="new\n")
    assert target.read_text() == "new\n"


def test_hard_link_is_parted_and_this_is_said(tree, files, said):
    path = tree.write("a", "old\n")
    other = tree.ws / "b"
    os.link(path, other)
    result = files.edit("a", "old", "new")
    assert path.read_text() == "new\n"
    assert other.read_text() == "old\n"
    assert "hard_link_parted" in result.notes
    assert "other names" in said(result)


def test_hard_link_to_outside_leaves_the_outside_alone(tree, files):
    os.link(tree.outside / "sentinel", tree.ws / "a")
    files.edit("a", "do not touch", "touched")
    assert (tree.ws / "a").read_text() == "touched\n"
    assert (tree.outside / "sentinel").read_text() == "do not touch\n"
    os.unlink(tree.ws / "a")
    os.link(tree.outside / "sentinel", tree.ws / "again")  # the fixture compares counts
    os.unlink(tree.ws / "again")


@pytest.mark.parametrize("how", ["link", "folder", "dots", "absolute"])
@pytest.mark.parametrize("tool", ["read", "write", "edit", "grep", "glob", "list"])
def test_outside_is_refused_where_nobody_authorised_it(tree, files, how, tool):
    (tree.ws / "link").symlink_to(tree.outside / "sentinel")
    (tree.ws / "folder").symlink_to(tree.outside)
    paths = {
        "link": "link",
        "folder": "folder/sentinel",
        "dots": "../outside/sentinel",
        "absolute": str(tree.outside / "sentinel"),
    }
    files.judge = False
    more = {
        "write": {"content": "x"},
        "edit": {"edits": [{"old": "do", "new": "x"}]},
        "grep": {"pattern": "touch"},
        "glob": {"pattern": "*"},
    }.get(tool, {})
    assert isinstance(files.fails("files.outside", tool, path=paths[how], **more), Refused)


def test_outside_that_was_authorised_can_be_read(tree, files, said):
    """The signature names the real place, so rules have judged that one."""
    (tree.ws / "link").symlink_to(tree.outside / "sentinel")
    signature = files.signature("read", path="link")
    assert [r.value for r in signature.resources] == [str(tree.outside / "sentinel")]
    assert "do not touch" in said(files.run("read", path="link"))


def test_dangling_link_makes_its_target(tree, files):
    (tree.ws / "a").symlink_to("real/a")
    files.run("write", path="a", content="new\n")
    assert (tree.ws / "a").is_symlink()
    assert (tree.ws / "real/a").read_text() == "new\n"


def test_dangling_link_to_outside_makes_nothing(tree, files):
    (tree.ws / "a").symlink_to(tree.outside / "new")
    files.judge = False
    files.fails("files.outside", "write", path="a", content="x")


def test_circle_of_links_is_refused(tree, files):
    (tree.ws / "a").symlink_to("b")
    (tree.ws / "b").symlink_to("a")
    files.judge = False
    files.fails("files.path_changed", "read", path="a")


SWAPPED = [
    ("read", {"path": "d/f"}),
    ("write", {"path": "d/new", "content": "x"}),
    ("edit", {"path": "d/f", "edits": [{"old": "one", "new": "1"}]}),
    ("grep", {"path": "d", "pattern": "."}),
    ("glob", {"path": "d", "pattern": "*"}),
    ("list", {"path": "d"}),
    (
        "patch",
        {
            "patch": "*** Begin Patch\n*** Update File: d/f\n@@\n-one\n+1\n"
            "*** Add File: d/new\n+x\n*** End Patch\n"
        },
    ),
]


@pytest.mark.parametrize(("tool", "arguments"), SWAPPED, ids=[t for t, _ in SWAPPED])
@pytest.mark.parametrize("where", ["outside", "inside"])
def test_folder_swapped_for_a_link_after_judging_is_refused(
    tree, files, tool, arguments, where
):
    tree.write("d/f", "one\n")
    tree.write("elsewhere/f", "one\n")

    def swap():
        os.rename(tree.ws / "d", tree.ws / "old")
        (tree.ws / "d").symlink_to(tree.outside if where == "outside" else "elsewhere")

    files.between = swap
    assert isinstance(files.fails("files.path_changed", tool, **arguments), Refused)
    assert (tree.ws / "elsewhere/f").read_text() == "one\n"
    assert not (tree.ws / "elsewhere/new").exists()


def test_link_put_in_the_way_after_resolving_is_refused(tree):
    """The handle is opened part by part, so even the last moment is too late."""
    tree.write("d/f", "one\n")
    place = locate(str(tree.ws), "d/f")
    os.rename(tree.ws / "d", tree.ws / "old")
    (tree.ws / "d").symlink_to(tree.outside)
    with pytest.raises(Exception, match="became a link"):
        load(place)
    os.unlink(tree.ws / "d")
    (tree.ws / "d").mkdir()
    (tree.ws / "d/f").symlink_to(tree.outside / "sentinel")
    with pytest.raises(Exception, match="became a link"):
        load(place)


@pytest.fixture
def as_nobody(tree):
    """Act as a user whom permissions bind, where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    for folder in (tree.ws.parent, *tree.ws.parent.parents):
        if folder.stat().st_uid == 0 and str(folder) != "/":
            folder.chmod(folder.stat().st_mode | 0o055)
    os.chmod(tree.state, 0o777)
    os.seteuid(65534)
    yield
    os.seteuid(0)


def test_writable_file_in_a_read_only_folder_is_overwritten_in_place(
    tree, files, as_nobody, said
):
    os.seteuid(0) if os.getuid() == 0 else None
    path = tree.write("d/f", "old line\nkeep\n")
    path.chmod(0o666)
    path.parent.chmod(0o555)
    if os.getuid() == 0:
        os.seteuid(65534)
    result = files.edit("d/f", "old line", "new")
    assert path.read_text() == "new\nkeep\n"
    assert "written_in_place" in result.notes
    assert tree.names() == ["d", "d/f"]
    assert list(tree.state.rglob("*.json")) == []
    assert list(tree.state.rglob("*.old")) == []


def test_new_file_in_a_read_only_folder_is_refused(tree, files, as_nobody):
    if os.getuid() == 0:
        os.seteuid(0)
    (tree.ws / "d").mkdir()
    (tree.ws / "d").chmod(0o555)
    if os.getuid() == 0:
        os.seteuid(65534)
    failure = files.fails("files.no_permission", "write", path="d/f", content="x")
    assert isinstance(failure, Failed)
