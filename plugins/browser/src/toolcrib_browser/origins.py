"""Origins: scheme, host and port, in one form, and the lists that name them.

A page's authority hangs on its origin. Two spellings of one origin are one text here, and
a pattern is compared part by part, never as the beginning of a text.
"""

from __future__ import annotations

import re

from collections.abc import Iterable

import attrs

from toolcrib import resources


__all__ = ["BLANK", "OriginPattern", "Origins", "host_of", "origin_of", "shown_url", "site_url"]

#: The one page without an origin of its own that may be opened.
BLANK = "about:blank"
_PORTS = {"http": 80, "https": 443}
_LONGEST = 2048
_SHOWN = 200


def origin_of(url: str) -> str:
    """Return the origin of an address, ``scheme://host:port`` with the port written out.

    Raises:
        ValueError: it has none that can be named: another scheme, or no host.
    """
    text = url.strip()
    # blob:http://site/… belongs to the origin that stands inside of it.
    text = text.removeprefix("blob:")
    if len(text) > 4 * _LONGEST:
        message = "the address is too long"
        raise ValueError(message)
    canonical = resources.Url(text).value
    scheme, _, rest = canonical.partition("://")
    if scheme not in _PORTS:
        message = f"pages have http and https addresses, not {scheme}:"
        raise ValueError(message)
    authority = rest.partition("/")[0]
    host, _, port = authority.rpartition(":")
    if authority.endswith("]") or not port.isdigit():
        host, port = authority, str(_PORTS[scheme])
    return f"{scheme}://{host}:{port}"


def site_url(origin: str) -> str:
    """Return the address of an origin's root, in the form that rules judge."""
    return resources.Url(origin + "/").value


def host_of(origin: str) -> str:
    """Return the host of an origin."""
    return resources.host_of(site_url(origin))


def shown_url(url: str, limit: int = _SHOWN) -> str:
    """Return an address for people and models: no values of its query, no fragment.

    Values of a query may be session ids; who needs them has them already.
    """
    plain, _, _ = url.partition("#")
    head, question, query = plain.partition("?")
    if question:
        names = [part.partition("=")[0] for part in query.split("&")[:12] if part]
        head += "?" + "&".join(f"{name}=…" for name in names)
    head = "".join(c if c.isprintable() else "�" for c in head)
    if head.startswith("data:"):
        head = head[:40]
    return head if len(head) <= limit else head[:limit] + "…"


@attrs.frozen
class OriginPattern:
    """``https://example.com``, ``https://*.example.com:8443`` or only a host.

    A star stands for one or more whole labels at the beginning, and for nothing else.
    """

    scheme: str | None
    host: str
    port: int | None
    text: str

    @classmethod
    def read(cls, text: str) -> OriginPattern:
        """Read a pattern.

        Raises:
            ValueError: it is none.
        """
        scheme, colon, rest = text.strip().partition("://")
        found_scheme = scheme.lower() if colon else None
        if found_scheme is not None and found_scheme not in _PORTS:
            message = f"{text!r}: the scheme is http or https"
            raise ValueError(message)
        authority, _, path = (rest if colon else scheme).partition("/")
        if path or "@" in authority:
            message = f"{text!r} is no origin: write scheme, host and port only"
            raise ValueError(message)
        host, _, port = authority.rpartition(":")
        if not re.fullmatch(r"\d{1,5}", port, re.ASCII) or authority.endswith("]"):
            host, port = authority, ""
        star = "*." if host.startswith("*.") else ""
        if "*" in host.removeprefix("*."):
            message = f"{text!r}: a star stands for whole labels at the beginning only"
            raise ValueError(message)
        name = star + resources.Host(host.removeprefix("*.").strip("[]")).value
        number = int(port) if port else None
        if number is None and found_scheme is not None:
            number = _PORTS[found_scheme]
        return cls(found_scheme, name, number, text)

    def fits(self, origin: str) -> bool:
        """Tell whether it names an origin."""
        scheme, _, authority = origin.partition("://")
        host, _, port = authority.rpartition(":")
        if self.scheme is not None and scheme != self.scheme:
            return False
        return self.fits_place(host.strip("[]"), int(port))

    def fits_place(self, host: str, port: int) -> bool:
        """Tell whether it names a host and a port."""
        if self.port is not None and port != self.port:
            return False
        if self.host.startswith("*."):
            return host.endswith(self.host[1:]) and len(host) > len(self.host) - 1
        return host == self.host


@attrs.frozen
class Origins:
    """A list of patterns; an empty one names everything."""

    patterns: tuple[OriginPattern, ...] = ()

    @classmethod
    def read(cls, texts: Iterable[str]) -> Origins:
        """Read a list.

        Raises:
            ValueError: an entry is no pattern, or it is one text.
        """
        if isinstance(texts, str):
            message = f"must be a list, not the text {texts!r}"
            raise ValueError(message)  # noqa: TRY004 - a setting's mistake is a value
        return cls(tuple(map(OriginPattern.read, texts)))

    def admits(self, origin: str) -> bool:
        """Tell whether an origin is named."""
        return not self.patterns or any(p.fits(origin) for p in self.patterns)

    def admits_place(self, host: str, port: int) -> bool:
        """Tell whether a host and port are named."""
        return not self.patterns or any(p.fits_place(host, port) for p in self.patterns)
