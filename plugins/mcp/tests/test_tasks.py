"""Calls that take long: tasks of servers as jobs, and our own long calls as tasks."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from line_kit import TOKENS, Line, called
from mcp_kit import SERVER, Listening, Raw, opened, tool, until, yes


pytestmark = pytest.mark.usefixtures("nothing_left")

TOKEN = "a-token-of-the-tests-0123456789"
ANSWER = {"content": [{"type": "text", "text": "at last"}]}


class Person:
    """Says a name."""

    async def question(self, text: str, **_: Any) -> str | None:
        return None

    async def form(self, text: str, schema: Any) -> Any:
        return {"name": "Ada"}

    async def url(self, text: str, url: str) -> bool:
        return False


def served(folder: Path) -> dict[str, Any]:
    """Configure our own server over pipes, which makes tasks of calls soon."""
    return {
        "command": sys.executable,
        "args": [str(SERVER), str(folder), "--task-after", "0.1"],
        "task_wait": 0.2,
    }


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Our own server over HTTP, in a process that outlives a toolbox."""
    folder = tmp_path / "remote"
    folder.mkdir()
    tokens = folder / "tokens"
    tokens.write_text(TOKEN)
    tokens.chmod(0o600)
    command = [sys.executable, str(SERVER), str(folder), "--http", "0"]
    command += ["--token-file", str(tokens), "--task-after", "0.1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while not (line := process.stderr.readline()).startswith("serving on"):
        assert process.poll() is None, line
    yield {
        "url": line.split()[-1],
        "headers": {"Authorization": f"Bearer {TOKEN}"},
        "task_wait": 0.2,
    }
    process.terminate()
    process.wait(10)
    process.stderr.close()


async def _later(session: Any, outcome: Any) -> Any:
    """Return how the job ended that a call left behind."""
    assert outcome.status == "ok", outcome
    job = outcome.result.metadata["job"]
    assert job in outcome.result.content[0].text
    return await session.call("mcp.tasks", {"job": job, "wait": 20}, approver=yes)


def test_a_long_call_goes_on_as_a_job_and_gives_its_result_later(tmp_path: Path) -> None:
    """The call ends, the work goes on, and what it gave is fetched by the job's id."""

    async def main() -> None:
        async with opened(tmp_path, {"own": served(tmp_path)}) as (box, session):
            await until(lambda: "mcp.own.desk_work" in box.catalog, 15)
            first = await session.call("mcp.own.desk_work", {"seconds": 1.0}, approver=yes)
            listed = await session.call("mcp.tasks", {}, approver=yes)
            (one,) = listed.result.content[0].value
            assert one == {"job": first.result.metadata["job"], "status": "running"}
            last = await _later(session, first)
            assert last.result.content[0].text == "the work is done"

    asyncio.run(main())


def test_a_task_that_ends_soon_is_simply_the_call(tmp_path: Path) -> None:
    """Who may wait for the end gets the result, and its person is asked meanwhile."""

    async def main() -> None:
        config = served(tmp_path) | {"task_wait": 20}
        async with opened(tmp_path, {"own": config}, ask=Person()) as (box, session):
            await until(lambda: "mcp.own.desk_wonder" in box.catalog, 15)
            outcome = await session.call("mcp.own.desk_wonder", {}, approver=yes)
            assert outcome.result.content[0].text == "hello Ada", outcome

    asyncio.run(main())


def test_a_job_that_is_stopped_is_cancelled_at_the_server(tmp_path: Path) -> None:
    """The server's tool is cancelled, and its clean-up runs."""

    async def main() -> None:
        async with opened(tmp_path, {"own": served(tmp_path)}) as (box, session):
            await until(lambda: "mcp.own.desk_slow" in box.catalog, 15)
            first = await session.call("mcp.own.desk_slow", {}, approver=yes)
            job = first.result.metadata["job"]
            stopped = await session.call("mcp.tasks", {"job": job, "stop": True}, approver=yes)
            assert "stopped" in stopped.result.content[0].text, stopped
            await until((tmp_path / "cleaned").exists)

    asyncio.run(main())


def test_a_remote_task_is_taken_up_after_a_restart(
    tmp_path: Path, remote: dict[str, Any]
) -> None:
    """A second toolbox finds the job, asks the server, and gives the result."""

    async def main() -> None:
        durable = {"ledger": tmp_path / "ledger.db"}
        async with opened(tmp_path, {"far": remote}, **durable) as (box, session):
            await until(lambda: "mcp.far.desk_work" in box.catalog, 15)
            first = await session.call("mcp.far.desk_work", {"seconds": 1.0}, approver=yes)
        async with opened(tmp_path, {"far": remote}, **durable) as (box, session):
            last = await _later(session, first)
            assert last.result.content[0].text == "the work is done", last

    asyncio.run(main())


def _task(**more: Any) -> dict[str, Any]:
    return {"taskId": "t1", "status": "working", "pollInterval": 50, "ttl": 60000, **more}


def _plan(**methods: Any) -> dict[str, Any]:
    return {
        "tools": [tool("t", execution={"taskSupport": "required"})],
        "capabilities": {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}},
        "calls": {"t": [{"result": {"task": _task(createdAt="2026-01-01T00:00:00Z")}}]},
        "methods": {name.replace("_", "/"): steps for name, steps in methods.items()},
    }


def test_a_task_of_the_first_generation_goes_on_as_a_job(tmp_path: Path, peer: Any) -> None:
    """Its result is fetched with the older words."""

    async def main() -> None:
        done = _task(status="completed")
        steps = [{"sleep": 0.5}, {"result": done}]
        one = peer(_plan(tasks_get=steps, tasks_result=[{"result": ANSWER}]), task_wait=0.1)
        async with opened(tmp_path, {"a": one}) as (_, session):
            first = await session.call("mcp.a.t", {}, approver=yes)
            last = await _later(session, first)
            assert last.result.content[0].text == "at last", last

    asyncio.run(main())


@pytest.mark.parametrize("long", [["t"], [], ["u"]])
def test_a_tool_that_may_be_a_task_is_one_where_it_is_named_long(
    tmp_path: Path, peer: Any, long: list[str]
) -> None:
    """Left to us, it is a plain call: most are over before a task would be asked about."""
    asked = "t" in long

    async def main() -> None:
        plan = _plan(tasks_get=[{"result": _task(status="completed")}])
        plan["methods"]["tasks/result"] = [{"result": ANSWER}]
        plan["tools"] = [tool("t", execution={"taskSupport": "optional"})]
        if not asked:
            plan["calls"] = {"t": [{"result": ANSWER}]}
        one = peer(plan, long=long)
        async with opened(tmp_path, {"a": one}) as (_, session):
            outcome = await session.call("mcp.a.t", {}, approver=yes)
            assert outcome.result.content[0].text == "at last", outcome
        (sent,) = one.messages("tools/call")
        assert ("task" in sent["params"]) is asked

    asyncio.run(main())


def test_a_task_whose_server_dies_is_lost_and_uncertain(tmp_path: Path, peer: Any) -> None:
    """Nobody can tell how it ended, so nobody says that it did."""

    async def main() -> None:
        one = peer(_plan(tasks_get=[{"exit": 3}]))
        async with opened(tmp_path, {"a": one}) as (_, session):
            outcome = await session.call("mcp.a.t", {}, approver=yes)
            assert outcome.status == "uncertain", outcome
        assert len(one.messages("tools/call")) == 1

    asyncio.run(main())


def test_a_task_that_another_one_replaced_is_not_taken_for_it(
    tmp_path: Path, peer: Any
) -> None:
    """The same id with another time of birth is another task."""

    async def main() -> None:
        other = _task(status="completed", createdAt="2027-01-01T00:00:00Z")
        one = peer(_plan(tasks_get=[{"result": other}], tasks_result=[{"result": ANSWER}]))
        async with opened(tmp_path, {"a": one}) as (_, session):
            outcome = await session.call("mcp.a.t", {}, approver=yes)
            assert outcome.status == "uncertain", outcome

    asyncio.run(main())


def test_a_task_that_never_ends_is_given_up(tmp_path: Path, peer: Any) -> None:
    """After its lifetime the server is told, and the call has failed."""

    async def main() -> None:
        methods = {"tasks_get": [{"result": _task()}], "tasks_cancel": [{"result": {}}]}
        one = peer(_plan(**methods), task_lifetime=0.3)
        async with opened(tmp_path, {"a": one}) as (_, session):
            outcome = await session.call("mcp.a.t", {}, approver=yes)
            assert (outcome.status, outcome.code) == ("failed", "mcp.task_failed"), outcome
            assert one.messages("tasks/cancel")

    asyncio.run(main())


def _about(**more: Any) -> dict[str, Any]:
    return {"method": "notifications/tasks/status", "params": _task(**more)}


def test_a_server_that_tells_of_a_task_is_asked_at_once(tmp_path: Path, peer: Any) -> None:
    """It is not waited for as long as the server said; and what it tells is not believed."""

    async def main() -> None:
        done = _task(status="completed", pollInterval=10_000)
        plan = _plan(tasks_get=[{"result": done}], tasks_result=[{"result": ANSWER}])
        steps = plan["calls"]["t"]
        steps[0]["result"]["task"]["pollInterval"] = 10_000
        steps += [{"sleep": 0.1}, {"send": _about(status="failed")}]
        one = peer(plan, task_wait=5)
        async with opened(tmp_path, {"a": one}) as (_, session):
            outcome = await session.call("mcp.a.t", {}, approver=yes)
            assert outcome.result.content[0].text == "at last", outcome
            assert len(one.messages("tasks/get")) == 1

    asyncio.run(main())


def test_a_server_that_tells_very_much_is_not_asked_more(tmp_path: Path, peer: Any) -> None:
    """Nor does what it tells of no task, or of another one, do anything."""

    async def main() -> None:
        plan = _plan(tasks_get=[{"result": _task(pollInterval=10_000)}])
        steps = plan["calls"]["t"]
        steps[0]["result"]["task"]["pollInterval"] = 10_000
        for about in (_about(taskId="t2"), _about(taskId=[1]), *[_about()] * 60):
            steps += [{"send": about}, {"sleep": 0.01}]
        one = peer(plan, task_wait=1)
        async with opened(tmp_path, {"a": one}) as (_, session):
            began = asyncio.get_running_loop().time()
            outcome = await session.call("mcp.a.t", {}, approver=yes)
            assert outcome.result.metadata["job"], outcome
            took = asyncio.get_running_loop().time() - began
            # However slow all this is, between two questions it waits for so long.
            assert 1 <= len(one.messages("tasks/get")) <= took / 0.05 + 1

    asyncio.run(main())


def test_our_client_hears_of_the_tasks_of_our_server(tmp_path: Path) -> None:
    """In the newer revision it asks to be told, and so need not ask again and again."""

    async def main() -> None:
        config = served(tmp_path) | {"task_wait": 5}
        config["args"] += ["--task-poll", "60000"]
        async with opened(tmp_path, {"own": config}, ask=Person()) as (box, session):
            await until(lambda: "mcp.own.desk_wonder" in box.catalog, 15)
            outcome = await session.call("mcp.own.desk_wonder", {}, approver=yes)
            assert outcome.result.content[0].text == "hello Ada", outcome

    asyncio.run(main())


# -- our own long calls ----------------------------------------------------------------


class Client(Raw):
    """A client of 2025-11-25 which answers questions with a name."""

    capabilities: Mapping[str, Any] = MappingProxyType({"elicitation": {}})

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__(process)
        self._number = 0
        self.asked: list[Any] = []

    def heard(self, message: Any) -> None:
        if message.get("method") == "elicitation/create":
            self.asked.append(message["params"])
            result = {"action": "accept", "content": {"name": "Ada"}}
            self.send(id=message["id"], result=result)

    async def ask(self, method: str, params: Any) -> Any:
        self._number += 1
        self.send(id=self._number, method=method, params=params)
        return await self.answer(self._number)

    async def begin(self, name: str, **arguments: Any) -> Any:
        params = {"name": name, "arguments": arguments, "task": {"ttl": 60_000}}
        return (await self.ask("tools/call", params))["result"]["task"]


def test_a_client_of_the_first_generation_follows_a_call_as_a_task(tmp_path: Path) -> None:
    """Begun at once, listed, and its result is waited for."""

    async def main() -> None:
        async with Client.open(tmp_path) as client:
            assert client.greeting["capabilities"]["tasks"]["requests"]["tools"]["call"] == {}
            tools = (await client.ask("tools/list", {}))["result"]["tools"]
            assert all(each["execution"] == {"taskSupport": "optional"} for each in tools)
            begun = await client.begin("desk_work", seconds=0.5)
            assert begun["status"] == "working"
            assert begun["ttl"] == 60_000
            about = {"taskId": begun["taskId"]}
            listed = (await client.ask("tasks/list", {}))["result"]["tasks"]
            assert [each["taskId"] for each in listed] == [begun["taskId"]]
            seen = (await client.ask("tasks/get", about))["result"]
            assert (seen["status"], seen["createdAt"]) == ("working", begun["createdAt"])
            result = (await client.ask("tasks/result", about))["result"]
            assert result["content"][0]["text"] == "the work is done"
            assert result["_meta"]["io.modelcontextprotocol/related-task"] == about
            assert (await client.ask("tasks/get", about))["result"]["status"] == "completed"

    asyncio.run(main())


def test_a_task_asks_over_the_request_that_waits_for_its_result(tmp_path: Path) -> None:
    """Until then it needs input; the question names the task."""

    async def main() -> None:
        async with Client.open(tmp_path) as client:
            about = {"taskId": (await client.begin("desk_wonder"))["taskId"]}
            status = ""
            while status != "input_required":
                status = (await client.ask("tasks/get", about))["result"]["status"]
            assert client.asked == []
            result = (await client.ask("tasks/result", about))["result"]
            assert result["content"][0]["text"] == "hello Ada"
            (asked,) = client.asked
            assert asked["_meta"]["io.modelcontextprotocol/related-task"] == about

    asyncio.run(main())


def test_whoever_asked_for_a_task_is_told_how_it_stands(tmp_path: Path) -> None:
    """In the words of 2025-11-25, whenever that is something else."""

    async def main() -> None:
        async with Client.open(tmp_path) as client:
            about = {"taskId": (await client.begin("desk_wonder"))["taskId"]}

            def told() -> list[str]:
                method = "notifications/tasks/status"
                found = [m["params"] for m in client.seen if m.get("method") == method]
                assert all(each["taskId"] == about["taskId"] for each in found)
                assert all(each["ttl"] == 60_000 for each in found)
                return [each["status"] for each in found]

            await until(told)
            assert told() == ["input_required"]
            await client.ask("tasks/result", about)
            await until(lambda: len(told()) == 3)
            assert told() == ["input_required", "working", "completed"]
            cancelled = {"taskId": (await client.begin("desk_slow"))["taskId"]}
            client.seen.clear()
            about |= cancelled
            await client.ask("tasks/cancel", cancelled)
            await until(told)
            assert told() == ["cancelled"]

    asyncio.run(main())


EXTENSION = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


def _modern(able: Any = EXTENSION, **params: Any) -> dict[str, Any]:
    about = "io.modelcontextprotocol/"
    meta = {
        f"{about}protocolVersion": "2026-07-28",
        f"{about}clientInfo": {"name": "raw", "version": "1"},
        f"{about}clientCapabilities": able,
    }
    return {**params, "_meta": meta}


def _heard(body: bytes) -> list[dict[str, Any]]:
    lines = body.decode().splitlines()
    return [json.loads(line[5:]) for line in lines if line.startswith("data:")]


def test_who_listens_for_tasks_is_told_of_its_own(tmp_path: Path) -> None:
    """In the newer revision, with all that belongs to it; others' are not acknowledged."""

    def sent(line: Line, who: str, method: str, params: Any, **more: str) -> None:
        more |= {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": method}
        message = {"id": "l1", "method": method, "params": params}
        line.writer.write(line.request(who, message, **more))

    async def main(server: Listening) -> None:
        async with Line.open(server) as one, Line.open(server) as two:
            work = _modern(**called("work", {"seconds": 0.5}))
            sent(one, "alice", "tools/call", work, Mcp_Name="desk_work")
            task = json.loads((await one.answer())[1])["result"]["taskId"]
            wanted = {"notifications": {"taskIds": [task, "another"]}}
            sent(two, "bob", "subscriptions/listen", _modern(**wanted))
            (said,) = _heard(await two.until(b"\n\r\n\r\n"))
            assert said["method"] == "notifications/subscriptions/acknowledged"
            assert said["params"]["notifications"] == {}
            sent(one, "alice", "subscriptions/listen", _modern(**wanted))
            acknowledged, told = _heard(await one.until(b"the work is done"))
            assert acknowledged["params"]["notifications"] == {"taskIds": [task]}
            assert told["method"] == "notifications/tasks"
            assert told["params"]["status"] == "completed"
            assert told["params"]["result"]["content"][0]["text"] == "the work is done"
            about = "io.modelcontextprotocol/subscriptionId"
            assert told["params"]["_meta"] == {about: "l1"}
        async with Line.open(server) as line:
            sent(line, "alice", "subscriptions/listen", _modern({}, **wanted))
            error = json.loads((await line.answer())[1])["error"]
            assert error["data"] == {"requiredCapabilities": EXTENSION}

    with Listening.on(tmp_path, TOKENS, "--task-after", "0") as server:
        asyncio.run(main(server))


def test_a_cancelled_task_stays_cancelled(tmp_path: Path) -> None:
    """The tool is cancelled, and a second word about it is an error."""

    async def main() -> None:
        async with Client.open(tmp_path) as client:
            about = {"taskId": (await client.begin("desk_slow"))["taskId"]}
            while "statusMessage" not in (await client.ask("tasks/get", about))["result"]:
                pass
            assert (await client.ask("tasks/cancel", about))["result"]["status"] == "cancelled"
            await until((tmp_path / "cleaned").exists)
            assert "error" in await client.ask("tasks/cancel", about)
            assert "error" in await client.ask("tasks/result", about)
            assert (await client.ask("tasks/get", about))["result"]["status"] == "cancelled"

    asyncio.run(main())


def test_tasks_are_bounded_and_known_by_their_client_alone(tmp_path: Path) -> None:
    """The next one is refused; an id of nobody's is unknown."""

    async def main() -> None:
        async with Client.open(tmp_path) as client:
            for _ in range(64):
                await client.begin("desk_work", seconds=30)
            params = {"name": "desk_work", "arguments": {"seconds": 30}, "task": {}}
            refused = await client.ask("tools/call", params)
            assert "too many tasks" in refused["error"]["message"]
            unknown = await client.ask("tasks/get", {"taskId": "no-such-task"})
            assert unknown["error"]["code"] == -32602

    asyncio.run(main())
