"""Where a path leads: links are resolved before anything is decided about it."""

from __future__ import annotations

import os
import re
import stat
import unicodedata

import attrs

from .faults import Fault


__all__ = [
    "VERSION_CONTROL",
    "Place",
    "canonical_root",
    "controls_versions",
    "identity_of",
    "locate",
    "printable",
    "require_portable",
]

#: Folders of version control, whose files run programs.
VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj"})

LONGEST_PATH = 4096
LONGEST_NAME = 255

_DRIVE = re.compile(r"[A-Za-z]:/")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def printable(text: str) -> str:
    """Return a file name that is safe to show: controls and broken bytes are escaped."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def controls_versions(name: str) -> bool:
    """Tell whether a name is that of version control's own folder, here or elsewhere.

    Some file systems look past letter case, characters that nobody sees, what follows a
    colon, and blanks and dots at the end; and some give long names a short one.
    """
    plain = name
    if not name.isascii():
        plain = unicodedata.normalize("NFKC", name)
        plain = "".join(char for char in plain if unicodedata.category(char) != "Cf")
    plain = plain.partition(":")[0].rstrip(". ").casefold()
    return plain in VERSION_CONTROL or plain == "git~1"


@attrs.frozen
class Place:
    """One location, canonical: absolute, links resolved, ``/`` between parts.

    Attributes:
        root: The workspace, canonical.
        path: The location; it need not exist.
        relative: The location from the workspace, or the whole path outside of it.
    """

    root: str
    path: str
    relative: str

    @property
    def inside(self) -> bool:
        """Whether the location is the workspace or lies in it."""
        return self.path == self.root or self.path.startswith(self.root.rstrip("/") + "/")

    @property
    def shown(self) -> str:
        """The location as it is said to people and models."""
        return printable(self.relative)

    @property
    def parent(self) -> str:
        """The folder that holds it."""
        return os.path.dirname(self.path)

    @property
    def name(self) -> str:
        """Its last part."""
        return os.path.basename(self.path)


def _place(root: str, path: str) -> Place:
    path = path.replace(os.sep, "/")
    if path == root:
        return Place(root, path, ".")
    prefix = root.rstrip("/") + "/"
    inside = path.startswith(prefix)
    return Place(root, path, path[len(prefix) :] if inside else path)


def identity_of(root: str) -> tuple[int, int]:
    """Return what tells a folder from another one that takes its name later."""
    found = os.stat(root)
    return found.st_dev, found.st_ino


def canonical_root(
    root: str | os.PathLike[str], *, identity: tuple[int, int] | None = None
) -> str:
    """Return the workspace's path if it is still there, and still the same folder.

    There is no other folder to fall back to: a workspace that vanished, or became a
    link to another folder, ends the call.
    """
    text = os.fspath(root)
    try:
        real = os.path.realpath(text, strict=True)
        there = real == os.path.abspath(text) and stat.S_ISDIR(os.lstat(real).st_mode)
        there = there and identity in (None, identity_of(real))
    except OSError:
        there = False
    if not there:
        message = (
            f"Workspace gone: {printable(text)} is no longer the folder that this session"
            " works in. Nothing was done, and no other folder is used instead; ask a"
            " person to restore it or to open a new session."
        )
        raise Fault(message, kind="failed", code="files.workspace_gone")
    return real.replace(os.sep, "/")


def locate(root: str, text: str, *, pointer: str = "/path") -> Place:
    """Return where a path of a call leads, seen from the workspace *root*."""
    if not text or "\0" in text or len(text.encode("utf-8", "surrogatepass")) > LONGEST_PATH:
        message = (
            f"A path must have 1 to {LONGEST_PATH} bytes and no null character."
            " Name a file from the workspace, such as src/main.py."
        )
        raise Fault(message, kind="invalid", code="files.path_invalid", pointer=pointer)
    if os.sep == "/" and _DRIVE.match(text):
        message = (
            f"{printable(text[:300])} starts with a drive letter, which this system has"
            " not. Name a file from the workspace, such as src/main.py."
        )
        raise Fault(message, kind="invalid", code="files.path_invalid", pointer=pointer)
    try:
        text.encode(errors="surrogateescape")
        real = os.path.realpath(os.path.join(root, text))
    except (OSError, UnicodeError) as error:
        message = f"{printable(text)} cannot be a path here: {error}. Check its spelling."
        raise Fault(
            message, kind="invalid", code="files.path_invalid", pointer=pointer
        ) from None
    return _place(root, real)


def require_portable(text: str, *, pointer: str = "/path") -> None:
    """Refuse a name to be made that other systems read as something else.

    A name that exists may be used as it is; only new names are held to this.
    """
    problem = ""
    if _CONTROL.search(text):
        problem = "holds a control character"
    elif "\\" in text:
        problem = "holds a backslash; parts are separated by /"
    elif ":" in text.split("/", 1)[0][:2]:
        problem = "starts like a drive letter"
    elif "//" in text.rstrip("/") or text.endswith("/"):
        problem = "has an empty part"
    for part in text.split("/"):
        if part not in ("", ".", "..") and part[-1] in ". ":
            problem = f"has a part that ends with {part[-1]!r}"
        elif len(part.encode("utf-8", "surrogateescape")) > LONGEST_NAME:
            problem = f"has a part of more than {LONGEST_NAME} bytes"
    if problem:
        message = f"{printable(text[:300])} {problem}. Choose another name for the new file."
        raise Fault(message, kind="invalid", code="files.path_invalid", pointer=pointer)
