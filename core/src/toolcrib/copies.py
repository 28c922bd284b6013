"""Of several copies of a distribution, keep the one that import would load.

Repeated entry points of one distribution, and those of other generations of the API,
are settled here as well: everything that is dropped is named.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from .codes import refuse
from .installed import API, Claim
from .outcome import Refusal
from .provenance import editable_project, locate, manifest_bytes, prove
from .searchpath import Location, SearchPath


__all__ = ["Located", "settle"]


@attrs.frozen(kw_only=True)
class Located:
    """A claim, and the package that import would load for it."""

    claim: Claim
    location: Location
    editable: bool


def settle(
    claims: list[Claim], search: SearchPath, *, develop: bool
) -> tuple[list[Located], list[Refusal]]:
    """Settle copies of one distribution, repeated entries, and other generations."""
    located: list[Located] = []
    refusals: list[Refusal] = []
    by_name: dict[str, list[Claim]] = {}
    for claim in claims:
        by_name.setdefault(claim.distribution, []).append(claim)
    for name in sorted(by_name):
        kept, refused = _one_copy(by_name[name], search, develop=develop)
        refusals += refused
        spoken, refused = _spoken([item.claim for item in kept])
        refusals += refused
        located += (item for item in kept if item.claim in spoken)
    located.sort(key=lambda item: (item.claim.pack_id, item.claim.distribution))
    return located, refusals


def _one_copy(
    claims: list[Claim], search: SearchPath, *, develop: bool
) -> tuple[list[Located], list[Refusal]]:
    """Keep the copy of a distribution that import would load; refuse the others alone."""
    good: dict[str, list[Located]] = {}
    bad: dict[str, list[Refusal]] = {}
    for claim in sorted(claims, key=lambda c: (c.info, c.group, c.pack_id, c.entry_point)):
        location = locate(claim, search)
        if isinstance(location, Refusal):
            bad.setdefault(claim.info, []).append(location)
            continue
        editable = editable_project(claim) is not None
        editable = editable or (develop and claim.info.endswith(".egg-info"))
        item = Located(claim=claim, location=location, editable=editable)
        good.setdefault(claim.info, []).append(item)
    kept = _preferred(good)
    items = good.get(kept, []) if kept else []
    copies = {claim.info: claim for claim in claims}
    refused: list[Refusal] = []
    for info, claim in sorted(copies.items()):
        if info == kept:
            # One of its entry points may still lead into somebody else's package.
            refused += bad.get(info, [])
        elif info in good:
            if not _same_files(good[info], items):
                refused.append(_second(claim, copies, items))
        elif items and bad[info][0].code == "distribution.shadowed":
            refused.append(_second(claim, copies, items))
        else:
            refused += bad[info]
    return items, refused


def _preferred(good: Mapping[str, list[Located]]) -> str | None:
    """Choose among copies that are all where import would look.

    Two of them lie in one folder only after a broken upgrade, or where an editable
    install's project keeps metadata of its own; that the manifest is the recorded one,
    or the editable mark, tells the true one.
    """
    if len(good) <= 1:
        return next(iter(good), None)
    sure = []
    for info, items in good.items():
        data = manifest_bytes(items[0].claim, items[0].location)
        proved = isinstance(data, bytes) and prove(items[0].claim, data) is None
        if items[0].editable or proved:
            sure.append(info)
    return sure[0] if len(sure) == 1 else None


def _same_files(items: list[Located], kept: list[Located]) -> bool:
    """Tell whether a copy is only the project's own metadata of an editable install."""
    places = {item.location for item in kept if item.editable}
    return all(i.claim.info.endswith(".egg-info") and i.location in places for i in items)


def _second(claim: Claim, copies: Mapping[str, Claim], kept: list[Located]) -> Refusal:
    if kept:
        first = kept[0]
        place = first.location.folder
        which = f"import loads {first.claim.version} from {place}, which is kept"
    else:
        others = sorted(f"{c.version} in {i}" for i, c in copies.items() if i != claim.info)
        which = f"nothing tells it from {', '.join(others)}"
    text = (
        f"{claim} in {claim.folder} is a second copy of {claim.distribution}: {which}. Take "
        f"one off the path, or install again: pip install --force-reinstall "
        f"{claim.distribution}"
    )
    return refuse("distribution.shadowed", claim.distribution, text, refused=claim.info)


def _spoken(claims: list[Claim]) -> tuple[set[Claim], list[Refusal]]:
    """Drop repeated entries and other generations of one distribution, each named."""
    spoken: dict[str, Claim] = {}
    values: dict[str, Claim] = {}
    refusals: list[Refusal] = []
    for claim in claims:
        same = values.get(claim.entry_point)
        if claim.generation == API and claim.pack_id not in spoken and same is None:
            spoken[claim.pack_id] = values[claim.entry_point] = claim
    for claim in claims:
        same = values.get(claim.entry_point) or spoken.get(claim.pack_id)
        if claim in spoken.values():
            continue
        if claim.generation == API or (same and same.entry_point == claim.entry_point):
            refusals.append(_repeated(claim, same))
        elif claim.pack_id not in spoken:
            refusals.append(_unspoken(claim))
    return set(spoken.values()), refusals


def _repeated(claim: Claim, first: Claim | None) -> Refusal:
    kept = f"{first.group} {first.pack_id} = {first.entry_point}" if first else "another"
    text = (
        f"{claim} declares one pack twice: {claim.group} {claim.pack_id} = "
        f"{claim.entry_point} repeats {kept}, which is kept; its author should drop one"
    )
    return refuse("pack.duplicated", claim.distribution, text, entry=claim.pack_id)


def _unspoken(claim: Claim) -> Refusal:
    text = (
        f"{claim} speaks generation {claim.generation} of the pack API, this core speaks "
        f"{API}: upgrade {'toolcrib' if (claim.generation or 0) > API else 'the pack'}"
    )
    return refuse(
        "api.unsupported",
        claim.distribution,
        text,
        speaks=claim.generation,
        understood=API,
        pack=claim.pack_id,
    )
