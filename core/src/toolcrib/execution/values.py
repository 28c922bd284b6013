"""From what a handler returns to a :class:`toolcrib.Result`."""

from __future__ import annotations

import asyncio
import base64
import binascii

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from toolcrib import canonical
from toolcrib.outcome import (
    ArtifactLink,
    Audio,
    File,
    Image,
    Json,
    Link,
    Result,
    Text,
)
from toolcrib.tool import Tool


__all__ = ["OutputError", "finish", "result_of", "unstructured", "unverified"]

_MEDIA = (Image, Audio, File)
_BLOCKS = (Text, Json, Image, Audio, File, Link, ArtifactLink)
_SHOWN = 5
# Notes are words for the model, and no way around the budget of its content.
_NOTES = 20
_NOTE = 500
# Python writes no whole number of more than 4300 digits.
_PLAIN = 10**18

# First bytes of the pictures that every provider takes.
_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class OutputError(Exception):
    """Raised when a value cannot be given to anybody; internal, becomes ``output.invalid``.

    ``result`` is what of it can still be shown.
    """

    def __init__(self, text: str, result: Result) -> None:
        self.text = text
        self.result = result
        super().__init__(text)


def result_of(value: Any, unstructure: Callable[[Any], Any] | None, *, typed: bool) -> Result:
    """Turn a handler's value into a result.

    A result stays as it is, blocks become content, bytes a picture or file; all else
    goes through ``unstructure`` and must then be a JSON value. ``typed`` says that the
    tool has an output schema, so that text is structured output as well.

    Raises:
        OutputError: the value is none of these.
    """
    if type(value) is str and unstructure is None and not typed:
        return Result(content=(Text(value),))
    if isinstance(value, Result):
        return _sound(value)
    if isinstance(value, _BLOCKS):
        return _sound(Result(content=(value,)))
    if isinstance(value, bytes | bytearray | memoryview):
        return Result(content=(_binary(bytes(value)),))
    if isinstance(value, tuple | list) and value and isinstance(value[0], _BLOCKS):
        return _blocks(value)
    if unstructure is not None:
        try:
            value = unstructure(value)
        except Exception as error:
            text = f"its value cannot be turned into JSON: {_short(error)}"
            raise OutputError(text, _printed(value)) from error
    if isinstance(value, str):
        return Result(content=(Text(value),), structured=value if typed else None)
    if value is None:
        return Result()
    return _json(value)


def _json(value: Any) -> Result:
    # Booleans and numbers that can be written are JSON without a look.
    if not (isinstance(value, bool | int) and -_PLAIN < value < _PLAIN):
        try:
            canonical.dumps(value)
        except (TypeError, ValueError, RecursionError) as error:
            text = f"its value of type {type(value).__name__} is not JSON: {_short(error)}"
            raise OutputError(text, _printed(value)) from error
    return Result(content=(Json(value),), structured=value)


def _blocks(values: Iterable[Any]) -> Result:
    content = tuple(v for v in values if isinstance(v, _BLOCKS))
    strangers = [type(v).__name__ for v in values if not isinstance(v, _BLOCKS)]
    if strangers:
        text = f"its content holds {', '.join(strangers[:_SHOWN])} among the blocks"
        raise OutputError(text, Result(content=content))
    return _sound(Result(content=content))


def _sound(result: Result) -> Result:
    """Refuse a result that a pack made of parts that nobody can write down."""
    if any(isinstance(block, _MEDIA) for block in result.content):
        result = attrs.evolve(result, content=map(_unwrapped, result.content))
    faults = [fault for fault in _faults(result) if fault]
    if faults:
        text = f"its result cannot be used: {'; '.join(faults[:_SHOWN])}"
        raise OutputError(text, Result(content=[b for b in result.content if not _fault(b)]))
    if len(result.notes) > _NOTES or any(len(note) > _NOTE for note in result.notes):
        notes = [note[:_NOTE] for note in result.notes[:_NOTES]]
        return attrs.evolve(result, notes=notes)
    return result


def _faults(result: Result) -> Iterator[str]:
    if not isinstance(result.summary, str):
        yield f"its summary is a {type(result.summary).__name__}"
    yield from map(_fault, result.content)
    if not all(isinstance(note, str) for note in result.notes):
        yield "a note is no text"
    if not _is_json(result.structured):
        yield "its structured value is not JSON"


def _fault(block: Any) -> str:
    """Return what is wrong with a block, or nothing."""
    kind = type(block)
    if not isinstance(block, _BLOCKS):
        return f"a {kind.__name__} is no block"
    if isinstance(block, Json):
        return "" if _is_json(block.value) else "a JSON block holds what is not JSON"
    for field in attrs.fields(kind):
        value = getattr(block, field.name)
        wanted = int if field.name == "size" else str
        if not isinstance(value, wanted) and (value is not None or field.default is not None):
            return f"{field.name} of a {kind.__name__} is a {type(value).__name__}"
    if isinstance(block, _MEDIA) and not _is_base64(block.data):
        return f"data of a {kind.__name__} is not base64"
    return ""


def _unwrapped(block: Any) -> Any:
    """Join the lines of base64 text, which mail wraps and providers do not take."""
    if isinstance(block, _MEDIA) and isinstance(block.data, str) and "\n" in block.data:
        return attrs.evolve(block, data="".join(block.data.split()))
    return block


def _is_base64(text: str) -> bool:
    try:
        binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return False
    return True


def _is_json(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return True
    try:
        canonical.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _binary(data: bytes) -> Image | File:
    text = base64.b64encode(data).decode("ascii")
    for start, media_type in _PICTURES:
        if data.startswith(start):
            return Image(text, media_type)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return Image(text, "image/webp")
    return File(text, "application/octet-stream", "output.bin")


def _printed(value: Any) -> Result:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a repr may do anything
        text = f"<{type(value).__name__}>"
    return Result(content=(Text(text[:2000]),))


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def finish(
    result: Result, tool: Tool, check_schema: Callable[[Any], Iterable[Any]] | None
) -> None:
    """Check structured output against the tool's schema.

    Raises:
        OutputError: it does not fit; the result's content is kept.
    """
    if check_schema is None or tool.output_schema is None:
        return
    problems = list(check_schema(result.structured))
    if problems:
        words = "; ".join(str(p) for p in problems[:_SHOWN])
        text = f"its output does not fit its own schema: {words}"
        raise OutputError(text, unstructured(result))


def unverified(error: BaseException) -> tuple[str, str]:
    """Return the code and the words of an output check that did not say yes."""
    if isinstance(error, TimeoutError | asyncio.CancelledError):
        return "output.unchecked", f"its output check did not end in time ({_short(error)})"
    return "output.invalid", (
        f"its output check failed: {getattr(error, 'text', None) or _short(error)}"
    )


def unstructured(result: Result) -> Result:
    """Keep what can be read, drop what programs would trust."""
    return Result(
        summary=result.summary,
        content=result.content,
        metadata=result.metadata,
        notes=result.notes,
    )
