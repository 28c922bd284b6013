"""Paths: one text for one file, whatever links and dots it was reached by."""

from __future__ import annotations

import os
import re
import stat

from pathlib import PurePath


__all__ = [
    "absolute",
    "anchor",
    "expanded",
    "home",
    "is_absolute",
    "is_folder",
    "is_inside",
    "resolve",
    "text_of",
]

_DRIVE = re.compile(r"[A-Za-z]:/")


def text_of(value: str | PurePath) -> str:
    """Return a path's text with ``/`` between parts, otherwise as given."""
    text = os.fspath(value)
    if not isinstance(text, str) or "\0" in text or not text:
        message = "a path is a text that is not empty and holds no null character"
        raise ValueError(message)
    return text.replace(os.sep, "/") if os.sep != "/" else text


def is_absolute(text: str) -> bool:
    """Tell whether a path stands for itself, on any platform."""
    return text.startswith("/") or _DRIVE.match(text) is not None


def is_folder(path: str) -> bool:
    """Tell whether there is a folder at a path; True where nobody can say."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - as above
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True


def resolve(text: str) -> tuple[str, str]:
    """Return the real path of an absolute one, and its own spelling if that differs.

    Raises:
        ValueError: links lead in a circle, or the text cannot be a path here.
    """
    try:
        real = os.path.realpath(text)
        # A circle of links has no real path; realpath stops half-way without a word.
        if os.path.islink(real):  # noqa: PTH114 - pathlib costs as much as the link
            message = "links of the path lead in a circle"
            raise ValueError(message)
    except OSError as error:
        message = f"the path cannot be resolved: {error}"
        raise ValueError(message) from error
    plain = os.path.normpath(text)
    if os.sep != "/":
        real, plain = real.replace(os.sep, "/"), plain.replace(os.sep, "/")
    # POSIX lets exactly two leading slashes mean something else; here they do not.
    if plain.startswith("//"):
        plain = plain[1:]
    if real.startswith("//"):
        real = real[1:]
    return real, "" if plain == real else plain


def anchor(text: str, folder: str) -> tuple[str, str]:
    """Resolve a path that, where it is relative, starts in a folder."""
    return resolve(text if is_absolute(text) else f"{folder}/{text}")


def absolute(text: str) -> str:
    """Return a path that, where it is relative, starts in the folder one is in."""
    return os.path.abspath(text)  # noqa: PTH100 - as it is spelled, links and all


def home() -> str:
    """Return the user's home folder, with ``/`` between parts."""
    return text_of(os.path.expanduser("~"))  # noqa: PTH111 - pathlib takes 20 ms to import


def expanded(text: str) -> str:
    """Return a path with ``~`` or ``~user`` at its start filled in, if there is one."""
    return text_of(os.path.expanduser(text))  # noqa: PTH111 - as above


def is_inside(path: str, folder: str) -> bool:
    """Tell whether a canonical path is a folder or lies in it."""
    return path == folder or path.startswith(folder if folder.endswith("/") else folder + "/")
