"""What a call of ``web.fetch`` asks for, in one value."""

from __future__ import annotations

import re

from typing import Literal

import attrs

from toolcrib import Invalid

from .documents import Format, Scope


__all__ = ["Method", "Recency", "Redirects", "Wish", "check_address", "pages_of"]

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
Recency = Literal["any", "day", "week", "month", "year"]
Redirects = Literal["same_host", "any", "none"]
# What follows a host's colon is a port; what follows a scheme's is not.
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d)", re.IGNORECASE)
_HOST = re.compile(r"(?:[\w-]+\.)+[\w-]*[^\W\d]\w*\.?|localhost|(?:\d{1,3}\.){3}\d{1,3}")
_BARE = re.compile(rf"(?:{_HOST.pattern})(?::\d{{1,5}})?(?:[/?#]\S*)?", re.IGNORECASE)


@attrs.frozen(kw_only=True)
class Wish:
    """What a call asks for; the fields are the tool's parameters."""

    url: str
    method: Method = "GET"
    form: Format = "markdown"
    scope: Scope = "main"
    headers: dict[str, str] = attrs.field(factory=dict)
    body: str | None = None
    cursor: str | None = None
    section: str | None = None
    find: str | None = None
    pages: str | None = None
    max_chars: int = 20_000
    redirects: Redirects = "same_host"
    max_age: int | None = None
    offline: bool = False
    timeout: int = 30
    idempotency_key: str | None = None

    @property
    def safe(self) -> bool:
        """Whether it only reads."""
        return self.method in {"GET", "HEAD"}


def pages_of(text: str) -> tuple[int, int]:
    """Return the first and the last page that a range such as ``3-7`` names.

    Raises:
        Invalid: it names none.
    """
    first, dash, last = text.strip().partition("-")
    try:
        begin = int(first)
        end = int(last) if dash else begin
    except ValueError:
        begin, end = 1, 0
    if not 1 <= begin <= end:
        message = f"{text!r} is no range of pages such as 3 or 3-7."
        raise Invalid("/pages", message, code="web.bad_pages")
    return begin, end


def check_address(url: str) -> None:
    """Refuse an address without a scheme, and say how it is written if it names a host.

    Raises:
        Invalid: it has none (``web.no_scheme``).
    """
    text = url.strip(" ")
    if _SCHEME.match(text):
        return
    rest = text.removeprefix("//")
    shown = f"{text[:200]!r} has no scheme"
    if _BARE.fullmatch(rest):
        message = f"{shown}: write https://{rest[:500]}"
    else:
        message = f"{shown} and host: write a whole address, such as https://example.com/page."
    raise Invalid("/url", message, code="web.no_scheme")
