"""The first words with a server: the newest revision that both know, in few attempts."""

from __future__ import annotations

import asyncio
import contextlib

from typing import Any

import httpx2
import mcp_types as types

from mcp import MCPError
from mcp.client.session import ClientSession
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from . import remote
from .settings import ServerConfig


__all__ = ["greet"]

# Few servers leave the newer greeting unanswered; the older one follows soon.
_DISCOVER = 5.0
_DISCOVER_REMOTE = 10.0


async def greet(session: ClientSession, *, config: ServerConfig, legacy: bool) -> None:
    """Greet in the newest way that the server understands.

    Args:
        session: The session, which nothing was said in yet.
        config: The server.
        legacy: Whether to leave the newer greeting out.

    Raises:
        MCPError: the server answered neither, or there is no common revision.
    """
    if not legacy and await _discovered(session, config):
        return
    try:
        await session.initialize()
    except MCPError as error:
        # A slow server may have answered the newer greeting meanwhile.
        if error.code != types.UNSUPPORTED_PROTOCOL_VERSION or legacy:
            raise
        if not await _discovered(session, config):
            raise
        return
    await _log_level(session, config)


async def _discovered(session: ClientSession, config: ServerConfig) -> bool:
    """Try the greeting of the newer revisions; tell whether that was understood."""
    version: str | None = MODERN_PROTOCOL_VERSIONS[-1]
    for _ in range(2):
        if version is None:
            break
        try:
            async with asyncio.timeout(_DISCOVER_REMOTE if config.remote else _DISCOVER):
                result = await session.send_discover(version)
        except TimeoutError:
            return False
        except MCPError as error:
            if error.code in {remote.NOT_SENT, remote.FORBIDDEN, types.CONNECTION_CLOSED}:
                raise
            if error.code != types.UNSUPPORTED_PROTOCOL_VERSION:
                return False
            version = _mutual(error)
            continue
        return _adopted(session, result)
    return False


async def _log_level(session: ClientSession, config: ServerConfig) -> None:
    able = session.server_capabilities
    if able is None or able.logging is None:
        return
    request = types.SetLevelRequest(
        params=types.SetLevelRequestParams(level=config.log_level)  # type: ignore[arg-type]
    )
    with contextlib.suppress(MCPError, httpx2.HTTPError):
        await session.send_request(request, types.EmptyResult)


def _mutual(error: MCPError) -> str | None:
    """Return the newest version that both know, or None if only older ones are left.

    Raises:
        MCPError: there is no version that both know.
    """
    data = error.error.data
    found = data.get("supported", ()) if isinstance(data, dict) else ()
    known = [version for version in MODERN_PROTOCOL_VERSIONS if version in found]
    if known:
        return known[-1]
    if found and not any(version in HANDSHAKE_PROTOCOL_VERSIONS for version in found):
        raise error
    return None


def _adopted(session: ClientSession, result: Any) -> bool:
    try:
        parsed = types.DiscoverResult.model_validate(result)
    except ValueError:
        return False
    if not any(version in parsed.supported_versions for version in MODERN_PROTOCOL_VERSIONS):
        return False
    session.adopt(parsed)
    return True
