"""The protocol's methods, answered from a toolbox and what else is offered."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import warnings

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import mcp_types as types

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from toolcrib import Toolbox

from . import artifacts
from .channel import CURRENT, TASKS, Channel
from .clients import Clients
from .gateway import Client
from .offers import Offers
from .taskmethods import FIRST, TaskMethods


__all__ = ["Served"]

Context = ServerRequestContext[Any, Any]
Identify = Callable[[Context], tuple[str, str]]

_PAGE = 500
_MOST_SUBSCRIPTIONS = 1000


class _Catalog(Server[Any]):
    """The SDK's server, which declares what ours does besides."""

    def create_initialization_options(self, *_: Any, **__: Any) -> Any:
        """Return what the server declares to clients that shake hands."""
        changes = NotificationOptions(
            tools_changed=True, prompts_changed=True, resources_changed=True
        )
        made = super().create_initialization_options(changes)
        # The extension belongs to the newer revision; these have a word of their own.
        capabilities = made.capabilities.model_copy(
            update={"tasks": TaskMethods.capability, "extensions": None}
        )
        return made.model_copy(update={"capabilities": capabilities})


class Served:
    """A toolbox as a server of the protocol.

    Args:
        clients: The sessions of its clients.
        identify: From a request to (client, principal).
        offers: Prompts and resources to serve besides.
        poll_after: Seconds after which an HTTP client has to come back for an answer.
        name, version, instructions: What the server says about itself.
    """

    def __init__(
        self,
        clients: Clients,
        identify: Identify,
        *,
        offers: Sequence[Offers] = (),
        poll_after: float | None = None,
        name: str = "toolcrib",
        version: str = "0.1.0",
        instructions: str | None = None,
    ) -> None:
        self.clients = clients
        self._identify = identify
        self._offers = tuple(offers)
        self.poll_after = poll_after
        self._telling: set[asyncio.Task[None]] = set()
        for each in self._offers:
            each.listeners.append(self._heard)
        # Forgotten with its client: what a client was last heard on, to tell it news.
        self._listening: WeakKeyDictionary[Client, Any] = WeakKeyDictionary()
        handlers: dict[str, Any] = {
            "on_list_tools": self._list_tools,
            "on_call_tool": self._call_tool,
            "on_list_resources": self._list_resources,
            "on_list_resource_templates": self._list_templates,
            "on_read_resource": self._read,
            "on_subscribe_resource": self._subscribe,
            "on_unsubscribe_resource": self._unsubscribe,
            "on_set_logging_level": self._set_level,
            "on_subscriptions_listen": self._listen,
        }
        if any(each.prompts for each in offers):
            handlers |= {"on_list_prompts": self._list_prompts, "on_get_prompt": self._prompt}
        if any(each.completers for each in offers):
            handlers["on_completion"] = self._complete
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            self.server: Server[Any] = _Catalog(
                name,
                version=version,
                instructions=instructions,
                # Without it, the SDK lists all tools before each call over HTTP.
                get_tool_input_schema=clients.schema_with_headers,
                **handlers,
            )
        # Spans are the otel pack's business; without one they only cost time.
        self.server.middleware.clear()
        self.server.extensions[TASKS] = {}
        TaskMethods(self._found).add_to(self.server)

    def _heard(self, what: str) -> None:
        task = asyncio.get_running_loop().create_task(self._tell(what))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self, what: str) -> None:
        if what not in {"prompts", "resources"}:
            await self.updated(what)
            return
        prompts = what == "prompts"
        self._publish(PromptsListChanged() if prompts else ResourcesListChanged())
        for session in list(self._listening.values()):
            with contextlib.suppress(Exception):
                if prompts:
                    await session.send_prompt_list_changed()
                else:
                    await session.send_resource_list_changed()

    @property
    def toolbox(self) -> Toolbox:
        """What is served."""
        return self.clients.toolbox

    def _publish(self, event: ServerEvent, client: Client | None = None) -> None:
        for each in self.clients.all() if client is None else [client]:
            each.listening.publish(event)

    async def _listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> Any:
        client = await self._found(ctx)
        return await client.listening.serve(ctx, params, client.long)

    async def _found(self, ctx: Context) -> Client:
        key, principal = self._identify(ctx)
        client = await self.clients.of(key, principal)
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self._listening[client] = ctx.session
        return client

    # -- tools -------------------------------------------------------------------------

    async def _list_tools(self, ctx: Context, params: Any) -> Any:
        client = await self._found(ctx)
        page, mark = _page(await client.tools(), params)
        if ctx.protocol_version == FIRST:
            page = [{**tool, "execution": {"taskSupport": "optional"}} for tool in page]
        return _whole(ctx, {"tools": page}, mark)

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        client = await self._found(ctx)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            result = await client.rounds(ctx, params)
        else:
            channel = Channel(ctx, level=client.level)
            token = CURRENT.set(channel)
            leaving = self._leave_later(ctx)
            try:
                result = await client.call(channel, params.name, params.arguments or {})
            finally:
                CURRENT.reset(token)
                if leaving is not None:
                    leaving.cancel()
                await channel.flush()
        if await client.changed():
            await self.tools_changed(client)
        return _ended(ctx, result)

    def _leave_later(self, ctx: Context) -> asyncio.TimerHandle | None:
        """Let go of the client's connection after a while; the answer waits for it."""
        close = ctx.close_sse_stream
        if self.poll_after is None or close is None:
            return None
        loop = asyncio.get_running_loop()

        def leave() -> None:
            task = loop.create_task(_awaited(close()))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

        return loop.call_later(self.poll_after, leave)

    async def tools_changed(self, client: Client | None = None) -> None:
        """Tell clients, or one of them, that their list of tools is another one."""
        self._publish(ToolsListChanged(), client)
        for other, session in list(self._listening.items()):
            if client is None or other is client:
                with contextlib.suppress(Exception):
                    await session.send_tool_list_changed()

    # -- resources ---------------------------------------------------------------------

    async def _list_resources(self, ctx: Context, params: Any) -> Any:
        found: list[dict[str, Any]] = [
            {
                "uri": each.uri,
                "name": each.name,
                "description": each.description,
                "mimeType": each.media_type,
            }
            for offers in self._offers
            for each in offers.resources.values()
        ]
        client = await self._found(ctx)
        found += artifacts.listed(client)
        page, mark = _page(found, params)
        return _whole(ctx, {"resources": page}, mark)

    async def _list_templates(self, ctx: Context, params: Any) -> Any:
        found = [
            {
                "uriTemplate": each.template,
                "name": each.name,
                "description": each.description,
                "mimeType": each.media_type,
            }
            for offers in self._offers
            for each in offers.templates
        ]
        return _whole(ctx, {"resourceTemplates": found})

    async def _read(self, ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        for offers in self._offers:
            contents = await offers.read(uri)
            if contents is not None:
                return _whole(ctx, {"contents": [contents]})
        if uri.startswith(artifacts.SCHEME):
            client = await self._found(ctx)
            contents = await artifacts.contents(client, uri)
            if contents is not None:
                return _whole(ctx, {"contents": [contents]})
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        code = types.INVALID_PARAMS if modern else -32002
        raise MCPError(code=code, message="Resource not found", data={"uri": uri})

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> Any:
        client = await self._found(ctx)
        if len(client.subscribed) >= _MOST_SUBSCRIPTIONS:
            message = "too many subscriptions; end one first"
            raise MCPError(code=types.INVALID_PARAMS, message=message)
        client.subscribed.add(str(params.uri))
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> Any:
        (await self._found(ctx)).subscribed.discard(str(params.uri))
        return types.EmptyResult()

    async def updated(self, uri: str) -> None:
        """Tell subscribers that a resource changed."""
        self._publish(ResourceUpdated(uri=uri))
        for client, session in list(self._listening.items()):
            if uri in client.subscribed:
                with contextlib.suppress(Exception):
                    await session.send_resource_updated(uri)

    async def _set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> Any:
        client = await self._found(ctx)
        client.level = str(params.level)
        return types.EmptyResult()

    # -- prompts and completions -------------------------------------------------------

    async def _list_prompts(self, ctx: Context, params: Any) -> Any:
        found = [
            {
                "name": each.name,
                "description": each.description,
                "arguments": [
                    {"name": name, "description": text, "required": required}
                    for name, (text, required) in each.arguments.items()
                ],
            }
            for offers in self._offers
            for each in offers.prompts.values()
        ]
        page, mark = _page(found, params)
        return _whole(ctx, {"prompts": page}, mark)

    async def _prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Any:
        known = {n: each for offers in self._offers for n, each in offers.prompts.items()}
        prompt = known.get(params.name)
        if prompt is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown prompt: {params.name}")
        arguments = dict(params.arguments or {})
        missing = [
            n for n, (_, need) in prompt.arguments.items() if need and n not in arguments
        ]
        unknown = [n for n in arguments if n not in prompt.arguments]
        if missing or unknown:
            words = ", ".join(
                [*(f"{n} missing" for n in missing), *(f"{n} unknown" for n in unknown)]
            )
            raise MCPError(code=types.INVALID_PARAMS, message=f"Arguments: {words}")
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            client = await self._found(ctx)
            found = await client.answered_in_rounds(
                ctx, params, lambda: _messages(prompt.get, arguments, prompt.description)
            )
            return _ended(ctx, found)
        return await _with_channel(ctx, _messages(prompt.get, arguments, prompt.description))

    async def _complete(self, ctx: Context, params: types.CompleteRequestParams) -> Any:
        ref = params.ref
        name = ref.name if isinstance(ref, types.PromptReference) else str(ref.uri)
        others = (params.context.arguments or {}) if params.context is not None else {}
        for offers in self._offers:
            function = offers.completers.get((name, params.argument.name))
            if function is not None:
                values = await function(params.argument.value, params.argument.name, others)
                total = len(values)
                shown = {"values": values[:100], "total": total, "hasMore": total > 100}
                return _ended(ctx, {"completion": shown})
        return _ended(ctx, {"completion": {"values": [], "total": 0, "hasMore": False}})


def _ended(ctx: Context, result: Any) -> Any:
    """Mark a result as a final one, where the revision wants that said."""
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS and isinstance(result, dict):
        return {"resultType": "complete", **result}
    return result


def _whole(ctx: Context, result: dict[str, Any], mark: str | None = None) -> dict[str, Any]:
    """Return a list or contents, with what the revision wants said about keeping it."""
    if mark is not None:
        result["nextCursor"] = mark
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
    return result


async def _awaited(work: Awaitable[None]) -> None:
    await work


async def _messages(get: Any, arguments: dict[str, Any], description: str) -> Any:
    return {"description": description, "messages": list(await get(**arguments))}


async def _with_channel(ctx: Context, work: Awaitable[Any]) -> Any:
    token = CURRENT.set(Channel(ctx))
    try:
        return await work
    finally:
        CURRENT.reset(token)


def _page(items: list[Any], params: Any) -> tuple[list[Any], str | None]:
    """Return the page that a mark names, and the mark of the next one."""
    mark = getattr(params, "cursor", None)
    start = 0
    if mark is not None:
        try:
            start = int(base64.urlsafe_b64decode(mark.encode()).decode())
        except (ValueError, UnicodeDecodeError):
            start = -1
        if not 0 < start < len(items):
            raise MCPError(code=types.INVALID_PARAMS, message="the cursor is not one of ours")
    end = start + _PAGE
    following = (
        base64.urlsafe_b64encode(str(end).encode()).decode() if end < len(items) else None
    )
    return items[start:end], following
