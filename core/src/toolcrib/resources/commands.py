"""Commands: one text for one list of words, and the forms that hide in it."""

from __future__ import annotations

import re
import shlex

from collections.abc import Mapping, Sequence


__all__ = ["canonical", "forms", "program", "words", "wrappers"]

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=", re.ASCII)
# Anything that makes a shell do more than start one program with literal words.
_SHELL = re.compile(r"[;&|<>()$`*?\[\]{}~#!\n\r\\]")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\!]*\"")

# Programs that start another one, and how many words of their own come before it. An
# option may take the next word; which ones do is not worth a table, both are tried.
_WRAPPERS = {
    "busybox": 0, "builtin": 0, "caffeinate": 0, "chroot": 1, "chrt": 1, "command": 0,
    "doas": 0, "env": 0, "exec": 0, "firejail": 0, "flock": 1, "ionice": 0, "ltrace": 0,
    "nice": 0, "nohup": 0, "npx": 0, "parallel": 0, "prlimit": 0, "proxychains": 0,
    "setarch": 1, "setsid": 0, "script": 0, "stdbuf": 0, "strace": 0, "sudo": 0,
    "systemd-run": 0, "taskset": 1, "time": 0, "timeout": 1, "toybox": 0, "unbuffer": 0,
    "unshare": 0, "watch": 0, "xargs": 0, "xvfb-run": 0,
}  # fmt: skip
_EXECUTING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_DEEPEST = 6


def canonical(value: str | Sequence[str], env: Mapping[str, str]) -> str:
    """Return a command's canonical text: its words, each quoted if it must be."""
    parts = _parse(value) if isinstance(value, str) else [str(word) for word in value]
    if not parts or not parts[0] or any("\0" in part for part in parts):
        message = "a command is a program and its words, without null characters"
        raise ValueError(message)
    for name in env:
        if not _ASSIGNMENT.fullmatch(f"{name}="):
            message = f"{name!r} does not name a variable"
            raise ValueError(message)
    assignments = [f"{name}={env[name]}" for name in sorted(env)]
    return shlex.join([*assignments, *parts])


def _parse(text: str) -> list[str]:
    if _SHELL.search(_QUOTED.sub("", text)):
        message = f"{text!r} is more than one plain command"
        raise ValueError(message)
    return shlex.split(text)


def words(value: str) -> list[str]:
    """Return the words of a canonical text."""
    return shlex.split(value) if "'" in value else value.split()


def program(parts: Sequence[str]) -> str:
    """Return a program's own name: no folder, no Windows suffix, in small letters."""
    name = parts[0].replace("\\", "/").rstrip("/").rpartition("/")[2].casefold()
    return name.removesuffix(".exe")


def wrappers() -> frozenset[str]:
    """Return the programs that only start another one."""
    return frozenset(_WRAPPERS)


def forms(parts: list[str], *, depth: int = 0) -> list[list[str]]:
    """Return a command without leading assignments, and every command that it wraps.

    ``timeout 5 git push`` holds ``git push`` (and, for all the core knows, ``5 git
    push``). What denies or asks looks at all of them, what allows at none.
    """
    start = 0
    while start < len(parts) and _ASSIGNMENT.match(parts[start]):
        start += 1
    parts = parts[start:]
    if not parts:
        return []
    found = [parts]
    if depth < _DEEPEST:
        for inner in _wrapped(parts):
            found.extend(forms(inner, depth=depth + 1))
    return found


def _wrapped(parts: list[str]) -> list[list[str]]:
    name = program(parts)
    if name == "find":
        return [parts[i + 1 :] for i, word in enumerate(parts) if word in _EXECUTING]
    own = _WRAPPERS.get(name)
    if own is None:
        return []
    inner: list[list[str]] = []
    for position in range(1, len(parts)):
        word = parts[position]
        if word.startswith("-"):
            own += 1
        elif not _ASSIGNMENT.match(word):
            inner.append(parts[position:])
            if len(inner) > own:
                break
    return inner
