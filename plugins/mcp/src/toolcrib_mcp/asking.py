"""What a server asks back during a call: people, the app's model, and the workspace.

A question reaches the person of the call that it belongs to. The older revisions do not
say which call that is; with several running at once for different people, nobody is asked.
"""

from __future__ import annotations

import asyncio

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import mcp_types as types

from toolcrib import Context, Failed, Refused

from .texts import cleaned, one_line


if TYPE_CHECKING:
    from .server import Server


__all__ = ["Asking"]

_MOST_WAITING = 8
_MOST_FIELDS = 64
_MOST_TEXT = 4000
_MOST_MESSAGES = 50
_MOST_TOKENS = 4096


class Asking:
    """Answers the questions of one server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._active: list[Context] = []
        self._waiting = asyncio.Semaphore(_MOST_WAITING)
        self._sampled: dict[str, int] = {}

    def begin(self, ctx: Context) -> None:
        """Note that a call runs."""
        self._active.append(ctx)

    def end(self, ctx: Context) -> None:
        """Note that a call is over."""
        self._active.remove(ctx)
        self._sampled.pop(ctx.invocation_id, None)

    def _of(self) -> Context | None:
        """Return the call that a question belongs to, if that can be told."""
        people = {(ctx.conversation, ctx.principal) for ctx in self._active}
        return self._active[-1] if len(people) == 1 else None

    # -- the callbacks of the older revisions -----------------------------------------------

    async def elicit(self, _: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Answer a form or an address."""
        ctx = self._of()
        if ctx is None or self._waiting.locked():
            return types.ElicitResult(action="cancel")
        async with self._waiting:
            return await self._elicited(ctx, params)

    async def sample(self, _: Any, params: types.CreateMessageRequestParams) -> Any:
        """Let the app's model answer, if the user allows this server to ask it."""
        ctx = self._of()
        if ctx is None or self._waiting.locked():
            return types.ErrorData(code=types.INVALID_REQUEST, message="no call is running")
        async with self._waiting:
            return await self._sampled_by(ctx, params)

    async def roots(self, _: Any) -> types.ListRootsResult:
        """Tell the workspace folder."""
        return self._server.roots()

    # -- the rounds of the newer revision -----------------------------------------------------

    async def answers(self, ctx: Context, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Answer every input that a result asks for; return what goes into the next call."""
        asked = raw.get("inputRequests")
        asked = asked if isinstance(asked, Mapping) else {}
        if len(asked) > _MOST_WAITING:
            text = f"{self._server.name} asks {len(asked)} things at once; that is too much"
            raise Failed(text, code="mcp.too_many_questions")
        if not asked:
            await asyncio.sleep(0.1)
        out: dict[str, Any] = {}
        responses = {}
        for key, one in asked.items():
            responses[str(key)] = await self._answer(ctx, one)
        if responses:
            out["inputResponses"] = responses
        if isinstance(raw.get("requestState"), str):
            out["requestState"] = raw["requestState"]
        return out

    async def _answer(self, ctx: Context, one: Any) -> dict[str, Any]:
        method = one.get("method") if isinstance(one, Mapping) else None
        params = one.get("params") or {} if isinstance(one, Mapping) else {}
        answer: Any
        try:
            if method == "elicitation/create":
                parsed = types.ElicitRequest.model_validate(one, by_name=False)
                answer = await self._elicited(ctx, parsed.params)
            elif method == "sampling/createMessage":
                wanted = types.CreateMessageRequestParams.model_validate(params, by_name=False)
                answer = await self._sampled_by(ctx, wanted)
            elif method == "roots/list":
                answer = self._server.roots()
            else:
                answer = None
        except ValueError as error:
            text = f"{self._server.name} asks in a form that cannot be read: {one_line(error)}"
            raise Failed(text, code="mcp.bad_question") from error
        if answer is None or isinstance(answer, types.ErrorData):
            why = (
                answer.message
                if answer is not None
                else f"nobody answers {one_line(method, 40)}"
            )
            text = f"{self._server.name} needs something for this call: {why}"
            raise Refused(text, code="mcp.input_refused")
        dumped: dict[str, Any] = answer.model_dump(
            by_alias=True, mode="json", exclude_none=True
        )
        return dumped

    async def urls(self, ctx: Context, data: Mapping[str, Any]) -> None:
        """Ask for what has to be visited before a call; the server has not run it yet."""
        wanted = data.get("elicitations")
        for one in wanted if isinstance(wanted, list) else []:
            params = types.ElicitRequestURLParams.model_validate(one, by_name=False)
            if (await self._elicited(ctx, params)).action != "accept":
                text = f"{self._server.name} wants an address visited first; nobody agreed."
                raise Refused(text, code="mcp.input_refused")

    # -- people -----------------------------------------------------------------------

    async def _elicited(self, ctx: Context, params: Any) -> types.ElicitResult:
        message = cleaned(str(params.message))[:_MOST_TEXT]
        text = f"The server {self._server.name} asks: {message}"
        if isinstance(params, types.ElicitRequestURLParams):
            return await self._url(ctx, text, params.url)
        schema = params.requested_schema
        if not isinstance(schema, Mapping) or not _is_flat(schema):
            return types.ElicitResult(action="decline")
        values = await ctx.ask.form(text, schema)
        if values is None:
            return types.ElicitResult(action="cancel")
        content = {**_defaults(schema), **values}
        problems = self._server.validators.get(_closed(schema)).check(content)
        if problems:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=dict(content))

    @staticmethod
    async def _url(ctx: Context, text: str, url: str) -> types.ElicitResult:
        from .oauth import is_web_address  # noqa: PLC0415 - few calls need it

        if not is_web_address(url):
            return types.ElicitResult(action="decline")
        agreed = await ctx.ask.url(text, url)
        return types.ElicitResult(action="accept" if agreed else "decline")

    # -- the app's model ----------------------------------------------------------------

    async def _sampled_by(self, ctx: Context, params: types.CreateMessageRequestParams) -> Any:
        agents = ctx.host.agents
        if not self._server.config.sampling or agents is None:
            return types.ErrorData(
                code=types.INVALID_REQUEST, message="sampling is not allowed for this server"
            )
        count = self._sampled[ctx.invocation_id] = self._sampled.get(ctx.invocation_id, 0) + 1
        if count > 4 or len(params.messages) > _MOST_MESSAGES:
            return types.ErrorData(code=types.INVALID_REQUEST, message="too much was asked")
        dumped = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        task = {
            "kind": "mcp.sampling",
            "server": self._server.name,
            "tool": ctx.tool_id,
            "messages": dumped["messages"],
            "system": dumped.get("systemPrompt"),
            "max_tokens": min(int(params.max_tokens), _MOST_TOKENS),
            "temperature": dumped.get("temperature"),
            "stop": dumped.get("stopSequences"),
        }
        answer = await agents.run(task)
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(type="text", text=str(answer.get("text", ""))),
            model=str(answer.get("model", "unknown")),
            stop_reason=answer.get("stop_reason", "endTurn"),
        )


def _is_flat(schema: Mapping[str, Any]) -> bool:
    fields = schema.get("properties")
    return (
        schema.get("type") == "object"
        and isinstance(fields, Mapping)
        and 0 < len(fields) <= _MOST_FIELDS
        and all(isinstance(field, Mapping) for field in fields.values())
    )


def _defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v["default"] for k, v in schema["properties"].items() if "default" in v}


def _closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {**schema, "additionalProperties": False}
