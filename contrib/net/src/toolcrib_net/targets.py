"""Addresses of requests: judged as text before anything is resolved."""

from __future__ import annotations

from urllib.parse import urljoin

import attrs

from toolcrib import resources

from .addresses import parse_address
from .faults import NetError
from .policy import NetPolicy


__all__ = ["Target", "joined", "shown", "target"]

_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_LONGEST = 8192
_SHOWN = 300


@attrs.frozen
class Target:
    """Where a request goes.

    Attributes:
        url: Canonical text, without fragment.
        scheme, host, port: Its parts; the host in ASCII, an address in one form.
        path: Path and query.
        fragment: What stood behind ``#``.
    """

    url: str
    scheme: str
    host: str
    port: int
    path: str
    fragment: str = ""

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port."""
        return self.scheme, self.host, self.port

    @property
    def written_port(self) -> int | None:
        """The port, if it is not the scheme's own."""
        return None if self.port == _DEFAULT_PORTS.get(self.scheme) else self.port

    @property
    def authority(self) -> str:
        """What the ``Host`` header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.written_port is None else f"{host}:{self.port}"


def target(url: str, policy: NetPolicy) -> Target:
    """Return where an address leads, if policy lets it be asked.

    Raises:
        NetError: it is no address, or not one to be asked. A password in it is never
            repeated.
    """
    found = _parse(url, policy)
    if reason := policy.host_refusal(found.host):
        text = f"{found.host} is not asked: {reason}."
        raise NetError(text, code="net.host_refused")
    if reason := policy.port_refusal(found.port):
        text = f"Port {found.port} is not asked: {reason}."
        raise NetError(text, code="net.port_refused")
    address = parse_address(found.host)
    if address is not None and (reason := policy.address_refusal(address, found.host)):
        text = f"{found.host} is not asked: it is {reason}. Only policy can allow it."
        raise NetError(text, code="net.address_refused")
    return found


def _parse(url: str, policy: NetPolicy) -> Target:
    if len(url) > _LONGEST:
        text = f"The address has {len(url)} characters; more than {_LONGEST} are not sent."
        raise NetError(text, code="net.url_invalid")
    plain, _, fragment = url.strip().partition("#")
    scheme, colon, rest = plain.partition(":")
    scheme = scheme.lower()
    if colon and scheme not in policy.schemes and scheme.isascii() and scheme.isalpha():
        known = ", ".join(policy.schemes)
        text = f"Addresses with {scheme}: are not asked, only those with {known}."
        raise NetError(text, code="net.scheme_refused")
    authority = rest.replace("\\", "/").lstrip("/").partition("/")[0].partition("?")[0]
    if "@" in authority:
        host = authority.rpartition("@")[2]
        text = (
            f"The address holds a user name or password before {shown(host)!r}. Such "
            "addresses are not asked; leave that part out."
        )
        raise NetError(text, code="net.credentials_in_url")
    try:
        canonical = resources.Url(plain).value
        host = resources.host_of(canonical)
    except ValueError as error:
        text = f"{shown(url)!r} cannot be asked: {shown(str(error))}."
        raise NetError(text, code="net.url_invalid") from error
    scheme, _, rest = canonical.partition("://")
    authority, slash, path = rest.partition("/")
    port = authority.rpartition("]")[2].rpartition(":")[2] if authority != host else ""
    number = int(port) if port.isdigit() else _DEFAULT_PORTS[scheme]
    return Target(canonical, scheme, host, number, slash + path or "/", fragment)


def joined(base: Target, location: str) -> str:
    """Return the address that a relative one means; raw UTF-8 in it is kept for encoding."""
    try:
        url = urljoin(base.url, location.strip())
    except ValueError as error:
        text = f"The redirect leads to no address: {shown(location)!r}."
        raise NetError(text, code="net.redirect_broken") from error
    if "#" not in url and base.fragment:
        url += "#" + base.fragment
    return url


def shown(text: str) -> str:
    """Return a text from outside for a message: short, printable, without password."""
    head, at, tail = text.rpartition("@")
    if at and "://" in head:
        text = head.partition("://")[0] + "://…@" + tail
    text = "".join(c if c.isprintable() else " " for c in text[: 4 * _SHOWN])
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
