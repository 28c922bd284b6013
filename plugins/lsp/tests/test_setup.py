"""Which server serves a file, whether it may run, and what to do if there is none."""

import os

from types import SimpleNamespace

import pytest

from lsp_kit import good, places, text_of
from toolcrib import Unavailable

from toolcrib_lsp import settings
from toolcrib_lsp.bench import Bench
from toolcrib_lsp.finding import find, root_for
from toolcrib_lsp.languages import language_of
from toolcrib_lsp.servers import KNOWN, ServerSpec, known_for


def ask(fake, tool="definition", **arguments):
    arguments = arguments or {"path": "b.src", "name": "one"}

    async def scenario(call):
        return await call(tool, **arguments)

    return fake.run(scenario)


def test_language_without_a_server_names_who_would_serve_and_how_to_get_it(fake, monkeypatch):
    monkeypatch.setenv("PATH", str(fake.folder))
    fake.write("main.go", "package main\n")
    outcome = ask(fake, path="main.go", line=1)
    assert (outcome.status, outcome.code) == ("unavailable", "lsp.no_server")
    assert "gopls (go install golang.org/x/tools/gopls@latest)" in outcome.text


def test_language_that_no_server_is_known_for_says_how_to_configure_one(fake):
    fake.write("Main.java", "class Main {}\n")
    outcome = ask(fake, path="Main.java", line=1)
    assert outcome.code == "lsp.no_server"
    assert "[pack.lsp.servers.NAME]" in outcome.text


def test_file_in_no_language_is_unavailable(fake):
    fake.write("x.unknown", "x\n")
    outcome = ask(fake, path="x.unknown", line=1)
    assert (outcome.status, outcome.code) == ("unavailable", "lsp.no_language")
    assert "[pack.lsp.extensions]" in outcome.text


def test_server_that_runs_code_of_the_workspace_needs_trust(fake):
    fake.settings["servers"]["fake"]["trust"] = "it runs the build file"
    outcome = ask(fake)
    assert (outcome.status, outcome.code) == ("unavailable", "lsp.untrusted")
    assert "it runs the build file" in outcome.text
    assert fake.starts == 0


def test_trusted_workspace_needs_no_question(fake):
    fake.settings["servers"]["fake"]["trust"] = True
    fake.trusted = True
    assert places(ask(fake)) == ["a.src:1:5"]


class Person:
    """Answers a question."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    async def question(self, text, *, options=(), default=None):
        self.asked.append(text)
        return self.answer

    async def form(self, text, schema):
        return None

    async def url(self, text, url):
        return False


@pytest.mark.parametrize("answer", ["yes", "no", None])
def test_person_is_asked_once_whether_a_server_may_run(fake, answer):
    fake.settings["servers"]["fake"]["trust"] = "it runs the build file"
    fake.ask = Person(answer)

    async def scenario(call):
        first = await call("definition", path="b.src", name="one")
        return first, await call("definition", path="b.src", name="one")

    first, second = fake.run(scenario)
    assert first.ok == second.ok == (answer == "yes")
    assert "Start the language server fake" in fake.ask.asked[0]
    assert len(fake.ask.asked) == (1 if answer == "yes" else 2)


def test_configured_server_that_nobody_vouches_for_needs_trust(fake):
    del fake.settings["servers"]["fake"]["trust"]
    assert ask(fake).code == "lsp.untrusted"


def test_program_that_lies_in_the_workspace_needs_trust(tmp_path):
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    program = bin_ / "srv"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    spec = ServerSpec(name="srv", languages=("x",), command=("srv",))
    assert (
        find(spec, str(tmp_path), path=str(bin_)).trust == "its program lies in the workspace"
    )
    assert find(spec, "/somewhere/else", path=str(bin_)).trust == ""
    assert find(spec, "/somewhere/else", path="bin") is None


def test_typescript_of_the_workspace_is_run_only_with_trust(tmp_path):
    bin_ = tmp_path / "node/bin"
    bin_.mkdir(parents=True)
    program = bin_ / "typescript-language-server"
    program.write_text("")
    program.chmod(0o755)
    (spec,) = [each for each in KNOWN if each.name == "typescript"]
    assert "compiler of the workspace" in find(spec, "/ws", path=str(bin_)).trust
    compiler = tmp_path / "node/node_modules/typescript/lib/tsserver.js"
    compiler.parent.mkdir(parents=True)
    compiler.write_text("")
    found = find(spec, "/ws", path=str(bin_))
    assert found.trust == ""
    assert found.spec.options["tsserver"] == {"path": str(compiler)}


def host(root, **table):
    workspace = SimpleNamespace(root=root, trusted=False)
    return SimpleNamespace(workspace=workspace, settings=table, logger=None)


def test_first_of_each_slot_serves_a_file_together(fake, monkeypatch):
    bench = Bench(host(fake.ws))
    there = {"pyright", "ty", "ruff"}
    monkeypatch.setattr(
        bench, "program", lambda name: bench.settings.specs[name] if name in there else None
    )
    assert [each.name for each in bench.programs("python")] == ["pyright", "ruff"]


def test_operator_chooses_servers_and_their_order(fake):
    made = Bench(host(fake.ws, languages={"python": ["ruff", "jedi", "ty"]}))
    assert [s.name for s in made.specs("python")] == ["ruff", "jedi", "ty"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"idel": 5}, "idel is not known; there are extensions, idle"),
        ({"idle": "long"}, "idle is no number"),
        ({"idle": 0}, "idle lies outside of 1 to 86400"),
        ({"servers": []}, "servers is no table"),
        ({"servers": {"x": {"command": ["x"]}}}, "servers.x lacks languages"),
        (
            {"servers": {"x": {"command": "x", "languages": ["y"]}}},
            "servers.x.command is no list",
        ),
        ({"servers": {"ty": {"comand": ["x"]}}}, "servers.ty.comand is not known"),
        ({"servers": {"ty": {"command": ["x"] * 200}}}, "is no list of 1 to 128"),
        (
            {"servers": {"ty": {"options": {"x": "y" * 300_000}}}},
            "is larger than 262,144 bytes",
        ),
        ({"servers": {"ty": {"env": {"A": 1}}}}, "servers.ty.env is no table of texts"),
        ({"servers": {"ty": {"slot": "best"}}}, "is neither 'main' nor 'lint'"),
        ({"servers": {f"s{n}": {} for n in range(40)}}, "servers holds more than 32"),
        ({"languages": {"python": ["nothing"]}}, "names 'nothing', which is no server"),
        ({"languages": {"python": ["clangd"]}}, "clangd does not serve python"),
        ({"extensions": {"py": "python"}}, "extensions.'py'"),
    ],
)
def test_slips_in_the_settings_are_named(table, words):
    with pytest.raises(Unavailable) as raised:
        settings.read(table)
    assert words in raised.value.text


def test_all_slips_are_told_at_once(fake):
    fake.settings |= {"idel": 1, "start": "now"}
    outcome = ask(fake)
    assert (outcome.status, outcome.code) == ("unavailable", "lsp.settings")
    assert "idel" in outcome.text
    assert "start" in outcome.text


def test_known_server_is_changed_in_part(fake):
    made = settings.read({"servers": {"ty": {"command": ["/opt/ty", "server"]}}})
    assert made.specs["ty"].command == ("/opt/ty", "server")
    assert made.specs["ty"].languages == ("python",)
    assert made.specs["ty"].trust == ""


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("a.py", "python"),
        ("A.PY", "python"),
        ("x/Dockerfile", "dockerfile"),
        ("go.mod", "gomod"),
        ("a.tsx", "typescriptreact"),
        ("a", None),
        ("a.own", "mine"),
    ],
)
def test_language_follows_from_the_name(name, language):
    assert language_of(name, {".own": "mine"}) == language


def test_table_of_servers_is_whole():
    names = [spec.name for spec in KNOWN]
    assert len(names) == len(set(names))
    for spec in KNOWN:
        assert spec.install
        assert spec.command
        for language in spec.languages:
            assert spec in known_for(language)


def test_nearest_marked_folder_is_opened(tmp_path):
    (tmp_path / "one/two/three").mkdir(parents=True)
    (tmp_path / "one/go.mod").write_text("")
    (spec,) = [each for each in KNOWN if each.name == "gopls"]
    path = str(tmp_path / "one/two/three/x.go")
    assert root_for(spec, path, str(tmp_path)) == str(tmp_path / "one")
    assert root_for(spec, str(tmp_path / "x.go"), str(tmp_path)) == str(tmp_path)


def test_workspaces_of_one_toolbox_have_servers_of_their_own(fake):
    """A session that moved to another folder is not answered about the first."""

    async def scenario(call):
        return await call("status")

    value = good(fake.run(scenario))
    (state,) = [s for s in value["servers"] if s["name"] == "fake"]
    assert state["state"] == "installed"


def test_status_names_what_runs_and_what_it_can_do(fake):
    async def scenario(call):
        await call("definition", path="b.src", name="one")
        return await call.unasked("status")

    outcome = fake.run(scenario)
    (state,) = [s for s in good(outcome)["servers"] if s["name"] == "fake"]
    assert state["state"] == "running"
    assert "rename" in state["supports"]
    assert "fake: running for src" in text_of(outcome)


def test_reads_are_not_asked_in_the_workspace(fake):
    async def scenario(call):
        return await call.unasked("definition", path="b.src", name="one")

    assert places(fake.run(scenario)) == ["a.src:1:5"]


def test_link_that_is_changed_after_the_judgement_is_not_followed(fake):
    """The signature was judged for the file that the link led to."""
    (fake.ws / "link.src").symlink_to(fake.ws / "a.src")

    async def scenario(call):
        view = await call.session.view("openai")
        function = {
            "name": "lsp_definition",
            "arguments": '{"path": "link.src", "line": 1, "name": "one"}',
        }
        reply = {"tool_calls": [{"id": "1", "type": "function", "function": function}]}
        batch = await call.session.submit(view.calls({"role": "assistant", **reply}))
        os.unlink(fake.ws / "link.src")
        (fake.ws / "link.src").symlink_to(fake.ws / "b.src")
        async with batch.run() as events:
            async for _ in events:
                pass
        return view.results(batch)[0]["content"]

    assert "lsp.path_changed" in fake.run(scenario)


def test_closing_the_toolbox_while_a_server_starts_leaves_nothing(fake):
    fake.plan(methods={"initialize": [[{"never": 1}]]})

    async def scenario(call):
        await call("definition", path="b.src", name="one", wait=0)

    from lsp_kit import gone

    fake.run(scenario)
    assert gone([e["started"] for e in fake.log if "started" in e], within=5)
