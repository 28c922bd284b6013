"""Renames, actions and formats: shown first, then exactly that, in all files or in none."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from lsp_kit import good, text_of
from toolcrib import Failed, Refused, Uncertain

from toolcrib_lsp import applying, journal
from toolcrib_lsp.edits import FileChange, Plan


RENAME = "textDocument/rename"


def rename(fake, *, between=lambda: None, **arguments):
    """Rename ``one``; ``between`` runs after the question was answered."""
    arguments = {"path": "b.src", "name": "one", "new_name": "uno", **arguments}

    async def scenario(call):
        # What is asked must not depend on how fast a server starts.
        await call("symbols", path="b.src")
        return await call("rename", **arguments), call.asked

    return fake.run(scenario)


def span(line, start, end, last=None):
    return {
        "start": {"line": line, "character": start},
        "end": {"line": line if last is None else last, "character": end},
    }


def contents(fake):
    return {
        path.relative_to(fake.ws).as_posix(): path.read_bytes().decode()
        for path in sorted(fake.ws.rglob("*"))
        if path.is_file()
    }


def applied(diff, before):
    """Apply a unified diff to texts, with nothing of ours."""
    after = dict(before)
    name, at, old, new = "", 0, [], []
    for line in [*diff.splitlines(keepends=True), "--- a/end\n"]:
        if line.startswith("--- "):
            if name:
                after[name] = "".join([*new, *old[at:]])
            name = ""
        elif line.startswith("+++ b/"):
            name = line[6:].strip()
            old, new, at = before[name].splitlines(keepends=True), [], 0
        elif line.startswith("@@"):
            start = int(line.split()[1].split(",")[0][1:]) - 1
            new += old[at:start]
            at = start
        elif line[0] in " -":
            new += [line[1:]] if line[0] == " " else []
            at += 1
        elif line[0] == "+":
            new.append(line[1:])
    return after


def test_preview_of_a_rename_is_exactly_what_is_written(fake):
    fake.write("deep/c.src", "é😀 one\r\nmore\r\n" + "x\n" * 30 + "one\n")
    before = contents(fake)
    outcome, (question,) = rename(fake)
    assert outcome.ok
    assert contents(fake) == {
        "a.src": "def uno\nuno two\n",
        "b.src": "def two\nuse uno\n",
        "deep/c.src": "é😀 uno\r\nmore\r\n" + "x\n" * 30 + "uno\n",
    }
    written = {k: v for k, v in contents(fake).items() if "\r" not in v}
    plain = {k: v for k, v in before.items() if "\r" not in v}
    assert applied("".join(question.preview.partition("--- a/deep")[:1]), plain) == written
    assert {line for line in question.preview.splitlines() if line.startswith("---")} == {
        "--- a/a.src",
        "--- a/b.src",
        "--- a/deep/c.src",
    }
    writes = {r.rpartition("/")[2] for r in question.resources if r.startswith("write")}
    assert writes == {"a.src", "b.src", "c.src"}
    assert [f["edits"] for f in good(outcome)["files"]] == [2, 1, 2]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_edits_behind_wide_characters_hit_the_right_place(fake, encoding):
    fake.plan(encoding=encoding)
    fake.write("c.src", "é😀 one é😀 one\n")
    outcome, _ = rename(fake)
    assert outcome.ok
    assert (fake.ws / "c.src").read_text() == "é😀 uno é😀 uno\n"


def test_nothing_is_written_without_a_yes(fake):
    before = contents(fake)

    async def scenario(call):
        return await call.unasked("rename", path="b.src", name="one", new_name="uno")

    assert fake.run(scenario).status == "needs_approval"
    assert contents(fake) == before


@pytest.mark.parametrize("changed", ["a.src", "b.src"])
def test_file_that_changed_after_the_preview_refuses_the_whole_edit(fake, changed):
    """Between the yes and the run."""

    async def scenario(call):
        view = await call.session.view("openai")
        arguments = {"path": "b.src", "name": "one", "new_name": "uno"}
        function = {"name": "lsp_rename", "arguments": json.dumps(arguments)}
        reply = {"tool_calls": [{"id": "1", "type": "function", "function": function}]}
        batch = await call.session.submit(view.calls({"role": "assistant", **reply}))
        from toolcrib import Allow

        for question in batch.questions:
            await batch.decide(question.id, Allow(by="tester"))
        (fake.ws / changed).write_text("def one\nuse one\nsomebody else\n")
        async with batch.run() as events:
            async for _ in events:
                pass
        return view.results(batch)[0]["content"]

    text = fake.run(scenario)
    assert "answer.stale" in text
    assert "somebody else" in (fake.ws / changed).read_text()
    assert not any("uno" in each for each in contents(fake).values())


def test_file_that_changed_while_the_server_answered_refuses_the_whole_edit(fake, monkeypatch):
    """After all looks of the session, right before the files are written."""
    real = applying.apply

    def late(plan, state):
        (fake.ws / "b.src").write_text("def two\nuse one twice\n")
        return real(plan, state)

    monkeypatch.setattr("toolcrib_lsp.carrying.apply", late)
    outcome, _ = rename(fake)
    assert (outcome.status, outcome.code) == ("failed", "lsp.changed")
    assert "b.src: is not what the server saw any more" in outcome.text
    assert "a.src: could be changed" in outcome.text
    assert (fake.ws / "a.src").read_text() == "def one\none two\n"


def test_other_edit_than_the_one_that_was_shown_is_not_written(fake):
    """A server that answers otherwise each time."""
    uri = (fake.ws / "a.src").as_uri()
    answers = [
        [{"reply": {"changes": {uri: [{"range": span(0, 4, 7), "newText": f"new{n // 2}"}]}}}]
        for n in range(40)
    ]
    fake.plan(methods={RENAME: answers})
    outcome, _ = rename(fake)
    assert outcome.status in {"failed", "refused"}
    assert outcome.code in {"lsp.changed", "answer.stale"}
    assert (fake.ws / "a.src").read_text() == "def one\none two\n"


@pytest.mark.parametrize("edit", [None, {}, {"changes": {}}, {"documentChanges": []}])
def test_rename_of_nothing_is_an_error(fake, edit):
    fake.plan(methods={RENAME: [[{"reply": edit}]]})
    outcome, _ = rename(fake)
    assert (outcome.status, outcome.code) == ("failed", "lsp.nothing_renamed")
    assert "Nothing was renamed" in outcome.text


def scripted(fake, edit):
    fake.plan(methods={RENAME: [[{"reply": edit}]]})
    before = contents(fake)
    outcome, _ = rename(fake)
    return outcome, before


def test_read_only_file_stops_all_files_with_a_report(fake):
    (fake.ws / "b.src").chmod(0o444)
    before = contents(fake)
    outcome, _ = rename(fake)
    assert (outcome.status, outcome.code) == ("refused", "lsp.not_writable")
    assert "b.src: is read-only" in outcome.text
    assert "a.src: could be changed" in outcome.text
    assert contents(fake) == before


@pytest.mark.parametrize("way", ["plain", "link", "git"])
def test_edit_that_leaves_the_workspace_is_refused(fake, way):
    target = {"plain": "../outside.src", "link": "link.src", "git": ".git/hook.src"}[way]
    (fake.ws / "link.src").symlink_to(fake.folder / "outside.src")
    fake.write(".git/hook.src", "def secret\n")
    uri = "file://" + os.path.normpath(f"{fake.ws}/{target}")
    mine = {(fake.ws / "a.src").as_uri(): [{"range": span(0, 4, 7), "newText": "x"}]}
    edit = {"changes": {**mine, uri: [{"range": span(0, 0, 3), "newText": "EVIL"}]}}
    outcome, before = scripted(fake, edit)
    assert outcome.status == "refused"
    assert outcome.code == ("lsp.protected" if way == "git" else "lsp.outside")
    assert contents(fake) == before
    assert (fake.folder / "outside.src").read_text() == "def secret\n"


def test_edits_that_overlap_are_refused_untouched(fake):
    edits = [{"range": span(0, 0, 5), "newText": "x"}, {"range": span(0, 4, 7), "newText": "y"}]
    outcome, before = scripted(fake, {"changes": {(fake.ws / "a.src").as_uri(): edits}})
    assert outcome.code == "lsp.overlap"
    assert contents(fake) == before


def test_edit_for_an_old_version_is_refused_untouched(fake):
    document = {"uri": (fake.ws / "a.src").as_uri(), "version": 0}
    change = {"textDocument": document, "edits": [{"range": span(0, 4, 7), "newText": "x"}]}
    outcome, before = scripted(fake, {"documentChanges": [change]})
    assert outcome.code == "lsp.stale_edit"
    assert contents(fake) == before


def test_files_are_created_moved_and_deleted_with_the_edit(fake):
    root = fake.ws.as_uri()
    (fake.ws / "b.src").chmod(0o640)
    fake.write("gone.src", "x\n")
    document = {"uri": f"{root}/sub/moved.src", "version": None}
    steps = [
        {"kind": "create", "uri": f"{root}/new/made.src"},
        {
            "textDocument": {"uri": f"{root}/new/made.src", "version": None},
            "edits": [{"range": span(0, 0, 0), "newText": "hello\n"}],
        },
        {"kind": "rename", "oldUri": f"{root}/b.src", "newUri": f"{root}/sub/moved.src"},
        {"textDocument": document, "edits": [{"range": span(0, 4, 7), "newText": "zwei"}]},
        {"kind": "delete", "uri": f"{root}/gone.src"},
    ]
    outcome, _ = scripted(fake, {"documentChanges": steps})
    assert outcome.ok, outcome.text
    assert contents(fake) == {
        "a.src": "def one\none two\n",
        "new/made.src": "hello\n",
        "sub/moved.src": "def zwei\nuse one\n",
    }
    assert (fake.ws / "sub/moved.src").stat().st_mode & 0o777 == 0o640
    files = {f["path"]: (f["change"], f["moved_to"]) for f in good(outcome)["files"]}
    assert files == {
        "b.src": ("moved", "sub/moved.src"),
        "gone.src": ("deleted", None),
        "new/made.src": ("created", None),
    }


@pytest.mark.parametrize(
    "step",
    [
        {"kind": "create", "uri": "$/a.src"},
        {"kind": "create", "uri": "$/a.src", "options": {"overwrite": True}},
        {"kind": "rename", "oldUri": "$/b.src", "newUri": "$/a.src"},
        {"kind": "rename", "oldUri": "$/no.src", "newUri": "$/new.src"},
        {"kind": "delete", "uri": "$/folder"},
        {"kind": "rename", "oldUri": "$/folder", "newUri": "$/other"},
        {"kind": "create", "uri": "$/../new.src"},
        {"kind": "rename", "oldUri": "$/a.src", "newUri": "$/../new.src"},
        {"kind": "create", "uri": "untitled:x"},
        {"kind": "explode"},
        {"textDocument": {"uri": "$/no.src"}, "edits": []},
        {"textDocument": {"uri": "$/a.src"}, "edits": [{"range": {}, "newText": "x"}]},
        {
            "textDocument": {"uri": "$/a.src"},
            "edits": [{"range": span(1, 0, 0, 0), "newText": ""}],
        },
        {
            "textDocument": {"uri": "$/a.src"},
            "edits": [{"range": span(0, 0, 1), "snippet": {}}],
        },
        "no object",
    ],
)
def test_operation_that_cannot_be_done_stops_everything(fake, step):
    fake.write("folder/x.src", "x\n")
    text = json.dumps(step).replace("$", fake.ws.as_uri())
    first = {
        "textDocument": {"uri": (fake.ws / "a.src").as_uri(), "version": None},
        "edits": [{"range": span(1, 0, 3), "newText": "x"}],
    }
    outcome, before = scripted(fake, {"documentChanges": [first, json.loads(text)]})
    assert outcome.status in {"failed", "refused"}
    assert outcome.code.startswith("lsp.")
    assert contents(fake) == before


def test_name_that_cannot_be_renamed_is_said_by_the_server(fake):
    error = {"code": -32603, "message": "you cannot rename this element"}
    fake.plan(
        capabilities={"renameProvider": {"prepareProvider": True}},
        methods={"textDocument/prepareRename": [[{"error": error}]]},
    )
    outcome, _ = rename(fake)
    assert outcome.code == "lsp.not_renamable"
    assert "cannot rename this element" in outcome.text


def test_name_that_stands_twice_on_the_line_is_not_guessed(fake):
    fake.write("c.src", "one one\n")
    outcome, _ = rename(fake, path="c.src", line=1)
    assert outcome.code == "lsp.ambiguous"


def test_byte_order_mark_and_line_ends_stay(fake):
    (fake.ws / "c.src").write_bytes(b"\xef\xbb\xbfone\r\none\r")
    outcome, _ = rename(fake)
    assert outcome.ok
    assert (fake.ws / "c.src").read_bytes() == b"\xef\xbb\xbfuno\r\nuno\r"


def test_file_that_is_no_utf8_is_named_and_nothing_is_written(fake):
    fake.plan(methods={RENAME: [[{"reply": {"changes": {}}}]]})
    (fake.ws / "c.src").write_bytes(b"one \xff\n")
    outcome, _ = rename(fake, path="c.src", line=1)
    assert outcome.code == "lsp.not_text"


def test_edits_mode_runs_a_rename_inside_without_asking(fake):
    async def scenario(call):
        await call("symbols", path="a.src")
        return await call.unasked("rename", path="b.src", name="one", new_name="uno")

    assert fake.run(scenario, mode="edits").ok


def test_rule_that_denies_a_file_stops_the_rename_of_all(fake):
    from toolcrib import Policy

    rules = Policy.load
    assert rules
    fake.policy["rules"] = _rules("deny lsp.*(path=**/a.src)")
    before = contents(fake)

    async def scenario(call):
        await call("symbols", path="b.src")
        return await call("rename", path="b.src", name="one", new_name="uno")

    outcome = fake.run(scenario)
    assert outcome.status == "refused"
    assert contents(fake) == before


def _rules(*texts):
    from toolcrib.rules import parse

    return tuple(map(parse, texts))


def test_plan_mode_reads_and_does_not_write(fake):
    async def scenario(call):
        read = await call("definition", path="b.src", name="one")
        return read, await call("rename", path="b.src", name="one", new_name="uno")

    read, write = fake.run(scenario, mode="plan")
    assert read.ok
    assert write.status == "refused"


# -- formats and actions --------------------------------------------------------------------


def test_format_writes_what_the_server_says(fake):
    edits = [{"range": span(0, 0, 0, 9999), "newText": "def one\n\none two\n"}]
    fake.plan(
        capabilities={"documentFormattingProvider": True},
        methods={"textDocument/formatting": [[{"reply": edits}]]},
    )

    async def scenario(call):
        return await call("format", path="a.src"), call.asked

    outcome, (question,) = fake.run(scenario)
    assert outcome.ok
    assert (fake.ws / "a.src").read_text() == "def one\n\none two\n"
    assert (
        applied(question.preview, {"a.src": "def one\none two\n"})["a.src"]
        == (fake.ws / "a.src").read_text()
    )


@pytest.mark.parametrize("reply", [None, []])
def test_file_that_is_formatted_already_is_no_failure(fake, reply):
    fake.plan(
        capabilities={"documentFormattingProvider": True},
        methods={"textDocument/formatting": [[{"reply": reply}]]},
    )

    async def scenario(call):
        return await call("format", path="a.src")

    outcome = fake.run(scenario)
    assert good(outcome)["files"] == []
    assert "nothing to change" in text_of(outcome)


def test_lines_are_formatted_alone(fake):
    fake.plan(
        capabilities={"documentRangeFormattingProvider": True},
        methods={"textDocument/rangeFormatting": [[{"reply": []}]]},
    )

    async def scenario(call):
        return await call("format", path="a.src", first_line=2, last_line=2)

    assert fake.run(scenario).ok
    (message, *_) = fake.logged("textDocument/rangeFormatting")
    assert message["params"]["range"] == span(1, 0, 7)


def actions(fake):
    uri = (fake.ws / "a.src").as_uri()
    edit = {"changes": {uri: [{"range": span(0, 4, 7), "newText": "uno"}]}}
    return edit, [
        {"title": "Fix it", "kind": "quickfix", "edit": edit, "isPreferred": True},
        {"title": "Fix it later", "kind": "quickfix", "data": {"n": 1}},
        {"title": "Run it", "command": "fake.run", "arguments": [1]},
        {"title": "Propose it", "command": {"title": "", "command": "fake.propose"}},
        {"title": "Cannot", "disabled": {"reason": "no selection"}, "edit": edit},
    ]


def with_actions(fake, **methods):
    edit, offered = actions(fake)
    propose = [
        {"ask": ["workspace/applyEdit", {"edit": edit}, 0]},
        {"delay": 0.1},
        {"reply": None},
    ]
    fake.settings["servers"]["fake"]["edit_commands"] = ["fake.propose"]
    fake.plan(
        capabilities={"codeActionProvider": {"resolveProvider": True}},
        methods={
            "textDocument/codeAction": [[{"reply": offered}]],
            "codeAction/resolve": [[{"reply": {**offered[1], "edit": edit}}]],
            "workspace/executeCommand": [propose],
            **methods,
        },
    )


def act(fake, **arguments):
    async def scenario(call):
        return await call("code_action", path="a.src", **arguments), call.asked

    return fake.run(scenario)


def test_actions_are_listed_with_what_cannot_be_done(fake):
    with_actions(fake)

    async def scenario(call):
        return await call.unasked("code_actions", path="a.src", line=1, name="one")

    found = good(fake.run(scenario))["actions"]
    assert [(a["title"], a["usable"]) for a in found] == [
        ("Fix it", True),
        ("Fix it later", True),
        ("Run it", False),
        ("Propose it", True),
        ("Cannot", False),
    ]


@pytest.mark.parametrize(("resolves", "usable"), [(True, True), (False, False)])
def test_command_that_is_not_run_is_usable_only_if_there_may_be_an_edit_besides(
    fake, resolves, usable
):
    """A server may be asked for the edit of what it offers; one that may not has none."""
    offered = [{"title": "Sort", "command": {"title": "", "command": "fake.sort"}}]
    fake.plan(
        capabilities={"codeActionProvider": {"resolveProvider": resolves}},
        methods={"textDocument/codeAction": [[{"reply": offered}]]},
    )

    async def scenario(call):
        return await call("code_actions", path="a.src")

    (found,) = good(fake.run(scenario))["actions"]
    assert found["usable"] is usable
    assert found["reason"] == ("" if usable else "it runs the command fake.sort")


def told(fake, arguments):
    """Do an action whose command an editor carries out by itself."""
    offered = [{"title": "Tell it", "command": "fake.told", "arguments": arguments}]
    fake.settings["servers"]["fake"]["told_commands"] = ["fake.told"]
    fake.plan(
        capabilities={"codeActionProvider": True},
        methods={"textDocument/codeAction": [[{"reply": offered}]]},
    )
    outcome, asked = act(fake, action="Tell it", line=1)
    assert not fake.logged("workspace/executeCommand")
    return outcome, asked


def test_edit_that_a_command_bears_is_shown_and_written(fake):
    """The server could not run the command: it is the editor's."""
    edits = [{"range": span(0, 4, 7), "newText": "uno"}]
    outcome, (question,) = told(fake, [(fake.ws / "a.src").as_uri(), 1, edits])
    assert outcome.ok, outcome.text
    assert "-def one\n+def uno" in question.preview
    assert (fake.ws / "a.src").read_text() == "def uno\none two\n"


@pytest.mark.parametrize("arguments", [None, [], ["x"], [1, 2, 3], "abc"])
def test_command_that_bears_no_edit_writes_nothing(fake, arguments):
    outcome, _ = told(fake, arguments)
    assert outcome.code in {"lsp.bad_edit", "lsp.outside"}
    assert (fake.ws / "a.src").read_text() == "def one\none two\n"


@pytest.mark.parametrize("title", ["Fix it", "fix it later", "Propose it"])
def test_action_is_shown_and_done(fake, title):
    with_actions(fake)
    outcome, (question,) = act(fake, action=title, line=1)
    assert outcome.ok, outcome.text
    assert "-def one\n+def uno" in question.preview
    assert (fake.ws / "a.src").read_text() == "def uno\none two\n"


@pytest.mark.parametrize(
    ("title", "code"),
    [
        ("Run it", "lsp.command_not_run"),
        ("Cannot", "lsp.disabled"),
        ("Nothing", "lsp.no_action"),
        ("Fi", "lsp.ambiguous"),
    ],
)
def test_action_that_cannot_be_done_says_why(fake, title, code):
    with_actions(fake)
    outcome, _ = act(fake, action=title, line=1)
    assert outcome.code == code
    assert (fake.ws / "a.src").read_text() == "def one\none two\n"
    assert not fake.logged("workspace/executeCommand")


def test_faults_of_the_place_are_told_to_the_server(fake):
    with_actions(fake)
    fake.write("a.src", "def one BAD\none BAD two\n")

    async def scenario(call):
        return await call("code_actions", path="a.src", line=2)

    fake.run(scenario)
    (message, *_) = fake.logged("textDocument/codeAction")
    problems = message["params"]["context"]["diagnostics"]
    assert [each["range"]["start"]["line"] for each in problems] == [1]


# -- the files themselves ---------------------------------------------------------------------


def plan_for(folder, **changes):
    files = tuple(
        FileChange(path=str(folder / name), before=before, after=after)
        for name, (before, after) in sorted(changes.items())
    )
    return Plan(str(folder), files)


@pytest.fixture
def place(tmp_path):
    folder = tmp_path.resolve() / "ws"
    folder.mkdir()
    for name in "abc":
        (folder / name).write_bytes(f"old {name}".encode())
    return folder


def everything(place):
    return {p.name: p.read_bytes() for p in place.iterdir()}


def test_failure_in_the_middle_puts_everything_back(place, monkeypatch):
    """The second of three files cannot be replaced."""
    real = os.replace
    count = iter(range(100))

    def failing(source, target):
        if next(count) == 1:
            raise OSError(28, "No space left on device", str(target))
        real(source, target)

    monkeypatch.setattr(applying.os, "replace", failing)
    plan = plan_for(place, **{n: (f"old {n}".encode(), b"new") for n in "abc"})
    with pytest.raises(Failed, match="No space left"):
        applying.apply(plan, place.parent / "state")
    assert everything(place) == {n: f"old {n}".encode() for n in "abc"}


def test_file_that_changes_in_the_middle_puts_everything_back(place, monkeypatch):
    real = os.replace

    def meddling(source, target):
        real(source, target)
        (place / "c").write_bytes(b"somebody else")

    monkeypatch.setattr(applying.os, "replace", meddling)
    plan = plan_for(place, a=(b"old a", b"new"), c=(b"old c", b"new"))
    with pytest.raises(Failed, match="not what the server saw"):
        applying.apply(plan, place.parent / "state")
    monkeypatch.undo()
    assert everything(place) == {"a": b"old a", "b": b"old b", "c": b"somebody else"}


def test_what_cannot_be_put_back_is_uncertain(place, monkeypatch):
    real = os.replace

    def meddling(source, target):
        real(source, target)
        (place / "a").write_bytes(b"somebody else")
        raise OSError(5, "Input/output error", str(target))

    monkeypatch.setattr(applying.os, "replace", meddling)
    plan = plan_for(place, a=(b"old a", b"new"))
    with pytest.raises(Uncertain, match="a could not be put back"):
        applying.apply(plan, place.parent / "state")


def test_new_file_never_replaces_one_that_has_come(place):
    plan = plan_for(place, d=(None, b"new"))
    (place / "d").write_bytes(b"theirs")
    with pytest.raises(Refused, match="exists already"):
        applying.apply(plan, place.parent / "state")
    assert (place / "d").read_bytes() == b"theirs"


@pytest.mark.parametrize("when", [1, 2, 3])
def test_what_a_killed_process_left_half_done_is_undone(place, when):
    """Killed right before its n-th replacement."""
    code = f"""
        import os
        from pathlib import Path
        from toolcrib_lsp import applying
        from toolcrib_lsp.edits import FileChange, Plan
        count = iter(range(1, 100))
        real = os.replace
        def dying(source, target):
            if next(count) == {when}:
                os.kill(os.getpid(), 9)
            real(source, target)
        applying.os.replace = dying
        place = Path({str(place)!r})
        files = tuple(
            FileChange(path=str(place / n), before=f"old {{n}}".encode(), after=b"new")
            for n in "abc"
        )
        applying.apply(Plan(str(place), files), place.parent / "state")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert done.returncode == -9

    class Host:
        state = place.parent / "state"

        class logger:  # noqa: N801
            warning = staticmethod(print)

    assert journal.recover(Host, str(place)) == []
    now = {k: v for k, v in everything(place).items() if not k.endswith(".tmp")}
    assert now == {n: f"old {n}".encode() for n in "abc"}
    assert journal.recover(Host, str(place)) == []
