"""Of several copies of a distribution, keep the one that import would load.

Repeated entry points of one distribution, and those of other generations of the API,
are settled here as well: everything that is dropped is named.
"""

from __future__ import annotations

import json

from collections import Counter
from collections.abc import Callable, Mapping

import attrs

from toolcrib.codes import refuse
from toolcrib.outcome import Refusal

from .installed import API, Claim
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
        spoken, refused = _spoken(kept)
        refusals += refused
        located += spoken
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


def _spoken(items: list[Located]) -> tuple[list[Located], list[Refusal]]:
    """Drop repeated entries and other generations of one distribution, each named."""
    spoken: dict[str, Located] = {}
    by_value: dict[str, Claim] = {}
    for item in sorted(items, key=_agreeing(items)):
        claim = item.claim
        new = claim.pack_id not in spoken and claim.entry_point not in by_value
        if claim.generation == API and new:
            spoken[claim.pack_id] = item
            by_value[claim.entry_point] = claim
    kept = {item.claim for item in spoken.values()}
    refusals: list[Refusal] = []
    for claim in (item.claim for item in items if item.claim not in kept):
        same = by_value.get(claim.entry_point)
        if same is not None or claim.generation == API:
            refusals.append(_repeated(claim, same or spoken[claim.pack_id].claim))
        elif claim.pack_id not in spoken:
            refusals.append(_unspoken(claim))
    return list(spoken.values()), refusals


def _agreeing(items: list[Located]) -> Callable[[Located], tuple[bool, str]]:
    """Order entries such that of two for one object the manifest's own comes first."""
    twice = {v for v, n in Counter(i.claim.entry_point for i in items).items() if n > 1}

    def key(item: Located) -> tuple[bool, str]:
        claim = item.claim
        agrees = claim.entry_point in twice and _manifest_pack(item) == claim.pack_id
        return (not agrees, claim.pack_id)

    return key


def _manifest_pack(item: Located) -> str | None:
    data = manifest_bytes(item.claim, item.location)
    try:
        pack = json.loads(data)["pack"] if isinstance(data, bytes) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return pack if isinstance(pack, str) else None


def _repeated(claim: Claim, first: Claim) -> Refusal:
    kept = f"{first.group} {first.pack_id} = {first.entry_point}"
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
