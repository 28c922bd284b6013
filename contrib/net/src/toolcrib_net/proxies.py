"""Proxies that policy names; those of the environment only if it says so."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2

from .faults import NetError
from .policy import NetPolicy


__all__ = ["environment_proxy", "proxy_for"]

_INNER_SUFFIXES = ("localhost", "local", "internal", "home.arpa", "intranet", "lan", "corp")


def environment_proxy(scheme: str) -> str | None:
    """Return the proxy that the environment names for a scheme, or None."""
    found = getproxies()
    return found.get(scheme) or found.get("all")


def proxy_for(scheme: str, host: str, policy: NetPolicy) -> httpcore2.Proxy | None:
    """Return the proxy that policy wants for a host, or None for a direct connection.

    Raises:
        NetError: the host is one that only an inner network knows, so that the proxy
            would open what cannot be judged here.
    """
    if policy.proxy is None:
        return None
    url: str | None = policy.proxy
    if url == "environment":
        url = None if proxy_bypass(host) else environment_proxy(scheme)
    if url is None:
        return None
    plain = "." not in host and ":" not in host
    inner = plain or any(host == s or host.endswith("." + s) for s in _INNER_SUFFIXES)
    if inner and not policy.host_named(host):
        text = f"{host} is a name of an inner network. Only policy can allow it."
        raise NetError(text, code="net.host_refused")
    return _proxy(url)


def _proxy(url: str) -> httpcore2.Proxy:
    parts = urlsplit(url if "://" in url else "http://" + url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        text = "The proxy that policy names is no address of an HTTP proxy."
        raise NetError(text, code="net.unusable")
    port = parts.port or 8080
    plain = f"{parts.scheme}://{parts.hostname}:{port}"
    auth = None
    if parts.username is not None:
        auth = (unquote(parts.username), unquote(parts.password or ""))
    return httpcore2.Proxy(plain, auth=auth)
