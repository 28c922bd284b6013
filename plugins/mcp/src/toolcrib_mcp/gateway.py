"""The catalog as a server: every request goes through all stages, for its own client.

Each client has a session of its own, with its own grants, loaded tools and artifacts.
"""

from __future__ import annotations

import asyncio
import secrets

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs
import mcp_types as types

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from toolcrib import Allow, AllowRule, Deny, Question, Session, Toolbox

from .channel import CURRENT, TASKS, Channel, ClientAsk, can_tasks
from .listening import Listening
from .longcalls import LongCall, LongCalls


__all__ = ["TASK_AFTER", "Client", "Running"]

Work = Callable[[Channel], Awaitable[Any]]

TASK_AFTER = 5.0
"""Seconds after which a call goes on as a task, where nobody says otherwise."""

_WAITING = 300.0
_NEEDED: dict[str, dict[str, Any]] = {
    "mcp.no_sampling": {"sampling": {}},
    "mcp.no_tasks": {"extensions": {TASKS: {}}},
}
_ONCE, _ALWAYS, _NO = "allow once", "allow this and others like it", "deny"


@attrs.define(eq=False)
class Running:
    """A call that goes on between the rounds of a client."""

    task: asyncio.Task[Any]
    channel: Channel
    fingerprint: str
    until: float


class Client:
    """One client: a session of its own.

    Args:
        toolbox: The catalog.
        principal: Who it is.
        names: Whether tools are called by their own names where these are unambiguous.
        task_after: Seconds after which a call goes on as a task, where the client can.

    Attributes:
        long: Its calls that go on as tasks.
        listening: Its streams on which it hears of changes.
        subscribed: Addresses of resources whose changes it wants to hear of.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        principal: str,
        *,
        mode: str | None,
        names: bool,
        task_after: float = TASK_AFTER,
    ) -> None:
        self.toolbox = toolbox
        self.principal = principal
        self.session: Session = toolbox.session(principal=principal, mode=mode, ask=ClientAsk())
        self.level = "debug"
        self._now = toolbox.clock.monotonic
        self.used = self._now()
        self._names = names
        self._view: tuple[Any, Any] | None = None
        self._aliases: dict[str, str] = {}
        self._declared: list[dict[str, Any]] = []
        self._running: dict[str, Running] = {}
        self._calls = 0
        self._task_after = task_after
        self.long = LongCalls(toolbox.clock.time)
        self.listening = Listening()
        self.subscribed: set[str] = set()
        self._loaded = 0
        self._opening = asyncio.Lock()
        self._open = False

    @property
    def busy(self) -> bool:
        """Whether something runs for it, or waits for its answer."""
        self._tidy()
        return bool(self._calls or self._running or self.long.working)

    @property
    def keeps(self) -> bool:
        """Whether it has tasks, over or not, whose results it can still ask for."""
        return bool(self.long.all())

    async def open(self) -> Client:
        """Open the session, once."""
        self.used = self._now()
        async with self._opening:
            if not self._open:
                await self.session.__aenter__()
                self._open = True
        return self

    async def close(self) -> None:
        """End what still runs for the client, and its session."""
        self.listening.close()
        running = list(self._running.values())
        self._running.clear()
        for each in running:
            each.task.cancel()
        if running:
            await asyncio.wait([each.task for each in running])
        await self.long.close()
        if self._open:
            await self.session.close()

    # -- what it sees ------------------------------------------------------------------

    async def view(self) -> Any:
        """Return the tools that the client sees now; made again only when they changed."""
        key = (self.toolbox.catalog.revision, self.session.mode, self._loaded)
        if self._view is None or self._view[0] != key:
            made = await self.session.view("mcp")
            self._view = (key, made)
            self._aliases = _aliases(made) if self._names else {}
            shown = {wire: alias for alias, wire in self._aliases.items()}
            self._declared = [
                {**d, "name": shown.get(d["name"], d["name"])} for d in made.declarations
            ]
        return self._view[1]

    async def tools(self) -> list[dict[str, Any]]:
        """Return the declarations."""
        await self.view()
        return self._declared

    # -- calls -------------------------------------------------------------------------

    async def call(self, channel: Channel, name: str, arguments: Mapping[str, Any]) -> Any:
        """Take a call through all stages.

        Raises:
            MCPError: there is no such tool for this client.
        """
        self._calls += 1
        try:
            return await self._called(channel, name, arguments)
        finally:
            self._calls -= 1
            self.used = self._now()

    async def _called(self, channel: Channel, name: str, arguments: Mapping[str, Any]) -> Any:
        view = await self.view()
        wire = self._aliases.get(name, name)
        if view.projection(wire) is None and not self._is_hidden(view, wire):
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {name}")
        # A number of our own: two clients, or one that starts again, may use the same.
        message = {
            "jsonrpc": "2.0",
            "id": secrets.token_hex(12),
            "method": "tools/call",
            "params": {"name": wire, "arguments": dict(arguments)},
        }
        batch = await self.session.submit(view.calls(message))
        for question in batch.questions:
            decision = await self._asked(channel, question)
            if decision is not None:
                await batch.decide(question.id, decision)
        if channel.wants_progress or channel.watched:
            async with batch.run() as events:
                async for event in events:
                    if event.name == "call.progress":
                        await channel.progress(event.data)
        else:
            await batch.complete()
        needed = _NEEDED.get(batch.outcomes[0].code or "")
        if needed is not None and channel.modern:
            text = f"{name} needs a client that declares more"
            data: dict[str, Any] = {"requiredCapabilities": needed}
            raise MCPError(
                code=types.MISSING_REQUIRED_CLIENT_CAPABILITY, message=text, data=data
            )
        (answer,) = view.results(batch)
        return answer["result"]

    @staticmethod
    def _is_hidden(view: Any, wire: str) -> bool:
        return any(view.dialect.wire_name(tool) == wire for tool in view.hidden)

    async def _asked(self, channel: Channel, question: Question) -> Any:
        """Ask the client's user; without an answer the call stays unapproved."""
        if not channel.can("elicitation"):
            return None
        options = [_ONCE, *([_ALWAYS] if question.rule_offered else []), _NO]
        field = {"type": "string", "enum": options, "title": "Decision"}
        schema = {"type": "object", "properties": {"decision": field}, "required": ["decision"]}
        values = await ClientAsk().form(_words(question), schema)
        said = values.get("decision") if values is not None else None
        if said == _ONCE:
            return Allow(by=self.principal)
        if said == _ALWAYS and question.rule_offered:
            return AllowRule(by=self.principal)
        return Deny(by=self.principal) if said == _NO else None

    async def changed(self) -> bool:
        """Tell whether a call has changed what the client sees."""
        loaded = len(getattr(self.session.shown, "_loaded", ()))
        stored = bool(getattr(self.session.shown, "_stored", False))
        count = loaded + (1 if stored else 0)
        different, self._loaded = count != self._loaded, count
        return different

    # -- rounds ------------------------------------------------------------------------

    async def rounds(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> Any:
        """Run a call whose client answers in rounds."""
        arguments = params.arguments or {}

        async def work(channel: Channel) -> Any:
            return await self.call(channel, params.name, arguments)

        named = f"call\n{params.name}\n{arguments!r}"
        after = self._task_after if can_tasks(ctx.session.client_capabilities) else None
        return await self._in_rounds(ctx, params, named, work, after=after)

    async def begin(
        self, channel: Channel, params: types.CallToolRequestParams, *, ttl: float | None
    ) -> LongCall:
        """Run a call as a task from its beginning.

        Raises:
            MCPError: the client has too many.
        """
        channel.detach()

        async def work(channel: Channel) -> Any:
            return await self.call(channel, params.name, params.arguments or {})

        task = _started(channel, work)
        made = self.long.keep(task, channel, ttl=ttl)
        if made is None:
            task.cancel()
            message = "too many tasks are kept for this client; wait until some are forgotten"
            raise MCPError(code=types.INTERNAL_ERROR, message=message)
        return made

    async def answered_in_rounds(
        self, ctx: ServerRequestContext[Any, Any], params: Any, make: Callable[[], Any]
    ) -> Any:
        """Do any other work whose client answers in rounds."""

        async def work(_: Channel) -> Any:
            return await make()

        named = f"{ctx.method}\n{params.name}\n{params.arguments!r}"
        return await self._in_rounds(ctx, params, named, work)

    async def _in_rounds(
        self,
        ctx: ServerRequestContext[Any, Any],
        params: Any,
        fingerprint: str,
        work: Work,
        *,
        after: float | None = None,
    ) -> Any:
        state = params.request_state
        channel = Channel(ctx, level=self.level)
        if state is None and not channel.interactive:
            # Nothing can be asked of this client, so there will be one round.
            return await _alone(channel, work)
        if state is not None:
            self._tidy()
            running = self._running.pop(state, None)
            if running is None or running.fingerprint != fingerprint:
                message = "the request state is unknown, used, expired or of another call"
                raise MCPError(code=types.INVALID_PARAMS, message=message)
            running.channel.next_round(ctx, _answers(params))
        else:
            task = _started(channel, work)
            running = Running(task, channel, fingerprint, 0.0)
        return await self._next(running, after)

    async def _next(self, running: Running, after: float | None) -> Any:
        """Wait for the end, or for the next thing that the client has to answer."""
        try:
            if not await running.channel.stirred(after):
                made = self.long.keep(running.task, running.channel)
                if made is not None:
                    return {"resultType": "task", **made.modern()}
                await running.channel.stirred()
        except asyncio.CancelledError:
            running.task.cancel()
            await asyncio.wait({running.task})
            raise
        if not running.task.done():
            # What is asked together is answered together.
            await asyncio.wait({running.task}, timeout=0.005)
        if running.task.done():
            return running.task.result()
        self._tidy()
        state = secrets.token_urlsafe(24)
        running.until = self._now() + _WAITING
        self._running[state] = running
        wanted = {key: one.request for key, one in running.channel.wanted.items()}
        return types.InputRequiredResult(input_requests=wanted, request_state=state)

    def _tidy(self) -> None:
        """Give up what nobody came back for."""
        now = self._now()
        for state, running in list(self._running.items()):
            if running.until < now:
                del self._running[state]
                running.channel.end()
                running.task.cancel()


def _aliases(view: Any) -> dict[str, str]:
    """Return own name → wire name, for names that only one tool has."""
    found: dict[str, list[str]] = {}
    for entry in view.projected.entries:
        found.setdefault(entry.tool_id.rpartition(".")[2], []).append(entry.wire_name)
    return {name: wires[0] for name, wires in found.items() if len(wires) == 1}


def _started(channel: Channel, work: Work) -> asyncio.Task[Any]:
    task = asyncio.create_task(_alone(channel, work))
    # Cancelled before its first step, it would tell nobody.
    task.add_done_callback(lambda _: channel.finish())
    return task


async def _alone(channel: Channel, work: Work) -> Any:
    token = CURRENT.set(channel)
    try:
        return await work(channel)
    finally:
        CURRENT.reset(token)
        await channel.flush()
        channel.finish()


def _answers(params: Any) -> dict[str, Any]:
    found = params.input_responses or {}
    return {
        key: value.model_dump(by_alias=True, mode="json")
        if hasattr(value, "model_dump")
        else value
        for key, value in found.items()
    }


def _words(question: Question) -> str:
    """Return everything that an approval binds to, as text."""
    import json  # noqa: PLC0415 - only asked calls need it

    lines = [question.title, "", f"tool: {question.tool_id}"]
    lines.append(f"arguments: {json.dumps(dict(question.arguments), ensure_ascii=True)}")
    lines += [f"touches: {each}" for each in question.resources]
    lines += [f"asked because: {each}" for each in question.reasons]
    if question.preview:
        lines += ["", question.preview]
    if question.rule_offered:
        lines += ["", f"“others like it” stores: {question.rule_offered}"]
    return "\n".join(lines)
