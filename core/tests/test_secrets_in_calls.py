"""Secrets in real calls: who gets them, and every way by which one might get out."""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
import sys
import threading
import types

from urllib.parse import quote

import attrs
import pytest

from toolcrib import Context, Failed, Pack, Policy, Result, Signature, Text, Toolbox
from toolcrib.outcome import Json, Link


SECRET = "tok/3n-ü+0123456789"
FORMS = (
    SECRET,
    quote(SECRET, safe=""),
    base64.b64encode(SECRET.encode()).decode().rstrip("="),
    json.dumps(SECRET)[1:-1],
)


class Leaks:
    """A pack that says its secret in every way there is."""

    def __init__(self):
        self.pack = pack = Pack("leaky")
        self.go_on = threading.Event()

        def tool(**options):
            def declare(function):
                made = pack.tool(effects={"host_state"}, **options)(function)

                @made.signature
                def _() -> Signature:
                    return Signature(effects={"host_state"})

                return made

            return declare

        @tool()
        async def result(ctx: Context) -> Result:
            """Put it into every part of a result."""
            value = await ctx.secret("key")
            ctx.diagnostics.add("header", {"authorization": f"Bearer {value}"})
            ctx.report(f"signing in with {value}")
            ctx.note(f"used {value}")
            content = [Text(form) for form in FORMS]
            content += [Json({value: [value]}), Link(f"https://x/?k={quote(value, safe='')}")]
            return Result(
                summary=value,
                content=content,
                structured={"deep": [{"k": value}]},
                metadata={value: value},
            )

        @tool()
        async def long(ctx: Context) -> str:
            """Say it again and again, longer than is shown."""
            return f"{await ctx.secret('key')} and so on\n" * 5_000

        @tool()
        async def crash(ctx: Context) -> str:
            """Raise it, as libraries do, with a cause that has it too."""
            value = await ctx.secret("key")
            cause = ValueError(f"bad token {value}")
            raise RuntimeError(f"https://user:{value}@host failed") from cause

        @tool()
        async def fail(ctx: Context) -> str:
            """Raise it properly."""
            raise Failed(f"the service refused {await ctx.secret('key')}")

        @tool(timeout=0.05)
        def late(ctx: Context) -> str:
            """Say it after the deadline."""
            value = ctx.wait(ctx.secret("key"))
            self.go_on.wait(60)
            return f"at last: {value}"

        @tool()
        async def elsewhere(ctx: Context) -> str:
            """Ask for it in order to send it elsewhere."""
            return await ctx.secret("key", destination="https://evil.example/")

        @tool()
        async def stranger(ctx: Context) -> str:
            """Ask for what is bound to others."""
            return await ctx.secret("other")


TOOLS = ["result", "long", "crash", "fail", "late"]


def play(tmp_path, scenario, leaks=None, *, key=None):
    """Play a scenario over a ledger on disk, observed."""
    leaks = leaks or Leaks()
    heard = []
    watcher = Pack("watch")

    @watcher.observe
    async def hear(event):
        heard.append(event)

    bound = {"tools": ["leaky.*"], **(key or {"env": "LEAKY_KEY"})}

    async def main():
        policy = Policy(
            local=[leaks.pack, watcher],
            observers=["watch"],
            mode="trust",
            workspace=tmp_path,
            state=tmp_path / "state",
            ledger=tmp_path / "ledger" / "ledger.db",
            secrets={
                "key": {**bound, "destinations": ()},
                "other": {"env": "LEAKY_KEY", "tools": ["shop.*"]},
            },
        )
        async with Toolbox(policy) as box, box.session("c") as session:
            return await scenario(session), heard

    return asyncio.run(main())


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("LEAKY_KEY", SECRET)


def reply():
    calls = [
        {
            "id": name,
            "type": "function",
            "function": {"name": f"leaky_{name}", "arguments": "{}"},
        }
        for name in TOOLS
    ]
    return {"choices": [{"message": {"role": "assistant", "tool_calls": calls}}]}


async def everything(session, leaks):
    """Call every tool; return all that an application, a model and a person can see."""
    ledger, kept, keep = session.toolbox.ledger, asyncio.Event(), None

    def late(outcome):
        keep(outcome)
        kept.set()

    keep, ledger.late = ledger.late, late
    view = await session.view("openai")
    batch = await session.submit(view.calls(reply()))
    events = []
    async with batch.run() as happening:
        events += [event.as_json() async for event in happening]
    leaks.go_on.set()
    await asyncio.wait_for(kept.wait(), 60)
    seen = {
        "results": view.results(batch),
        "outcomes": [str(attrs.asdict(outcome)) for outcome in batch.outcomes],
        "events": events,
        "receipts": [str(attrs.asdict(receipt)) for receipt in ledger.receipts("c")],
        "entries": [str(attrs.asdict(entry)) for entry in ledger.entries("c")],
        "export": [str(line) for line in ledger.export()],
    }
    statuses = dict(zip(TOOLS, [outcome.status for outcome in batch.outcomes], strict=True))
    return seen, statuses


def test_a_secret_that_a_tool_says_aloud_gets_nowhere(tmp_path, key):
    """Not into results, exceptions, progress, receipts, late results or observers' events."""
    leaks = Leaks()
    (seen, statuses), heard = play(tmp_path, lambda s: everything(s, leaks), leaks)

    assert statuses == {
        "result": "ok",
        "long": "ok",
        "crash": "failed",
        "fail": "failed",
        "late": "uncertain",
    }
    seen["heard"] = heard
    for where, value in seen.items():
        text = json.dumps(value, ensure_ascii=False, default=str)
        assert [form for form in FORMS if form in text] == [], where
    assert "[secret key]" in json.dumps(seen["results"])
    assert any("at last: [secret key]" in entry for entry in seen["entries"])
    assert any("signing in with [secret key]" in str(event) for event in heard)


def test_no_byte_of_it_is_on_disk(tmp_path, key):
    """Neither in the ledger's files nor among the artifacts."""
    leaks = Leaks()
    play(tmp_path, lambda s: everything(s, leaks), leaks)

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "ledger.db" for path in files)
    assert any("artifacts" in path.parts for path in files)
    for path in files:
        data = path.read_bytes()
        assert [form for form in FORMS if form.encode() in data] == [], path


def test_an_exception_keeps_what_is_no_secret(tmp_path, key):
    """People still find the fault."""

    async def scenario(session):
        return await session.call("leaky.crash")

    outcome, _ = play(tmp_path, scenario)

    assert "RuntimeError" in outcome.text
    assert "https://user:[secret key]@host failed" in outcome.text
    assert "ValueError: bad token [secret key]" in outcome.details["traceback"]


def test_a_text_that_is_cut_through_a_secret_shows_no_part_of_it(tmp_path, key):
    """Long messages are shortened before they are scrubbed, wherever the cut falls."""
    pack = Pack("leaky")

    @pack.tool(effects=())
    async def cut(ctx: Context, before: int) -> str:
        """Raise a long text with a secret somewhere near its middle."""
        raise Failed("." * before + await ctx.secret("key") + "." * (5_000 - before))

    leaks = types.SimpleNamespace(pack=pack)

    async def scenario(session):
        session.loop_guard._limit = 0
        outcomes = [
            await session.call("leaky.cut", {"before": before}) for before in range(1950, 2000)
        ] + [
            await session.call("leaky.cut", {"before": before}) for before in range(3000, 3050)
        ]
        return [outcome.text for outcome in outcomes]

    texts, _ = play(tmp_path, scenario, leaks)

    assert all("characters left out" in text for text in texts)
    assert any("[secret key]" in text for text in texts)
    parts = [SECRET[i : i + 4] for i in range(len(SECRET) - 3)]
    assert [text for text in texts if any(part in text for part in parts)] == []


@pytest.mark.parametrize("tool", ["leaky.stranger", "leaky.none"])
def test_what_is_bound_to_other_tools_is_not_there(tmp_path, key, tool):
    """The tool is told in the words for a secret that nobody has."""

    async def scenario(session):
        return await session.call(tool)

    outcome, _ = play(tmp_path, scenario)

    assert outcome.status in {"unavailable", "unknown_tool"}
    assert SECRET not in repr(outcome)


def test_a_secret_goes_to_the_hosts_of_its_binding_only(tmp_path, key):
    """A tool that names another host gets nothing."""

    async def scenario(session):
        session.toolbox.secrets._bindings["key"] = type(
            "Bound",
            (),
            {
                "env": "LEAKY_KEY",
                "file": None,
                "tools": ("leaky.*",),
                "destinations": ("api.example.com",),
            },
        )
        return await session.call("leaky.elsewhere")

    outcome, _ = play(tmp_path, scenario)

    assert (outcome.status, outcome.code) == ("unavailable", "secret.unavailable")


def test_a_secret_may_come_from_a_private_file(tmp_path):
    """A file that others can read is refused, and said."""
    path = tmp_path / "key.txt"
    path.write_text(SECRET + "\n")
    path.chmod(0o600)

    async def scenario(session):
        return (
            await session.call("leaky.fail"),
            path.chmod(0o644),
            await session.call("leaky.fail"),
        )

    (good, _, bad), _ = play(tmp_path, scenario, key={"file": path})

    assert (good.status, good.text) == ("failed", "the service refused [secret key]")
    assert (bad.status, bad.code) == ("unavailable", "secret.unavailable")
    assert "not safe" in bad.text


def test_a_secret_may_come_from_the_keyring(tmp_path, monkeypatch):
    """By service and user, through the library if it is installed."""
    asked = []
    keyring = types.SimpleNamespace(
        get_password=lambda service, user: asked.append((service, user)) or SECRET
    )
    monkeypatch.setitem(sys.modules, "keyring", keyring)

    async def scenario(session):
        return await session.call("leaky.fail")

    outcome, _ = play(tmp_path, scenario, key={"keyring": "weather/alice"})

    assert outcome.text == "the service refused [secret key]"
    assert asked == [("weather", "alice")]


def test_a_missing_secret_says_where_to_set_it(tmp_path, monkeypatch):
    """The user's next step is in the text."""
    monkeypatch.delenv("LEAKY_KEY", raising=False)

    async def scenario(session):
        return await session.call("leaky.fail")

    outcome, _ = play(tmp_path, scenario)

    assert (outcome.status, outcome.code) == ("unavailable", "secret.unavailable")
    assert "environment variable LEAKY_KEY" in outcome.text


def test_the_ledger_is_what_other_programs_read_too(tmp_path, key):
    """Every text column of every table, as plain SQLite gives it."""
    leaks = Leaks()
    play(tmp_path, lambda s: everything(s, leaks), leaks)

    connection = sqlite3.connect(tmp_path / "ledger" / "ledger.db")
    tables = [r[0] for r in connection.execute("SELECT name FROM sqlite_master")]
    rows = [
        str(row)
        for table in tables
        if not table.startswith(
            ("sqlite_autoindex", "calls_", "batches_", "questions_", "grants_")
        )
        for row in connection.execute(f"SELECT * FROM {table}")
    ]
    connection.close()
    assert len(rows) > 10
    assert [row for row in rows if any(form in row for form in FORMS)] == []
