"""Add, remove and write tables of servers in a policy file, and change nothing beside them."""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib

from collections.abc import Mapping
from pathlib import Path
from typing import Any


__all__ = ["server_table", "with_server", "without_server", "write"]

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for this one character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items())
        return "{ " + inner + " }" if inner else "{}"
    message = f"{type(value).__name__} cannot be written"
    raise TypeError(message)


def server_table(name: str, entry: Mapping[str, Any]) -> str:
    """Return the text of one server's table."""
    lines = [f"[pack.mcp.servers.{_key(name)}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in entry.items()]
    return "\n".join(lines) + "\n"


def _servers(text: str) -> dict[str, Any]:
    value: Any = tomllib.loads(text)
    for key in ("pack", "mcp", "servers"):
        value = value.get(key, {})
    return dict(value)


def with_server(text: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return the text of a policy file with one more server.

    Raises:
        ValueError: there is one of that name, or the file cannot be extended by a table.
    """
    before = _servers(text)
    if name in before:
        message = f"there is a server {name!r} already; remove its table first"
        raise ValueError(message)
    new = text.rstrip("\n") + ("\n\n" if text.strip() else "") + server_table(name, entry)
    try:
        after = _servers(new)
    except tomllib.TOMLDecodeError as error:
        message = f"the table cannot be added at the end ({error}); write it by hand"
        raise ValueError(message) from error
    if after != {**before, name: json.loads(json.dumps(entry))}:
        message = "adding the table would change more than that; write it by hand"
        raise ValueError(message)
    return new


def without_server(text: str, name: str) -> str:
    """Return the text of a policy file without a server's table.

    Raises:
        ValueError: there is none, or its table cannot be told apart; nothing is changed.
    """
    before = _servers(text)
    if name not in before:
        message = f"there is no server {name!r}"
        raise ValueError(message)
    head = re.escape(f"[pack.mcp.servers.{_key(name)}")
    table = re.compile(rf"^{head}(?:\]|\.[^\n]*\])[^\n]*\n(?:(?!\[).*\n?)*", re.MULTILINE)
    new = table.sub("", text)
    rest = {key: value for key, value in before.items() if key != name}
    if _servers(new) != rest:
        message = "its table cannot be told apart from others; remove it by hand"
        raise ValueError(message)
    return new


def write(file: Path, text: str) -> None:
    """Put a text in the place of a file, whole or not at all; mode and links stay."""
    target = file.resolve()
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    handle, name = tempfile.mkstemp(dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
