"""The tools that tell who calls whom."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolcrib import Context, Invalid, Result

from .answers import Reader, order
from .asking import Target, desk_of
from .client import Client
from .definition import pack
from .outputs import Call, Calls
from .paging import page
from .places import path_of
from .reads import READING, USAGE, about_a_place, at_spot, line_of, listed, reading, what_of
from .words import symbol_kind


__all__ = ["incoming_calls", "outgoing_calls"]

_MOST_ITEMS = 20


async def _calls(
    ctx: Context,
    path: Path,
    target: Target,
    wait: int,
    limit: int,
    cursor: str | None,
    *,
    way: str,
) -> Result:
    desk = await desk_of(ctx, path, wait=wait)

    async def follow(client: Client, items: Any) -> Any:
        found = []
        for item in items[:_MOST_ITEMS] if isinstance(items, list) else ():
            method = f"callHierarchy/{way}Calls"
            calls = await client.request(method, {"item": item}, until=desk.until)
            found += [(item, call) for call in calls or () if isinstance(call, Mapping)]
        return {"contents": True, "items": items, "calls": found}

    answer = await desk.first(
        "textDocument/prepareCallHierarchy", at_spot, target=target, across=True, also=follow
    )
    if not isinstance(answer.result, Mapping) or not answer.result.get("items"):
        text = (
            f"{answer.client.name} sees no function in {what_of(desk, answer)}. Name the place "
            "where one is defined or called."
        )
        raise Invalid("/name", text, code="lsp.no_function")
    made = (_call(answer.reader, item, call, way) for item, call in answer.result["calls"])
    found = sorted((c for c in made if c is not None), key=lambda c: order(c.location))
    shown, after = page(found, limit, cursor, repr)
    value = Calls(calls=tuple(shown), total=len(found), server=answer.client.name, cursor=after)
    other = " else" if answer.reader.withheld else ""
    said = f"Nothing{other} calls" if way == "incoming" else f"Nothing{other} is called in"
    lines = [text for each in shown for text in _call_lines(each)]
    lines = lines or [f"{said} {what_of(desk, answer)}, says {answer.client.name}."]
    summary = f"{len(found)} {way} calls of {what_of(desk, answer)}" if found else lines[0]
    return listed(answer, summary, lines, value)


_FOLLOWING: Any = {**READING, "output_schema": Calls, "usage": [USAGE]}

incoming_calls = pack.tool(name="incoming_calls", **_FOLLOWING)(
    about_a_place(_calls, "Find the functions that call a function.", way="incoming")
)
outgoing_calls = pack.tool(name="outgoing_calls", **_FOLLOWING)(
    about_a_place(_calls, "Find the functions that a function calls.", way="outgoing")
)
incoming_calls.signature(reading)
outgoing_calls.signature(reading)


def _call(
    reader: Reader, item: Mapping[str, Any], call: Mapping[str, Any], way: str
) -> Call | None:
    other = call.get("from" if way == "incoming" else "to")
    if not isinstance(other, Mapping):
        return None
    span = other.get("selectionRange") or other.get("range")
    location = reader.location({"uri": other.get("uri"), "range": span})
    if location is None:
        return None
    # The places of the calls are in the file of who calls.
    caller = path_of((other if way == "incoming" else item).get("uri"))
    spans = call.get("fromRanges") or ()
    places = [reader.place(caller, each) for each in spans] if caller else []
    return Call(
        name=str(other.get("name", ""))[:200],
        kind=symbol_kind(other.get("kind")),
        location=location,
        calls=tuple(sorted((p for p in places if p is not None), key=order)),
    )


def _call_lines(call: Call) -> list[str]:
    at = f"{call.location.path}:{call.location.line}:{call.location.column}"
    first = f"{at}: {call.kind} {call.name}"
    return [first, *(f"    calls at {line_of(place)}" for place in call.calls)]
