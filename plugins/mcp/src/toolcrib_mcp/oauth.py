"""Logins at remote servers: made by an explicit command, only used by everything else.

A session never opens a browser. What a login gave is kept in the pack's private folder,
readable by the user alone, one file for each server address and client.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl
from toolcrib import Unavailable

from .settings import ServerConfig


__all__ = ["Stored", "forget", "interactive", "is_web_address", "redirect_uri", "stored"]

Redirect = Callable[[str], Awaitable[None]]
Callback = Callable[[], Awaitable[AuthorizationCodeResult]]

_PORT = 7777
_MOST = 1 << 20


def is_web_address(url: str) -> bool:
    """Tell whether an address may be shown to a person: http(s), a host, no credentials."""
    if len(url) > 4096 or not url.isprintable():
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.username


class Stored(TokenStorage):
    """One login, in a file of its own (0600) in a folder of the pack's own (0700)."""

    def __init__(self, config: ServerConfig, state: Path) -> None:
        settings = dict(config.oauth or {})
        key = [config.url, settings.get("client_id"), sorted(settings.get("scopes", ()))]
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
        self.path = state / "oauth" / f"{name}.json"
        self._settings = settings
        self.provider: OAuthClientProvider | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens of the last login."""
        value = self._read().get("tokens")
        return OAuthToken.model_validate(value) if value is not None else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens, with when they end, and who renews them."""
        found = self.provider.context.oauth_metadata if self.provider is not None else None
        self._write(
            tokens=tokens.model_dump(mode="json", exclude_none=True),
            ends=time.time() + tokens.expires_in if tokens.expires_in else None,
            issuer=found.model_dump(mode="json", exclude_none=True) if found else None,
        )

    @property
    def logged_in(self) -> bool:
        """Whether there is a login to use."""
        return "tokens" in self._read()

    def prepare(self, provider: OAuthClientProvider) -> None:
        """Tell what authenticates what the tokens themselves do not say.

        The SDK keeps for one process only when they end and who renews them.
        """
        self.provider = provider
        kept = self._read()
        if isinstance(kept.get("ends"), int | float):
            provider.context.token_expiry_time = kept["ends"]
        if kept.get("issuer"):
            with contextlib.suppress(ValueError):
                provider.context.oauth_metadata = OAuthMetadata.model_validate(kept["issuer"])

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client that was registered, or that the user configured."""
        value = self._read().get("client")
        if value is None and self._settings.get("client_id"):
            secret = self._settings.get("client_secret")
            value = {
                "client_id": self._settings["client_id"],
                "client_secret": secret,
                "redirect_uris": [redirect_uri(self._settings)],
                "token_endpoint_auth_method": "client_secret_basic" if secret else "none",
            }
        return OAuthClientInformationFull.model_validate(value) if value is not None else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a registration."""
        self._write(client=client_info.model_dump(mode="json", exclude_none=True))

    def _read(self) -> dict[str, Any]:
        try:
            if self.path.stat().st_size > _MOST or self.path.stat().st_mode & 0o077:
                return {}
            value = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def _write(self, **values: Any) -> None:
        kept = {**self._read(), **values}
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Written beside and moved: nobody ever reads half of it.
        handle, name = tempfile.mkstemp(dir=self.path.parent)
        try:
            with os.fdopen(handle, "w") as file:
                json.dump(kept, file)
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def redirect_uri(settings: Any) -> str:
    """Return where the browser comes back to."""
    return f"http://127.0.0.1:{settings.get('callback_port', _PORT)}/oauth/callback"


def interactive(
    config: ServerConfig, storage: TokenStorage, redirect: Redirect, callback: Callback
) -> OAuthClientProvider:
    """Return what logs in through a browser: PKCE, and a state that is checked."""
    settings = dict(config.oauth or {})
    scopes = settings.get("scopes")
    metadata = OAuthClientMetadata(
        client_name="toolcrib",
        redirect_uris=[AnyUrl(settings.get("redirect_uri") or redirect_uri(settings))],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        scope=" ".join(scopes) if scopes else None,
    )
    provider = OAuthClientProvider(
        server_url=config.url or "",
        client_metadata=metadata,
        storage=storage,
        redirect_handler=redirect,
        callback_handler=callback,
        client_metadata_url=settings.get("client_metadata_url"),
    )
    if isinstance(storage, Stored):
        storage.prepare(provider)
    return provider


def stored(config: ServerConfig, state: Path) -> Any:
    """Return what authenticates requests with the stored login, or None without any."""
    if config.oauth is None or not config.remote:
        return None
    storage = Stored(config, state)
    if config.oauth.get("grant") == "client_credentials":
        return ClientCredentialsOAuthProvider(
            server_url=config.url or "",
            storage=storage,
            client_id=str(config.oauth.get("client_id", "")),
            client_secret=str(config.oauth.get("client_secret", "")),
            token_endpoint_auth_method=config.oauth.get("auth_method", "client_secret_basic"),
        )

    if not storage.logged_in:
        # Nobody registers at a server before the user wants to log in there.
        return None

    async def nobody(url: str) -> None:
        text = f"{config.name} wants a login; run: toolcrib mcp login {config.name}"
        raise Unavailable(text, code="mcp.login")

    async def never() -> AuthorizationCodeResult:  # pragma: no cover - nobody was sent away
        raise AssertionError

    return interactive(config, storage, nobody, never)


def forget(config: ServerConfig, state: Path) -> bool:
    """Remove a stored login; return whether there was one."""
    path = Stored(config, state).path
    there = path.exists()
    path.unlink(missing_ok=True)
    return there
