"""Reading replies: values, JSON text and SDK objects, and what is wrong with a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from toolcrib import canonical
from toolcrib.call import Call
from toolcrib.codes import refuse

from .dialect import ParsedReply, WireCall


__all__ = ["cut_off", "made_id", "parsed", "plain", "unreadable", "wire_call"]

_DEEPEST = 64
_LONGEST_NAME = 256
_MOST_CALLS = 1_000


def plain(reply: Any) -> Any:
    """Return a reply as plain mappings, lists and scalars.

    Args:
        reply: A value, JSON text, or an object of an official SDK.

    Raises:
        ValueError: text that is not JSON, or an object that cannot be read.
    """
    if isinstance(reply, str | bytes | bytearray):
        text = bytes(reply) if isinstance(reply, bytearray) else reply
        try:
            return canonical.loads(text)
        except canonical.LongNumberError:
            # One call that cannot be read leaves the others their answers.
            return canonical.loads(text, long_numbers=True)
    return _plain(reply, 0)


_ATOMS = frozenset({str, int, float, bool, type(None)})


def _plain(value: Any, depth: int) -> Any:
    # Nearly every part of a reply is exactly a dict, a list or a scalar; asking for the
    # class is a tenth of asking whether it is a mapping.
    kind = value.__class__
    if kind in _ATOMS:
        return value
    if depth > _DEEPEST * 4:
        text = "the reply is nested too deeply"
        raise ValueError(text)
    if kind is dict:
        return {
            key if key.__class__ is str else str(key): sub
            if sub.__class__ in _ATOMS
            else _plain(sub, depth + 1)
            for key, sub in value.items()
        }
    if kind is list:
        return [_plain(sub, depth + 1) for sub in value]
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(sub, depth + 1) for key, sub in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(sub, depth + 1) for sub in value]
    return _plain(_opened(value), depth + 1)


def _opened(value: Any) -> Any:
    """Open an object of an SDK: pydantic, protobuf, attrs, or plain attributes."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        try:
            return dump(mode="json")
        except TypeError:
            return dump()
    for name in ("to_dict", "dict"):
        method = getattr(value, name, None)
        if callable(method):
            return method()
    fields = getattr(value, "ListFields", None)
    if callable(fields):
        return {field.name: list(sub) if _repeats(sub) else sub for field, sub in fields()}
    if attrs.has(type(value)):
        return {f.name: getattr(value, f.name) for f in attrs.fields(type(value))}
    if isinstance(value, bytes | bytearray):
        return value.hex()
    try:
        return {name: sub for name, sub in vars(value).items() if not name.startswith("_")}
    except TypeError:
        text = f"a {type(value).__name__} is not a reply of a model"
        raise ValueError(text) from None


def _repeats(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, str | bytes | Mapping)


def parsed(value: Any, calls: Iterable[WireCall]) -> ParsedReply:
    """Number the calls of a reply and digest all of it."""
    listed = tuple(
        call if call.position == i else attrs.evolve(call, position=i)
        for i, call in enumerate(calls)
    )
    if len(listed) > _MOST_CALLS:
        text = f"the reply holds {len(listed)} calls, more than {_MOST_CALLS}"
        raise ValueError(text)
    return ParsedReply(calls=listed, digest=_digest(value))


def _digest(value: Any) -> str:
    try:
        return canonical.digest(value)
    except (TypeError, ValueError):
        return canonical.digest_bytes(_spelt(value).encode("utf-8", "backslashreplace"))


def _spelt(value: Any) -> str:
    """Return a text of what is no JSON: two values that differ have two texts."""
    try:
        return repr(value)
    except ValueError:  # somewhere in it is a number of too many digits
        pass
    if isinstance(value, int):
        return hex(value)
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key!r}:{_spelt(sub)}' for key, sub in value.items())}}}"
    return f"[{','.join(map(_spelt, value))}]"


def wire_call(name: Any, provider_id: Any, arguments: Any) -> WireCall:
    """Make one call of its parts, with a problem where a part is wrong."""
    problem = None
    known = name if isinstance(name, str) else ""
    if not known or len(known) > _LONGEST_NAME:
        text = "The call names no tool. Nothing ran. Call again with a name and arguments."
        problem = refuse("call.malformed", known[:64] or "call", text)
    elif arguments is not None and not isinstance(arguments, str | Mapping):
        kind = "a list" if isinstance(arguments, list) else f"{_spelt(arguments):.40}"
        text = f"Arguments of {known} must be a JSON object, not {kind}. Nothing ran."
        problem = refuse("arguments.not_object", known, text)
        arguments = None
    if isinstance(provider_id, int) and not isinstance(provider_id, bool):
        provider_id = _spelt(provider_id)
    return WireCall(
        name=known[:_LONGEST_NAME],
        provider_id=provider_id if isinstance(provider_id, str) and provider_id else None,
        arguments=arguments,
        problem=problem,
    )


def unreadable(what: Any, provider_id: Any = None) -> WireCall:
    """Make the call of something that stands where a call should."""
    kind = type(what).__name__
    text = f"A call of the reply cannot be read (it is a {kind}). Nothing ran. Call again."
    return WireCall(
        name="",
        provider_id=provider_id if isinstance(provider_id, str) and provider_id else None,
        problem=refuse("call.malformed", "call", text),
    )


def cut_off(calls: list[WireCall], reason: str) -> list[WireCall]:
    """Mark the last call of a reply that stopped early: what looks whole may not be."""
    if not calls:
        return calls
    last = calls[-1]
    text = (
        f"The reply was cut off ({reason}) and {last.name or 'the call'} with it. "
        "Nothing ran. Send less, or split the work into several calls."
    )
    problem = last.problem or refuse("arguments.truncated", last.name or "call", text)
    return [*calls[:-1], attrs.evolve(last, problem=problem)]


def made_id(call: Call) -> str:
    """Return the provider's id of a call, or one that is the same in every process."""
    if call.provider_id is not None:
        return call.provider_id
    return f"call_{call.position}_{call.response_digest.removeprefix('sha256:')[:10]}"
