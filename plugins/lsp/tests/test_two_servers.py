"""One rename through two servers: the places of both, in one edit, or nothing."""

import json
import os

import pytest

from lsp_kit import good

from toolcrib_lsp.combining import combined
from toolcrib_lsp.edits import FileChange, Plan


RENAME = "textDocument/rename"


def span(line, start, end):
    return {
        "start": {"line": line, "character": start},
        "end": {"line": line, "character": end},
    }


def plan_other(fake, **plan):
    """Say what the second server does."""
    text = json.dumps({"encoding": "utf-8", **plan})
    (fake.folder / "plan2.json").write_text(text)


@pytest.fixture
def pair(fake):
    """Two servers of the same files, of which the second one counts UTF-8 and has a plan."""
    servers = fake.settings["servers"]
    plan, log = fake.folder / "plan2.json", fake.folder / "log2.jsonl"
    command = [*servers["fake"]["command"][:-2], str(plan), str(log)]
    servers["other"] = {**servers["fake"], "command": command}
    fake.settings["languages"] = {"src": ["fake", "other"]}
    fake.write("c.txt", "é😀 one\n")

    plan_other(fake)
    return fake


def edits(fake, **files):
    """What a server says that changes ``.src`` and ``.txt`` files: ``a_src=[(1, 0, 3)]``."""
    return {
        "changes": {
            (fake.ws / name.replace("_", ".")).as_uri(): [
                {"range": span(*place), "newText": "uno"} for place in places
            ]
            for name, places in files.items()
        }
    }


def texts(fake):
    return {path.name: path.read_text() for path in sorted(fake.ws.iterdir())}


def rename(fake, *, before_yes=lambda: None):
    async def scenario(call):
        await call("symbols", path="b.src")

        def yes(question):
            before_yes()
            return call._yes(question)

        arguments = {"path": "b.src", "name": "one", "new_name": "uno"}
        outcome = await call.session.call("lsp.rename", arguments, approver=yes)
        return outcome, call.asked

    return fake.run(scenario)


def added(preview):
    """The files and new lines that a preview shows."""
    lines = preview.splitlines()
    return [line[1:].removeprefix("++ b/") for line in lines if line.startswith("+")]


def test_places_of_both_are_written_each_once_and_as_shown(pair):
    """What both know is said once; what one counts in bytes, the other in UTF-16."""
    pair.write("a.src", "def one\né😀 one two\n")
    plan_other(
        pair,
        methods={
            RENAME: [
                [{"reply": edits(pair, a_src=[(0, 4, 7), (1, 7, 10)], c_txt=[(0, 7, 10)])}]
            ]
        },
    )
    outcome, (question,) = rename(pair)
    assert good(outcome)["server"] == "fake and other"
    assert texts(pair) == {
        "a.src": "def uno\né😀 uno two\n",
        "b.src": "def two\nuse uno\n",
        "c.txt": "é😀 uno\n",
    }
    shown = ["a.src", "def uno", "é😀 uno two", "b.src", "use uno", "c.txt", "é😀 uno"]
    assert added(question.preview) == shown
    assert [f["edits"] for f in good(outcome)["files"]] == [2, 1, 1]
    writes = {r.rpartition("/")[2] for r in question.resources if r.startswith("write")}
    assert writes == {"a.src", "b.src", "c.txt"}


@pytest.mark.parametrize("changed", ["a.src", "b.src", "c.txt"])
def test_file_that_changes_between_the_question_and_the_yes_refuses_the_whole_edit(
    pair, changed
):
    """Whichever server knows it."""
    plan_other(pair, methods={RENAME: [[{"reply": edits(pair, c_txt=[(0, 7, 10)])}]]})
    path = pair.ws / changed
    new = path.read_text() + "more of one\n"
    before = texts(pair) | {changed: new}
    outcome, _ = rename(pair, before_yes=lambda: path.write_text(new))
    assert not outcome.ok
    assert outcome.code in {"lsp.changed", "answer.stale"}
    assert texts(pair) == before


@pytest.mark.parametrize("place", [(0, 4, 6), (0, 3, 7)])
def test_places_that_overlap_are_refused_and_nothing_is_written(pair, place):
    plan_other(pair, methods={RENAME: [[{"reply": edits(pair, a_src=[place])}]]})
    before = texts(pair)
    outcome, _ = rename(pair)
    assert (outcome.status, outcome.code) == ("failed", "lsp.conflict")
    assert "a.src" in outcome.text
    assert texts(pair) == before


def test_one_that_sees_nothing_there_leaves_it_to_the_other(pair):
    """It says so; the places of the other are all that there are."""
    plan_other(pair, methods={RENAME: [[{"reply": None}]]})
    outcome, _ = rename(pair)
    assert good(outcome)["server"] == "fake"
    assert texts(pair)["b.src"] == "def two\nuse uno\n"


def test_half_of_a_rename_is_none(pair):
    """One of the two cannot tell its places."""
    fault = {"error": {"code": -32603, "message": "inner fault"}}
    plan_other(pair, methods={RENAME: [[fault]]})
    before = texts(pair)
    outcome, _ = rename(pair)
    assert outcome.code == "lsp.server_error"
    assert "inner fault" in outcome.text
    assert "all places or none" in outcome.text
    assert texts(pair) == before


def test_one_that_dies_at_the_question_writes_nothing(pair):
    plan_other(pair, methods={RENAME: [[{"exit": 3}]]})
    before = texts(pair)
    outcome, _ = rename(pair)
    assert not outcome.ok
    assert texts(pair) == before


def plan(before, after, *spans, path="/ws/a"):
    change = FileChange(path=path, before=before, after=after, spans=tuple(spans))
    return Plan("/ws", (change,))


def test_one_that_deletes_what_the_other_changes_is_refused():
    gone = plan(b"one", None, (0, 3, "uno"))
    changed = plan(b"one", b"uno", (0, 3, "uno"))
    for pair in ([gone, changed], [changed, gone]):
        with pytest.raises(Exception, match="do not agree"):
            combined(pair)


def test_two_different_insertions_at_one_place_are_refused():
    """Nobody can tell which of them comes first."""
    with pytest.raises(Exception, match="do not agree"):
        combined([plan(b"x", b"ax", (0, 0, "a")), plan(b"x", b"bx", (0, 0, "b"))])


def test_servers_that_saw_different_texts_are_refused():
    with pytest.raises(Exception, match="changed while"):
        combined([plan(b"x", b"y", (0, 1, "y")), plan(b"xx", b"y", (0, 2, "y"))])


def test_two_real_servers_that_count_otherwise_write_each_place_once(tmp_path):
    """One counts bytes, the other units of UTF-16."""
    from lsp_kit import Fake
    from real_servers import PROJECTS, SERVERS, installed

    names = ["ty", "basedpyright"]
    for name in names:
        if not installed(SERVERS[name].program):
            assert not os.environ.get("TOOLCRIB_PEERS"), f"{name} is not installed"
            pytest.skip(f"{name} is not installed")
    root = tmp_path.resolve()
    (root / "ws").mkdir()
    PROJECTS["python"].make(root / "ws")
    fake = Fake(root / "ws", root, {"languages": {"python": names}}, trusted=True)
    before = texts(fake)

    async def scenario(call):
        await call("references", path="lib.py", name="greet", wait=60)
        done = await call("rename", path="lib.py", name="greet", new_name="salute")
        return done, call.asked

    outcome, (question,) = fake.run(scenario)
    assert good(outcome)["server"] == "ty and basedpyright"
    after = {name: text.replace("greet", "salute") for name, text in before.items()}
    assert texts(fake) == after
    assert sorted(added(question.preview)) == sorted(
        line
        for name in ("lib.py", "app.py")
        for line in [name, *(each for each in after[name].splitlines() if "salute" in each)]
    )
