"""What the tools that only look at a page have in common."""

from __future__ import annotations

from toolcrib import Refused, Signature, resources

from .desk import Desk
from .origins import origin_of, shown_url, site_url
from .parameters import origin_at
from .tabs import Tab


__all__ = ["checked", "expected", "reading_signature"]


def reading_signature(origin: str | None) -> Signature:
    """Return what looking at a page touches: the site that it is of."""
    if origin is None:
        return Signature(reads=[resources.Any("url")])
    return Signature(reads=[resources.Url(site_url(origin_of(origin)))])


def checked(origin: str | None) -> None:
    """Refuse an origin that is none.

    Raises:
        Invalid: it is none.
    """
    if origin is not None:
        origin_at("/origin", origin)


async def expected(desk: Desk, tab: Tab, origin: str | None) -> None:
    """Refuse if a page has another origin than its caller thinks.

    Raises:
        Refused: it has (``browser.origin_changed``).
    """
    if origin is None or tab.origin == origin_of(origin):
        return
    text = (
        f"Page {tab.id} is at {tab.origin or shown_url(tab.url)}, not at {origin}. Ask again "
        "with the origin that it has; it is judged anew."
    )
    raise Refused(text, code="browser.origin_changed")
