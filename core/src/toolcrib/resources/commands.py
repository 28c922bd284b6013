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
    "arch": 0, "bun": 1, "busybox": 0, "builtin": 0, "bwrap": 16, "caffeinate": 0,
    "cgexec": 0, "chpst": 0, "chroot": 1, "chrt": 1, "command": 0, "conda": 1,
    "dbus-run-session": 0, "docker": 2, "doas": 0, "entr": 0, "env": 0, "exec": 0,
    "fakeroot": 0, "faketime": 1, "firejail": 0, "flatpak-spawn": 0, "flock": 1, "gdb": 0,
    "genv": 0, "gnice": 0, "gnohup": 0, "gstdbuf": 0, "gtime": 0, "gtimeout": 1,
    "gxargs": 0, "hyperfine": 0, "ionice": 0, "kubectl": 2, "lldb": 0, "ltrace": 0,
    "nice": 0, "nohup": 0, "npx": 0, "nsenter": 0, "numactl": 0, "parallel": 0, "perf": 1,
    "pipenv": 1, "pkexec": 0, "podman": 2, "poetry": 1, "prlimit": 0, "proxychains": 0,
    "rlwrap": 0, "runcon": 1, "runuser": 0, "script": 0, "setarch": 1, "setpriv": 0,
    "setsid": 0, "start-stop-daemon": 0, "stdbuf": 0, "strace": 0, "sudo": 0,
    "systemd-run": 0, "taskset": 1, "time": 0, "timeout": 1, "torsocks": 0, "toybox": 0,
    "unbuffer": 0, "unshare": 0, "uv": 1, "valgrind": 0, "watch": 0, "xargs": 0,
    "xvfb-run": 0,
}  # fmt: skip
_EXECUTING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
# Programs that run a text: after an option with a "c" in it, or all of their words.
_SHELLS = frozenset({
    *("ash", "bash", "cmd", "dash", "fish", "ksh", "mksh", "powershell", "pwsh", "runuser"),
    *("sh", "su", "zsh"),
})  # fmt: skip
_JOINING = frozenset({"sg", "ssh", "tmux", "watch"})
_COMMAND_FOLLOWS = re.compile(r"-[a-z]*c|/c\Z", re.IGNORECASE)
_BETWEEN = re.compile(r"[;&|\n(){}`]|\$\(|\b(?:then|do|else|if|while)\b")
_MOST = 64
_LONGEST = 40_000


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


def forms(parts: list[str]) -> list[list[str]]:
    """Return a command without leading assignments, and every command that it wraps.

    ``timeout 5 git push`` holds ``git push`` (and, for all the core knows, ``5 git
    push``). What denies or asks looks at all of them, what allows at none.

    Raises:
        ValueError: it wraps more than anybody would write.
    """
    found: dict[tuple[str, ...], None] = {}
    waiting = [parts]
    while waiting:
        current = _unassigned(waiting.pop())
        key = tuple(current)
        if not current or key in found:
            continue
        if len(found) == _MOST:
            message = f"a command wraps more than {_MOST} others"
            raise ValueError(message)
        found[key] = None
        waiting += _wrapped(current)
    return [list(key) for key in found]


def _unassigned(parts: list[str]) -> list[str]:
    start = 0
    while start < len(parts) and _ASSIGNMENT.match(parts[start]):
        start += 1
    return parts[start:]


def _wrapped(parts: list[str]) -> list[list[str]]:
    name = program(parts)
    if name == "find":
        starts = [i + 1 for i, word in enumerate(parts) if word in _EXECUTING]
        return [parts[start:] for start in starts[: _MOST + 1]]
    inner = _texts(name, parts)
    own = _WRAPPERS.get(name)
    if own is None:
        return inner
    for position in range(1, len(parts)):
        word = parts[position]
        if word.startswith("-"):
            own += 1
        elif not _ASSIGNMENT.match(word):
            inner.append(parts[position:])
            if len(inner) > min(own, _MOST):
                break
    return inner


def _texts(name: str, parts: list[str]) -> list[list[str]]:
    """Return what may be commands in the text that a shell is given.

    This is no parser: it cuts wherever a command may begin, and so finds too many rather
    than too few. Only what denies or asks looks at it.
    """
    if name in _SHELLS:
        flagged = [i for i, word in enumerate(parts) if _COMMAND_FOLLOWS.match(word)]
        texts = [word for i in flagged for word in parts[i + 1 :]]
    elif name == "eval":
        texts = [" ".join(parts[1:])]
    elif name in _JOINING:
        # Where the text begins depends on options; every place is tried.
        texts = [" ".join(parts[start:]) for start in range(1, min(len(parts), _MOST))]
    else:
        return []
    if sum(map(len, texts)) > _LONGEST:
        message = "a command holds more text of commands than can be looked through"
        raise ValueError(message)
    pieces = [piece for text in texts for piece in _BETWEEN.split(text)]
    return [found for piece in pieces if (found := _loosely(piece))]


def _loosely(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.replace("'", " ").replace('"', " ").split()
