"""Calls of remote tools: results, refusals, cancellation, time, and lost answers."""

from __future__ import annotations

import asyncio
import json

from pathlib import Path
from typing import Any

import pytest

from mcp_kit import opened, tool, until, yes
from toolcrib import Allow, Effect


pytestmark = pytest.mark.usefixtures("nothing_left")


def test_a_tool_is_listed_and_called(tmp_path: Path, peer: Any) -> None:
    """A server's tool has its name verbatim, and its answer comes back."""

    async def main() -> None:
        one = peer({"tools": [tool("create-Issue")], "calls": {"create-Issue": [{"echo": 1}]}})
        async with opened(tmp_path, {"git": one}) as (box, session):
            assert "mcp.git.create-Issue" in box.catalog
            outcome = await session.call("mcp.git.create-Issue", {}, approver=yes)
            assert (outcome.status, outcome.code) == ("ok", None), outcome.text
            assert outcome.result.content[0].text == "{}"

    asyncio.run(main())


def run(work: Any) -> None:
    asyncio.run(work)


def test_every_part_of_a_result_comes_through(tmp_path: Path, peer: Any) -> None:
    """Pictures stay pictures, odd parts are named, and no base64 lands in text."""
    png = (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
        "awAAAABJRU5ErkJggg=="
    )
    content = [
        {"type": "text", "text": "plain \x1b[31mred\x1b[0m"},
        {"type": "image", "data": png, "mimeType": "image/jpeg"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {
            "type": "resource",
            "resource": {"uri": "x://a", "mimeType": "text/plain", "text": "in"},
        },
        {"type": "resource", "resource": {"uri": "x://b.bin", "blob": "AAEC"}},
        {"type": "resource_link", "uri": "https://example.com/x", "name": "there"},
        {"type": "hologram", "data": png},
        {"type": "image", "data": "not base64!", "mimeType": "image/png"},
        "stray",
    ]

    async def main() -> None:
        one = peer({"tools": [tool("t")], "calls": {"t": [{"result": {"content": content}}]}})
        async with opened(tmp_path, {"a": one}) as (_, session):
            outcome = await session.call("mcp.a.t", {}, approver=yes)
        blocks = outcome.result.content
        assert outcome.status == "ok"
        assert [b.type for b in blocks] == [
            *("text", "image", "audio", "text", "file", "link", "text", "text", "text"),
        ]
        assert blocks[0].text == "plain red"
        assert blocks[1].media_type == "image/png"
        assert "hologram" in blocks[6].text
        assert "no base64" in blocks[7].text
        assert not any(png in b.text for b in blocks if b.type == "text")
        assert outcome.result.notes[0].startswith("degraded: ")

    run(main())


def test_a_large_part_becomes_an_artifact(tmp_path: Path, peer: Any) -> None:
    """A picture of many megabytes is stored, with type and size, and the call succeeds."""
    import base64

    big = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(8_000_000)).decode()
    content = [{"type": "image", "data": big, "mimeType": "image/png"}]

    async def main() -> None:
        one = peer({"tools": [tool("t")], "calls": {"t": [{"result": {"content": content}}]}})
        async with opened(tmp_path, {"a": one}) as (_, session):
            outcome = await session.call("mcp.a.t", {}, approver=yes)
        (block,) = outcome.result.content
        assert (block.type, block.size, block.media_type) == (
            "artifact",
            8_000_008,
            "image/png",
        )

    run(main())


def test_an_answer_too_large_to_read_ends_its_call_alone(tmp_path: Path, peer: Any) -> None:
    """The answer is dropped and said; the connection and its memory stay as they were."""
    calls = {"big": [{"fill": 40_000_000}], "small": [{"text": "ok"}]}

    async def main() -> None:
        one = peer({"tools": [tool("big"), tool("small")], "calls": calls})
        async with opened(tmp_path, {"a": one}) as (_, session):
            outcome = await session.call("mcp.a.big", {}, approver=yes)
            assert (outcome.status, outcome.result.notes != ()) == ("ok", True)
            assert "too large" in outcome.result.content[0].text
            assert (await session.call("mcp.a.small", {}, approver=yes)).status == "ok"
        assert len(one.events("start")) == 1

    run(main())


@pytest.mark.parametrize(
    ("said", "status", "text"),
    [
        ('"result":[1,2]', "ok", "[1, 2]"),
        ('"result":null', "ok", "null"),
        ('"error":"boom"', "failed", "boom"),
        ('"error":{"code":"x","message":5}', "failed", "5"),
        ('"result":{"content":[],"structuredContent":{"n":' + "9" * 9999 + "}}", "ok", "large"),
        ('"result":{"structuredContent":{"n":NaN,"m":1e999}}', "ok", "Infinity"),
    ],
    ids=["list", "null", "text", "odd", "number", "nan"],
)
def test_an_answer_of_another_form_ends_its_call(
    tmp_path: Path, peer: Any, said: str, status: str, text: str
) -> None:
    """The server has acted: what can be read is given on, and nobody waits for more."""

    async def main() -> None:
        raw = '{"jsonrpc":"2.0","id":$id,' + said + "}"
        one = peer({"tools": [tool("t")], "calls": {"t": [{"raw": raw}]}}, idle_timeout=30)
        async with opened(tmp_path, {"a": one}) as (_, session):
            outcome = await session.call("mcp.a.t", {}, approver=yes)
            assert outcome.status == status, outcome
            assert text in f"{outcome.text} {outcome.result.content}"

    run(main())


def test_structured_output_is_checked_and_kept(tmp_path: Path, peer: Any) -> None:
    """What fits is structured output; what does not is shown, and marked, not lost."""
    out = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    calls = {
        "good": [{"result": {"content": [], "structuredContent": {"n": 1}}}],
        "bad": [{"result": {"content": [], "structuredContent": {"n": "x"}}}],
        "none": [{"result": {"content": [{"type": "text", "text": "t"}]}}],
    }
    tools = [tool(name, outputSchema=out) for name in calls]

    async def main() -> None:
        one = peer({"tools": tools, "calls": calls})
        async with opened(tmp_path, {"a": one}) as (_, session):
            good = await session.call("mcp.a.good", {}, approver=yes)
            bad = await session.call("mcp.a.bad", {}, approver=yes)
            none = await session.call("mcp.a.none", {}, approver=yes)
        assert (good.status, good.result.structured, good.result.notes) == ("ok", {"n": 1}, ())
        assert (bad.status, bad.result.structured) == ("ok", None), bad.text
        assert bad.result.content[-1].value == {"n": "x"}
        assert "does not fit" in bad.result.notes[0]
        assert (none.status, "missing" in none.result.notes[0]) == ("ok", True)

    run(main())


def test_a_tool_that_fails_says_why_without_secrets(tmp_path: Path, peer: Any) -> None:
    """An error result ends as failed with the server's words, tokens taken out."""
    text = "no: Bearer abcdefghijkl and https://u:pw@example.com"
    result = {"isError": True, "content": [{"type": "text", "text": text}]}

    async def main() -> None:
        one = peer({"tools": [tool("t")], "calls": {"t": [{"result": result}]}})
        async with opened(tmp_path, {"a": one}) as (_, session):
            outcome = await session.call("mcp.a.t", {}, approver=yes)
        assert (outcome.status, outcome.code) == ("failed", "mcp.failed")
        assert outcome.text == "no: Bearer *** and https://***@example.com"

    run(main())


@pytest.mark.parametrize(
    ("code", "status"),
    [(-32602, "invalid"), (-32601, "not_found"), (-32000, "failed"), (7, "failed")],
)
def test_an_error_of_the_protocol_has_a_status(
    tmp_path: Path, peer: Any, code: int, status: str
) -> None:
    """An answered error is no lost call, even under the code that stands for one."""

    async def main() -> None:
        error = {"code": code, "message": "why"}
        one = peer({"tools": [tool("t")], "calls": {"t": [{"error": error}]}})
        async with opened(tmp_path, {"a": one}) as (_, session):
            outcome = await session.call("mcp.a.t", {}, approver=yes)
        assert outcome.status == status, outcome
        assert "why" in outcome.text

    run(main())


def test_cancelled_calls_are_cancelled_at_the_server(tmp_path: Path, peer: Any) -> None:
    """Each cancelled or late call is told to the server once, and a late answer is dropped."""
    calls = {"slow": [{"sleep": 20.0}, {"text": "late"}], "quick": [{"text": "now"}]}
    declared = {"effects": ["net_read"], "concurrency": 50, "idle_timeout": 1.5}

    async def main() -> None:
        one = peer({"tools": [tool("slow"), tool("quick")], "calls": calls}, **declared)
        async with opened(tmp_path, {"a": one}) as (_, session):
            tasks = [
                asyncio.create_task(session.call("mcp.a.slow", {}, approver=yes))
                for _ in range(12)
            ]
            await until(lambda: len(one.messages("tools/call")) == 12)
            for task in tasks[:6]:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert {getattr(d, "status", "cancelled") for d in done[:6]} == {"cancelled"}
            assert {d.status for d in done[6:]} == {"timeout"}, done[6:]
            await until(lambda: len(one.messages("notifications/cancelled")) == 12)
            assert (await session.call("mcp.a.quick", {}, approver=yes)).status == "ok"
        sent = [m["id"] for m in one.messages("tools/call")][:12]
        told = [m["params"]["requestId"] for m in one.messages("notifications/cancelled")]
        assert sorted(told) == sorted(sent)

    run(main())


def test_a_server_is_given_as_many_calls_at_once_as_it_takes(tmp_path: Path, peer: Any) -> None:
    """The others wait for their turn, and one that would wait too long is told so."""
    calls = {"t": [{"sleep": 0.02}, {"text": "done"}], "first": [{"sleep": 30.0}]}

    async def main() -> None:
        plan = {"tools": [tool("t"), tool("first")], "calls": calls}
        one = peer(plan, concurrency=2, effects=["net_read"])
        limits = {"total": 200, "pack": 200, "session": 200}
        async with opened(tmp_path, {"a": one}, limits=limits) as (_, session):

            def start(name: str, times: int) -> list[asyncio.Task[Any]]:
                made = (session.call(name, {}, approver=yes) for _ in range(times))
                return [asyncio.create_task(each) for each in made]

            first = start("mcp.a.first", 2)
            await until(lambda: len(one.messages("tools/call")) == 2)
            more = start("mcp.a.t", 70)
            await until(lambda: sum(each.done() for each in more) == 6, 20)
            for each in first:
                each.cancel()
            found = [each.code or each.status for each in await asyncio.gather(*more)]
            assert found.count("mcp.busy") == 6
            assert found.count("ok") == 64
            await asyncio.gather(*first, return_exceptions=True)
        # Those that were cancelled end a little later there.
        under_way, most = set(), 0
        for line in map(json.loads, one.log.read_text().splitlines()):
            message = line.get("message", {})
            if message.get("method") == "tools/call" and message["params"]["name"] == "t":
                under_way.add(message["id"])
            if line["event"] == "slept":
                under_way.discard(line["id"])
            most = max(most, len(under_way))
        assert most == 2

    run(main())


def test_cancelling_is_quick_when_nobody_reads(tmp_path: Path, peer: Any) -> None:
    """A server that has stopped reading cannot hold a cancelled call."""
    calls = {"t": [{"stop_reading": 3.0}]}
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}

    async def main() -> None:
        one = peer(
            {"tools": [tool("t", schema)], "calls": calls, "parallel": False},
            concurrency=8,
            effects=["net_read"],
        )
        async with opened(tmp_path, {"a": one}) as (_, session):
            arguments = {"x": "y" * 200_000}
            work = [
                asyncio.create_task(session.call("mcp.a.t", arguments, approver=yes))
                for _ in range(4)
            ]
            await until(lambda: one.messages("tools/call"))
            began = asyncio.get_running_loop().time()
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            assert asyncio.get_running_loop().time() - began < 1.0

    run(main())


def test_progress_extends_the_idle_limit_only(tmp_path: Path, peer: Any) -> None:
    """A call that reports may take longer than the idle limit, never than its whole limit."""
    steps = {"times": 6, "every": 0.15}
    calls = {
        "long": [{"progress": steps}, {"text": "done"}],
        "longer": [{"progress": {"times": 40, "every": 0.1}}, {"text": "done"}],
    }

    async def main() -> None:
        one = peer(
            {"tools": [tool("long"), tool("longer")], "calls": calls},
            idle_timeout=0.5,
            timeout=2.0,
        )
        async with opened(tmp_path, {"a": one}) as (_, session):
            outcome = await session.call("mcp.a.long", {}, approver=yes)
            assert outcome.status == "ok", outcome.text
            outcome = await session.call("mcp.a.longer", {}, approver=yes)
            assert (outcome.status, outcome.details["cause"]) == ("uncertain", "deadline")

    run(main())


def test_a_call_lost_in_flight_is_uncertain_and_never_run_again(
    tmp_path: Path, peer: Any
) -> None:
    """The server dies after the effect: the effect happened once, and nobody claims to know."""
    effect = tmp_path / "effect"
    calls = {"t": [{"effect": str(effect)}, {"exit": 3}]}

    async def main() -> None:
        one = peer({"tools": [tool("t")], "calls": calls})
        async with opened(tmp_path, {"a": one}) as (box, session):
            outcome = await session.call("mcp.a.t", {}, approver=yes)
            assert (outcome.status, outcome.code) == ("uncertain", "call.uncertain"), outcome
            await until(lambda: len(one.events("start")) == 2)
            await until(lambda: "mcp.a.t" in box.catalog)
        assert effect.read_text() == "ran\n"
        assert len(one.messages("tools/call")) == 1

    run(main())


def test_only_a_trusted_idempotent_call_is_tried_again(tmp_path: Path, peer: Any) -> None:
    """The same death: with the server's word and the user's trust, a read runs again."""
    effect = tmp_path / "effect"
    calls = {"t": [{"effect": str(effect)}, {"exit": 3}]}
    tools = [tool("t", annotations={"readOnlyHint": True, "idempotentHint": True})]

    async def main() -> None:
        one = peer({"tools": tools, "calls": calls}, trusted=True)
        two = peer({"tools": tools, "calls": calls})
        async with opened(tmp_path, {"trusted": one, "other": two}) as (_, session):
            first = await session.call("mcp.trusted.t", {}, approver=yes)
            runs = effect.read_text().count("ran")
            second = await session.call("mcp.other.t", {}, approver=yes)
        assert (first.status, second.status) == ("failed", "uncertain"), (first, second)
        assert effect.read_text().count("ran") == runs + 1

    run(main())


def test_a_call_to_a_server_that_is_down_sends_nothing(tmp_path: Path, peer: Any) -> None:
    """What cannot be sent is unavailable, or gone from the catalog; it is never uncertain."""
    calls = {"die": [{"exit": 1}]}

    async def main() -> None:
        one = peer({"tools": [tool("die"), tool("t")], "calls": calls}, recover=0)
        async with opened(tmp_path, {"a": one}) as (box, session):
            await session.call("mcp.a.die", {}, approver=yes)
            await until(lambda: "mcp.a.t" not in box.catalog)
            outcome = await session.call("mcp.a.t", {}, approver=yes)
            assert outcome.status == "unknown_tool"
            reasons = [r.text for r in box.catalog.refusals if r.subject == "mcp.a"]
            await until(lambda: any(r.subject == "mcp.a" for r in box.catalog.refusals))
            assert reasons == [] or "exited with 1" in reasons[0]
        assert len(one.messages("tools/call")) == 1

    run(main())


def test_annotations_of_an_untrusted_server_open_nothing(tmp_path: Path, peer: Any) -> None:
    """Read-only by a stranger's word is asked; contradictions are read the careful way."""
    tools = [
        tool("wipe", annotations={"readOnlyHint": True}),
        tool("x"),
        tool("y", annotations={"readOnlyHint": True, "destructiveHint": True}),
        tool("z", annotations={"readonlyhint": True}),
    ]

    async def main() -> None:
        plan = {"tools": tools}
        servers = {"a": peer(plan), "b": peer(plan, trusted=True, effects=["net_read"])}
        async with opened(tmp_path, servers, rules=["allow mcp.b.wipe"]) as (box, session):
            for name in "wipe", "x", "y", "z":
                outcome = await session.call(f"mcp.a.{name}", {})
                assert outcome.status == "needs_approval", outcome
            assert (await session.call("mcp.b.wipe", {})).status == "ok"
            for name in "x", "y", "z":
                assert (await session.call(f"mcp.b.{name}", {})).status == "needs_approval"
            # A declared bound is widened by what the server itself admits.
            assert Effect.NET_WRITE in box.catalog["mcp.b.y"].tool.effects or (
                Effect.FS_WRITE in box.catalog["mcp.b.y"].tool.effects
            )

    run(main())


def test_rules_and_grants_know_server_and_tool(tmp_path: Path, peer: Any) -> None:
    """A rule for one tool of one server says nothing about its namesake elsewhere."""

    async def main() -> None:
        plan = {"tools": [tool("go")]}
        servers = {"one": peer(plan), "two": peer(plan)}
        rules = ["allow mcp.one.go", "deny mcp.two.*"]
        async with opened(tmp_path, servers, rules=rules) as (_, session):
            assert (await session.call("mcp.one.go", {})).status == "ok"
            outcome = await session.call("mcp.two.go", {}, approver=yes)
            assert outcome.status == "refused"

    run(main())


def test_a_definition_swapped_after_approval_is_refused(tmp_path: Path, peer: Any) -> None:
    """What was approved is not what would run any more, so nothing runs."""
    effect = tmp_path / "effect"
    file = tmp_path / "tools.json"
    import json

    file.write_text(json.dumps({"tools": [tool("t", description="safe")]}))
    swap = {"method": "notifications/tools/list_changed"}
    plan = {"tools_file": str(file), "calls": {"t": [{"effect": str(effect)}, {"text": "x"}]}}

    async def main() -> None:
        one = peer(
            {**plan, "calls": {**plan["calls"], "poke": [{"send": swap}, {"text": "x"}]}}
        )
        async with opened(tmp_path, {"a": one}) as (box, session):
            view = await session.view("mcp")
            name = view.wire_name("mcp.a.t")
            batch = await session.submit(view.calls({"name": name, "arguments": {}}))
            file.write_text(json.dumps({"tools": [tool("t", description="now evil")]}))
            server = _server(box, "a")
            server._stale.set()
            await until(lambda: box.catalog["mcp.a.t"].tool.description.summary == "now evil")
            (question,) = batch.questions
            outcome = await batch.decide(question.id, Allow(by="tester"))
            if outcome is None:
                (outcome,) = await batch.complete()
            assert (outcome.status, outcome.code) == ("refused", "answer.stale"), outcome
        assert not effect.exists()

    run(main())


def _server(box: Any, name: str) -> Any:
    from toolcrib_mcp.definition import HUBS

    host = box.activator.active["mcp"].host
    return next(hub for h, hub in HUBS._hubs if h is host).servers[name]


def test_a_task_is_followed_to_its_end(tmp_path: Path, peer: Any) -> None:
    """A server that answers with a task is asked until it is done; a failed one fails."""
    begun = {"taskId": "t1", "status": "working", "pollInterval": 50, "ttl": 60000}
    done = {**begun, "status": "completed"}
    plan = {
        "tools": [tool("t", execution={"taskSupport": "required"})],
        "capabilities": {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}},
        "calls": {"t": [{"result": {"task": begun}}]},
    }
    answer = {"content": [{"type": "text", "text": "at last"}]}

    async def main() -> None:
        good = {"tasks/get": [{"result": done}], "tasks/result": [{"result": answer}]}
        failed = {**begun, "status": "failed", "statusMessage": "no luck"}
        servers = {
            "good": peer({**plan, "methods": good}),
            "bad": peer({**plan, "methods": {"tasks/get": [{"result": failed}]}}),
        }
        async with opened(tmp_path, servers) as (_, session):
            outcome = await session.call("mcp.good.t", {}, approver=yes)
            assert outcome.status == "ok", outcome
            assert outcome.result.content[0].text == "at last"
            (sent,) = servers["good"].messages("tools/call")
            assert sent["params"]["task"]["ttl"] == 3_600_000
            outcome = await session.call("mcp.bad.t", {}, approver=yes)
            assert (outcome.status, outcome.code) == ("failed", "mcp.task_failed")
            assert "no luck" in outcome.text

    run(main())


def test_a_cancelled_task_is_cancelled_at_the_server(tmp_path: Path, peer: Any) -> None:
    """Who stops waiting for a task stops the task."""
    begun = {"taskId": "t1", "status": "working", "pollInterval": 50, "ttl": 60000}
    plan = {
        "tools": [tool("t")],
        "calls": {"t": [{"result": {"task": begun}}]},
        "methods": {"tasks/get": [{"result": begun}], "tasks/cancel": [{"result": {}}]},
    }

    async def main() -> None:
        one = peer(plan)
        async with opened(tmp_path, {"a": one}) as (_, session):
            work = asyncio.create_task(session.call("mcp.a.t", {}, approver=yes))
            await until(lambda: len(one.messages("tasks/get")) > 1)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await until(lambda: one.messages("tasks/cancel"))

    run(main())
