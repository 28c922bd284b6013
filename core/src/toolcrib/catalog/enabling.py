"""Which packs policy enables: by distribution name, contests settled by the user only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from toolcrib.codes import refuse
from toolcrib.discovery.findings import Claim, Finding, Findings
from toolcrib.names import closest
from toolcrib.outcome import Refusal
from toolcrib.policy.value import Policy


__all__ = ["CORE", "Available", "Enabled", "enable"]

CORE = "crib"


@attrs.frozen(kw_only=True)
class Available:
    """A pack that is installed and not enabled; ``how`` says what would enable it."""

    pack_id: str
    distribution: str
    version: str
    entry_point: str
    how: str
    line: str


@attrs.frozen(kw_only=True, eq=False)
class Enabled:
    """What policy and the installed distributions come to, tools apart."""

    packs: Mapping[str, Finding]
    refusals: tuple[Refusal, ...]
    available: tuple[Available, ...]


def enable(findings: Findings, policy: Policy) -> Enabled:
    """Choose the packs that policy enables; every problem is reported."""
    wanted = [c for c in findings.claims if c.distribution in policy.packs]
    refusals = list(findings.troubles)
    refusals += _not_installed(findings, policy)
    chosen, refused = _settle(wanted, findings.local, policy)
    refusals += refused
    packs: dict[str, Finding] = {}
    for pack_id, holder in sorted(chosen.items()):
        found = holder if isinstance(holder, Finding) else findings.prove(holder)
        if isinstance(found, Refusal):
            refusals.append(found)
        else:
            packs[pack_id] = found
    refusals += _dangling(packs, policy)
    available = (
        _available(claim, policy)
        for claim in findings.claims
        if claim.distribution not in policy.packs
    )
    return Enabled(packs=packs, refusals=tuple(refusals), available=tuple(available))


def _settle(
    wanted: list[Claim], local: tuple[Finding, ...], policy: Policy
) -> tuple[dict[str, Claim | Finding], list[Refusal]]:
    """Give each pack id to its one claimant; more than one: to nobody, or as told."""
    claimants: dict[str, list[Claim | Finding]] = {}
    everybody: list[Claim | Finding] = [*local, *wanted]
    for holder in everybody:
        claimants.setdefault(holder.pack_id, []).append(holder)
    chosen: dict[str, Claim | Finding] = {}
    refusals: list[Refusal] = []
    for pack_id, holders in claimants.items():
        owner = _owner(pack_id, holders, policy)
        if owner is not None:
            chosen[pack_id] = owner
        refusals += (
            _contested(pack_id, holder, holders, owner, policy)
            for holder in holders
            if holder is not owner
        )
    return chosen, refusals


def _owner(
    pack_id: str, holders: list[Claim | Finding], policy: Policy
) -> Claim | Finding | None:
    if pack_id == CORE:
        core = [h for h in holders if isinstance(h, Finding) and h.provenance.how == "core"]
        return core[0] if core else None
    if pack_id in policy.owners:
        named = [h for h in holders if h.distribution == policy.owners[pack_id]]
        return named[0] if len(named) == 1 else None
    return holders[0] if len(holders) == 1 else None


def _contested(
    pack_id: str,
    holder: Claim | Finding,
    holders: list[Claim | Finding],
    owner: Claim | Finding | None,
    policy: Policy,
) -> Refusal:
    subject = holder.distribution or pack_id
    names = sorted(h.distribution or "a local pack" for h in holders)
    if pack_id == CORE:
        text = f"{subject} claims the pack id {CORE!r}, which is the core's own"
    elif owner is not None:
        text = (
            f"pack id {pack_id!r} belongs to {policy.owners[pack_id]} by [owners] of "
            f"{_file(policy)}, so the one of {subject} is not offered"
        )
    elif pack_id in policy.owners:
        text = (
            f"[owners] of {_file(policy)} gives pack id {pack_id!r} to "
            f"{policy.owners[pack_id]}, but only {', '.join(names)} claim it"
        )
    else:
        titles = sorted(f"{h.distribution or 'a local pack'} {h.version}" for h in holders)
        lines = " or ".join(f'{pack_id} = "{name}"' for name in names if " " not in name)
        text = (
            f"{' and '.join(titles)} claim the pack id {pack_id!r}, so neither is offered. "
            f"Choose one in {_file(policy)}: under [owners] write {lines or 'nothing'}, or "
            "enable only one"
        )
    return refuse("pack.contested", subject, text, pack=pack_id, claimants=names)


def _not_installed(findings: Findings, policy: Policy) -> Iterator[Refusal]:
    installed = {claim.distribution for claim in findings.claims}
    in_trouble = {refusal.subject for refusal in findings.troubles}
    given = {finding.distribution for finding in findings.local}
    for name in policy.packs:
        if name in installed or name in in_trouble or name in given:
            continue
        owners = [c.distribution for c in findings.claims if c.pack_id == name]
        like = closest(name, installed)
        if owners:
            why = f"{name!r} is a pack id; packs are enabled by distribution: write "
            why += " or ".join(f'"{owner}"' for owner in owners)
        elif like:
            why = f"no installed distribution {name!r} holds a pack; did you mean {like[0]!r}?"
        else:
            why = f"no installed distribution {name!r} holds a pack: pip install {name}"
        text = f"{why} ({_file(policy)}, packs)"
        yield refuse("pack.missing", name, text)


def _dangling(packs: Mapping[str, Finding], policy: Policy) -> Iterator[Refusal]:
    """Report roles and settings of packs that are not enabled."""
    roles = {
        "projectors": policy.projectors,
        "guards": policy.guards,
        "reviewers": policy.reviewers,
        "observers": policy.observers,
        "directives": sorted(policy.directives),
        "pack": sorted(policy.settings),
    }
    meanings = {
        "guards": "every call is refused until it is",
        "pack": "its settings are kept, and nobody reads them",
    }
    for key, names in roles.items():
        for name in names:
            if name not in packs and name != CORE:
                like = closest(name, packs)
                hint = f"; did you mean {like[0]!r}?" if like else ""
                text = (
                    f"{key} of {_file(policy)} names the pack {name!r}, which is not "
                    f"enabled: {meanings.get(key, 'it is passed over')}{hint}"
                )
                yield refuse("policy.dangling", name, text, key=key)


def _available(claim: Claim, policy: Policy) -> Available:
    names = ", ".join(f'"{name}"' for name in (*policy.packs, claim.distribution))
    line = f"packs = [{names}]"
    return Available(
        pack_id=claim.pack_id,
        distribution=claim.distribution,
        version=claim.version,
        entry_point=claim.entry_point,
        how=f"to enable it, write {line} in {_file(policy)}",
        line=line,
    )


def _file(policy: Policy) -> str:
    return "the policy" if policy.file is None else str(policy.file)
