"""The Model Context Protocol, seen from its server: tools out, ``tools/call`` in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib import canonical
from toolcrib.call import Call
from toolcrib.outcome import ArtifactLink, Audio, Block, File, Image, Json, Link, Outcome, Text
from toolcrib.projection.dialect import Declared, Dialect, ParsedReply, WireCall
from toolcrib.projection.forms import check_form
from toolcrib.projection.reading import copied
from toolcrib.projection.rendering import render
from toolcrib.projection.replies import parsed, plain, unreadable, wire_call
from toolcrib.tool import Tool
from toolcrib.vocabulary import Effect, Idempotence, Kind


__all__ = ["MCP"]

_OUTSIDE = frozenset({Effect.NET_READ, Effect.NET_WRITE, Effect.BROWSER, Effect.AGENT})
_DESTROYS = frozenset({Effect.FS_WRITE, Effect.NET_WRITE, Effect.PROCESS, Effect.DEVICE})


def _tool(declared: Declared) -> dict[str, Any]:
    """Declare a tool as it is: the protocol takes every JSON Schema with an object root."""
    tool = declared.tool
    out: dict[str, Any] = {
        "name": declared.name,
        "title": tool.title,
        "description": declared.description,
        "inputSchema": declared.schema,
    }
    if isinstance(tool.output_schema, Mapping):
        out["outputSchema"] = copied(tool.output_schema)
    out["annotations"] = _annotations(tool)
    return out


def _annotations(tool: Tool) -> dict[str, Any]:
    """Say effects in the protocol's hints."""
    reads = tool.kind is Kind.READ_ONLY
    hints: dict[str, Any] = {"title": tool.title, "readOnlyHint": reads}
    if not reads:
        hints["destructiveHint"] = bool(tool.effects & _DESTROYS) or tool.kind is Kind.EXECUTE
        hints["idempotentHint"] = tool.idempotent is Idempotence.YES
    hints["openWorldHint"] = bool(tool.effects & _OUTSIDE)
    return hints


def _parse(reply: Any) -> ParsedReply:
    """Read ``tools/call``: a JSON-RPC request, its params alone, or a list of either.

    Raises:
        ValueError: it is none of these.
    """
    value = plain(reply)
    check_form(value, "mcp", ())
    listed = value if isinstance(value, list) else [value]
    return parsed(value, [_call(each) for each in listed])


def _call(value: Any) -> WireCall:
    if not isinstance(value, Mapping):
        return unreadable(value)
    number = _number(value.get("id"))
    params = value.get("params") if "method" in value or "jsonrpc" in value else value
    if not isinstance(params, Mapping) or value.get("method", "tools/call") != "tools/call":
        return unreadable(value, number)
    return wire_call(params.get("name"), number, params.get("arguments"))


def _number(sent: Any) -> str | None:
    """Return a request's id as text; one that cannot be sent back is none."""
    if sent is None:
        return None
    try:
        return canonical.dumps(sent)
    except (TypeError, ValueError):
        return None


def _results(pairs: Sequence[tuple[Call, Outcome]]) -> list[dict[str, Any]]:
    """Answer calls with ``CallToolResult``s, inside a response where a request came."""
    out = []
    for call, outcome in pairs:
        result = _result(outcome)
        if call.provider_id is None:
            out.append(result)
        else:
            number = canonical.loads(call.provider_id)
            out.append({"jsonrpc": "2.0", "id": number, "result": result})
    return out


def _result(outcome: Outcome) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    rendered = render(outcome)
    media = [b for b in outcome.result.content if not isinstance(b, Text | Json)]
    if rendered.failed or outcome.result.notes or not outcome.result.content:
        # One text says status, content and notes; what is no text comes after it.
        content.append({"type": "text", "text": rendered.text})
        content += [_content(block) for block in media]
    else:
        content += [_content(block) for block in outcome.result.content]
        if outcome.replayed:
            content.append({"type": "text", "text": rendered.text.rpartition("\n")[2]})
    result: dict[str, Any] = {"content": content}
    if outcome.result.structured is not None:
        result["structuredContent"] = copied(outcome.result.structured)
    if rendered.failed:
        result["isError"] = True
    return result


def _content(block: Block) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Json):
        return {"type": "text", "text": canonical.dumps(block.value)}
    if isinstance(block, Image | Audio):
        return {"type": block.type, "data": block.data, "mimeType": block.media_type}
    if isinstance(block, File):
        about = {"uri": f"attachment:{block.name}", "mimeType": block.media_type}
        return {"type": "resource", "resource": {**about, "blob": block.data}}
    return {"type": "resource_link", **_link(block)}


def _link(block: Link | ArtifactLink) -> dict[str, Any]:
    if isinstance(block, Link):
        link = {"uri": block.uri, "name": block.title or block.uri}
        return {**link, "mimeType": block.media_type} if block.media_type else link
    return {
        "uri": f"artifact:{block.digest}",
        "name": block.title or block.digest,
        "mimeType": block.media_type,
        "size": block.size,
    }


MCP = Dialect(name="mcp", profiles=None, declare=_tool, parse=_parse, results=_results)
