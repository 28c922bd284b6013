"""The protocol's patterns of paths: ``*``, ``?``, ``**``, ``{a,b}``, ``[a-z]``."""

from __future__ import annotations

import re

from functools import lru_cache


__all__ = ["matches"]

_LONGEST = 1000
_SIMPLE = {"*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}


def matches(pattern: str, path: str) -> bool:
    """Tell whether a path fits a pattern; a pattern that cannot be read fits all."""
    compiled = _compiled(pattern)
    return compiled is None or compiled.fullmatch(path) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    if len(pattern) > _LONGEST:
        return None
    try:
        return re.compile(_translated(pattern), re.DOTALL)
    except (re.error, IndexError):
        return None


def _translated(pattern: str) -> str:
    """Return a pattern as a regular expression."""
    out: list[str] = []
    depth = at = 0
    while at < len(pattern):
        char = pattern[at]
        if pattern.startswith("**/", at):
            out.append("(?:[^/]+/|/)*")
            at += 3
            continue
        if pattern.startswith("**", at):
            out.append(".*")
            at += 2
            continue
        if char == "[":
            end = pattern.index("]", at + 2) if "]" in pattern[at + 2 :] else -1
            if end > 0:
                inner = pattern[at + 1 : end].replace("\\", "\\\\")
                # What is not in a set is still no end of a folder's name.
                inner = f"^/{inner[1:]}" if inner[0] in "!^" else inner
                out.append(f"[{inner}]")
                at = end + 1
                continue
        # A comma or closing brace outside of braces means itself.
        special = char in _SIMPLE and (depth > 0 or char not in "},")
        out.append(_SIMPLE[char] if special else re.escape(char))
        depth += {"{": 1, "}": -1 if special else 0}.get(char, 0)
        at += 1
    return "".join(out) + ")" * depth
