"""Read what a model sent as arguments into a JSON object."""

from __future__ import annotations

import json

from collections.abc import Mapping
from typing import Any

from toolcrib import canonical
from toolcrib.call import Repair
from toolcrib.schema.values import describe


__all__ = ["MAX_BYTES", "MAX_DEPTH", "UnusableError", "read", "simple"]

MAX_BYTES = 4 << 20
MAX_DEPTH = 64


class UnusableError(Exception):
    """Raised when arguments end in a refusal before their schema is looked at."""

    def __init__(self, text: str, *, code: str) -> None:
        self.code = code
        super().__init__(text)


def read(
    arguments: Any, max_bytes: int, max_depth: int, rules: frozenset[str]
) -> tuple[dict[str, Any], list[Repair]]:
    """Parse what was sent into an object."""
    mended: list[Repair] = []
    value = arguments
    if isinstance(arguments, str) and arguments.strip():
        value, mended = _parse(arguments, max_bytes, max_depth, rules)
    for _ in range(2):
        if not isinstance(value, str) or not value.strip() or "R2" not in rules:
            break
        inner = _inner(value, max_bytes, max_depth)
        if inner is None:
            break
        value = inner
        mended = [*mended, Repair("R2", "", "decoded arguments that were encoded twice")]
    if value is None or (isinstance(value, str) and not value.strip()):
        if "R1" not in rules:
            raise _not_object(value)
        return {}, [*mended, Repair("R1", "", "read no arguments as an empty object")]
    if value is arguments and isinstance(value, Mapping):
        return simple(value) or _copy(value, max_bytes, max_depth), mended
    if isinstance(value, dict):
        return value, mended
    raise _not_object(value)


def _not_object(value: Any) -> UnusableError:
    text = f"they must be a JSON object, not {describe(value)}"
    return UnusableError(text, code="arguments.not_object")


def _too_large(error: ValueError) -> UnusableError:
    text = f"{error}; send less"
    return UnusableError(text, code="arguments.too_large")


def _inner(text: str, max_bytes: int, max_depth: int) -> Any:
    """Return what is encoded in a string, if that leads to an object."""
    try:
        value = canonical.loads(text, max_bytes=max_bytes, max_depth=max_depth)
    except ValueError:
        return None
    return value if isinstance(value, dict | str) else None


def _parse(
    text: str, max_bytes: int, max_depth: int, rules: frozenset[str]
) -> tuple[Any, list[Repair]]:
    try:
        return canonical.loads(text, max_bytes=max_bytes, max_depth=max_depth), []
    except canonical.TooLargeError as error:
        raise _too_large(error) from None
    except json.JSONDecodeError as error:
        return _parse_mended(text, error, max_depth, rules)
    except ValueError as error:
        raise UnusableError(str(error)[:300], code="arguments.malformed") from None


def _parse_mended(
    text: str, error: json.JSONDecodeError, max_depth: int, rules: frozenset[str]
) -> tuple[Any, list[Repair]]:
    from toolcrib.repair import TruncatedError, mend  # noqa: PLC0415 - only for bad text

    try:
        clean, repairs = mend(text, rules)
        return canonical.loads(clean, max_depth=max_depth), repairs
    except TruncatedError:
        reason = "they end in the middle, cut off; send less, or split the work"
        raise UnusableError(reason, code="arguments.truncated") from None
    except ValueError:
        around = text[max(0, error.pos - 20) : error.pos + 20]
        reason = f"they are not JSON: {error.msg} at character {error.pos}, near {around!r}"
        raise UnusableError(reason, code="arguments.malformed") from None


_FEW, _SHORT, _WIDE = 64, 4096, 10**18
_TEXT = frozenset({str})


def _copy(value: Mapping[str, Any], max_bytes: int, max_depth: int) -> dict[str, Any]:
    """Copy an object that a provider's library parsed, as the JSON that it stands for."""
    try:
        # Python's encoder would turn other keys into text.
        text = canonical.dumps({_key(key): item for key, item in value.items()})
        copy: dict[str, Any] = canonical.loads(text, max_bytes=max_bytes, max_depth=max_depth)
    except canonical.TooLargeError as error:
        raise _too_large(error) from None
    except (ValueError, TypeError, RecursionError) as error:
        what = type(error).__name__
        if type(error) is ValueError:
            what = "a number that is not finite, or has thousands of digits"
        reason = f"they hold what JSON cannot say ({what})"
        raise UnusableError(reason, code="arguments.malformed") from None
    return copy


def simple(value: Any) -> dict[str, Any] | None:
    """Copy an object of scalars and lists of them, as most are; None for any other.

    What passes is JSON and small, to the letter: nothing is a subclass of what it seems.
    """
    if type(value) is not dict or len(value) > _FEW or not _TEXT.issuperset(map(type, value)):
        return None
    copy = dict(value)
    for key, item in copy.items():
        kind = type(item)
        # Written out, as a call for each costs more than all else here.
        if kind is str:
            if len(item) >= _SHORT:
                return None
        elif kind is int or kind is float:
            if not -_WIDE < item < _WIDE:
                return None
        elif kind is list and len(item) <= _FEW and all(map(_is_atom, item)):
            copy[key] = item[:]
        elif item is not None and kind is not bool:
            return None
    return copy


def _is_atom(value: Any) -> bool:
    """Tell whether a value is a short text, a number that JSON can say, or a constant."""
    kind = value.__class__
    if kind is str:
        return len(value) < _SHORT
    if kind is int or kind is float:
        fits: bool = -_WIDE < value < _WIDE
        return fits
    return value is None or kind is bool


def _key(key: Any) -> str:
    if type(key) is not str:
        raise TypeError
    return key
