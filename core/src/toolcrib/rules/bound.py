"""Patterns bound to a workspace and a width, ready to match."""

from __future__ import annotations

import re

from collections.abc import Sequence

import attrs

from toolcrib.resources import paths

from .globs import MANY, Token, fits, fold_token, reaches, within
from .patterns import Pattern
from .values import BORDER, command_hits


__all__ = ["Bound", "bind"]


@attrs.frozen
class Bound:
    """A pattern at one width, its paths absolute."""

    type: str
    alternatives: tuple[tuple[Token, ...], ...]
    broad: bool

    def hits(self, lists: Sequence[Sequence[str]]) -> bool:
        """Tell whether one of a value's lists of parts fits."""
        if self.broad and self.type == "command":
            return command_hits(self.alternatives[0], lists)
        return any(fits(tokens, parts) for tokens in self.alternatives for parts in lists)

    def reaches_below(self, lists: Sequence[Sequence[str]]) -> bool:
        """Tell whether something below one of a folder's lists of parts may fit."""
        return any(reaches(tokens, parts) for tokens in self.alternatives for parts in lists)

    def holds_all_below(self, lists: Sequence[Sequence[str]]) -> bool:
        """Tell whether all below one of a folder's lists of parts surely fits."""
        return any(
            within((*parts, MANY), tokens) for tokens in self.alternatives for parts in lists
        )

    def host_hits(self, lists: Sequence[Sequence[str]]) -> bool:
        """Tell whether the host of an address pattern fits a host's labels."""
        return any(
            fits(self.host_tokens(tokens), parts)
            for tokens in self.alternatives
            for parts in lists
        )

    @staticmethod
    def host_tokens(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
        """Return the tokens of an address pattern between its port and its path."""
        return tokens[2 : tokens.index(BORDER)]

    def within(self, other: Bound) -> bool:
        """Tell whether all that fits this surely fits another of the same width."""
        return all(
            any(within(mine, theirs) for theirs in other.alternatives)
            for mine in self.alternatives
        )


def bind(pattern: Pattern, *, broad: bool, workspace: str, home: str) -> Bound:
    """Give a pattern its place and its width."""
    if pattern.type == "path":
        alternatives = _places(pattern, broad=broad, workspace=workspace, home=home)
    elif pattern.type == "command" and broad:
        alternatives = [_without_assignments(pattern.tokens)]
    else:
        alternatives = [pattern.tokens]
    if broad and pattern.type != "host":
        alternatives = [tuple(map(fold_token, tokens)) for tokens in alternatives]
    return Bound(pattern.type, tuple(dict.fromkeys(alternatives)), broad)


def _without_assignments(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    at = 0
    while at < len(tokens) - 1:
        token = tokens[at]
        if not isinstance(token, str) or not re.match(r"[A-Za-z_]\w*=", token):
            break
        at += 1
    return tokens[at:]


def _places(
    pattern: Pattern, *, broad: bool, workspace: str, home: str
) -> list[tuple[Token, ...]]:
    tokens = pattern.tokens
    base = {"/": "/", "~": home}.get(pattern.start, workspace)
    if pattern.start == "*" and broad:
        return [tokens]
    literal = 0
    while literal < len(tokens) and isinstance(tokens[literal], str):
        literal += 1
    lead = "/".join([base.rstrip("/"), *map(str, tokens[:literal])]) or "/"
    if re.match(r"/[A-Za-z]:/", lead):
        lead = lead[1:]
    try:
        real, plain = paths.resolve(lead)
    except ValueError:
        real, plain = lead, ""
    found = [(*_parts(real), *tokens[literal:])]
    if broad and plain:
        found.append((*_parts(plain), *tokens[literal:]))
    return found


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
