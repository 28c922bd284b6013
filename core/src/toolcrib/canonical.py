"""Canonical JSON text, its digest, and bounded parsing.

Canonical text is JSON with sorted keys (by code point), no white space, no NaN or
infinity, UTF-8, and lone surrogates escaped, so that equal values have equal bytes in
every process.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys

from collections.abc import Callable
from typing import Any


__all__ = [
    "JsonObject",
    "JsonValue",
    "LongNumberError",
    "TooLargeError",
    "digest",
    "digest_bytes",
    "dumps",
    "loads",
]

# Any JSON value; recursive aliases make every reader cast, so the alias only names it.
JsonValue = Any
JsonObject = dict[str, Any]

_encoder = json.JSONEncoder(
    ensure_ascii=False,
    allow_nan=False,
    sort_keys=True,
    separators=(",", ":"),
)


def _made_once() -> Callable[[JsonValue], str]:
    """Return what encodes a value; ``JSONEncoder`` makes its machinery anew for each.

    That costs as much as a small value does. What is made here notes no cycles: they end
    as too deep, and then the encoder itself says what is wrong.
    """
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return _encoder.encode
    quote = json.encoder.encode_basestring
    chunks = make(None, _encoder.default, quote, None, ":", ",", True, False, False)

    def encode(value: JsonValue) -> str:
        try:
            return "".join(chunks(value, 0))
        except RecursionError:
            return _encoder.encode(value)

    return encode


_encode = _made_once()


class TooLargeError(ValueError):
    """Raised when JSON text is larger or nested deeper than allowed."""


class LongNumberError(ValueError):
    """Raised when JSON text holds a whole number of more digits than Python takes."""


def dumps(value: JsonValue) -> str:
    """Return the canonical text of a JSON value.

    Raises:
        ValueError: not a JSON value (NaN, infinity, a cycle).
        TypeError: not a JSON value (an unknown type).
    """
    text = _encode(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # Lone surrogates cannot be written as UTF-8; escaped they can.
        text = "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def digest(value: JsonValue) -> str:
    """Return ``sha256:<hex>`` of the canonical text of a JSON value."""
    return digest_bytes(dumps(value).encode())


def digest_bytes(data: bytes) -> str:
    """Return ``sha256:<hex>`` of bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _pairs(pairs: list[tuple[str, Any]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                text = f"key {key!r} is given twice"
                raise ValueError(text)
            seen.add(key)
    return value


def _constant(name: str) -> Any:
    text = f"{name} is not JSON"
    raise ValueError(text)


def _bounded(digits: str) -> Any:
    try:
        return int(digits)
    except ValueError:
        return -math.inf if digits.startswith("-") else math.inf


_decoder = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant)
_lenient = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_constant, parse_int=_bounded
)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def _depth(text: str) -> int:
    """Return the deepest nesting; that brackets match is the decoder's to check."""
    depth = deepest = 0
    for match in _TOKEN.finditer(text):
        mark = match.group()
        if mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "]}":
            depth -= 1
    return deepest


def loads(
    text: str | bytes,
    *,
    max_bytes: int = 1 << 24,
    max_depth: int = 200,
    long_numbers: bool = False,
) -> JsonValue:
    """Parse JSON strictly: no duplicate keys, no NaN, bounded size and depth.

    Args:
        text: The JSON text.
        max_bytes: Largest accepted size, in bytes (of characters for ``str``).
        max_depth: Deepest accepted nesting of arrays and objects.
        long_numbers: Read a whole number of more digits than Python takes as infinity,
            which is no JSON value: so it is refused where it stands, and nothing else.

    Raises:
        TooLargeError: the text is larger or deeper than allowed.
        LongNumberError: it holds a whole number of more digits than Python takes.
        ValueError: with a sentence that says what is wrong, and where.
    """
    if len(text) > max_bytes:
        message = f"JSON text is larger than {max_bytes} bytes"
        raise TooLargeError(message)
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    if text.count("[") + text.count("{") > max_depth and _depth(text) > max_depth:
        message = f"JSON text is nested deeper than {max_depth}"
        raise TooLargeError(message)
    try:
        return (_lenient if long_numbers else _decoder).decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if "integer string conversion" not in str(error):
            raise
        message = f"a whole number has more than {sys.get_int_max_str_digits()} digits"
        raise LongNumberError(message) from None
    except RecursionError as error:
        message = "JSON text is nested too deeply"
        raise TooLargeError(message) from error
