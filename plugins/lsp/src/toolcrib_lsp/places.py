"""Where a path leads, and how servers spell it."""

from __future__ import annotations

import os
import re
import stat

from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import attrs

from toolcrib import Access, Invalid, NotFound, Refused, Signature


__all__ = [
    "CONTROLLED",
    "Place",
    "inside",
    "locate",
    "looked_up",
    "path_of",
    "real_path",
    "shown",
    "uri_of",
]

# Writing there could run programs later.
CONTROLLED = frozenset({".git", ".hg", ".svn", ".jj"})
# Questions and answers name the same few files again and again.
_SPELLED = 2048
_NOT_PLAIN = frozenset({"", ".", ".."})
_DRIVE = re.compile(r"/[A-Za-z]:/")


@attrs.frozen
class Place:
    """A file of the workspace, links resolved.

    Attributes:
        root: The workspace.
        path: The file, absolute.
    """

    root: str
    path: str

    @property
    def shown(self) -> str:
        """The path as it is said to people and models."""
        return shown(self.root, self.path)


def inside(root: str, path: str) -> bool:
    """Tell whether a canonical path is the workspace or lies in it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


@lru_cache(maxsize=_SPELLED)
def shown(root: str, path: str) -> str:
    """Return a path from the workspace, or the whole path outside of it, printable."""
    text = path[len(root.rstrip("/")) + 1 :] if inside(root, path) and path != root else path
    text = text if path != root else "."
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def real_path(root: str, path: str) -> str:
    """Return an absolute path with its links resolved, as ``os.path.realpath`` does.

    Raises:
        OSError, ValueError: it cannot be a path.
    """
    return looked_up(root, path)[0]


def looked_up(root: str, path: str) -> tuple[str, os.stat_result | None]:
    """Return a path as :func:`real_path` does, and what the way there told of the file.

    A warm question spent much of its time on the folders above the workspace, which is
    canonical: only what lies below is looked at, and all of it only where there is a link.

    Raises:
        OSError, ValueError: it cannot be a path.
    """
    top = root.rstrip("/")
    found: os.stat_result | None = None
    if os.sep != "/" or not path.startswith(top + "/"):
        return os.path.realpath(path), None
    names = path[len(top) + 1 :].split("/")
    at = top
    for name in names:
        at = f"{at}/{name}"
        try:
            found = None if name in _NOT_PLAIN else os.lstat(at)
        except (OSError, ValueError):
            found = None
        if found is None or stat.S_ISLNK(found.st_mode):
            return os.path.realpath(path), None
    return at, found


def locate(
    root: str, path: Path | str, judged: Signature | None, *, pointer: str = "/path"
) -> Place:
    """Return the file that a path of a call leads to.

    Args:
        root: The workspace, canonical.
        path: As the call names it, from the workspace or absolute.
        judged: What the call was authorised for; a link that was changed since would
            lead to a file that nobody has judged.
        pointer: Of the argument, for messages.

    Raises:
        Refused: it lies outside of the workspace, or not where it was judged to be.
        NotFound: there is no such file.
        Invalid: it cannot be a path, or is no file.
    """
    text = str(path)
    try:
        real, found = looked_up(root, os.path.join(root, text))
    except (OSError, ValueError) as error:
        message = f"{text[:200]!r} cannot be a path here: {error}"
        raise Invalid(pointer, message, code="lsp.path_invalid") from None
    place = Place(root, real.replace(os.sep, "/"))
    if not inside(root, place.path):
        message = (
            f"{place.shown} lies outside of the workspace {root}. Language servers are "
            "asked about files of the workspace only; name one of them."
        )
        raise Refused(message, code="lsp.outside")
    if judged is not None and not _is_judged(place.path, judged):
        message = (
            f"{place.shown} is not where the path led when this call was judged: a link on "
            "the way was changed. Nothing was done. Call again."
        )
        raise Refused(message, code="lsp.path_changed")
    try:
        mode = (os.stat(place.path) if found is None else found).st_mode
    except OSError:
        message = f"{place.shown} does not exist. Name a file from the workspace."
        raise NotFound(message, code="lsp.not_found") from None
    if not stat.S_ISREG(mode):
        message = f"{place.shown} is no file. Name a file from the workspace."
        raise Invalid(pointer, message, code="lsp.not_file")
    return place


def _is_judged(path: str, judged: Signature) -> bool:
    paths = [r for r in judged.resources if r.type == "path" and r.access in tuple(Access)]
    return not paths or any(r.value in ("", path) for r in paths)


@lru_cache(maxsize=_SPELLED)
def uri_of(path: str) -> str:
    """Return the URI of an absolute path."""
    return "file://" + quote(path, safe="/-._~")


def path_of(uri: object) -> str | None:
    """Return the path of a server's URI, or None if it is no file."""
    return _path_of(uri) if isinstance(uri, str) else None


@lru_cache(maxsize=_SPELLED)
def _path_of(uri: str) -> str | None:
    if not uri.startswith("file:"):
        return None
    path = unquote(urlsplit(uri).path, errors="surrogateescape")
    if os.name == "nt" and _DRIVE.match(path):  # pragma: no cover - POSIX is what is tested
        path = path[1:]
    return os.path.normpath(path) if path.startswith("/") and "\0" not in path else None
