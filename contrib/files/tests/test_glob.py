"""Files by the pattern of their path."""

import os

import pytest

from hypothesis import given
from hypothesis import strategies as st

from toolcrib_files.globs import compile_glob


def paths(result):
    return [entry["path"] for entry in result.structured["entries"]]


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "d/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "d/e/a.py", True),
        ("d/**", "d/e/a", True),
        ("d/**", "d", False),
        ("d/**/x", "d/x", True),
        ("d/**/x", "d/a/b/x", True),
        ("?.py", "a.py", True),
        ("?.py", "/.py", False),
        ("[ab].py", "b.py", True),
        ("[!ab].py", "b.py", False),
        ("[!ab].py", "c.py", True),
        ("[a-c]", "b", True),
        ("[]]", "]", True),
        ("{a,b}.py", "b.py", True),
        ("{src,test}/**/*.{c,h}", "test/x/y.h", True),
        ("a\\*b", "a*b", True),
        ("a\\*b", "axb", False),
        ("a.b", "axb", False),
        ("--follow", "--follow", True),
        ("./a", "a", True),
        ("d/", "d/x", True),
        ("a[b", "a[b", True),
        ("*", "a\nb", True),
        ("a**b", "axyb", True),
        ("a**b", "ax/yb", False),
    ],
)
def test_pattern_language(pattern, path, fits):
    assert bool(compile_glob(pattern).fullmatch(path)) is fits


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_escaped_text_fits_itself_alone(text):
    name = text.replace("/", "_").replace("\0", "_")
    escaped = "".join("\\" + char for char in name)
    assert compile_glob(escaped).fullmatch(name)
    assert not compile_glob(escaped).fullmatch(name + "x")


@pytest.mark.parametrize("pattern", ["{a", "a\\", "x" * 2000, "{" * 100 + "}" * 100])
def test_pattern_that_cannot_be_read_is_invalid(tree, files, pattern):
    files.fails("files.bad_glob", "glob", pattern=pattern)


def test_order_is_by_name_part_by_part_and_always_the_same(tree, files):
    for name in ("b", "a/z", "a.txt", "a/b/c", "B", "a-b/x"):
        tree.write(name)
    assert paths(files.run("glob", pattern="**")) == [
        "B",
        "a/b/c",
        "a/z",
        "a-b/x",
        "a.txt",
        "b",
    ]


def test_newest_first_is_newest_of_all(tree, files):
    for age, name in enumerate(["a", "d/b", "c"]):
        os.utime(tree.write(name), ns=(0, 10**18 + age * 10**9))
    assert paths(files.run("glob", pattern="**", order="newest")) == ["c", "d/b", "a"]


@pytest.mark.parametrize("order", ["name", "newest"])
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_pages_join_to_the_whole(tree, files, order, limit):
    for n in range(7):
        os.utime(tree.write(f"d{n % 3}/f{n}"), ns=(0, 10**18 + n // 2))
    whole = paths(files.run("glob", pattern="**", order=order))
    got, cursor = [], None
    for _ in range(50):
        result = files.run("glob", pattern="**", order=order, limit=limit, cursor=cursor)
        got += paths(result)
        cursor = result.structured["cursor"]
        if cursor is None:
            break
    assert got == whole
    assert len(whole) == 7


def test_cursor_goes_on_at_its_place_when_files_come_and_go(tree, files):
    for name in "abd":
        tree.write(name)
    cursor = files.run("glob", pattern="*", limit=2).structured["cursor"]
    (tree.ws / "b").unlink()
    tree.write("c")
    tree.write("0")
    assert paths(files.run("glob", pattern="*", cursor=cursor)) == ["c", "d"]


def test_paths_work_as_they_are_in_the_next_call(tree, files):
    tree.write("sub/dir/f.txt", "x\n")
    found = files.run("glob", pattern="**/*.txt", path="sub")
    assert paths(found) == ["sub/dir/f.txt"]
    files.run("read", path=paths(found)[0])


def test_what_was_left_out_is_counted(tree, files, said):
    tree.write(".gitignore", "build/\n")
    tree.write("build/x.py")
    tree.write(".env/x.py")
    result = files.run("glob", pattern="**/*.py")
    assert paths(result) == []
    assert result.structured["skipped"] == {"hidden": 2, "ignored": 1}
    assert 'include=["hidden", "ignored"]' in said(result)
    both = files.run("glob", pattern="**/*.py", include=["hidden", "ignored"])
    assert paths(both) == [".env/x.py", "build/x.py"]


def test_pattern_for_one_depth_says_so_when_nothing_fits(tree, files, said):
    tree.write("d/x.py")
    assert "**/*.py looks at all" in said(files.run("glob", pattern="*.py"))


def test_folders_are_found_when_asked_for(tree, files):
    tree.write("d/x")
    assert paths(files.run("glob", pattern="*")) == []
    assert paths(files.run("glob", pattern="*", folders=True)) == ["d"]


def test_links_are_found_and_not_followed(tree, files):
    (tree.ws / "out").symlink_to(tree.outside)
    assert paths(files.run("glob", pattern="**")) == ["out"]


def test_file_is_no_folder_to_search(tree, files):
    tree.write("f")
    files.fails("files.not_folder", "glob", pattern="*", path="f")
    files.fails("files.not_found", "glob", pattern="*", path="no")


# files.list


def test_list_shows_kinds_sizes_and_where_links_point(tree, files, said):
    tree.write("a.txt", "abc")
    tree.write("d/x")
    tree.write(".hidden")
    tree.write(".gitignore", "a.txt\n")
    (tree.ws / "l").symlink_to("a.txt")
    os.mkfifo(tree.ws / "p")
    (tree.ws / ".git").mkdir()
    text = said(files.run("list"))
    assert text.splitlines() == [
        ".git/",
        ".gitignore  6",
        ".hidden  0",
        "a.txt  3",
        "d/",
        "l -> a.txt",
        "p (special)",
    ]


def test_list_goes_as_deep_as_asked(tree, files):
    tree.write("d/e/f")
    tree.write(".git/objects/x")
    assert paths(files.run("list", depth=2)) == [".git", "d", "d/e"]
    assert paths(files.run("list", depth=3)) == [".git", "d", "d/e", "d/e/f"]


def test_list_has_pages(tree, files):
    for n in range(5):
        tree.write(f"f{n}")
    first = files.run("list", limit=3)
    assert "partial" in first.notes
    rest = files.run("list", limit=3, cursor=first.structured["cursor"])
    assert paths(first) + paths(rest) == [f"f{n}" for n in range(5)]
    files.fails("files.bad_cursor", "list", cursor="nonsense")


def test_list_of_an_empty_folder_says_so(tree, files, said):
    assert said(files.run("list")) == "The folder is empty."


def test_list_of_a_file_names_the_tool_for_it(tree, files):
    tree.write("f")
    assert "files.read" in files.fails("files.not_folder", "list", path="f").text
