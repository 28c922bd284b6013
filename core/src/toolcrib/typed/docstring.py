"""What a docstring says: summary, details, and a text for each parameter.

With the extra ``author`` (docstring-parser) the sections of the Google, NumPy and
reStructuredText styles are understood. Without it the first paragraph is the summary
and everything else the details. Only this module imports docstring-parser.
"""

from __future__ import annotations

import functools
import inspect
import re

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import attrs


__all__ = ["Docstring", "of_class", "parse"]

# Without one of these no parser finds a section, and most docstrings have none. It takes
# two milliseconds to compile, so it waits for a text that has what every section has.
_SECTION = (
    r"^[ \t]*(?::\w+[^:\n]*:|(?:Args?|Arguments|Param\w*|Params|Attributes?|Keyword\w*"
    r"|Other Parameters|Returns?|Yields?|Raises|Except\w*|Example\w*|Warns|Note\w*)"
    r"(?::[ \t]*$|[ \t]*\n[ \t]*-{3,}[ \t]*$))"
)
_NOTHING: Mapping[str, str] = MappingProxyType({})


@attrs.frozen
class Docstring:
    """What a docstring says."""

    summary: str = ""
    details: str = ""
    parameters: Mapping[str, str] = attrs.field(default=_NOTHING, hash=False)


_EMPTY = Docstring()


def parse(text: str | None) -> Docstring:
    """Return what a docstring says."""
    if not text:
        return _EMPTY
    clean = inspect.cleandoc(text)
    if (":" in clean or "---" in clean) and re.search(_SECTION, clean, re.MULTILINE):
        parser = _parser()
        if parser is not None:
            return _sections(parser, clean)
    return _paragraphs(clean)


def of_class(cls: type) -> Docstring:
    """Return what a class says of itself; texts that Python made up are left out."""
    text = cls.__dict__.get("__doc__")
    if not isinstance(text, str) or text.startswith(f"{cls.__name__}("):
        return _EMPTY
    return parse(text)


def _paragraphs(text: str) -> Docstring:
    summary, _, details = text.partition("\n\n")
    return Docstring(_flat(summary), details.strip())


def _flat(text: str | None) -> str:
    return " ".join((text or "").split())


@functools.cache
def _parser() -> Any:
    try:
        import docstring_parser  # noqa: PLC0415 - an extra, and 25 ms
    except ImportError:
        return None
    return docstring_parser


def _sections(parser: Any, text: str) -> Docstring:
    try:
        found = parser.parse(text)
    except parser.ParseError:
        return _paragraphs(text)
    # What stands before the first section may be one paragraph of several lines.
    head = "\n\n".join(t for t in (found.short_description, found.long_description) if t)
    if found.short_description and not found.blank_after_short_description:
        head = "\n".join(t for t in (found.short_description, found.long_description) if t)
    plain = _paragraphs(head)
    texts = {
        p.arg_name.lstrip("*"): _flat(p.description) for p in found.params if p.description
    }
    return Docstring(plain.summary, plain.details, texts)
