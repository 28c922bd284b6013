"""OpenAI: Chat Completions (``openai``) and Responses (``openai-responses``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from toolcrib.call import Call
from toolcrib.outcome import Image, Outcome
from toolcrib.projection.dialect import Declared, Dialect, ParsedReply, WireCall
from toolcrib.projection.facts import Profile, RequestLimits, SchemaLimits
from toolcrib.projection.forms import check_form
from toolcrib.projection.rendering import Rendered, render
from toolcrib.projection.replies import cut_off, made_id, parsed, plain, unreadable, wire_call
from toolcrib.tool import Tool


__all__ = [
    "CHAT",
    "LAX",
    "RESPONSES",
    "STRICT",
    "chat_results",
    "chat_tool",
    "message_calls",
    "parse",
]

# The root may hold no union, and an object without properties is refused.
LAX = Profile(name="lax", fills_properties=True)

STRICT = Profile(
    name="strict",
    narrow=True,
    strict=True,
    closed=True,
    absent="null",
    keeps=frozenset(
        {
            "title",
            "pattern",
            "format",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minItems",
            "maxItems",
        }
    ),
    formats=frozenset(
        {
            "date-time",
            "time",
            "date",
            "duration",
            "email",
            "hostname",
            "ipv4",
            "ipv6",
            "uuid",
        }
    ),
    plain_patterns=True,
    refs="bare",
    recursion="keep",
    maps="pairs",
    tuples="object",
    untyped=False,
    mixed=False,
    mixed_enums=False,
    limits=SchemaLimits(depth=10, properties=5_000, enum_values=1_000, characters=120_000),
)

_LIMITS = RequestLimits(tools=128)


def chat_tool(declared: Declared) -> dict[str, Any]:
    """Declare a tool for Chat Completions; ``strict`` is always said."""
    return {
        "type": "function",
        "function": {
            "name": declared.name,
            "description": declared.description,
            "parameters": declared.schema,
            "strict": declared.strict,
        },
    }


def _responses_tool(declared: Declared) -> dict[str, Any]:
    """Declare a tool for Responses; leaving ``strict`` out would mean trying it."""
    tool: dict[str, Any] = {
        "type": "function",
        "name": declared.name,
        "description": declared.description,
        "parameters": declared.schema,
        "strict": declared.strict,
    }
    if declared.deferred:
        tool["defer_loading"] = True
    return tool


def _namespaces(declarations: Sequence[tuple[Tool, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Group tools by pack and source; wire names stay whole, so a name is enough."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for tool, declaration in declarations:
        owner = f"{tool.pack}__{tool.source}" if tool.source else tool.pack
        groups.setdefault(owner, []).append(declaration)
    return [
        {
            "type": "namespace",
            "name": owner,
            "description": f"Tools of {owner.replace('__', '.')}.",
            "tools": tools,
        }
        for owner, tools in groups.items()
    ]


# -- replies -----------------------------------------------------------------------


# What a message or item without calls has.
_SAID = ("content", "role", "type", "refusal", "tool_calls", "function_call")


def parse(reply: Any) -> ParsedReply:
    """Read the calls of a Chat Completions or Responses reply, or of a part of one.

    Raises:
        ValueError: it is no reply of either form.
    """
    value = plain(reply)
    calls = _calls(value)
    if not calls:
        check_form(value, "openai", _SAID, kin="openai-responses")
    return parsed(value, calls)


def _calls(value: Any) -> list[WireCall]:
    if isinstance(value, list):
        return [call for each in value for call in _calls(each)]
    if not isinstance(value, Mapping):
        return []
    if isinstance(value.get("choices"), list):
        return _choice_calls(value["choices"])
    if isinstance(value.get("output"), list):
        calls = list(_item_calls(value["output"]))
        details = value.get("incomplete_details")
        if value.get("status") == "incomplete" and _ends_in_call(value["output"]):
            reason = details.get("reason") if isinstance(details, Mapping) else None
            return cut_off(calls, str(reason or "incomplete"))
        return calls
    if value.get("type") in ("function_call", "custom_tool_call"):
        return list(_item_calls([value]))
    if "function" in value or value.get("type") in ("function", "custom"):
        return list(message_calls({"tool_calls": [value]}))
    return list(message_calls(value))


def _choice_calls(choices: list[Any]) -> list[WireCall]:
    """Read the first choice: further ones are alternatives, not more calls."""
    first = choices[0] if choices and isinstance(choices[0], Mapping) else {}
    message = first.get("message")
    calls = list(message_calls(message if isinstance(message, Mapping) else {}))
    if first.get("finish_reason") in ("length", "content_filter"):
        return cut_off(calls, f"finish reason {first['finish_reason']}")
    return calls


def message_calls(message: Mapping[str, Any]) -> Iterator[WireCall]:
    """Read the calls of one assistant message."""
    listed = message.get("tool_calls")
    for entry in listed if isinstance(listed, list) else ():
        yield _chat_call(entry)
    if listed is not None and not isinstance(listed, list):
        yield unreadable(listed)
    old = message.get("function_call")
    if isinstance(old, Mapping) and not listed:
        yield wire_call(old.get("name"), None, old.get("arguments"))


def _chat_call(entry: Any) -> WireCall:
    if not isinstance(entry, Mapping):
        return unreadable(entry)
    function = entry.get("function")
    if isinstance(function, Mapping):
        return wire_call(function.get("name"), entry.get("id"), function.get("arguments"))
    custom = entry.get("custom")
    if isinstance(custom, Mapping):
        return wire_call(custom.get("name"), entry.get("id"), custom.get("input"))
    return unreadable(entry, entry.get("id"))


def _item_calls(items: Iterable[Any]) -> Iterator[WireCall]:
    for item in items:
        kind = item.get("type") if isinstance(item, Mapping) else None
        if kind == "function_call":
            call = wire_call(
                item.get("name"), item.get("call_id") or item.get("id"), item.get("arguments")
            )
            if item.get("status") == "incomplete":
                yield from cut_off([call], "incomplete")
            else:
                yield call
        elif kind == "custom_tool_call":
            yield wire_call(item.get("name"), item.get("call_id"), item.get("input"))


def _ends_in_call(items: list[Any]) -> bool:
    last = items[-1] if items else None
    return isinstance(last, Mapping) and last.get("type") == "function_call"


# -- results -----------------------------------------------------------------------


def chat_results(
    pairs: Sequence[tuple[Call, Outcome]], *, images: bool = True
) -> list[dict[str, Any]]:
    """Answer calls with tool messages; images follow in one message of the user.

    A tool message holds text alone, and there is no error flag: status and code stand
    in the text.
    """
    messages: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    for call, outcome in pairs:
        rendered = render(outcome)
        pictures = [m for m in rendered.media if isinstance(m, Image)] if images else []
        text = rendered.text
        if pictures:
            text += "\n[images follow in the next message]"
        unseen = len(rendered.media) - len(pictures)
        if unseen:
            text += f"\n[{unseen} part(s) cannot be shown here]"
        messages.append({"role": "tool", "tool_call_id": made_id(call), "content": text})
        if pictures:
            shown.append({"type": "text", "text": f"Images of {call.wire_name}:"})
            shown += [_chat_image(picture) for picture in pictures]
    if shown:
        messages.append({"role": "user", "content": shown})
    return messages


def _data_url(media: Any) -> str:
    return f"data:{media.media_type};base64,{media.data}"


def _chat_image(picture: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": _data_url(picture)}}


def _responses_results(pairs: Sequence[tuple[Call, Outcome]]) -> list[dict[str, Any]]:
    """Answer calls with output items, which may hold text, images and files."""
    return [
        {
            "type": "function_call_output",
            "call_id": made_id(call),
            "output": _output(render(outcome)),
        }
        for call, outcome in pairs
    ]


def _output(rendered: Rendered) -> Any:
    parts: list[dict[str, Any]] = []
    unseen = 0
    for media in rendered.media:
        if media.type == "image":
            parts.append({"type": "input_image", "image_url": _data_url(media)})
        elif media.type == "file":
            file = {"filename": media.name, "file_data": _data_url(media)}
            parts.append({"type": "input_file", **file})
        else:
            unseen += 1
    text = rendered.text + (f"\n[{unseen} part(s) cannot be shown here]" if unseen else "")
    return [{"type": "input_text", "text": text}, *parts] if parts else text


CHAT = Dialect(
    name="openai",
    profiles=(LAX,),
    strict=STRICT,
    declare=chat_tool,
    parse=parse,
    results=chat_results,
    limits=_LIMITS,
)

RESPONSES = Dialect(
    name="openai-responses",
    profiles=(LAX,),
    strict=STRICT,
    declare=_responses_tool,
    parse=parse,
    results=_responses_results,
    limits=_LIMITS,
    defers=True,
    search=({"type": "tool_search"},),
    namespaces=_namespaces,
)
