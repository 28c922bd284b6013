"""What a shell line says: its commands, redirections and assignments, in one flat list.

Nothing here decides anything. What is not understood is in ``unclear``, with the reason.
"""

from __future__ import annotations

import attrs

from .words import Word


__all__ = ["Line", "Redirect", "Simple"]


@attrs.frozen
class Simple:
    """One simple command, wherever in the line it stands.

    Attributes:
        words: Program and arguments.
        env: Variables that are set for it alone.
    """

    words: tuple[Word, ...]
    env: tuple[tuple[str, Word], ...] = ()


@attrs.frozen
class Redirect:
    """One redirection to or from a file."""

    target: Word
    writes: bool
    reads: bool


@attrs.define
class Line:
    """Everything that a line would do, as far as its text tells.

    Attributes:
        commands: All simple commands, those in substitutions included.
        redirects: To and from files; copies of descriptors are none.
        assigned: Variables that the line sets for what follows, with their values.
        unclear: Why parts of it are not understood.
    """

    commands: list[Simple] = attrs.field(factory=list)
    redirects: list[Redirect] = attrs.field(factory=list)
    assigned: list[tuple[str, Word | None]] = attrs.field(factory=list)
    unclear: list[str] = attrs.field(factory=list)

    def doubt(self, text: str) -> None:
        """Note what is not understood, once."""
        if text not in self.unclear:
            self.unclear.append(text)
