"""Servers as sources: lists, changes, faults that stay their own, and their processes."""

from __future__ import annotations

import asyncio
import contextlib
import time

from pathlib import Path
from typing import Any

import pytest

from mcp_kit import marked, opened, tool, until, yes

from toolcrib_mcp.owned import MARK


pytestmark = pytest.mark.usefixtures("nothing_left")

LIST_CHANGED = {"method": "notifications/tools/list_changed"}


def ids(box: Any, server: str) -> list[str]:
    return sorted(i for i in box.catalog.tools if i.startswith(f"mcp.{server}."))


def test_one_bad_tool_is_withheld_alone(tmp_path: Path, peer: Any) -> None:
    """Nine good tools stay, and a schema without a root type is read as an object."""
    union = {"anyOf": [{"type": "object"}, {"type": "string"}], "type": ["object", "string"]}
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(100):
        deep = {"type": "object", "properties": {"a": deep}}
    tools: list[Any] = [
        tool("good"),
        tool("rootless", {"$schema": "http://json-schema.org/draft-07/schema#"}),
        tool("union", union),
        tool("deep", deep),
        {"name": "schemaless"},
        tool("evil\x1b[31m"),
        tool("n" * 300),
        "no tool",
        {"name": 7, "inputSchema": {"type": "object"}},
        tool("twice"),
        tool("twice", description="another"),
        tool("remote", {"type": "object", "properties": {"a": {"$ref": "http://x.invalid/s"}}}),
        tool("odd", title=5, description=["x"], annotations="no", outputSchema={"type": 5}),
    ]

    async def main() -> None:
        one = peer({"tools": tools})
        async with opened(tmp_path, {"a": one}) as (box, session):
            assert ids(box, "a") == ["mcp.a.good", "mcp.a.odd", "mcp.a.rootless"]
            for name in ids(box, "a"):
                assert (await session.call(name, {}, approver=yes)).status == "ok"
            status = await session.call("mcp.servers")
            (facts,) = status.result.content[0].value
            assert facts["state"] == "connected"
            assert len(facts["withheld"]) >= 8
            assert any("twice" in text for text in facts["withheld"])
            assert "schema.unsupported" in {r.code for r in box.catalog.refusals}

    asyncio.run(main())


@pytest.mark.parametrize(
    ("pages", "count", "warning"),
    [
        (
            {
                "": {"tools": [tool("a")], "nextCursor": "x"},
                "x": {"tools": [tool("a")], "nextCursor": "x"},
            },
            1,
            "again",
        ),
        (
            {
                "": {"tools": [tool("a")], "nextCursor": "x"},
                "x": {"tools": [], "nextCursor": "y"},
                "y": {"tools": [tool("b")], "nextCursor": "x"},
            },
            2,
            "again",
        ),
        ({"*": {}}, 200, "pages"),
        ({"": {"tools": [tool("a")], "nextCursor": ""}}, 1, None),
    ],
)
def test_a_list_that_never_ends_is_ended(
    tmp_path: Path, peer: Any, pages: Any, count: int, warning: str | None
) -> None:
    """Marks that repeat, alternate or never end stop the reading, each with a warning."""

    async def main() -> None:
        one = peer({"pages": pages})
        async with opened(tmp_path, {"a": one}) as (box, session):
            await until(lambda: len(ids(box, "a")) == count, 10)
            (facts,) = (await session.call("mcp.servers")).result.content[0].value
            assert [warning in w for w in facts["warnings"]] == ([True] if warning else [])

    asyncio.run(main())


def test_a_changed_list_is_read_again_once_for_a_burst(tmp_path: Path, peer: Any) -> None:
    """Added, removed and changed tools show at once, everywhere; the running call finishes."""
    after = [tool("b"), tool("c", description="new")]
    calls = {
        "a": [
            {"tools": after},
            *([{"send": LIST_CHANGED}] * 5),
            {"sleep": 0.4},
            {"text": "end"},
        ]
    }

    async def main() -> None:
        one = peer({"tools": [tool("a"), tool("c", description="old")], "calls": calls})
        async with opened(tmp_path, {"s": one}) as (box, session):
            running = asyncio.create_task(session.call("mcp.s.a", {}, approver=yes))
            await until(lambda: ids(box, "s") == ["mcp.s.b", "mcp.s.c"])
            assert box.catalog["mcp.s.c"].tool.description.summary == "new"
            view = await session.view("openai")
            assert view.wire_name("mcp.s.a") is None
            assert (await running).status == "ok"
            assert (await session.call("mcp.s.a", {})).status == "unknown_tool"
            assert (await session.call("mcp.s.b", {}, approver=yes)).status == "ok"
        assert len(one.messages("tools/list")) <= 3

    asyncio.run(main())


def test_a_dead_or_silent_server_delays_nobody(tmp_path: Path, peer: Any) -> None:
    """Four are usable at once; one never answers, one cannot be started, and both are told."""

    async def main() -> None:
        servers: dict[str, Any] = {f"ok{n}": peer({"tools": [tool("t")]}) for n in range(4)}
        servers["silent"] = peer({"initialize": []}, connect_timeout=20)
        servers["missing"] = {"command": str(tmp_path / "no-such-program")}
        began = time.monotonic()
        async with opened(tmp_path, servers, wait=False) as (box, session):
            await until(lambda: all(f"mcp.ok{n}.t" in box.catalog for n in range(4)), 6)
            assert (await session.call("mcp.ok1.t", {}, approver=yes)).status == "ok"
            value = (await session.call("mcp.servers")).result.content[0].value
            states = {facts["server"]: facts for facts in value}
            assert states["silent"]["state"] == "connecting"
            assert states["missing"]["state"] == "failed"
            assert "no-such-program" in states["missing"]["problem"]
        assert time.monotonic() - began < 12

    asyncio.run(main())


def test_entering_does_not_wait_for_the_slow(tmp_path: Path, peer: Any) -> None:
    """A slow server's tools come later, as a change of the catalog."""

    async def main() -> None:
        slow = peer({"before": [{"hang": 1.0}], "tools": [tool("t")]})
        quick = peer({"tools": [tool("t")]})
        async with opened(tmp_path, {"slow": slow, "quick": quick}, wait=False) as (box, _):
            await until(lambda: "mcp.quick.t" in box.catalog, 2)
            await until(lambda: "mcp.slow.t" in box.catalog, 5)

    asyncio.run(main())


def test_tools_are_revoked_before_a_server_is_started_again(tmp_path: Path, peer: Any) -> None:
    """After a death its tools are gone at once, and come back with the new process."""

    async def main() -> None:
        one = peer(
            {"tools": [tool("die"), tool("t")], "calls": {"die": [{"exit": 9}]}},
            first_delay=0.6,
        )
        async with opened(tmp_path, {"a": one}) as (box, session):
            await session.call("mcp.a.die", {}, approver=yes)
            await until(lambda: not ids(box, "a"), 0.5)
            await until(lambda: any("exited" in r.text for r in box.catalog.refusals), 0.5)
            await until(lambda: "mcp.a.t" in box.catalog)
            assert (await session.call("mcp.a.t", {}, approver=yes)).status == "ok"

    asyncio.run(main())


def test_noise_and_floods_harm_nobody(tmp_path: Path, peer: Any) -> None:
    """Lines that are no messages, unknown ids and floods of notices are passed over."""
    note = {"method": "notifications/message", "params": {"level": "error", "data": "x" * 500}}
    calls = {
        "t": [
            {"raw": "hello, I am a log line"},
            {"raw": '{"jsonrpc":"2.0","id":99999,"result":{}}'},
            {"raw": '{"jsonrpc":"2.0","id":null,"result":{}}'},
            {"raw": '{"jsonrpc":"2.0","id":true}'},
            {"raw": "\x00\x01\x02"},
            {"flood": {"message": note, "times": 20_000}},
            {
                "flood": {
                    "message": {"method": "notifications/what", "params": {}},
                    "times": 5000,
                }
            },
            {"text": "fine"},
        ]
    }

    async def main() -> None:
        one = peer({"before": [{"raw": "starting up…"}], "tools": [tool("t")], "calls": calls})
        two = peer({"tools": [tool("t")]})
        async with opened(tmp_path, {"a": one, "b": two}) as (_, session):
            noisy = asyncio.create_task(session.call("mcp.a.t", {}, approver=yes))
            outcome = await session.call("mcp.b.t", {}, approver=yes)
            assert outcome.status == "ok"
            assert (await noisy).status == "ok"
            from test_calls import _server

            assert len(_server(session.toolbox, "a").logs) <= 64

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "begun"), [({"sleep": 60}, 2), ({"error": {"code": -32601, "message": "no"}}, 1)]
)
def test_a_server_that_leaves_health_checks_unanswered_is_begun_again(
    tmp_path: Path, peer: Any, answer: Any, begun: int
) -> None:
    """An error is an answer; silence, several times, is none."""

    async def main() -> None:
        one = peer({"tools": [tool("t")], "methods": {"ping": [answer]}}, ping=0.02)
        async with opened(tmp_path, {"a": one}) as (box, _):
            await until(lambda: len(one.messages("ping")) >= 4, 20)
            await until(lambda: "mcp.a.t" in box.catalog)
            assert len(one.events("start")) == begun

    asyncio.run(main())


def test_of_a_flood_of_requests_few_are_listened_to(tmp_path: Path, peer: Any) -> None:
    """Answers come through it; the rest is dropped before it costs anything."""
    pings = "\n".join(
        f'{{"jsonrpc":"2.0","id":"q{number}","method":"ping"}}' for number in range(20_000)
    )
    plan = {"tools": [tool("t")], "calls": {"t": [{"raw": pings}, {"text": "done"}]}}

    async def main() -> None:
        one = peer(plan)
        async with opened(tmp_path, {"a": one}) as (_, session):
            assert (await session.call("mcp.a.t", {}, approver=yes)).status == "ok"
        answered = [line for line in one.events("message") if "method" not in line["message"]]
        assert 0 < len(answered) <= 5_000

    asyncio.run(main())


def test_a_schema_that_is_too_deep_is_withheld_alone(tmp_path: Path, peer: Any) -> None:
    """However deep it is, the other tools are there."""

    def nested(depth: int) -> Any:
        schema: Any = {"type": "string"}
        for _ in range(depth):
            schema = {"type": "object", "properties": {"x": schema}}
        return schema

    async def main() -> None:
        tools = [tool(f"d{depth}", nested(depth)) for depth in (20, 100, 300)]
        async with opened(tmp_path, {"a": peer({"tools": [*tools, tool("t")]})}) as (box, _):
            assert {"mcp.a.t", "mcp.a.d20"} <= set(box.catalog.tools)
            assert "mcp.a.d100" not in box.catalog
            assert "mcp.a.d300" not in box.catalog

    asyncio.run(main())


def test_a_list_that_is_too_large_is_cut(tmp_path: Path, peer: Any) -> None:
    """What fits into the bound is offered; that there is more is said."""
    wide = {"type": "object", "description": "x" * 120_000}

    async def main() -> None:
        tools = [tool("t")] + [tool(f"w{n}", wide) for n in range(80)]
        async with opened(tmp_path, {"a": peer({"tools": tools})}) as (box, session):
            offered = [name for name in box.catalog.tools if name.startswith("mcp.a.")]
            assert "mcp.a.t" in offered
            assert 1 < len(offered) < 81
            value = (await session.call("mcp.servers")).result.content[0].value
            assert "too long" in value[0]["warnings"][0]

    asyncio.run(main())


def test_stderr_is_always_read(tmp_path: Path, peer: Any) -> None:
    """Megabytes on stderr, before the greeting and without an end of line, stop nothing."""
    plan = {
        "before": [{"stderr": {"text": "x" * 1000, "times": 1000}}],
        "tools": [tool("t")],
        "calls": {"t": [{"stderr": {"text": "y" * 100_000, "times": 100}}, {"text": "ok"}]},
    }

    async def main() -> None:
        one = peer(plan)
        async with opened(tmp_path, {"a": one}) as (box, session):
            assert (await session.call("mcp.a.t", {}, approver=yes)).status == "ok"
            from test_calls import _server

            owned = _server(box, "a").connection.live.owned
            assert len(owned.tail) <= 128 * 1024

    asyncio.run(main())


def test_a_server_gets_declared_variables_only(
    tmp_path: Path, peer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys of the host stay with the host; a server sees the base and what was declared."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-host")
    monkeypatch.setenv("STORE_TOKEN", "t0ken")
    monkeypatch.setenv("PLAIN", "plain")
    base = {
        *("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR"),
        *("USER", MARK, "PWD", "OLDPWD", "SHLVL", "_"),
    }

    async def main() -> None:
        servers = {
            "none": peer({}),
            "own": peer({}, env={"MINE": "1"}),
            "host": peer({}, env={"TOKEN": "${STORE_TOKEN}"}, inherit=["PLAIN"]),
        }
        async with opened(tmp_path, servers):
            pass
        seen = {name: one.events("start")[0]["env"] for name, one in servers.items()}
        assert set(seen["none"]) <= base
        assert set(seen["own"]) - base == {"MINE"}
        assert {k: v for k, v in seen["host"].items() if k not in base} == {
            "TOKEN": "t0ken",
            "PLAIN": "plain",
        }

    asyncio.run(main())


@pytest.mark.parametrize("how", ["group", "apart"])
def test_what_a_server_started_ends_with_it(tmp_path: Path, peer: Any, how: str) -> None:
    """Children in its group and daemons that left it are ended; its death changes nothing."""

    async def main() -> None:
        plan = {"tools": [tool("t")], "calls": {"t": [{"child": how}, {"text": "ok"}]}}
        one = peer(plan)
        async with opened(tmp_path, {"a": one}) as (_, session):
            await session.call("mcp.a.t", {}, approver=yes)
            (child,) = one.events("child")
            async with asyncio.timeout(30):
                while child["child"] not in marked():  # it may not have got so far
                    await asyncio.sleep(0.01)
        assert child["child"] not in marked()

    asyncio.run(main())


def test_a_server_that_will_not_go_is_killed(tmp_path: Path, peer: Any) -> None:
    """One that stays after its input ended is asked, and then killed, in bounded time."""

    async def main() -> None:
        one = peer({"stay": True, "tools": []})
        async with opened(tmp_path, {"a": one}):
            began = time.monotonic()
        assert time.monotonic() - began < 30

    asyncio.run(main())


def test_connections_close_in_any_order_from_any_task(tmp_path: Path, peer: Any) -> None:
    """Opened in one task and closed in another, in a call, twice: nothing else ends."""
    import logging

    from types import SimpleNamespace

    from toolcrib_mcp.remotejobs import RemoteJobs
    from toolcrib_mcp.server import Server
    from toolcrib_mcp.settings import read_servers

    async def main() -> None:
        calls = {"t": [{"sleep": 5.0}]}
        entries = {n: peer({"tools": [tool("t")], "calls": calls}).config for n in "abc"}
        configs = read_servers(entries, where="test").configs
        host = SimpleNamespace(
            workspace=SimpleNamespace(root=tmp_path),
            state=tmp_path,
            logger=logging.getLogger("x"),
            agents=None,
            clock=SimpleNamespace(monotonic=time.monotonic),
        )
        jobs = RemoteJobs(lambda name: servers[name])
        servers = {n: Server(configs[n], host, jobs) for n in "abc"}
        for server in servers.values():
            await server.open(lambda: None)
        unrelated = asyncio.create_task(asyncio.sleep(30))
        live = servers["c"].connection.require()
        lost = asyncio.create_task(live.session.call_tool("t", {}))
        await asyncio.sleep(0.1)
        for name in "acb":
            await asyncio.create_task(servers[name].close())
        await servers["a"].close()
        assert not unrelated.done()
        with pytest.raises(Exception, match="closed"):
            await lost
        unrelated.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await unrelated

    asyncio.run(main())


def test_names_that_could_be_read_two_ways_stay_apart(tmp_path: Path, peer: Any) -> None:
    """Pairs of server and tool never meet each other or a helper, in any order of loading."""

    async def main() -> None:
        servers = {
            "a": peer({"tools": [tool("b_c"), tool("servers")]}),
            "a_b": peer({"tools": [tool("c")]}),
            "mcp": peer({"tools": [tool("servers"), tool("read_resource")]}),
            "servers": peer({"tools": [tool("send_mail")]}),
        }
        async with opened(tmp_path, servers) as (box, session):
            view = await session.view("openai")
            names = {view.wire_name(i): i for i in box.catalog.tools if view.wire_name(i)}
            assert len(names) == len(box.catalog.tools)
            assert box.catalog["mcp.servers"].tool.source is None
            assert (await session.call("mcp.servers")).status == "ok"

    asyncio.run(main())


def test_a_server_confused_by_the_new_greeting_is_greeted_the_old_way(
    tmp_path: Path, peer: Any
) -> None:
    """One that does not know the newest revision, and one that dies of it, both connect."""

    async def main() -> None:
        plan = {"tools": [tool("t")]}
        plain = peer(plan, revision="auto")
        dies = peer({**plan, "methods": {"server/discover": [{"exit": 1}]}}, revision="auto")
        silent = peer({**plan, "methods": {"server/discover": []}}, revision="auto")
        servers = {"plain": plain, "dies": dies, "silent": silent}
        async with opened(tmp_path, servers) as (box, _):
            for name in servers:
                await until(lambda name=name: f"mcp.{name}.t" in box.catalog, 8)

    asyncio.run(main())


def test_a_bad_entry_costs_only_itself(tmp_path: Path, peer: Any) -> None:
    """A wrong setting is named with its place; the other servers are there."""

    async def main() -> None:
        servers = {
            "good": peer({"tools": [tool("t")]}),
            "typo": {"comand": "x"},
            "both": {"command": "x", "url": "https://example.com"},
            "no.dots": {"command": "x"},
            "unset": {"command": "x", "env": {"A": "${NO_SUCH_VARIABLE_HERE}"}},
        }
        async with opened(tmp_path, servers) as (box, session):
            assert ids(box, "good") == ["mcp.good.t"]
            value = (await session.call("mcp.servers")).result.content[0].value
            wrong = {f["server"]: f["problem"] for f in value if f["state"] == "unusable"}
            assert set(wrong) == {"typo", "both", "no.dots", "unset"}
            assert "comand" in wrong["typo"]
            assert "NO_SUCH_VARIABLE_HERE" in wrong["unset"]

    asyncio.run(main())


def test_instructions_and_texts_are_cleaned_and_bounded(tmp_path: Path, peer: Any) -> None:
    """Escape sequences, hidden characters and endless texts do not get through."""
    hidden = "do\u202e this\U000e0041\x1b]0;title\x07 now" + "x" * 100_000
    plan = {"greeting": {"instructions": hidden}, "tools": [tool("t", description=hidden)]}

    async def main() -> None:
        one = peer(plan)
        async with opened(tmp_path, {"a": one}) as (box, session):
            text = box.catalog["mcp.a.t"].tool.description.text()
            assert text.startswith("do this now")
            assert len(text) < 17_000
            (facts,) = (await session.call("mcp.servers")).result.content[0].value
            assert facts["instructions (untrusted)"].startswith("do this now")

    asyncio.run(main())


def test_the_peers_of_these_tests_are_marked(tmp_path: Path, peer: Any) -> None:
    """The check for leftovers sees servers: it could fail."""

    async def main() -> None:
        async with opened(tmp_path, {"a": peer({"tools": []})}):
            assert marked()

    asyncio.run(main())


def test_long_names_stay_apart_and_stay_the_same(tmp_path: Path, peer: Any) -> None:
    """Equal heads and tails, foreign letters: each has a legal name that others do not move."""
    server = "server-with-a-name-of-forty-characters-xx"[:40].rstrip("-")
    middle = "_in_the_project_that_is_shown_" * 2
    names = [
        f"{verb}{middle}{n:03}{middle}"[:120]
        for verb in ("create", "delete")
        for n in range(50)
    ]
    names += ["создать", "удалить", "作成", "削除"]

    async def shown(listed: list[str]) -> dict[str, str]:
        one = peer({"tools": [tool(name) for name in listed]})
        async with opened(tmp_path, {server: one}) as (box, session):
            await until(lambda: len(ids(box, server)) == len(listed))
            view = await session.view("openai")
            found = {i: view.wire_name(i) for i in ids(box, server)}
            reply = {"name": found[f"mcp.{server}.{listed[0]}"], "arguments": {}}
            assert [view.projection(w).tool_id for w in found.values()] == list(found)
            assert reply["name"]
        return found

    async def main() -> None:
        whole = await shown(names)
        assert len(set(whole.values())) == len(names)
        assert all(len(w) <= 64 and w.isascii() for w in whole.values())
        fewer = await shown(names[1::2])
        assert all(whole[i] == w for i, w in fewer.items())

    asyncio.run(main())
