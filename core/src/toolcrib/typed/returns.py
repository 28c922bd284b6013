"""What a handler returns: structured values, or content for the model."""

from __future__ import annotations

import typing

from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

from toolcrib.errors import DeclarationError
from toolcrib.outcome import Block, Result
from toolcrib.typed.introspection import SEQUENCES, UNIONS, peel, resolve, shape

from . import constraints


__all__ = ["returned"]

_CONTENT: tuple[Any, ...] = (Result, str, type(None), *get_args(Block))


def returned(
    function: Callable[..., Any], local: Mapping[str, Any] | None = None
) -> tuple[Any, ...] | None:
    """Return the structured types that a handler may return.

    None of them where it returns content only: a ``Result``, a text, nothing, a block,
    or a list of blocks. ``None`` where it may return anything.

    Raises:
        DeclarationError: the annotation cannot be resolved.
    """
    bare = shape(function).function
    notes = getattr(bare, "__annotations__", None) or {}
    if "return" not in notes:
        return None
    found, wrong = resolve({"return": notes["return"]}, bare.__globals__, local)
    if wrong:
        message = f"{bare.__qualname__}: parameter 'return': {wrong['return']}"
        raise DeclarationError(message)
    members = _members(found["return"])
    if any(peel(each)[0] in (Any, object) for each in members):
        return None
    return tuple(each for each in members if not _is_content(each))


def _members(kind: Any) -> tuple[Any, ...]:
    bare, _ = peel(kind)
    if get_origin(bare) in UNIONS:
        return tuple(each for member in get_args(bare) for each in _members(member))
    return (kind,)


def _is_content(kind: Any) -> bool:
    bare, marks = peel(kind)
    if bare in (typing.NoReturn, typing.Never) or bare in _CONTENT:
        return not (bare is str and any(True for m in marks for _ in constraints.keywords(m)))
    if get_origin(bare) in (*SEQUENCES, tuple):
        inner = [each for each in get_args(bare) if each is not Ellipsis]
        blocks = [each for member in inner for each in _members(member)]
        return bool(blocks) and all(each in get_args(Block) for each in blocks)
    return False
