"""``toolcrib serve``: the catalog for any client of the protocol."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import importlib
import logging
import os
import secrets
import socket
import sys

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import click

from toolcrib import Policy, PolicyError, Toolbox


__all__ = ["run", "serve"]


@click.command()
@click.option(
    "--http", "address", metavar="[HOST:]PORT", help="Serve over HTTP, not over stdio."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Bearer tokens, one a line: TOKEN, or NAME TOKEN.",
)
@click.option("--open", "everybody", is_flag=True, help="Without tokens; on this machine only.")
@click.option("--allow-host", multiple=True, help="Another Host header that is right.")
@click.option("--allow-origin", multiple=True, help="An Origin that may call from a browser.")
@click.option("--body-limit", type=int, default=4 << 20, show_default=True, help="Bytes.")
@click.option(
    "--poll-after",
    type=float,
    help="Seconds after which a client has to come back for the answer of a long call.",
)
@click.option(
    "--task-after",
    type=click.FloatRange(min=0.0),
    default=5.0,
    show_default=True,
    help="Seconds after which a call goes on as a task, where the client knows tasks.",
)
@click.option("--mode", type=click.Choice(["plan", "ask", "edits", "trust"]))
@click.option("--own-names", is_flag=True, help="Leave the pack out of names where it can be.")
@click.option(
    "--offers", "offered", multiple=True, help="MODULE:ATTRIBUTE with prompts, resources."
)
@click.option("--policy", "policy_file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--workspace", type=click.Path(path_type=Path, file_okay=False, exists=True), default=Path()
)
@click.option("--develop", is_flag=True, help="Also packs that have no manifest yet.")
def serve(*, policy_file: Path | None, workspace: Path, develop: bool, **options: Any) -> None:
    """Serve the tools that policy lets through, each call through all stages.

    What needs approval is asked of the client's user where the client can ask; otherwise
    the call ends as needing approval and nothing runs.
    """
    try:
        if policy_file is not None:
            policy = Policy.load(policy_file, workspace=workspace.absolute())
        else:
            policy = Policy.discover(workspace)
    except (PolicyError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if develop:
        policy = attrs.evolve(policy, develop=True)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    options["offers"] = [_offers(name) for name in options.pop("offered")]
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(policy, **options))


async def run(
    policy: Policy,
    *,
    address: str | None = None,
    token_file: Path | None = None,
    everybody: bool = False,
    allow_host: tuple[str, ...] = (),
    allow_origin: tuple[str, ...] = (),
    body_limit: int = 4 << 20,
    poll_after: float | None = None,
    task_after: float = 5.0,
    mode: str | None = None,
    own_names: bool = False,
    offers: Sequence[Any] = (),
) -> None:
    """Serve a policy's catalog until the client, or the user, ends it; see ``serve``."""
    from .channel import ClientAgents, ClientAsk, Logs  # noqa: PLC0415 - --help does without
    from .clients import Clients  # noqa: PLC0415 - as above

    logs = Logs(level=logging.DEBUG)
    logger = logging.getLogger("toolcrib.pack")
    logger.addHandler(logs)
    logger.setLevel(logging.DEBUG)
    # What tools log goes to their clients; the rest of the process hears of warnings.
    for handler in logging.getLogger().handlers:
        handler.setLevel(logging.WARNING)
    tokens = None if address is None else _tokens(address, token_file, everybody=everybody)
    async with Toolbox(policy, ask=ClientAsk(), agents=ClientAgents()) as box:
        options: dict[str, Any] = {"mode": mode, "names": own_names, "task_after": task_after}
        clients = Clients(box, holders=len(tokens or ()), **options)
        try:
            await clients.prime()
            if address is None:
                await _stdio(clients, offers)
            else:
                await _http(
                    clients,
                    offers,
                    address,
                    tokens=tokens,
                    allowed_hosts=allow_host,
                    allowed_origins=allow_origin,
                    body=body_limit,
                    poll_after=poll_after,
                )
        finally:
            await clients.close()
            logger.removeHandler(logs)


def _offers(name: str) -> Any:
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute or "offers")
    except (ImportError, AttributeError) as error:
        message = f"{name}: {error}"
        raise click.ClickException(message) from error


async def _stdio(clients: Any, offers: Any) -> None:
    from .endpoint import serve_stdio  # noqa: PLC0415 - --help does without
    from .handlers import Served  # noqa: PLC0415 - as above

    who = _login()
    served = Served(clients, lambda _: ("stdio", who), offers=offers)
    watcher = asyncio.create_task(_watch(served))
    try:
        await serve_stdio(served)
    finally:
        watcher.cancel()


async def _http(
    clients: Any, offers: Any, address: str, *, poll_after: float | None, **options: Any
) -> None:
    from . import endpoint  # noqa: PLC0415 - as above
    from .handlers import Served  # noqa: PLC0415 - as above

    host, port = _address(address)
    served = Served(clients, endpoint.identify_http, offers=offers, poll_after=poll_after)
    with _listening(host, port) as sock:
        port = sock.getsockname()[1]
        app = endpoint.http_app(served, host=host, port=port, **options)
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"serving on http://{shown}:{port}/mcp", err=True)
        watcher = asyncio.create_task(_watch(served))
        try:
            await endpoint.serve_http(app, sock)
        finally:
            watcher.cancel()


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket on which connections wait: whoever reads the address may come at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, accepted connections do not wait to gather small writes.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(2048)
    except OSError as error:
        sock.close()
        message = f"{host}:{port}: {error.strerror}"
        raise click.ClickException(message) from error
    return sock


async def _watch(served: Any) -> None:
    """Tell clients when the catalog changes, and let go of those that are gone."""
    revision = served.toolbox.catalog.revision
    ticks = 0
    while True:
        await asyncio.sleep(0.25)
        ticks += 1
        if served.toolbox.catalog.revision != revision:
            revision = served.toolbox.catalog.revision
            await served.clients.prime()
            await served.tools_changed()
        if ticks % 240 == 0:
            await served.clients.expire()


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    try:
        number = int(port)
    except ValueError as error:
        message = f"{text!r}: [HOST:]PORT is wanted"
        raise click.UsageError(message) from error
    return host.strip("[]") or "127.0.0.1", number


def _tokens(address: str, token_file: Path | None, *, everybody: bool) -> Any:
    """Return who may come in; without a word about it, a new token that is shown once."""
    from .endpoint import is_loopback  # noqa: PLC0415 - --help does without
    from .guard import Tokens  # noqa: PLC0415 - as above

    host, _ = _address(address)
    if everybody:
        if not is_loopback(host):
            message = f"--open is for this machine only; {host} can be reached by others"
            raise click.UsageError(message)
        return None
    if token_file is not None:
        return Tokens.of(_read_tokens(token_file))
    given = os.environ.get("TOOLCRIB_SERVE_TOKEN")
    if given:
        return Tokens.of({given: _login()})
    token = secrets.token_urlsafe(32)
    click.echo(f"token: {token}", err=True)
    return Tokens.of({token: _login()})


def _read_tokens(path: Path) -> dict[str, str]:
    if os.name == "posix" and path.stat().st_mode & 0o077:
        message = f"{path}: others can read it; chmod 600 {path}"
        raise click.ClickException(message)
    found: dict[str, str] = {}
    for line in path.read_text().splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        name, token = (words[0], words[1]) if len(words) > 1 else (_login(), words[0])
        if len(token) < 16:
            message = f"{path}: the token of {name} is shorter than 16"
            raise click.ClickException(message)
        found[token] = name
    if not found:
        message = f"{path}: it holds no token"
        raise click.ClickException(message)
    return found


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "user"
