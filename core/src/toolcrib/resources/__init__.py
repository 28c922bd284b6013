"""Constructors of resources: each gives a value its canonical form.

Canonical means: two spellings of one thing give one value, so that a rule judges the
thing and not its spelling. A value that has no canonical form raises ``ValueError``;
the call is then asked as touching *any* resource of that type.

===========  ================================================================
``Path``     a file or folder
``Host``     a network host, by name or address
``Url``      one address on a host, without fragment and credentials
``Command``  a program and its words
``Server``   a remote server of tools, by its configured name
``Table``    a table or collection of a database
``State``    something in the pack's own state folder
``Custom``   a type of a pack's own; its name has a hyphen (``chat-channel``)
``Any``      everything of a type
===========  ================================================================
"""

from __future__ import annotations

import re
import unicodedata

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from toolcrib.signature import Resource as _Resource

from . import commands, hosts, paths, urls


__all__ = [
    "Any",
    "Command",
    "Custom",
    "Host",
    "Path",
    "Server",
    "State",
    "Table",
    "Url",
    "host_of",
]

_TYPES = frozenset({"path", "host", "url", "command", "server", "table", "state"})
_CUSTOM = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+", re.ASCII)


def Path(  # noqa: N802 - reads as the resource's type
    value: str | PurePath, *, tree: bool = False
) -> _Resource:
    """Return a file or folder: links resolved, ``/`` between parts.

    A path that does not exist yet is resolved as far as it exists. A relative path
    belongs to the session's workspace and is resolved when the call is authorised.

    Args:
        value: The path.
        tree: Whether a program will walk it, if it is a folder: see
            :class:`toolcrib.signature.Resource`. A tool that walks by itself asks
            ``ctx.bars`` about each file instead.
    """
    text = paths.text_of(value)
    if not paths.is_absolute(text):
        return _Resource("path", text, tree=tree)
    real, spelling = paths.resolve(text)
    return _Resource("path", real, spelling=spelling, tree=tree)


def Host(value: str) -> _Resource:  # noqa: N802
    """Return a network host: ``example.com``, ``127.0.0.1``, ``::1``.

    Letter case, a trailing dot, international names and every way to write an IPv4
    address (short, decimal, octal, hexadecimal) come to one form.
    """
    return _Resource("host", hosts.canonical(value))


def Url(value: str) -> _Resource:  # noqa: N802
    """Return an address of ``http``, ``https``, ``ws``, ``wss`` or ``ftp``.

    Default ports, dot segments, needless percent encodings, credentials and the
    fragment are removed.
    """
    return _Resource("url", urls.canonical(value))


def host_of(url: str) -> str:
    """Return the host of a canonical address."""
    return urls.parts(url)[1]


def Command(  # noqa: N802
    words: str | Sequence[str], *, env: Mapping[str, str] | None = None
) -> _Resource:
    """Return one program with its words, and the variables set for it alone.

    A text is taken apart like a shell does, and only if it is one plain command:
    operators, substitutions, redirections and variables raise ``ValueError``.
    """
    return _Resource("command", commands.canonical(words, env or {}))


def Server(name: str) -> _Resource:  # noqa: N802
    """Return a remote server of tools, by the name under which it is configured."""
    return _Resource("server", _plain(name, "server"))


def Table(name: str | Sequence[str]) -> _Resource:  # noqa: N802
    """Return a table, ``schema.table`` or its parts in order."""
    parts = name.split(".") if isinstance(name, str) else list(name)
    if not parts or any("." in part for part in parts):
        message = "the parts of a table's name hold no dots"
        raise ValueError(message)
    return _Resource("table", ".".join(_plain(part, "table") for part in parts))


def State(name: str = ".") -> _Resource:  # noqa: N802
    """Return something in the pack's own state folder, by its path in there."""
    text = paths.text_of(name)
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if ".." in parts or paths.is_absolute(text):
        message = "the name of a pack's state is a path inside its own folder"
        raise ValueError(message)
    return _Resource("state", "/".join(parts) or ".")


def Custom(type: str, value: str) -> _Resource:  # noqa: A002, N802
    """Return a resource of a pack's own type; the type's name has a hyphen."""
    if _CUSTOM.fullmatch(type) is None:
        message = f"the name of a resource type of a pack has a hyphen, unlike {type!r}"
        raise ValueError(message)
    return _Resource(type, _plain(value, type))


def Any(type: str) -> _Resource:  # noqa: A002, N802
    """Return *any* resource of a type, for a call that cannot say which."""
    if type not in _TYPES and _CUSTOM.fullmatch(type) is None:
        message = f"{type!r} is no resource type"
        raise ValueError(message)
    return _Resource(type, "")


def _plain(value: str, type: str) -> str:  # noqa: A002
    text = unicodedata.normalize("NFC", value)
    if not text or not text.isprintable() or text != text.strip():
        message = f"{value!r} does not name a {type}"
        raise ValueError(message)
    return text
