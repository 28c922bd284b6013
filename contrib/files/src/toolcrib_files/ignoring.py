"""Which entries the workspace's ``.gitignore`` files leave out."""

from __future__ import annotations

import os

from collections.abc import Iterable

import attrs

from pathspec import GitIgnoreSpec

from .folders import Folder


__all__ = ["Rules", "rules_above"]

FILE = ".gitignore"
_LARGEST = 1024 * 1024


@attrs.frozen
class Rules:
    """Rules of one folder and of those above it; the deepest that speaks decides.

    Attributes:
        layers: ``(path of the folder, its rules)``, outermost first.
    """

    layers: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def below(self, folder: Folder, path: str) -> Rules:
        """Return the rules for the entries of a folder: these and its own."""
        text = _text(folder)
        if text is None:
            return self
        spec = _spec(text.splitlines())
        return Rules((*self.layers, (path, spec))) if spec is not None else self

    def ignores(self, path: str, *, folder: bool) -> bool:
        """Tell whether an entry is ignored; a rule that starts with ``!`` takes it back."""
        for base, spec in reversed(self.layers):
            relative = path[len(base) + 1 :] if base else path
            verdict = spec.check_file(relative + "/" if folder else relative).include
            if verdict is not None:
                return verdict
        return False


def _spec(lines: Iterable[str]) -> GitIgnoreSpec | None:
    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    if not kept:
        return None
    try:
        return GitIgnoreSpec.from_lines(kept)
    except ValueError:
        # One pattern that cannot be read takes only itself away, as in git.
        return GitIgnoreSpec.from_lines([line for line in kept if _readable(line)])


def _readable(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _text(folder: Folder) -> str | None:
    try:
        descriptor = folder.open_file(FILE)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        try:
            return file.read(_LARGEST).decode("utf-8", "surrogateescape")
        except OSError:
            return None


def rules_above(root: str, relative: str) -> Rules:
    """Return the rules that hold in a folder of the workspace, its own left out.

    If the folder itself is ignored, whoever names it wants it: no rule from above then
    speaks about its entries.
    """
    rules = Rules()
    path = ""
    parts = [] if relative == "." else relative.split("/")
    folder = Folder.open(root)
    for part in parts:
        with folder:
            rules = rules.below(folder, path)
            path = f"{path}/{part}" if path else part
            if rules.ignores(path, folder=True):
                rules = Rules()
            folder = folder.child(part)
    folder.close()
    return rules
