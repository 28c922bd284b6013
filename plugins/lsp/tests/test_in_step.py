"""What others do to files is known to the server before it is asked."""

import os
import shutil
import time

import pytest

from lsp_kit import good, places

from toolcrib_lsp.inotify import Notices
from toolcrib_lsp.texts import Texts
from toolcrib_lsp.watching import Change, Watch


def names(outcome):
    return [s["name"] for s in good(outcome)["symbols"]]


def kinds(fake):
    """The last word on each file that the server was told of."""
    found = {}
    for message in fake.logged("workspace/didChangeWatchedFiles"):
        for change in message["params"]["changes"]:
            found[change["uri"].rpartition("/")[2]] = change["type"]
    return found


@pytest.mark.parametrize("watch", [["**/*.src"], None])
def test_changes_from_outside_are_told_before_the_question(fake, watch):
    fake.plan(watch=watch)
    for name in "cd":
        fake.write(f"{name}.src", f"def {name}\n")

    async def scenario(call):
        await call("references", path="a.src", line=1, name="one")
        fake.write("a.src", "\n\n\ndef one\n")
        fake.write("new.src", "one again\n")
        (fake.ws / "c.src").unlink()
        (fake.ws / "d.src").rename(fake.ws / "e.src")
        return await call("references", path="a.src", line=4, name="one")

    assert places(fake.run(scenario)) == ["a.src:4:5", "b.src:2:5", "new.src:1:1"]
    order = [m.get("method") for m in fake.log]
    question = len(order) - 1 - order[::-1].index("textDocument/references")
    assert "textDocument/didChange" in order[:question]
    assert "workspace/didChangeWatchedFiles" in order[:question]
    assert kinds(fake) == {"a.src": 2, "new.src": 1, "c.src": 3, "d.src": 3, "e.src": 1}


def test_same_time_and_size_but_other_content_is_noticed(fake):
    async def scenario(call):
        before = names(await call("symbols", path="a.src"))
        path = fake.ws / "a.src"
        found = path.stat()
        path.write_text("def six\none two\n")
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
        return before, names(await call("symbols", path="a.src"))

    assert fake.run(scenario) == (["one"], ["six"])


def test_file_that_is_not_asked_about_is_in_step_however_it_was_written(fake, monkeypatch):
    """It is open, and what was written to it came by a name that nobody watches."""
    # All is looked at now and then; here each time.
    monkeypatch.setattr("toolcrib_lsp.bench._LOOK", 0.0)
    other = fake.folder / "linked.src"
    os.link(fake.ws / "b.src", other)

    async def scenario(call):
        await call("symbols", path="b.src")
        await call("symbols", path="a.src")
        other.write_text("def two\nuse nothing\n")
        return await call("references", path="a.src", line=1, name="one")

    assert places(fake.run(scenario)) == ["a.src:1:5", "a.src:2:1"]


def test_file_that_is_not_asked_about_is_in_step_before_the_question(fake, monkeypatch):
    """The kernel tells of it, so that nothing need be looked at."""
    monkeypatch.setattr("toolcrib_lsp.bench._LOOK", 3600.0)

    async def scenario(call):
        await call("symbols", path="b.src")
        await call("symbols", path="a.src")
        fake.write("b.src", "def two\nuse nothing\n")
        return await call("references", path="a.src", line=1, name="one")

    assert places(fake.run(scenario)) == ["a.src:1:5", "a.src:2:1"]


def test_versions_only_grow_and_an_unchanged_file_is_not_sent_again(fake):
    async def scenario(call):
        for text in ("def a\n", "def a\n", "def b\n"):
            fake.write("a.src", text)
            await call("symbols", path="a.src")

    fake.run(scenario)
    opened = [
        m["params"]["textDocument"]["version"] for m in fake.logged("textDocument/didOpen")
    ]
    changed = [
        m["params"]["textDocument"]["version"] for m in fake.logged("textDocument/didChange")
    ]
    assert (opened, changed) == ([1], [2])


def test_file_that_is_gone_is_closed(fake):
    async def scenario(call):
        await call("symbols", path="a.src")
        (fake.ws / "a.src").unlink()
        gone = await call("symbols", path="a.src")
        await call("symbols", path="b.src")
        return gone

    assert fake.run(scenario).code == "lsp.not_found"
    assert len(fake.logged("textDocument/didClose")) == 1


def test_folders_that_come_and_go_are_told(fake):
    async def scenario(call):
        await call("symbols", path="a.src")
        fake.write("deep/er/x.src", "def x\n")
        await call("symbols", path="a.src")
        assert kinds(fake)["x.src"] == 1
        shutil.rmtree(fake.ws / "deep")
        await call("symbols", path="a.src")

    fake.run(scenario)
    assert kinds(fake)["x.src"] == 3


def test_only_watched_files_are_told_where_a_server_has_said_which(fake):
    fake.plan(watch=["**/*.cfg"])

    async def scenario(call):
        await call("symbols", path="a.src")
        fake.write("x.cfg", "1")
        fake.write("y.src", "1")
        await call("symbols", path="a.src")

    fake.run(scenario)
    assert kinds(fake) == {"x.cfg": 1}


def test_least_used_document_is_closed_when_too_many_are_open(fake):
    fake.settings["most_open"] = 3
    for number in range(5):
        fake.write(f"f{number}.src", "def x\n")

    async def scenario(call):
        for number in range(5):
            await call("symbols", path=f"f{number}.src")

    fake.run(scenario)
    closed = [
        m["params"]["textDocument"]["uri"][-6:] for m in fake.logged("textDocument/didClose")
    ]
    assert closed == ["f0.src", "f1.src"]


def test_whole_text_is_sent_to_a_server_that_takes_no_parts(fake):
    fake.plan(capabilities={"textDocumentSync": 1})

    async def scenario(call):
        await call("symbols", path="a.src")
        fake.write("a.src", "def two\n")
        return await call("symbols", path="a.src")

    assert names(fake.run(scenario)) == ["two"]
    (message,) = fake.logged("textDocument/didChange")
    assert message["params"]["contentChanges"] == [{"text": "def two\n"}]


class Broken(Notices):
    """A system without events."""

    def __init__(self):
        self._fd = -1


@pytest.mark.parametrize("notices", [Notices, Broken])
def test_watch_sees_every_kind_of_change(tmp_path, notices):
    (tmp_path / "sub").mkdir()
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "sub/a").write_text("1")
    watch = Watch(str(tmp_path), notices=notices())
    watch.start()
    assert watch.poll() == []
    (tmp_path / "sub/a").write_text("22")
    (tmp_path / "b").write_text("1")
    (tmp_path / "node_modules/c").write_text("1")
    assert watch.poll() == [
        Change(f"{tmp_path}/b", "created"),
        Change(f"{tmp_path}/sub/a", "changed"),
    ]
    (tmp_path / "sub").rename(tmp_path / "other")
    assert watch.poll() == [
        Change(f"{tmp_path}/other/a", "created"),
        Change(f"{tmp_path}/sub/a", "deleted"),
    ]
    assert watch.poll() == []
    watch.close()


def test_watch_says_when_there_are_more_files_than_it_knows(tmp_path):
    for number in range(10):
        (tmp_path / f"f{number}").write_text("")
    watch = Watch(str(tmp_path), most=5)
    watch.start()
    assert watch.full
    assert len(list(watch.files())) == 5
    watch.close()


def test_rewritten_file_is_noticed_within_one_tick_of_the_clock(tmp_path):
    """Of the same size; only the event tells."""
    path = tmp_path / "f"
    path.write_text("a")
    watch = Watch(str(tmp_path))
    watch.start()
    for text in "bcdefgh":
        path.write_text(text)
        assert watch.poll() == [Change(str(path), "changed")]
    watch.close()


def test_look_that_finds_nothing_is_not_the_last(tmp_path):
    """The kernel is asked whether anything waits, each time."""
    notices = Notices()
    notices.add(str(tmp_path))
    assert notices.read() == []
    (tmp_path / "f").write_text("1")
    assert {name for _, name in notices.read()} == {"f"}
    assert notices.read() == []
    assert notices.working
    notices.close()


@pytest.mark.parametrize(("age", "text"), [(-1_000, "b"), (3_600, "a")])
def test_stamps_are_believed_only_if_they_are_no_longer_given(tmp_path, monkeypatch, age, text):
    """A clock that ticks slowly gives one stamp to two contents, but not for ever."""
    stamp = time.time_ns() - age * 1_000_000_000
    monkeypatch.setattr("toolcrib_lsp.texts._key_of", lambda found: (stamp, stamp, 1, 1))
    path, texts = tmp_path / "f", Texts()
    path.write_text("a")
    assert texts.now(str(path)).text == "a"
    path.write_text("b")
    assert texts.now(str(path)).text == text
