"""``toolcrib mcp``: which servers there are, what they may do, and logging in to them."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import sys

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from toolcrib import Policy, PolicyError

from .settings import ServerConfig, Servers, read, read_file, read_servers


__all__ = ["mcp"]

F = TypeVar("F", bound=Callable[..., Any])

_PLACES = {
    "claude-desktop": (
        "~/Library/Application Support/Claude/claude_desktop_config.json",
        "~/.config/Claude/claude_desktop_config.json",
        "~/AppData/Roaming/Claude/claude_desktop_config.json",
    ),
    "claude-code": ("~/.claude.json",),
    "cursor": ("~/.cursor/mcp.json",),
    "windsurf": ("~/.codeium/windsurf/mcp_config.json",),
    "vscode": (
        "~/.config/Code/User/mcp.json",
        "~/Library/Application Support/Code/User/mcp.json",
    ),
    "gemini": ("~/.gemini/settings.json",),
    "project": (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"),
}


@click.group()
def mcp() -> None:
    """Servers of the Model Context Protocol."""
    # What goes wrong is told in our words; the SDK's log would add tracebacks to them.
    logging.getLogger("mcp").addHandler(logging.NullHandler())


def _policy_option(command: F) -> F:
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.option("--policy", "policy_file", type=kind, help="Instead of your own.")(
        command
    )


def _policy(file: Path | None) -> Policy:
    try:
        return Policy.load(file) if file is not None else Policy.discover(Path())
    except (PolicyError, OSError) as error:
        raise click.ClickException(str(error)) from error


def _configured(policy: Policy) -> Servers:
    return read(policy.settings.get("mcp", {}), root=policy.workspace)


def _one(policy: Policy, name: str) -> ServerConfig:
    found = _configured(policy)
    if name in found.configs:
        return found.configs[name]
    for problem in found.problems:
        if problem.server == name:
            raise click.ClickException(problem.text)
    known = ", ".join(sorted(found.configs)) or "none"
    text = f"no server {name!r} is configured; there are: {known}"
    raise click.ClickException(text)


def _about(config: ServerConfig) -> dict[str, Any]:
    """Return what a server is and gets, without any value that could be a secret."""
    about: dict[str, Any] = {
        "name": config.name,
        "what": config.summary(),
        "from": config.where,
        "trusted": config.trusted,
    }
    if config.remote:
        about["headers"] = sorted(config.headers)
        about["login"] = config.oauth is not None
    else:
        about["variables"] = sorted({*config.env, *config.inherit})
        about["may"] = "run as you: read and change files, start programs, use the network"
    about["limits"] = sorted(config.effects) if config.effects is not None else "the widest"
    about["sampling"] = config.sampling
    return about


def _show(about: Mapping[str, Any]) -> None:
    click.secho(str(about["name"]), bold=True)
    for key, value in about.items():
        if key != "name" and value not in ([], None, False):
            text = ", ".join(value) if isinstance(value, list) else str(value)
            click.echo(f"  {key}: {text}")


@mcp.command("list")
@click.option("--json", "as_json", is_flag=True)
@_policy_option
def list_(*, policy_file: Path | None, as_json: bool) -> None:
    """List configured servers; none of them is started."""
    found = _configured(_policy(policy_file))
    if as_json:
        value = {
            "servers": [_about(config) for config in found.configs.values()],
            "problems": [problem.text for problem in found.problems],
        }
        click.echo(json.dumps(value, indent=2))
    else:
        for config in found.configs.values():
            _show(_about(config))
        for problem in found.problems:
            click.secho(problem.text, fg="red", err=True)
    raise SystemExit(1 if found.problems else 0)


@mcp.command()
@click.argument("name")
@click.argument("command", nargs=-1)
@click.option("--url", help="A remote server, in the place of a command.")
@click.option("--env", multiple=True, metavar="NAME[=VALUE]", help="A variable it gets.")
@click.option("--header", multiple=True, metavar="NAME=VALUE")
@click.option("--trusted", is_flag=True, help="Believe what it says of its tools.")
@click.option("--login", is_flag=True, help="It wants a login; see toolcrib mcp login.")
@_policy_option
def add(
    *,
    policy_file: Path | None,
    name: str,
    command: tuple[str, ...],
    url: str | None,
    env: tuple[str, ...],
    header: tuple[str, ...],
    trusted: bool,
    login: bool,
) -> None:
    """Add a server: NAME and the COMMAND that starts it, or --url."""
    entry: dict[str, Any] = {}
    if url is not None:
        entry["url"] = url
    if command:
        entry["command"], arguments = command[0], list(command[1:])
        if arguments:
            entry["args"] = arguments
    values = dict(each.split("=", 1) for each in env if "=" in each)
    inherited = [each for each in env if "=" not in each]
    if values:
        entry["env"] = values
    if inherited:
        entry["inherit"] = inherited
    if header:
        entry["headers"] = dict(map(_header, header))
    if trusted:
        entry["trusted"] = True
    if login:
        entry["oauth"] = {}
    policy = _policy(policy_file)
    config = _checked(name, entry)
    _save(policy, name, entry)
    _show(_about(config))
    program = config.command
    if program is not None and shutil.which(program) is None:
        text = f"There is no program {program!r} here yet: {name} starts once it is installed."
        click.secho(text, fg="yellow", err=True)


def _header(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        message = "a header is NAME=VALUE, such as Authorization=${TOKEN}"
        raise click.BadParameter(message, param_hint="--header")
    return name, value


def _checked(name: str, entry: Mapping[str, Any]) -> ServerConfig:
    found = read_servers({name: entry}, where="given")
    if found.problems:
        raise click.ClickException(found.problems[0].text)
    return found.configs[name]


def _save(policy: Policy, name: str, entry: Mapping[str, Any]) -> None:
    from . import tomltext  # noqa: PLC0415 - only for those who change something

    if policy.file is None:
        text = "there is no policy file yet; run: toolcrib packs enable toolcrib-mcp"
        raise click.ClickException(text)
    try:
        old = policy.file.read_text(encoding="utf-8")
        tomltext.write(policy.file, tomltext.with_server(old, name, entry))
    except (OSError, ValueError) as error:
        message = f"{policy.file}: {error}"
        raise click.ClickException(message) from error


@mcp.command()
@click.argument("name")
@_policy_option
def remove(*, policy_file: Path | None, name: str) -> None:
    """Remove a server, and its login."""
    from . import oauth, tomltext  # noqa: PLC0415 - as above

    policy = _policy(policy_file)
    found = _configured(policy).configs.get(name)
    if policy.file is None:
        text = "there is no policy file"
        raise click.ClickException(text)
    try:
        old = policy.file.read_text(encoding="utf-8")
        tomltext.write(policy.file, tomltext.without_server(old, name))
    except (OSError, ValueError) as error:
        message = f"{policy.file}: {error}"
        raise click.ClickException(message) from error
    if found is not None and found.oauth is not None:
        oauth.forget(found, _state(policy))


def _state(policy: Policy) -> Path:
    """Return the pack's private folder, where logins are kept."""
    from toolcrib import Toolbox  # noqa: PLC0415 - few commands need it

    return Toolbox(policy).pack_state("mcp")


@mcp.command("import")
@click.argument("source")
@click.option("--only", multiple=True, metavar="NAME", help="Of the servers, only these.")
@click.option("--yes", is_flag=True, help="Take them without asking.")
@_policy_option
def import_(*, policy_file: Path | None, source: str, only: tuple[str, ...], yes: bool) -> None:
    """Take servers over from another client: SOURCE is a file, or the client's name.

    Shows what each server may do before it is taken. What the other client allowed
    without asking is not taken over.
    """
    file = _source(source)
    found = read_file(file)
    for problem in found.problems:
        click.secho(problem.text, fg="yellow", err=True)
    policy = _policy(policy_file)
    there = _configured(policy).configs
    taken = 0
    for name, config in found.configs.items():
        if only and name not in only:
            continue
        if name in there:
            click.echo(f"{name}: there already", err=True)
            continue
        _show(_about(config))
        if yes or (sys.stdin.isatty() and click.confirm(f"Enable {name}?", default=False)):
            _save(policy, name, _entry(file, name))
            taken += 1
    click.echo(f"{taken} of {len(found.configs)} servers taken over from {file}", err=True)
    raise SystemExit(0 if taken or not found.configs else 1)


def _source(source: str) -> Path:
    for place in _PLACES.get(source, (source,)):
        path = Path(place).expanduser()
        if path.is_file():
            return path
    known = ", ".join(_PLACES)
    text = f"{source!r} is no file, and no client whose file is found; clients are: {known}"
    raise click.ClickException(text)


def _entry(file: Path, name: str) -> dict[str, Any]:
    """Return an entry as it stands in the file, in our words; variables stay references."""
    value = json.loads(file.read_text(encoding="utf-8-sig"))
    table = value.get("mcpServers", value.get("servers", value.get("mcp", value)))
    entry = dict(table[name])
    out: dict[str, Any] = {}
    for key in ("command", "args", "env", "cwd", "url", "headers"):
        if entry.get(key):
            out[key] = entry[key]
    for other in ("serverUrl", "httpUrl"):
        if other in entry:
            out["url"] = entry[other]
    if entry.get("type") == "sse":
        out["transport"] = "sse"
    for key in ("env", "headers"):
        if key in out:
            out[key] = {k: str(v) for k, v in out[key].items()}
    return out


@mcp.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True)
@_policy_option
def inspect(*, policy_file: Path | None, name: str, as_json: bool) -> None:
    """Start a server and show what it says it is, and every tool with what it may do."""
    policy = _policy(policy_file)
    config = _one(policy, name)
    value = asyncio.run(_inspected(policy, config))
    if as_json:
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        _show_inspected(value)
    raise SystemExit(0 if value["state"] == "connected" else 1)


async def _inspected(policy: Policy, config: ServerConfig) -> dict[str, Any]:
    from .inspecting import inspected  # noqa: PLC0415 - --help does without the SDK

    return await inspected(policy, config)


def _show_inspected(value: Mapping[str, Any]) -> None:
    _show({"name": value["server"], **{k: v for k, v in value.items() if k not in _LONG}})
    for each in value["tools"]:
        hints = f"  (it says: {each['hints']})" if each["hints"] else ""
        click.echo(f"  {each['id']}: {', '.join(each['effects']) or 'nothing'}{hints}")
    for text in value["withheld"]:
        click.secho(f"  withheld: {text}", fg="yellow")
    if value["instructions"]:
        click.echo("  It says of itself (untrusted):")
        click.echo("    " + value["instructions"].replace("\n", "\n    "))


_LONG = frozenset({"server", "tools", "withheld", "instructions"})


@mcp.command()
@click.argument("name")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@_policy_option
def login(*, policy_file: Path | None, name: str, no_browser: bool) -> None:
    """Log in to a remote server, in a browser."""
    from .loggingin import log_in  # noqa: PLC0415 - --help does without the SDK

    policy = _policy(policy_file)
    config = _one(policy, name)
    if not config.remote:
        text = f"{name} runs on this machine; it has no login"
        raise click.ClickException(text)
    problem = asyncio.run(log_in(policy, config, browser=not no_browser))
    if problem:
        raise click.ClickException(problem)
    click.echo(f"logged in to {name}", err=True)


@mcp.command()
@click.argument("name")
@_policy_option
def logout(*, policy_file: Path | None, name: str) -> None:
    """Forget a stored login."""
    from . import oauth  # noqa: PLC0415 - as above

    policy = _policy(policy_file)
    there = oauth.forget(_one(policy, name), _state(policy))
    click.echo("forgotten" if there else "there was none", err=True)
