"""Which servers there are: the policy's table, and the common ``mcpServers`` JSON.

In ``toolcrib.toml``::

    [pack.mcp.servers.github]
    command = "github-mcp-server"
    args = ["stdio"]
    env = { GITHUB_TOKEN = "${GITHUB_TOKEN}" }

Every other client's file can be named as well: ``[pack.mcp] files = ["mcp.json"]``. An
entry that is wrong is left out alone, and said.
"""

from __future__ import annotations

import json
import os
import re

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs

from toolcrib import Effect


__all__ = ["Problem", "ServerConfig", "Servers", "read", "read_file", "read_servers"]

_NAME = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*", re.ASCII)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_MOST_BYTES = 1 << 20
_LOGS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


@attrs.frozen
class Problem:
    """Why one entry cannot be used."""

    server: str
    text: str


@attrs.frozen(kw_only=True)
class ServerConfig:
    """One server.

    Attributes:
        name: The middle part of its tools' ids.
        command, args, env, cwd: A program to start; ``env`` is all it gets beside a few
            plain variables such as ``PATH`` and ``HOME``.
        inherit: Names of the host's variables that it gets as well.
        url, headers: A remote server, over streamable HTTP.
        transport: ``stdio``, ``http``, or the older ``sse``.
        revision: ``auto``, or ``legacy`` for servers that a newer greeting upsets.
        trusted: Whether its annotations may loosen what is asked.
        effects: The upper bound of what its tools do, instead of the widest.
        concurrency: How many calls it is given at once.
        timeout, idle_timeout: Seconds for a call, and without any progress of it.
        connect_timeout: Seconds to start and say hello.
        task_wait: Seconds that a call waits for a task before it leaves it as a job.
        task_lifetime: Seconds after which a task is given up.
        recover: How often in a row it is started again after it was lost.
        first_delay, longest_delay: Seconds between these attempts, doubled each time.
        ping: Seconds between health checks; 0 for none.
        roots: Whether it is told the workspace folder.
        sampling: Whether it may ask the app's model.
        log_level: What of its log is kept.
        tools: Names of the only tools that are taken, or empty for all.
        without: Names of tools that are not taken.
        volatile: Names of tools whose text changes by itself.
        oauth: Settings of a login, or None.
        where: The file and key that it comes from.
    """

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    inherit: tuple[str, ...] = ()
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    transport: str = "stdio"
    revision: str = "auto"
    trusted: bool = False
    effects: frozenset[Effect] | None = None
    concurrency: int = 4
    timeout: float = 300.0
    idle_timeout: float = 60.0
    connect_timeout: float = 30.0
    task_wait: float = 60.0
    task_lifetime: float = 3600.0
    recover: int = 5
    first_delay: float = 1.0
    longest_delay: float = 30.0
    ping: float = 0.0
    roots: bool = True
    sampling: bool = False
    log_level: str = "warning"
    tools: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    volatile: frozenset[str] = frozenset()
    oauth: Mapping[str, Any] | None = None
    where: str = ""

    @property
    def remote(self) -> bool:
        """Whether it runs elsewhere."""
        return self.url is not None

    @property
    def host(self) -> str:
        """The host of a remote server, or empty."""
        return urlsplit(self.url).hostname or "" if self.url else ""

    def summary(self) -> str:
        """Return one line for people; never a value that could be a secret."""
        if self.url is not None:
            return f"{self.transport} {_without_query(self.url)}"
        return " ".join([self.command or "", *self.args])


def _without_query(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"


@attrs.frozen
class Servers:
    """What was found: usable entries by name, and what is wrong with others."""

    configs: Mapping[str, ServerConfig]
    problems: tuple[Problem, ...] = ()


class _Wrong(ValueError):  # noqa: N818 - as it reads where it is raised
    pass


def _number(low: float, high: float) -> Callable[[Any], float]:
    def convert(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            text = f"a number is wanted, not {value!r}"
            raise _Wrong(text)
        if not low <= value <= high:
            text = f"{value} is not within {low:g} and {high:g}"
            raise _Wrong(text)
        return value

    return convert


def _whole(low: int, high: int) -> Callable[[Any], int]:
    number = _number(low, high)

    def convert(value: Any) -> int:
        if isinstance(value, float):
            text = f"a whole number is wanted, not {value!r}"
            raise _Wrong(text)
        return int(number(value))

    return convert


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        text = f"true or false is wanted, not {value!r}"
        raise _Wrong(text)
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        text = f"a text is wanted, not {value!r}"
        raise _Wrong(text)
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        text = "a list of texts is wanted"
        raise _Wrong(text)
    return tuple(value)


def _names(value: Any) -> frozenset[str]:
    return frozenset(_texts(value))


def _table(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        text = "a table of texts is wanted"
        raise _Wrong(text)
    out = {}
    for key, each in value.items():
        if isinstance(each, bool) or not isinstance(each, str | int | float):
            text = f"the value of {key} is no text"
            raise _Wrong(text)
        out[str(key)] = str(each)
    return out


def _effects(value: Any) -> frozenset[Effect]:
    try:
        return frozenset(Effect(each) for each in _texts(value))
    except ValueError as error:
        text = f"{error}; effects are {', '.join(Effect)}"
        raise _Wrong(text) from error


def _one_of(*words: str) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        if value not in words:
            text = f"{value!r} is none of {', '.join(words)}"
            raise _Wrong(text)
        return str(value)

    return convert


def _any_table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        text = "a table is wanted"
        raise _Wrong(text)
    return dict(value)


_SECONDS = _number(0.01, 86_400)
_KEYS: dict[str, Callable[[Any], Any]] = {
    "command": _text,
    "args": _texts,
    "env": _table,
    "inherit": _texts,
    "cwd": _text,
    "url": _text,
    "headers": _table,
    "transport": _one_of("stdio", "http", "sse"),
    "revision": _one_of("auto", "legacy"),
    "trusted": _flag,
    "effects": _effects,
    "concurrency": _whole(1, 256),
    "timeout": _SECONDS,
    "idle_timeout": _SECONDS,
    "connect_timeout": _SECONDS,
    "task_wait": _number(0, 86_400),
    "task_lifetime": _SECONDS,
    "recover": _whole(0, 20),
    "first_delay": _SECONDS,
    "longest_delay": _SECONDS,
    "ping": _number(0, 3600),
    "roots": _flag,
    "sampling": _flag,
    "log_level": _one_of(*_LOGS),
    "tools": _names,
    "without": _names,
    "volatile": _names,
    "oauth": _any_table,
}
# What other clients call things.
_ALIASES = {"type": "transport", "serverUrl": "url", "httpUrl": "url"}
_TRANSPORTS = {"streamable-http": "http", "streamableHttp": "http", "streamable_http": "http"}
# Settings of other clients that say nothing about the server itself. What they allowed
# without asking is no permission here.
_IGNORED = frozenset(
    {
        *("autoApprove", "alwaysAllow", "disabled", "enabled", "description", "gallery"),
        *("disabledTools", "note", "version", "timeout_ms", "dev", "startup_timeout_sec"),
    }
)


def _expanded(text: str, lookup: Mapping[str, str]) -> str:
    """Put host variables in; only where the user wrote ``${NAME}``."""

    def value(match: re.Match[str]) -> str:
        name, default = match.group(1), match.group(2)
        found = lookup.get(name, default)
        if found is None:
            missing = f"the variable {name} is not set; set it, or write ${{{name}:-default}}"
            raise _Wrong(missing)
        return found

    return _VARIABLE.sub(value, text)


def _config(
    name: str, entry: Any, where: str, lookup: Mapping[str, str], *, foreign: bool
) -> ServerConfig:
    if len(name) > 64 or _NAME.fullmatch(name) is None:
        text = f"{name!r} cannot be part of a tool's id; use letters, digits, - and _"
        raise _Wrong(text)
    if not isinstance(entry, Mapping):
        text = "a table is wanted"
        raise _Wrong(text)
    values: dict[str, Any] = {}
    for key, value in entry.items():
        if not (foreign and key in _IGNORED):
            own, converted = _setting(key, value, foreign=foreign)
            values[own] = converted
    if foreign:
        # What another client's file says about trust is not this user's word.
        for key in ("trusted", "effects", "sampling"):
            values.pop(key, None)
    return _checked(name, values, where, lookup)


def _setting(key: str, value: Any, *, foreign: bool) -> tuple[str, Any]:
    """Return a setting under our own name, converted."""
    own = _ALIASES.get(key, key)
    if own not in _KEYS:
        text = f"{key!r} is no setting of a server; there are: {', '.join(sorted(_KEYS))}"
        raise _Wrong(text)
    if own == "transport" and isinstance(value, str):
        value = _TRANSPORTS.get(value, value)
    if foreign and own == "timeout" and isinstance(value, int | float) and value > 3600:
        value = value / 1000  # Other clients count milliseconds.
    try:
        return own, _KEYS[own](value)
    except _Wrong as error:
        text = f"{key}: {error}"
        raise _Wrong(text) from None


def _checked(
    name: str, values: dict[str, Any], where: str, lookup: Mapping[str, str]
) -> ServerConfig:
    if ("command" in values) == ("url" in values):
        text = "either a command or a url is wanted"
        raise _Wrong(text)
    for key in ("command", "url", "cwd"):
        if key in values:
            values[key] = _expanded(values[key], lookup)
    values["args"] = tuple(_expanded(each, lookup) for each in values.get("args", ()))
    for key in ("env", "headers"):
        table = values.get(key, {})
        values[key] = {k: _expanded(v, lookup) for k, v in table.items()}
    if "url" in values:
        values["transport"] = _remote(values)
    elif values.get("transport", "stdio") != "stdio":
        text = "a command is spoken to over stdio"
        raise _Wrong(text)
    values.setdefault("transport", "stdio")
    if values.get("idle_timeout", 60.0) > values.get("timeout", 300.0):
        values["idle_timeout"] = values.get("timeout", 300.0)
    return ServerConfig(name=name, where=where, **values)


def _remote(values: dict[str, Any]) -> str:
    parts = urlsplit(values["url"])
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        text = "a url starts with https:// (or http:// on this machine) and names a host"
        raise _Wrong(text)
    if parts.username or parts.password:
        text = "a url holds no credentials; use headers"
        raise _Wrong(text)
    if parts.scheme == "http" and parts.hostname not in _LOCAL and _has_secret(values):
        text = "headers and logins go over https only"
        raise _Wrong(text)
    if "oauth" in values and any(key.lower() == "authorization" for key in values["headers"]):
        text = "a server has either an Authorization header or oauth"
        raise _Wrong(text)
    given = values.get("transport", "http")
    return "http" if given == "stdio" else str(given)


def _has_secret(values: Mapping[str, Any]) -> bool:
    return bool(values.get("headers")) or "oauth" in values


def read_servers(
    table: Any,
    *,
    where: str,
    lookup: Mapping[str, str] | None = None,
    foreign: bool = False,
) -> Servers:
    """Read a table of servers; each is good or bad alone.

    Args:
        table: Server name → entry.
        where: For the problems' texts.
        lookup: The host's variables; the environment by default.
        foreign: Whether another client wrote it: then it cannot give trust.
    """
    if not isinstance(table, Mapping):
        return Servers({}, (Problem("", f"{where}: a table of servers is wanted"),))
    lookup = os.environ if lookup is None else lookup
    configs, problems = {}, []
    for name, entry in table.items():
        try:
            configs[name] = _config(name, entry, where, lookup, foreign=foreign)
        except _Wrong as error:
            problems.append(Problem(name, f"{where}: server {name}: {error}"))
    return Servers(configs, tuple(problems))


def read_file(path: Path, *, lookup: Mapping[str, str] | None = None) -> Servers:
    """Read the ``mcpServers`` (or ``servers``) of another client's JSON file."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return Servers({}, (Problem("", f"{path}: it is larger than {_MOST_BYTES} bytes"),))
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        return Servers({}, (Problem("", f"{path}: {error}"),))
    if not isinstance(value, Mapping):
        return Servers({}, (Problem("", f"{path}: an object is wanted"),))
    table = value.get("mcpServers", value.get("servers", value.get("mcp", value)))
    return read_servers(table, where=str(path), lookup=lookup, foreign=True)


def read(
    settings: Mapping[str, Any], *, root: Path, lookup: Mapping[str, str] | None = None
) -> Servers:
    """Read the pack's settings; the policy's own table wins over files."""
    configs: dict[str, ServerConfig] = {}
    problems: list[Problem] = []
    problems += [
        Problem("", f"pack.mcp: {key!r} is no setting; use servers, files")
        for key in settings
        if key not in {"servers", "files"}
    ]
    files = settings.get("files", ())
    for name in files if isinstance(files, list | tuple) else [files]:
        found = read_file(root / Path(str(name)).expanduser(), lookup=lookup)
        configs.update(found.configs)
        problems += found.problems
    own = read_servers(settings.get("servers", {}), where="pack.mcp.servers", lookup=lookup)
    configs.update(own.configs)
    return Servers(configs, (*problems, *own.problems))
