"""Every tool with every server that is installed, on a small project of two files.

Servers that pip alone provides are tried in every run if they are there; the others are
peers, and there an absent one is a failure.
"""

import os

import pytest

from lsp_kit import Fake, good, text_of
from real_servers import PROJECTS, SERVERS, installed


PIP = [pytest.param(name, id=name) for name, case in SERVERS.items() if case.pip]
PEERS = [
    pytest.param(name, id=name, marks=pytest.mark.peer)
    for name, case in SERVERS.items()
    if not case.pip
]


@pytest.fixture
def place(tmp_path):
    """Make a workspace that is served by one server, or by several."""

    def make(language, *servers):
        for name in servers:
            program = SERVERS[name].program
            if not installed(program):
                if os.environ.get("TOOLCRIB_PEERS"):
                    pytest.fail(f"{program} is not installed")
                pytest.skip(f"{program} is not installed")
        root = tmp_path.resolve()
        ws = root / "ws"
        ws.mkdir()
        PROJECTS[language].make(ws)
        # Their caches belong to the test.
        return Fake(ws, root, {"languages": {language: list(servers)}}, trusted=True)

    return make


class Matrix:
    """What each tool said of one project, compared with what is right."""

    def __init__(self, name, fake, call):
        self.case = SERVERS[name]
        self.project = PROJECTS[self.case.language]
        self.fake = fake
        self.call = call
        self.wrong = []
        self.lacking = set()
        self.silent = set()

    async def ask(self, tool, right, **arguments):
        outcome = await self.call(tool, **arguments)
        if outcome.status == "unavailable" and "is not supported by" in outcome.text:
            self.lacking.add(tool)
            return
        if not outcome.ok:
            self.wrong.append(f"{tool}: {outcome.status} {outcome.code} {outcome.text}")
            return
        value = good(outcome)
        lists = [v for v in value.values() if isinstance(v, list)]
        if lists and not any(lists) and tool not in {"diagnostics", "format"}:
            self.silent.add(tool)
        elif tool not in self.case.odd and not right(value):
            self.wrong.append(f"{tool}: {text_of(outcome)[:600]}")

    def has(self, path, line):
        def right(value):
            return any(
                (place["path"], place["line"]) == (path, line) for place in value["locations"]
            )

        return right

    async def all(self):
        p = self.project
        defined = {"path": p.lib, "line": p.defined, "name": p.name}
        used = {"path": p.app, "line": p.used, "name": p.name} if p.used else defined
        if p.anchor:
            used = {"path": p.lib, "line": p.anchor, "name": p.name}
        definition = self.has(p.lib, p.defined)
        references = self.has(p.app, p.used) if p.used else definition
        await self.ask("definition", definition, **used)
        await self.ask("references", references, **defined)
        await self.ask("implementation", definition, **defined)
        await self.ask("type_definition", definition, **used)
        await self.ask("hover", lambda v: v["hovers"][0]["text"], **used)
        await self.ask("symbols", self.names(p.symbol or p.name, p.lib), path=p.lib)
        await self.ask("workspace_symbols", self.names(p.name, p.lib), query=p.name, path=p.lib)
        await self.ask(
            "incoming_calls",
            lambda v: [c["location"]["path"] for c in v["calls"]] == [p.app],
            **defined,
        )
        caller = {"path": p.app, "line": p.caller_line, "name": p.caller}
        await self.ask(
            "outgoing_calls",
            lambda v: any(c["name"] == p.name for c in v["calls"]),
            **(caller if p.caller else defined),
        )
        await self.diagnostics()
        await self.ask("format", self.formatted, path=p.app)
        await self.rename(defined)
        await self.actions()
        await self.ask("status", self.running)

    def names(self, name, path):
        def right(value):
            return any(
                name in each["name"] and each["location"]["path"] == path
                for each in value["symbols"]
            )

        return right

    async def diagnostics(self):
        p = self.project
        clean = lambda v: v["known"] and not _errors(v)  # noqa: E731
        await self.ask("diagnostics", clean, path=p.app)
        if p.bad:
            (self.fake.ws / p.app).write_text(p.bad)
            faulty = lambda v: v["known"] and p.fault in _errors(v)  # noqa: E731
            await self.ask("diagnostics", faulty, path=p.app)
            (self.fake.ws / p.app).write_text(p.fixed)
            await self.ask("diagnostics", clean, path=p.app)

    def formatted(self, value):
        digests = [each["digest"] for each in value["files"]]
        return len(digests) <= 1 and all(digests)

    async def rename(self, defined):
        p = self.project
        before = (self.fake.ws / p.lib).read_text()
        new = p.new_name
        await self.ask("rename", lambda v: v["files"], **defined, new_name=new)
        if "rename" in self.lacking:
            return
        wanted = before.replace(p.name, new)
        if (self.fake.ws / p.lib).read_text() != wanted:
            self.wrong.append("rename wrote " + (self.fake.ws / p.lib).read_text())
        app = (self.fake.ws / p.app).read_text()
        if p.used and (p.name in app or new not in app):
            self.wrong.append(f"rename wrote {app}")

    async def actions(self):
        """Have a flawed file mended by what is offered for it."""
        case, path = self.case, "flawed" + os.path.splitext(self.project.app)[1]
        self.fake.write(path, self.project.flawed)

        def offered(value):
            usable = [each["title"] for each in value["actions"] if each["usable"]]
            return any(each.startswith(case.action) for each in usable) == bool(case.action)

        await self.ask("code_actions", offered, path=path, wait=20)
        if case.action or "code_actions" in self.lacking:
            action = case.action or "any"
            await self.ask("code_action", lambda v: v["files"], path=path, action=action)
        if (mended := (self.fake.ws / path).read_text()) != (
            case.mended or self.project.flawed
        ):
            self.wrong.append(f"code_action wrote {mended}")

    def running(self, value):
        (mine,) = [each for each in value["servers"] if each["state"] == "running"]
        return self.case.program and mine["languages"] and mine["supports"]


def _errors(value):
    return [
        each["location"]["line"] for each in value["diagnostics"] if each["severity"] == "error"
    ]


@pytest.mark.parametrize("name", [*PIP, *PEERS])
def test_every_tool_with_every_server(place, name):
    """Right answers, or *unavailable* because it is not supported; never an error."""
    case = SERVERS[name]
    fake = place(case.language, name)

    async def scenario(call):
        matrix = Matrix(name, fake, call)
        await matrix.all()
        return matrix

    matrix = fake.run(scenario)
    assert matrix.wrong == []
    assert matrix.lacking == case.lacks
    assert matrix.silent == case.silent


def test_server_that_miscounts_writes_nothing(place):
    """Told that it counts in something else, its edit would hit beside the name."""
    fake = place("python", "jedi")
    fake.settings["servers"] = {"jedi": {"counts": "utf-8"}}

    async def scenario(call):
        return await call("rename", path="lib.py", name="greet", new_name="salute")

    outcome = fake.run(scenario)
    assert outcome.code == "lsp.miscounted"
    assert "salut" not in (fake.ws / "app.py").read_text()


def test_two_servers_of_one_file_are_combined(place):
    """One finds places and types, the other faults and formats."""
    fake = place("python", "ty", "ruff")
    fake.write("bad.py", "import os\n\n\ndef f( ) -> int:\n    return 'x'\n")

    async def scenario(call):
        found = await call("definition", path="app.py", line=5, name="greet")
        faults = await call("diagnostics", path="bad.py")
        done = await call("format", path="bad.py")
        return found, faults, done

    found, faults, done = fake.run(scenario)
    assert good(found)["server"] == "ty"
    assert {d["source"] for d in good(faults)["diagnostics"]} == {"ty", "Ruff"}
    assert good(done)["server"] == "ruff"
    assert "def f() -> int:" in (fake.ws / "bad.py").read_text()


@pytest.mark.parametrize("name", ["ty", "basedpyright", "jedi"])
def test_columns_agree_between_servers_of_different_encodings(place, name):
    fake = place("python", name)

    async def scenario(call):
        return await call("references", path="lib.py", name="greet")

    found = good(fake.run(scenario))["locations"]
    places = [(e["path"], e["line"], e["column"], e["name"]) for e in found]
    assert ("app.py", 5, 24, "greet") in places


def finds_references(name):
    """Tell whether a server finds references between files."""
    case = SERVERS[name]
    return "references" not in case.lacks | case.silent and PROJECTS[case.language].used


@pytest.mark.parametrize(
    "name",
    [
        *("ty", "pyrefly", "basedpyright"),
        *(each for each in PEERS if finds_references(each.values[0])),
    ],
)
def test_file_that_has_just_come_is_part_of_the_answer(place, name):
    """Right after the start, and right after it was written."""
    case = SERVERS[name]
    project = PROJECTS[case.language]
    fake = place(case.language, name)
    new = "new" + os.path.splitext(project.app)[1]

    async def scenario(call):
        at = {"path": project.lib, "line": project.defined, "name": project.name}
        first = await call("references", **at)
        fake.write(new, (fake.ws / project.app).read_text().replace("main(", "another("))
        return first, await call("references", **at)

    first, second = ({e["path"] for e in good(o)["locations"]} for o in fake.run(scenario))
    assert {project.lib, project.app} <= first
    assert first | {new} <= second


@pytest.mark.parametrize("name", ["ty", "basedpyright"])
def test_dependency_that_is_mended_on_disk_clears_the_fault(place, name):
    """The fault is in one file, what mends it in another."""
    fake = place("python", name)
    fake.write("lib.py", "def other() -> None: ...\n")

    async def scenario(call):
        first = await call("diagnostics", path="app.py", severity="error")
        fake.write("lib.py", "def greet(name: str) -> str:\n    return name\n")
        return first, await call("diagnostics", path="app.py", severity="error")

    first, second = fake.run(scenario)
    assert _errors(good(first)) != []
    assert _errors(good(second)) == []


@pytest.mark.peer
def test_server_that_is_only_a_shim_dies_with_its_words(place):
    """What a toolchain manager puts in the place of a component that is not installed."""
    if not installed("rust-analyzer"):
        pytest.skip("not even a shim is there")
    project = PROJECTS["rust"]
    fake = place("rust")
    fake.settings = {}

    async def scenario(call):
        at = {"path": project.app, "line": project.used, "name": "greet"}
        return await call("definition", **at, wait=60)

    outcome = fake.run(scenario)
    if not outcome.ok:
        assert outcome.status == "unavailable"
        assert "exited with code" in outcome.text
