"""Search in files: the answers, and what no pattern or name can do."""

import os
import sys

import pytest

from toolcrib import Failed, Invalid

from toolcrib_files import content_search as greps
from toolcrib_files import ripgrep, searches, searching
from toolcrib_files.content_search import Query
from toolcrib_files.places import locate


ENGINES = ["python", *(["ripgrep"] if ripgrep.find_program() else [])]


@pytest.fixture(params=ENGINES, autouse=True)
def engine(request, monkeypatch):
    """Run every test with each engine that is there: the answers are the same."""
    program = ripgrep.find_program() if request.param == "ripgrep" else None
    monkeypatch.setattr(searches.ripgrep, "find_program", lambda: program)
    return request.param


def hits(result):
    return [
        (file["path"], line["line"], line["text"])
        for file in result.structured["files"]
        for line in file["lines"]
    ]


def test_lines_that_match_are_found_with_their_numbers(tree, files, said, engine):
    tree.write("a.py", "def one():\n    pass\n\ndef two():\n")
    tree.write("b.py", "x = 1\n")
    result = files.run("grep", pattern=r"def \w+\(")
    assert hits(result) == [("a.py", 1, "def one():"), ("a.py", 4, "def two():")]
    assert said(result) == "a.py\n     1: def one():\n     4: def two():"
    assert result.structured["engine"] == engine
    assert result.structured["searched"] == 2
    assert result.summary == "2 lines in 1 file below ."


@pytest.mark.parametrize("pattern", ["-v", "--pre=touch pwned", "-f", "--", "-", "--files"])
def test_pattern_that_starts_with_a_dash_is_a_pattern(tree, files, pattern):
    tree.write("f", f"other\nuse {pattern} here\n")
    result = files.run("grep", pattern=pattern, literal=True)
    assert hits(result) == [("f", 2, f"use {pattern} here")]
    assert tree.names() == ["f"]
    assert hits(files.run("grep", pattern=pattern)) == hits(result)


@pytest.mark.parametrize("name", ["-x", "--pre=cmd", "--", "-e", "a\nb", "sp ace", "ü"])
def test_file_names_are_never_flags(tree, files, name):
    tree.write(name, "needle\n")
    result = files.run("grep", pattern="needle")
    assert [h[1:] for h in hits(result)] == [(1, "needle")]
    assert "\n" not in result.structured["files"][0]["path"]
    again = files.run("grep", pattern="needle", path=f"./{name}")
    assert len(hits(again)) == 1


def test_glob_named_like_a_flag_is_a_glob(tree, files):
    tree.write("--follow", "needle\n")
    tree.write("other", "needle\n")
    result = files.run("grep", pattern="needle", glob="--follow")
    assert [h[0] for h in hits(result)] == ["--follow"]


def test_configuration_of_the_search_program_is_not_read(tree, files, monkeypatch):
    config = tree.state / "ripgreprc"
    config.write_text("--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    tree.write("f", "needle\nhay\n")
    assert hits(files.run("grep", pattern="needle")) == [("f", 1, "needle")]


@pytest.fixture
def hideouts(tree):
    tree.write(".gitignore", "build/\n")
    tree.write(".conf/a", "needle\n")
    tree.write("build/a", "needle\n")
    tree.write("large.txt", b"needle\n" + b"x\n" * (5 << 20))
    tree.write("data.bin", b"\x00\x01needle\n")
    tree.write(".git/config", "needle\n")
    return tree


def test_places_left_out_are_counted_and_the_switch_is_named(hideouts, files, said):
    result = files.run("grep", pattern="needle")
    assert result.structured["files"] == []
    assert result.structured["skipped"] == {
        "binary": 1,
        "hidden": 2,
        "ignored": 1,
        "large": 1,
        "repository": 1,
    }
    assert "places_skipped" in result.notes
    text = said(result)
    assert "No match below . in 0 files." in text
    assert "1 ignored (build)" in text
    assert 'include=["hidden", "ignored", "binary", "large"]' in text


@pytest.mark.parametrize(
    ("reason", "path"),
    [
        ("hidden", ".conf/a"),
        ("ignored", "build/a"),
        ("large", "large.txt"),
        ("binary", "data.bin"),
    ],
)
def test_switch_includes_what_it_names(hideouts, files, reason, path):
    result = files.run("grep", pattern="needle", include=[reason])
    assert [h[0] for h in hits(result)] == [path]
    assert reason not in result.structured["skipped"]


@pytest.mark.parametrize(
    "path", [".conf", ".conf/a", "build", "build/a", "large.txt", "data.bin", ".git"]
)
def test_path_that_is_named_is_searched(hideouts, files, path):
    result = files.run("grep", pattern="needle", path=path)
    assert len(hits(result)) == 1


def test_deeper_rules_take_back_what_outer_ones_ignore(tree, files):
    tree.write(".gitignore", "*.log\n")
    tree.write("keep/.gitignore", "!a.log\n")
    tree.write("keep/a.log", "needle\n")
    tree.write("keep/b.log", "needle\n")
    assert [h[0] for h in hits(files.run("grep", pattern="needle"))] == ["keep/a.log"]


def test_folder_whose_name_merely_contains_an_ignored_one_is_searched(tree, files):
    tree.write(".gitignore", "out\n")
    tree.write("outer/a", "needle\n")
    tree.write("layout", "needle\n")
    assert [h[0] for h in hits(files.run("grep", pattern="needle"))] == ["layout", "outer/a"]


def test_link_is_counted_and_not_followed(tree, files):
    (tree.ws / "link").symlink_to(tree.outside / "sentinel")
    (tree.ws / "folder").symlink_to(tree.outside)
    result = files.run("grep", pattern="touch")
    assert hits(result) == []
    assert result.structured["skipped"] == {"link": 2}


def test_file_that_cannot_be_read_does_not_fail_the_search(tree, files, monkeypatch):
    tree.write("a", "needle\n")
    tree.write("b", "needle\n")
    real = greps.Candidates._open

    def broken(self, entry):
        if entry.path == "a":
            self.skipped.add("unreadable", entry.path)
            return None
        return real(self, entry)

    monkeypatch.setattr(greps.Candidates, "_open", broken)
    result = files.run("grep", pattern="needle")
    assert [h[0] for h in hits(result)] == ["b"]
    assert result.structured["skipped"] == {"unreadable": 1}


def test_mode_files_names_each_file_once(tree, files, said):
    tree.write("a", "x\nx\n")
    tree.write("b", "x\n")
    assert said(files.run("grep", pattern="x", mode="files")) == "a\nb"


def test_mode_count_counts_lines(tree, files, said):
    tree.write("a", "x x\nx\ny\n")
    tree.write("b", "x\n")
    assert said(files.run("grep", pattern="x", mode="count")) == "2\ta\n1\tb"


def test_context_is_shown_once_and_gaps_are_marked(tree, files, said):
    tree.write("f", "".join(f"l{n}\n" for n in range(1, 13)))
    text = said(files.run("grep", pattern="l3$|l4$|l10$", context=1))
    assert text.splitlines() == [
        "f",
        "     2- l2",
        "     3: l3",
        "     4: l4",
        "     5- l5",
        "--",
        "     9- l9",
        "    10: l10",
        "    11- l11",
    ]


@pytest.mark.parametrize("mode", ["content", "files", "count"])
@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_pages_join_to_the_whole_answer(tree, files, mode, limit):
    for name in ("a", "b/c", "b.txt", "d"):
        tree.write(name, "x\nno\nx\nx\n")
    whole = files.run("grep", pattern="x", mode=mode).structured["files"]
    cursor, pages = None, []
    for _ in range(50):
        result = files.run("grep", pattern="x", mode=mode, limit=limit, cursor=cursor)
        pages += result.structured["files"]
        cursor = result.structured["cursor"]
        assert ("partial" in result.notes) == (cursor is not None)
        if cursor is None:
            break

    def flat(found):
        if mode != "content":
            return [(f["path"], f["count"]) for f in found]
        return [(f["path"], line["line"]) for f in found for line in f["lines"]]

    assert flat(pages) == flat(whole)
    assert len(flat(whole)) == (12 if mode == "content" else 4)


def test_page_goes_on_although_its_last_file_is_gone(tree, files):
    for name in "abc":
        tree.write(name, "x\n")
    cursor = files.run("grep", pattern="x", limit=1).structured["cursor"]
    (tree.ws / "a").unlink()
    assert [h[0] for h in hits(files.run("grep", pattern="x", cursor=cursor))] == ["b", "c"]


def test_foreign_cursor_is_invalid(tree, files):
    tree.write("a", "x\n")
    for cursor in ("", "zzz", "[]", '["a", 1]', "7"):
        failure = files.fails("files.bad_cursor", "grep", pattern="x", cursor=cursor)
        assert isinstance(failure, Invalid)


def test_search_ends_early_when_the_page_is_full(tree, files):
    for n in range(300):
        tree.write(f"f{n:03}", "x\n")
    assert files.run("grep", pattern="x", limit=5).structured["searched"] < 200


def test_long_line_is_cut_around_the_match(tree, files):
    tree.write("f", "a" * 5000 + "needle" + "b" * 5000 + "\n")
    text = hits(files.run("grep", pattern="needle"))[0][2]
    assert "needle" in text
    assert len(text) <= 502
    assert text.startswith("…")
    assert text.endswith("…")


def test_bytes_that_are_no_text_do_not_stop_a_search(tree, files):
    tree.write("f", b"\xff\xfe\nneedle \xe9\n")
    tree.write("g", b"x" * 9000 + b"\n\xffneedle\n")
    found = hits(files.run("grep", pattern="needle"))
    assert [h[0] for h in found] == ["f", "g"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-16-be"])
def test_other_encodings_are_searched_as_text(tree, files, encoding):
    tree.write("f", "erste Zeile\r\nGröße 1\r\n".encode(encoding))
    assert hits(files.run("grep", pattern="^Größe \\d$")) == [("f", 2, "Größe 1")]


def test_dollar_means_the_end_of_a_line_of_any_kind(tree, files):
    tree.write("crlf", b"end\r\nend \r\n")
    tree.write("lf", b"end\nend ")
    assert [h[:2] for h in hits(files.run("grep", pattern="end$"))] == [("crlf", 1), ("lf", 1)]


def test_letter_case_may_make_no_difference(tree, files):
    tree.write("f", "Straße\nSTRASSE\nГОРОД\nгород\n")
    assert [h[1] for h in hits(files.run("grep", pattern="город", ignore_case=True))] == [3, 4]
    assert [h[1] for h in hits(files.run("grep", pattern="(?i)STRA"))] == [1, 2]


def test_braces_that_are_no_repeat_mean_themselves(tree, files):
    tree.write("f", "interface Foo {\n")
    assert len(hits(files.run("grep", pattern="Foo {"))) == 1


def test_multiline_match_spans_lines(tree, files):
    tree.write("f", b"a\r\nfoo(\r\n  1)\r\nb\r\n")
    result = files.run("grep", pattern=r"foo\(\n\s*1", multiline=True)
    assert hits(result) == [("f", 2, "foo(\n  1)")]


def test_line_end_without_multiline_is_refused_with_the_switch(tree, files):
    failure = files.fails("files.bad_pattern", "grep", pattern=r"a\nb")
    assert "multiline=true" in failure.text


@pytest.mark.parametrize(
    "pattern", ["(", "[a", "a)", "*a", "a**", r"\q", "[[:no:]]", "(?x)a", "[z-a]"]
)
def test_pattern_that_cannot_be_read_is_invalid(tree, files, pattern):
    failure = files.fails("files.bad_pattern", "grep", pattern=pattern)
    assert isinstance(failure, Invalid)
    assert "literal=true" in failure.text
    assert failure.path == "/pattern"


def test_look_around_and_references_are_understood(tree, files):
    tree.write("f", "foobar\nfoobaz\nabab\nabac\n")
    assert [h[1] for h in hits(files.run("grep", pattern="foo(?=baz)"))] == [2]
    assert [h[1] for h in hits(files.run("grep", pattern=r"^(ab)\1$"))] == [3]


def test_pattern_that_runs_away_is_stopped_and_told(tree):
    tree.write("f", "a" * 40 + "b\n")
    query = Query(pattern="^(a|a)*$", seconds=0.3)
    with pytest.raises(Exception, match="did not come to an end") as caught:
        greps.grep(locate(str(tree.ws), "."), query, program=None)
    assert caught.value.code == "files.pattern_slow"


def test_file_and_folder_that_are_not_there_are_not_found(files):
    files.fails("files.not_found", "grep", pattern="x", path="no")


def test_search_answers_the_same_where_the_program_breaks(tree, files, monkeypatch):
    tree.write("f", "needle\n")
    monkeypatch.setattr(searches.ripgrep, "find_program", lambda: "/bin/false")
    result = files.run("grep", pattern="needle")
    assert hits(result) == [("f", 1, "needle")]
    monkeypatch.setattr(searches.ripgrep, "find_program", lambda: "/no/such/program")
    assert hits(files.run("grep", pattern="needle")) == [("f", 1, "needle")]


def test_no_descriptor_is_left_open(tree, files):
    for n in range(50):
        tree.write(f"d{n % 5}/f{n}", "x\n")
    files.run("grep", pattern="x", limit=3)
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    files.run("grep", pattern="x", limit=3)
    files.run("grep", pattern="(?=x)", limit=3)
    files.run("glob", pattern="**/*", limit=3)
    files.run("list", depth=3)
    files.fails("files.bad_pattern", "grep", pattern="(")
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def test_child_that_dies_is_told_and_not_waited_for():
    import re

    child = searching.Child(re.compile("a+"), multiline=False, seconds=5)
    assert child.search("aa\nb\n", 9) == [(1, 0, 2, 0)]
    child._child.kill()
    child._child.wait()
    with pytest.raises(searching.PatternTooSlow):
        child.search("aa\n", 9)
    child.close()


def test_slow_pattern_fails_the_call_and_says_what_to_do(tree, files, monkeypatch):
    tree.write("f", "a" * 40 + "b\n")
    monkeypatch.setattr(searches.ripgrep, "find_program", lambda: None)
    real = searches.Query
    monkeypatch.setattr(searches, "Query", lambda **kw: real(seconds=0.2, **kw))
    failure = files.fails("files.pattern_slow", "grep", pattern="^(a+)+$")
    assert isinstance(failure, Failed)
