"""Parameters that several tools share, and how they are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, TypeAlias

from toolcrib import Invalid, Length, Pattern

from .origins import origin_of


__all__ = [
    "More",
    "OriginName",
    "PageId",
    "PageName",
    "SnapshotName",
    "origin_at",
    "origins_at",
]

OriginName: TypeAlias = Annotated[str, Length(8, 300)]
PageName: TypeAlias = Annotated[str, "Id of a page", Pattern(r"^p[0-9]{1,6}[a-z0-9]{4}$")]
PageId: TypeAlias = Annotated[
    Annotated[str, Pattern(r"^p[0-9]{1,6}[a-z0-9]{4}$")] | None,
    "Id of a page; left out: the selected one",
]
SnapshotName: TypeAlias = Annotated[
    str, "Id of the snapshot that is acted on", Pattern(r"^s[0-9]{1,9}[a-z0-9]{4}$")
]
More: TypeAlias = Annotated[
    tuple[OriginName, ...],
    "Further origins that the page may go to meanwhile (a login's, say)",
    Length(0, 8),
]


def origin_at(place: str, text: str) -> str:
    """Return the origin of a text.

    Raises:
        Invalid: it has none; ``place`` is the argument's pointer.
    """
    try:
        return origin_of(text)
    except ValueError as error:
        wrong = f"{text[:200]!r} has no origin such as https://example.com: {error}."
        raise Invalid(place, wrong, code="browser.bad_origin") from error


def origins_at(place: str, texts: Iterable[str]) -> list[str]:
    """Return the origins of texts.

    Raises:
        Invalid: one has none.
    """
    return [origin_at(f"{place}/{number}", text) for number, text in enumerate(texts)]
