"""What a line would touch: gathered from its text and from what is known of programs."""

from __future__ import annotations

import os
import re

from collections.abc import Iterable, Sequence

import attrs

from toolcrib import Effect, Resource, Signature, resources

from .words import Word


__all__ = ["EFFECTS", "Touched"]

EFFECTS = (
    Effect.PROCESS,
    Effect.FS_READ,
    Effect.FS_WRITE,
    Effect.NET_READ,
    Effect.NET_WRITE,
)
"""What a program may do to the world, as an upper bound."""

# Files that programs take orders from. Whoever writes one may run anything later.
_ORDERS = re.compile(
    r"(?:^|/)(?:\.git|\.hg|\.svn|\.envrc|\.npmrc|\.yarnrc(?:\.yml)?|\.gitattributes|"
    r"\.gitmodules|\.bash\w*|\.profile|\.zsh\w*|\.inputrc|\.ssh|\.config|sitecustomize\.py|"
    r"usercustomize\.py|[\w.-]+\.pth)(?:/|$)",
    re.IGNORECASE,
)


@attrs.define
class Touched:
    """Gathers what a line touches.

    Attributes:
        folders: Where relative paths may start; None: nobody knows.
        home: The home folder that the shell knows.
        doubts: Why it may do anything; empty: it is understood.
        commands: Words and variables of each command.
        reads, writes: Paths; None stands for one that is not known.
        trees: Those of the paths below which more may be touched, if they are folders.
        hosts: Network hosts that are read (False) or written (True).
    """

    folders: tuple[str, ...] | None
    home: str | None
    doubts: dict[str, None] = attrs.field(factory=dict)
    commands: dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], None] = attrs.field(
        factory=dict
    )
    reads: set[str | None] = attrs.field(factory=set)
    writes: set[str | None] = attrs.field(factory=set)
    trees: set[str | None] = attrs.field(factory=set)
    hosts: set[tuple[str | None, bool]] = attrs.field(factory=set)

    def doubt(self, text: str) -> None:
        """Say why the line may do anything."""
        self.doubts.setdefault(text)

    def command(self, words: Sequence[Word], env: Iterable[tuple[str, Word]]) -> None:
        """Add a command."""
        values = tuple((name, value.text) for name, value in env)
        self.commands.setdefault((tuple(word.text for word in words), values))

    def read(self, word: Word, *, tree: bool = False) -> None:
        """Add a file that is read, or a folder and all below it."""
        places = self._places(word)
        self.reads |= places
        if tree or word.glob:
            self.trees |= places

    def write(self, word: Word, *, tree: bool = False) -> None:
        """Add a file that is written, or a folder and all below it."""
        places = self._places(word)
        if tree or word.glob:
            self.trees |= places
        for place in places:
            self.writes.add(place)
            if place is not None and _ORDERS.search(place):
                self.doubt(f"{place} is a file that programs take orders from")

    def _places(self, word: Word) -> set[str | None]:
        text = word.path(self.home)
        if text is None and word.glob and not word.tilde and ".." not in word.text:
            # All of what the pattern finds lies below its certain beginning.
            text = word.lead.rpartition("/")[0] or ("/" if word.lead[:1] == "/" else ".")
        if text is None:
            return {None}
        if text.startswith("/"):
            return {text}
        if self.folders is None:
            return {None}
        found: set[str | None] = set()
        for folder in self.folders:
            # The shell takes ".." off a text, programs follow links first; both count.
            raw = f"{folder}/{text}" if folder != "." else text
            found |= {raw, os.path.normpath(raw)} if ".." in raw else {os.path.normpath(raw)}
        return found

    def _path(self, place: str | None) -> Resource:
        if place is None:
            return resources.Any("path")
        return resources.Path(place, tree=place in self.trees)

    def signature(self) -> Signature:
        """Return the signature of everything together."""
        reads = list(map(self._path, self.reads))
        writes = list(map(self._path, self.writes))
        effects = [Effect.PROCESS]
        commands = [
            resources.Command(words, env=dict(env)) for words, env in self.commands if words
        ]
        for host, written in self.hosts:
            (writes if written else reads).append(
                resources.Host(host) if host else resources.Any("host")
            )
        if self.doubts:
            effects = list(EFFECTS)
            commands.append(resources.Any("command"))
            reads += [resources.Any("path"), resources.Any("host")]
            writes += [resources.Any("path"), resources.Any("host")]
        # A line that only assigns or compares still starts a shell.
        if not commands:
            commands = [resources.Command(["true"])]
        return Signature(reads=[*reads, *commands], writes=writes, effects=effects)
