"""Names that are paths: refused before anything is made."""

import shutil

import pytest

from toolcrib import Failed, Invalid

from toolcrib_files.faults import Fault
from toolcrib_files.places import canonical_root, locate, printable


BAD = {
    "empty part": "a//b",
    "drive letter": "C:evil",
    "drive path": "C:/evil",
    "backslashes": "..\\..\\evil",
    "trailing dot": "name.",
    "trailing blank": "name ",
    "part with trailing dot": "dir./name",
    "300 characters": "n" * 300,
    "line end": "a\nb",
    "control character": "a\x1b[31mb",
}


# A typed path has no empty parts any more: the type removes them.
WRITABLE = {what: name for what, name in BAD.items() if what != "empty part"}


@pytest.mark.parametrize("name", WRITABLE.values(), ids=WRITABLE)
@pytest.mark.parametrize("folder", ["", "new/"])
def test_new_name_that_other_systems_misread_is_refused_before_anything_is_made(
    tree, files, name, folder
):
    if name.startswith("C:") and folder:
        name = "a\tb"
    files.fails("files.path_invalid", "write", path=folder + name, content="x")
    assert tree.names() == []


# A patch ends its lines itself, so a name cannot hold a line end there.
PATCHABLE = {what: name for what, name in BAD.items() if what != "line end"}


@pytest.mark.parametrize("name", PATCHABLE.values(), ids=PATCHABLE)
def test_patch_refuses_the_same_names(tree, files, name):
    files.judge = False
    lines = ["*** Begin Patch", f"*** Add File: {name}", "+x", "*** End Patch"]
    if name.endswith(" "):
        lines[1] = "*** Add File: dir /name"
    files.fails("files.path_invalid", "patch", patch="\n".join(lines))
    assert tree.names() == []


@pytest.mark.parametrize("name", ["/etc/evil", "../evil", "a/../../evil", "~/../../evil"])
def test_name_that_leads_outside_is_refused_before_anything_is_made(tree, files, name):
    files.judge = False
    files.fails("files.outside", "write", path=name, content="x")
    assert tree.names() == []


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000])
def test_text_that_is_no_path_is_invalid(tree, name):
    with pytest.raises(Fault) as caught:
        locate(str(tree.ws), name)
    assert caught.value.code == "files.path_invalid"


def test_tilde_is_a_name_like_any_other(tree, files):
    files.run("write", path="~/x", content="x")
    assert (tree.ws / "~/x").exists()


def test_name_that_exists_may_be_used_whatever_it_is(tree, files):
    path = tree.write("odd name.", "a\n")
    files.edit("odd name.", "a", "b")
    assert path.read_text() == "b\n"


def test_names_are_shown_without_their_controls(tree, files, said):
    tree.write("evil\n\x1b[31m.txt", "x\n")
    listed = said(files.run("list", path="."))
    assert "\\n\\x1b[31m.txt" in listed
    assert "\x1b" not in listed
    assert printable("a\udcffb") == "a\\udcffb"


def test_inner_dots_lead_where_they_lead(tree, files):
    tree.write("a/f", "x\n")
    (tree.ws / "b").mkdir()
    assert files.run("read", path="b/../a/f").structured["path"] == "a/f"


# The workspace.


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {"path": "f"}),
        ("write", {"path": "new", "content": "x"}),
        ("edit", {"path": "f", "edits": [{"old": "a", "new": "b"}]}),
        ("glob", {"pattern": "*"}),
        ("grep", {"pattern": "a"}),
        ("list", {}),
        ("patch", {"patch": "*** Begin Patch\n*** Add File: x\n+x\n*** End Patch\n"}),
    ],
)
@pytest.mark.parametrize("how", ["gone", "link", "file", "replaced"])
def test_workspace_that_vanished_ends_the_call_and_no_other_folder_is_used(
    tree, files, monkeypatch, tool, arguments, how
):
    tree.write("f", "a\n")
    monkeypatch.chdir(tree.outside)
    files.run("read", path="f")
    moved = tree.ws.parent / "moved"
    tree.ws.rename(moved)
    if how == "link":
        tree.ws.symlink_to(tree.outside)
    elif how == "file":
        tree.ws.write_text("x")
    elif how == "replaced":
        shutil.copytree(moved, tree.ws)
    files.judge = False
    failure = files.fails("files.workspace_gone", tool, **arguments)
    assert isinstance(failure, Failed)
    assert failure.text.startswith("Workspace gone")
    assert sorted(p.name for p in moved.iterdir()) == ["f"]
    assert (moved / "f").read_text() == "a\n"


def test_workspace_is_never_looked_up_from_the_current_folder(tree):
    with pytest.raises(Fault, match="Workspace gone"):
        canonical_root(tree.ws / "no")
    assert canonical_root(tree.ws) == str(tree.ws)


def test_invalid_is_told_with_the_argument_at_fault(tree, files):
    failure = files.fails("files.path_invalid", "write", path="name.", content="x")
    assert isinstance(failure, Invalid)
    assert failure.path == "/path"
