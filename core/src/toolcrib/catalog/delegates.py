"""Which tool answers which delegate id; an id that two tools claim is nobody's."""

from __future__ import annotations

from collections.abc import Mapping

from toolcrib.codes import refuse
from toolcrib.outcome import Refusal

from .offering import Entry


__all__ = ["delegates_of"]


def delegates_of(tools: Mapping[str, Entry]) -> dict[str, str | Refusal]:
    """Return delegate id → tool id, or the refusal of a contested one.

    The tools themselves stay on offer: only the name that both claim is withheld.
    """
    claimed: dict[str, list[str]] = {}
    for id_, entry in tools.items():
        if entry.tool.delegate is not None:
            claimed.setdefault(entry.tool.delegate, []).append(id_)
    return {
        name: holders[0] if len(holders) == 1 else _contested(name, holders)
        for name, holders in claimed.items()
    }


def _contested(name: str, holders: list[str]) -> Refusal:
    text = (
        f"{' and '.join(holders)} all answer the delegate id {name!r}, so none of them is "
        "delegated to: hide or override one of them in policy"
    )
    return refuse("delegate.contested", name, text, tools=list(holders))
