"""Names in a policy file that name no pack: each with its line and the closest right one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.names import closest
from toolcrib.policy.file import PolicyDocument, read

from .signs import Sign, State


if TYPE_CHECKING:
    from toolcrib.catalog.stage import Catalog


__all__ = ["misspelt"]

_Key = tuple[str, str]


def misspelt(file: Path, catalog: Catalog) -> Iterator[tuple[_Key, Sign]]:
    """Give the key and a sign of each pack in ``[owners]`` and ``[pack.X]`` that is none.

    What stands within ``[pack.X]`` is the pack's own: no manifest lists its keys.

    Raises:
        PolicyError: the file cannot be read.
    """
    document = read(file)
    enabled = {*catalog.packs}
    contested = {str(r.details["pack"]) for r in catalog.refusals if r.code == "pack.contested"}
    installed = enabled | contested | {item.pack_id for item in catalog.available}
    for pack, distribution in sorted(document.fields.get("owners", {}).items()):
        enabling = document.fields.get("packs", ())
        if pack not in installed:
            what = f"{pack!r} is no pack that is installed"
            yield _sign(document, ("owners", pack), what, closest(pack, installed, most=1))
        elif distribution not in enabling:
            what = f"{distribution!r} is no distribution that packs = [...] enables"
            like = closest(distribution, enabling, most=1)
            yield _sign(document, ("owners", pack), what, like)
    for pack in sorted(document.fields.get("settings", {})):
        if pack not in installed:
            what = f"{pack!r} is no pack that is installed: nobody reads its settings"
            yield _sign(document, ("pack", pack), what, closest(pack, installed, most=1))


def _sign(
    document: PolicyDocument, path: _Key, what: str, like: list[str]
) -> tuple[_Key, Sign]:
    hint = f"; did you mean {like[0]!r}?" if like else ""
    notice = document.notice(f"{'.'.join(path)}: {what}{hint}", *path)
    fix = [f"edit {notice.file}, line {notice.line or 1}"]
    # Who owns a pack that is gone for now is nothing wrong yet.
    state: State = "warn" if path[0] == "owners" else "fail"
    sign = Sign(area="policy", state=state, code="policy.dangling", text=str(notice), mend=fix)
    return path, sign
