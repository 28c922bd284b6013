"""Which provider's form a reply has: one of another form must not pass for no calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from toolcrib import canonical


__all__ = ["check_form", "looks_like"]

Reply = Mapping[str, Any]
_LONGEST = 200


def check_form(value: Any, form: str, keys: Collection[str], *, kin: str = "") -> None:
    """Refuse a reply in which there are no calls because it has another form.

    Args:
        value: The reply, plain; of a list one item in the form is enough.
        form: The name of the form.
        keys: Keys of which a reply without calls has one, such as ``content``.
        kin: Another form that is read as well.

    Raises:
        ValueError: it says what the reply looks like.
    """
    if not _is_of(value, (form, kin), keys):
        text = f"not a reply in the form of {form}; {_described(value)}"
        raise ValueError(text)


def _is_of(value: Any, forms: tuple[str, ...], keys: Collection[str]) -> bool:
    if isinstance(value, list):
        return not value or any(_is_of(each, forms, keys) for each in value)
    if not isinstance(value, Mapping):
        return False
    seen = looks_like(value)
    if seen is not None:
        return seen in forms
    return not value.get("error") and any(key in value for key in keys)


def _described(value: Any) -> str:
    seen = looks_like(value)
    if seen is not None:
        return f"it looks like one of {seen}"
    if not isinstance(value, Mapping):
        return "it is null" if value is None else f"it is of type {type(value).__name__}"
    error = value.get("error")
    if error:
        said = error.get("message") if isinstance(error, Mapping) else error
        return f"it is an error: {str(said or canonical.dumps(error))[:_LONGEST]}"
    if not value:
        return "it is empty"
    return f"it has the keys {', '.join(map(str, value))[:_LONGEST]}"


def looks_like(value: Any) -> str | None:
    """Return the form that a reply surely has, by what no other form has, or None."""
    if isinstance(value, list):
        return next((seen for seen in map(looks_like, value) if seen is not None), None)
    if not isinstance(value, Mapping):
        return None
    return next((form for form, has in _MARKS.items() if has(value)), None)


def _blocks(value: Reply) -> list[Reply]:
    content = value.get("content")
    listed = content if isinstance(content, list) else ()
    return [value, *(block for block in listed if isinstance(block, Mapping))]


def _chat(value: Reply) -> bool:
    return (
        isinstance(value.get("choices"), list)
        or bool(value.get("tool_calls") or value.get("function_call"))
        or isinstance(value.get("function"), Mapping)
    )


def _responses(value: Reply) -> bool:
    kind = value.get("type")
    return isinstance(value.get("output"), list) or kind in (
        "function_call",
        "custom_tool_call",
    )


def _bedrock(value: Reply) -> bool:
    return (
        "stopReason" in value
        or isinstance(value.get("output"), Mapping)
        or any("toolUse" in block for block in _blocks(value))
    )


def _anthropic(value: Reply) -> bool:
    return "stop_reason" in value or any(
        str(block.get("type")).endswith(("tool_use", "tool_result")) for block in _blocks(value)
    )


def _gemini(value: Reply) -> bool:
    listed = isinstance(value.get("candidates"), list) or isinstance(value.get("parts"), list)
    return listed or isinstance(value.get("functionCall"), Mapping)


def _mcp(value: Reply) -> bool:
    alone = "name" in value and "type" not in value and "role" not in value
    return "method" in value or "jsonrpc" in value or "params" in value or alone


_MARKS: dict[str, Callable[[Reply], bool]] = {
    "openai": _chat,
    "openai-responses": _responses,
    "bedrock": _bedrock,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mcp": _mcp,
}
