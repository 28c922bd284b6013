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
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs

from toolcrib import Effect

from .checking import (
    Wrong,
    as_effects,
    as_flag,
    as_names,
    as_table,
    as_text,
    as_texts,
    as_texts_by_name,
    number_within,
    one_of,
    whole_within,
)


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
        long: Names of tools that are called as tasks where the server leaves that open.
        oauth: Settings of a login, or None.
        net: What requests to it may do; a table of ``toolcrib_net.NetPolicy``.
        hosts: Names with addresses of their own, instead of what a resolver says.
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
    long: frozenset[str] = frozenset()
    oauth: Mapping[str, Any] | None = None
    net: Mapping[str, Any] = attrs.field(factory=dict)
    hosts: Mapping[str, Any] = attrs.field(factory=dict)
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


_SECONDS = number_within(0.01, 86_400)
_KEYS: dict[str, Callable[[Any], Any]] = {
    "command": as_text,
    "args": as_texts,
    "env": as_texts_by_name,
    "inherit": as_texts,
    "cwd": as_text,
    "url": as_text,
    "headers": as_texts_by_name,
    "transport": one_of("stdio", "http", "sse"),
    "revision": one_of("auto", "legacy"),
    "trusted": as_flag,
    "effects": as_effects,
    "concurrency": whole_within(1, 256),
    "timeout": _SECONDS,
    "idle_timeout": _SECONDS,
    "connect_timeout": _SECONDS,
    "task_wait": number_within(0, 86_400),
    "task_lifetime": _SECONDS,
    "recover": whole_within(0, 20),
    "first_delay": _SECONDS,
    "longest_delay": _SECONDS,
    "ping": number_within(0, 3600),
    "roots": as_flag,
    "sampling": as_flag,
    "log_level": one_of(*_LOGS),
    "tools": as_names,
    "without": as_names,
    "volatile": as_names,
    "long": as_names,
    "oauth": as_table,
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
            raise Wrong(missing)
        return found

    return _VARIABLE.sub(value, text)


def _config(
    name: str, entry: Any, where: str, lookup: Mapping[str, str], *, foreign: bool
) -> ServerConfig:
    if len(name) > 64 or _NAME.fullmatch(name) is None:
        text = f"{name!r} cannot be part of a tool's id; use letters, digits, - and _"
        raise Wrong(text)
    if not isinstance(entry, Mapping):
        text = "a table is wanted"
        raise Wrong(text)
    values: dict[str, Any] = {}
    for key, value in entry.items():
        if not (foreign and key in _IGNORED):
            own, converted = _setting(key, value, foreign=foreign)
            values[own] = converted
    if foreign:
        # What another client's file says about trust is not this user's word.
        for key in ("trusted", "effects", "sampling"):
            values.pop(key, None)
    return _checked(name, values, where, lookup, foreign=foreign)


def _setting(key: str, value: Any, *, foreign: bool) -> tuple[str, Any]:
    """Return a setting under our own name, converted."""
    own = _ALIASES.get(key, key)
    if own not in _KEYS:
        text = f"{key!r} is no setting of a server; there are: {', '.join(sorted(_KEYS))}"
        raise Wrong(text)
    if own == "transport" and isinstance(value, str):
        value = _TRANSPORTS.get(value, value)
    if foreign and own == "timeout" and isinstance(value, int | float) and value > 3600:
        value = value / 1000  # Other clients count milliseconds.
    try:
        return own, _KEYS[own](value)
    except Wrong as error:
        text = f"{key}: {error}"
        raise Wrong(text) from None


def _checked(
    name: str,
    values: dict[str, Any],
    where: str,
    lookup: Mapping[str, str],
    *,
    foreign: bool,
) -> ServerConfig:
    if ("command" in values) == ("url" in values):
        text = "either a command or a url is wanted"
        raise Wrong(text)
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
        raise Wrong(text)
    values.setdefault("transport", "stdio")
    if "url" in values:
        values["net"] = {"allow": _named(values["url"], foreign=foreign)}
    if values.get("idle_timeout", 60.0) > values.get("timeout", 300.0):
        values["idle_timeout"] = values.get("timeout", 300.0)
    return ServerConfig(name=name, where=where, **values)


def _remote(values: dict[str, Any]) -> str:
    parts = urlsplit(values["url"])
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        text = "a url starts with https:// (or http:// on this machine) and names a host"
        raise Wrong(text)
    if parts.username or parts.password:
        text = "a url holds no credentials; use headers"
        raise Wrong(text)
    if parts.scheme == "http" and parts.hostname not in _LOCAL and _has_secret(values):
        text = "headers and logins go over https only"
        raise Wrong(text)
    if "oauth" in values and any(key.lower() == "authorization" for key in values["headers"]):
        text = "a server has either an Authorization header or oauth"
        raise Wrong(text)
    given = values.get("transport", "http")
    return "http" if given == "stdio" else str(given)


def _named(url: str, *, foreign: bool) -> list[str]:
    """Return the host, if the url itself says that it is not on the public internet.

    This machine is named by its name. Another inner address is named only where the user
    has written it into the policy, as an address: what a name resolves to is judged.
    """
    host = urlsplit(url).hostname or ""
    if host in _LOCAL:
        return [host]
    try:
        ip_address(host)
    except ValueError:
        return []
    return [] if foreign else [host]


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
        except Wrong as error:
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
    net, wrong = _net(settings)
    configs: dict[str, ServerConfig] = {}
    problems: list[Problem] = []
    problems += [
        Problem("", f"pack.mcp: {key!r} is no setting; use servers, files, net, hosts")
        for key in settings
        if key not in {"servers", "files", "net", "hosts"}
    ]
    problems += wrong
    files = settings.get("files", ())
    for name in files if isinstance(files, list | tuple) else [files]:
        found = read_file(root / Path(str(name)).expanduser(), lookup=lookup)
        configs.update(found.configs)
        problems += found.problems
    own = read_servers(settings.get("servers", {}), where="pack.mcp.servers", lookup=lookup)
    configs.update(own.configs)
    hosts = {} if wrong else settings.get("hosts", {})
    for name, config in configs.items():
        if config.remote:
            allow = [*net.get("allow", ()), *config.net.get("allow", ())]
            configs[name] = attrs.evolve(config, net={**net, "allow": allow}, hosts=hosts)
    return Servers(configs, (*problems, *own.problems))


def _net(settings: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[Problem]]:
    """Return what requests may do, as the policy says; a slip opens nothing."""
    from toolcrib_net import NetPolicy  # noqa: PLC0415 - only settings that are read need it

    table, hosts = settings.get("net", {}), settings.get("hosts", {})
    try:
        NetPolicy.from_table(table)
    except (ValueError, TypeError, AttributeError) as error:
        return {}, [Problem("", f"pack.mcp.net: {error}")]
    if not isinstance(hosts, Mapping) or not all(isinstance(v, list) for v in hosts.values()):
        return {}, [Problem("", "pack.mcp.hosts: a table of lists of addresses is wanted")]
    return table, []
