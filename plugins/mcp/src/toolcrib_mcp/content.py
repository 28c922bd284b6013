"""Resources, templates, prompts and completions of a server, bounded and made harmless."""

from __future__ import annotations

import asyncio

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import mcp_types as types

from mcp import MCPError
from toolcrib import Context, Invalid, NotFound, Result, Unavailable

from .listing import Unlistable, everything
from .results import Normal
from .texts import cleaned, one_line


if TYPE_CHECKING:
    from .connection import Live
    from .server import Server


__all__ = ["Content"]

_MOST_SUBSCRIPTIONS = 100
_MOST_VALUES = 100
_COMPLETING = 15.0
_NEEDS = {"resources": "resources", "templates": "resources", "prompts": "prompts"}


class Content:
    """What a server offers besides tools; lists are kept until it says that they changed."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lists: dict[tuple[int, str], tuple[Mapping[str, Any], ...]] = {}
        self._wanted: dict[str, int] = {}

    def forget(self) -> None:
        """Read the lists again when they are next asked for."""
        self._lists.clear()

    async def listed(self, what: str) -> tuple[Mapping[str, Any], ...]:
        """Return what a server lists, as JSON-safe values fit to be shown.

        Raises:
            Unavailable: it is not connected, or its list cannot be read.
        """
        live = self._server.connection.require()
        if getattr(live.capabilities, _NEEDS[what]) is None:
            return ()
        key = (live.generation, what)
        if key not in self._lists:
            timeout = self._server.config.connect_timeout
            try:
                async with asyncio.timeout(timeout):
                    found = await everything(live, what, timeout=timeout)
            except (Unlistable, TimeoutError) as error:
                text = f"The {what} of {self._server.name} cannot be read: {one_line(error)}"
                raise Unavailable(text, code="mcp.unlistable") from error
            self._lists[key] = tuple(
                _shown(each) for each in found.items if isinstance(each, dict)
            )
        return self._lists[key]

    async def read(self, ctx: Context, uri: str) -> Result:
        """Read a resource, listed or made from a template."""
        params = {"uri": uri}
        raw = await self._rounds(
            ctx,
            lambda p: types.ReadResourceRequest(
                params=types.ReadResourceRequestParams.model_validate(p, by_name=False)
            ),
            params,
        )
        parts = raw.get("contents")
        content = [{"type": "resource", "resource": each} for each in parts or ()]
        normal = Normal(ctx, self._server.name)
        return await normal.result({"content": content}, None, self._server.validators)

    async def prompt(self, ctx: Context, name: str, arguments: Mapping[str, str]) -> Result:
        """Get a prompt's messages, each with its role."""
        known = {each["name"]: each for each in await self.listed("prompts")}
        if name not in known:
            text = f"{self._server.name} has no prompt {name!r}; it has: {', '.join(known)}"
            raise NotFound(text, code="mcp.not_found")
        self._check(known[name], arguments)
        params = {"name": name, "arguments": dict(arguments)}
        raw = await self._rounds(
            ctx,
            lambda p: types.GetPromptRequest(
                params=types.GetPromptRequestParams.model_validate(p, by_name=False)
            ),
            params,
        )
        content: list[Any] = []
        for message in raw.get("messages") or ():
            if isinstance(message, Mapping):
                content.append(
                    {"type": "text", "text": f"{one_line(message.get('role'), 20)}:"}
                )
                content.append(message.get("content"))
        normal = Normal(ctx, self._server.name)
        return await normal.result({"content": content}, None, self._server.validators)

    @staticmethod
    def _check(prompt: Mapping[str, Any], arguments: Mapping[str, str]) -> None:
        declared = {a["name"]: a for a in prompt.get("arguments", ())}
        missing = [n for n, a in declared.items() if a.get("required") and n not in arguments]
        unknown = [n for n in arguments if n not in declared]
        if missing or unknown:
            words = [f"{n} is missing" for n in missing] + [f"{n} is unknown" for n in unknown]
            text = f"The prompt's arguments: {', '.join(words)}."
            pointer = "/arguments"
            raise Invalid(pointer, text)

    async def _rounds(
        self, ctx: Context, make: Any, params: dict[str, Any]
    ) -> Mapping[str, Any]:
        from .calls import MOST_ROUNDS, failure, request  # noqa: PLC0415 - calls come first

        server = self._server
        async with server.turn(ctx):
            for _ in range(MOST_ROUNDS):
                live = server.connection.require()
                try:
                    raw = await request(server, live, make(params), ctx=ctx)
                except MCPError as error:
                    raise _not_found(server, error) or failure(server, live, error) from error
                if raw.get("resultType") != "input_required":
                    return raw
                params = {**params, **await server.asking.answers(ctx, raw)}
        text = f"{server.name} asked for input more than {MOST_ROUNDS} times."
        raise Unavailable(text, code="mcp.too_many_rounds")

    async def complete(
        self,
        reference: Mapping[str, str],
        argument: Mapping[str, str],
        context: Mapping[str, str],
    ) -> list[str]:
        """Return values that the server suggests for an argument."""
        from .calls import failure, request  # noqa: PLC0415 - as above

        server = self._server
        live = server.connection.require()
        if live.capabilities.completions is None:
            return []
        params: dict[str, Any] = {"ref": dict(reference), "argument": dict(argument)}
        if context:
            params["context"] = {"arguments": dict(context)}
        body = types.CompleteRequestParams.model_validate(params, by_name=False)
        try:
            async with asyncio.timeout(_COMPLETING):
                raw = await request(server, live, types.CompleteRequest(params=body))
        except MCPError as error:
            raise failure(server, live, error) from error
        found = raw.get("completion")
        values = found.get("values") if isinstance(found, Mapping) else None
        texts = [one_line(v, 500) for v in values or () if isinstance(v, str)]
        return list(dict.fromkeys(texts))[:_MOST_VALUES]

    # -- subscriptions -----------------------------------------------------------------

    async def subscribe(self, uri: str) -> None:
        """Count how often a resource changes; holds across reconnections."""
        live = self._server.connection.require()
        able = live.capabilities.resources
        if able is None or not able.subscribe or live.modern:
            text = f"{self._server.name} does not tell when a resource changes."
            raise Unavailable(text, code="mcp.no_subscriptions")
        if uri not in self._wanted and len(self._wanted) >= _MOST_SUBSCRIPTIONS:
            text = f"There are {_MOST_SUBSCRIPTIONS} subscriptions already; end one first."
            raise Unavailable(text, code="mcp.too_many_subscriptions")
        await self._subscribe(live, uri)
        self._wanted.setdefault(uri, 0)

    async def _subscribe(self, live: Live, uri: str) -> None:
        from .calls import failure, request  # noqa: PLC0415 - as above

        message = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
        try:
            await request(self._server, live, message)
        except MCPError as error:
            raise failure(self._server, live, error) from error

    async def unsubscribe(self, uri: str) -> None:
        """Stop counting."""
        from .calls import failure, request  # noqa: PLC0415 - as above

        self._wanted.pop(uri, None)
        live = self._server.connection.require()
        message = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
        try:
            await request(self._server, live, message)
        except MCPError as error:
            raise failure(self._server, live, error) from error

    async def subscribe_again(self, live: Live) -> None:
        """Subscribe anew after a reconnection; one that fails costs only itself."""
        for uri in list(self._wanted):
            try:
                await self._subscribe(live, uri)
            except Exception as error:  # noqa: BLE001 - it stays wanted
                self._server.host.logger.warning("%s: %s: %s", self._server.name, uri, error)

    def updated(self, uri: str) -> None:
        """Note that a resource changed."""
        if uri in self._wanted:
            self._wanted[uri] += 1

    @property
    def changes(self) -> Mapping[str, int]:
        """How often each subscribed resource changed."""
        return dict(self._wanted)


def _not_found(server: Server, error: MCPError) -> NotFound | None:
    if error.code not in {-32002, types.INVALID_PARAMS}:
        return None
    return NotFound(
        f"{server.name} has no such thing: {one_line(error.message)}", code="mcp.not_found"
    )


def _shown(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that say something, as bounded text."""
    out: dict[str, Any] = {}
    for key in ("uri", "uriTemplate", "name", "title", "mimeType"):
        if isinstance(item.get(key), str):
            out[key] = one_line(item[key], 500)
    if isinstance(item.get("description"), str):
        out["description"] = cleaned(item["description"])[:2000]
    if isinstance(item.get("size"), int):
        out["size"] = item["size"]
    arguments = item.get("arguments")
    if isinstance(arguments, list):
        out["arguments"] = [
            {
                "name": one_line(a["name"], 200),
                "required": a.get("required") is True,
                **(
                    {"description": one_line(a["description"], 500)}
                    if a.get("description")
                    else {}
                ),
            }
            for a in arguments[:64]
            if isinstance(a, Mapping) and isinstance(a.get("name"), str)
        ]
    out.setdefault("name", out.get("uri", ""))
    return out
