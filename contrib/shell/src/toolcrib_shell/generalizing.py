"""The rule that "always" would store: the same program and first word, and no more."""

from __future__ import annotations

import re

from .touched import Touched


__all__ = ["rule_for"]

_PLAIN = re.compile(r"[A-Za-z0-9_./:=@%+,-]+")
# Programs whose first word says what they do. Of others all words are kept.
_COMMANDS = frozenset({"cargo", "git", "go", "npm", "pnpm", "poetry", "uv", "yarn"})


def rule_for(touched: Touched) -> str | None:
    """Return a rule that covers the commands of a line, or None for the exact call."""
    if touched.doubts or touched.writes or touched.hosts or len(touched.commands) != 1:
        return None
    ((words, env),) = touched.commands
    if env or not all(_PLAIN.fullmatch(word) for word in words):
        return None
    if words[0] in _COMMANDS and len(words) > 1 and not words[1].startswith("-"):
        words = (*words[:2], "*")
    return f"allow shell.run(command={' '.join(words)})"
