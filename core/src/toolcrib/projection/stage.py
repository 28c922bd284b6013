"""*Project*: from tools to what one request shows a model, and the way back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs

from toolcrib import canonical
from toolcrib.codes import refuse
from toolcrib.outcome import Refusal
from toolcrib.tool import Tool

from .dialect import Dialect
from .dialects import Projector
from .losses import Loss, matches
from .preparing import Prepared, Projection, prepare


__all__ = ["Projected", "ProjectionCache", "project"]


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Projected:
    """What one request shows.

    Attributes:
        dialect: The dialect's name.
        entries: One for each tool that is shown, in the order given.
        declarations: What goes into the request's ``tools``.
        refusals: Tools that are not shown, and why.
        by_wire_name: Entries by the name that the provider knows.
    """

    dialect: str
    entries: tuple[Projection, ...]
    declarations: tuple[dict[str, Any], ...]
    refusals: tuple[Refusal, ...] = ()
    by_wire_name: Mapping[str, Projection] = attrs.field(repr=False)

    @cached_property
    def digest(self) -> str:
        """Digest of everything that is shown, and of how it is undone."""
        return canonical.digest(
            {
                "dialect": self.dialect,
                "declarations": list(self.declarations),
                "names": {e.wire_name: e.tool_id for e in self.entries},
                "inverses": {
                    e.wire_name: e.inverse.to_json() for e in self.entries if e.inverse
                },
            }
        )


_Key = tuple[int, int, bool, bool]


class ProjectionCache:
    """Remember projections: of single tools, and of whole requests.

    Tools are values and never change, so nothing has to be invalidated; what is not
    asked for any more falls out.
    """

    def __init__(self, *, tools: int = 20_000, requests: int = 16) -> None:
        self._most_tools = tools
        self._most_requests = requests
        self._tools: dict[_Key, tuple[Tool, Dialect, Prepared]] = {}
        self._requests: list[tuple[tuple[Any, ...], tuple[Tool, ...], Projected]] = []

    def request(self, facts: tuple[Any, ...], tools: tuple[Tool, ...]) -> Projected | None:
        """Return what the same request came to, or None."""
        for known, shown, projected in self._requests:
            if known == facts and (shown is tools or shown == tools):
                return projected
        return None

    def keep_request(
        self, facts: tuple[Any, ...], tools: tuple[Tool, ...], projected: Projected
    ) -> None:
        """Remember what a request came to."""
        kept = self._requests[: self._most_requests - 1]
        self._requests = [(facts, tools, projected), *kept]

    def prepared(
        self, tool: Tool, dialect: Dialect, *, strict: bool, deferred: bool
    ) -> Prepared:
        """Return one tool in a dialect, made when it is first asked for."""
        key = (id(tool), id(dialect), strict, deferred)
        found = self._tools.get(key)
        if found is not None:
            return found[2]
        made = prepare(tool, dialect, strict=strict, deferred=deferred)
        # Tool and dialect are held, so that their identities stay theirs.
        self._tools[key] = (tool, dialect, made)
        if len(self._tools) > self._most_tools:
            del self._tools[next(iter(self._tools))]
        return made


def project(
    tools: Sequence[Tool],
    dialect: Dialect,
    *,
    strict: bool = False,
    forbid_losses: frozenset[str] = frozenset(),
    cache: ProjectionCache | None = None,
    deferred: Collection[str] = (),
    namespaces: bool = False,
    projectors: Sequence[Projector] = (),
) -> Projected:
    """Show tools in a dialect.

    Args:
        tools: In the order in which they are shown.
        dialect: The provider's dialect.
        strict: Whether tools that leave it open are declared strict. A tool that the
            strict form cannot say is shown without, and the loss recorded.
        forbid_losses: Keywords or kinds of losses that refuse a tool, or ``*`` for all:
            for continuous integration, where a silent loss is a fault.
        cache: Where projections are remembered.
        deferred: Ids of tools that the provider hides until it has searched them; of no
            effect where the dialect cannot.
        namespaces: Whether declarations are grouped by pack, where the dialect can.
        projectors: ``toolcrib_project`` of packs, asked for tools that the dialect
            cannot say, in policy's order.

    Returns:
        The same value for the same arguments, byte for byte, in every process.
    """
    shown = tools if isinstance(tools, tuple) else tuple(tools)
    hidden = frozenset(deferred) if dialect.defers else frozenset()
    facts = (dialect, strict, forbid_losses, hidden, namespaces, tuple(projectors))
    cache = cache if cache is not None else ProjectionCache()
    known = cache.request(facts, shown)
    if known is not None:
        return known
    request = _Request(dialect, cache, strict=strict, hidden=hidden)
    prepared = [request.admit(tool) for tool in shown]
    projected = _assembled(prepared, facts)
    cache.keep_request(facts, shown, projected)
    return projected


class _Request:
    """What one request has room for."""

    def __init__(
        self, dialect: Dialect, cache: ProjectionCache, *, strict: bool, hidden: frozenset[str]
    ) -> None:
        self.dialect = dialect
        self.cache = cache
        self.strict = strict
        self.hidden = hidden
        self.strict_tools = self.optional = self.unions = 0
        limits = dialect.limits
        every = (limits.strict_tools, limits.optional, limits.unions)
        self._limited = any(most is not None for most in every)

    def admit(self, tool: Tool) -> Prepared:
        """Prepare a tool, without strict where the request has no room for it."""
        strict = self.strict if tool.strict is None else tool.strict
        deferred = tool.id in self.hidden
        made = self.cache.prepared(tool, self.dialect, strict=strict, deferred=deferred)
        if not self._limited or made.projection is None or not made.projection.strict:
            return made
        full = self._spend(made)
        if full is None:
            return made
        lax = self.cache.prepared(tool, self.dialect, strict=False, deferred=deferred)
        if lax.projection is None:
            return lax
        loss = Loss("", "strict", "lax", full)
        losses = (loss, *lax.projection.losses)
        return attrs.evolve(lax, projection=attrs.evolve(lax.projection, losses=losses))

    def _spend(self, made: Prepared) -> str | None:
        """Take a strict tool out of the request's budget; say what there is too little of."""
        limits = self.dialect.limits
        for what, used, cost, most in (
            ("strict tools", self.strict_tools, 1, limits.strict_tools),
            ("properties that may be left out", self.optional, made.optional, limits.optional),
            ("parameters of several types", self.unions, made.unions, limits.unions),
        ):
            if most is not None and used + cost > most:
                return f"one request has room for {most} {what}; {used} are used"
        self.strict_tools += 1
        self.optional += made.optional
        self.unions += made.unions
        return None


# -- the request as a whole --------------------------------------------------------


def _assembled(prepared: list[Prepared], facts: tuple[Any, ...]) -> Projected:
    dialect, _, forbidden, hidden, namespaces, projectors = facts
    refusals: list[Refusal] = []
    candidates: list[tuple[Tool, Projection]] = []
    for made in prepared:
        answer = made.projection or _elsewhere(made, dialect, projectors)
        refusal = made.refusal if answer is None else None
        if answer is not None and forbidden:
            refusal = _forbidden(answer, forbidden)
        if refusal is not None:
            refusals.append(refusal)
        elif answer is not None:
            candidates.append((made.tool, answer))
    shown = _room(_apart(candidates, refusals), dialect, refusals)
    by_name = {projection.wire_name: projection for _, projection in shown}
    return Projected(
        dialect=dialect.name,
        entries=tuple(projection for _, projection in shown),
        declarations=_declarations(shown, dialect, hidden, namespaces=namespaces),
        refusals=tuple(refusals),
        by_wire_name=by_name,
    )


def _declarations(
    shown: list[tuple[Tool, Projection]],
    dialect: Dialect,
    hidden: frozenset[str],
    *,
    namespaces: bool,
) -> tuple[dict[str, Any], ...]:
    listed = [(tool, dict(projection.declaration)) for tool, projection in shown]
    if namespaces and dialect.namespaces is not None:
        gathered = dialect.namespaces(listed)
    else:
        gathered = dialect.gather(listed)
    if hidden and any(tool.id in hidden for tool, _ in shown):
        gathered = [*(dict(each) for each in dialect.search), *gathered]
    return tuple(gathered)


def _elsewhere(
    made: Prepared, dialect: Dialect, projectors: Sequence[Projector]
) -> Projection | None:
    """Ask packs for a tool that the dialect cannot say; silence from all shows nothing."""
    for projector in projectors:
        try:
            answer = projector(tool=made.tool, dialect=dialect.name)
        except Exception:  # noqa: BLE001, S112 - an error is silence; the next is asked
            continue
        if isinstance(answer, Projection) and answer.tool_id == made.tool.id:
            return answer
        if isinstance(answer, Mapping):
            return Projection(
                tool_id=made.tool.id,
                wire_name=dialect.wire_name(made.tool.id),
                declaration=dict(answer),
                form="projector",
            )
    return None


def _forbidden(projection: Projection, forbidden: frozenset[str]) -> Refusal | None:
    lost = [loss for loss in projection.losses if matches(loss, forbidden)]
    if not lost:
        return None
    listed = "; ".join(f"{x.keyword} at {x.pointer or '/'} ({x.kind})" for x in lost[:10])
    text = (
        f"{projection.tool_id} would lose {listed}, and losses of this kind are forbidden. "
        "Change the schema, or allow the loss."
    )
    return refuse("dialect.lossy", projection.tool_id, text)


def _apart(
    candidates: list[tuple[Tool, Projection]], refusals: list[Refusal]
) -> list[tuple[Tool, Projection]]:
    """Refuse every tool of a wire name that several have; never pick a winner."""
    if len({projection.wire_name for _, projection in candidates}) == len(candidates):
        return candidates
    by_name: dict[str, list[str]] = {}
    for tool, projection in candidates:
        by_name.setdefault(projection.wire_name, []).append(tool.id)
    apart = []
    for tool, projection in candidates:
        claimants = by_name[projection.wire_name]
        if len(claimants) == 1:
            apart.append((tool, projection))
            continue
        text = (
            f"{' and '.join(sorted(claimants))} would all be called "
            f"{projection.wire_name!r}, so none of them is shown. Rename one in policy."
        )
        refusals.append(refuse("name.contested", tool.id, text, wire_name=projection.wire_name))
    return apart


def _room(
    shown: list[tuple[Tool, Projection]], dialect: Dialect, refusals: list[Refusal]
) -> list[tuple[Tool, Projection]]:
    """Refuse by name what a request has no room for; never cut silently."""
    most = dialect.limits.tools
    if most is None or len(shown) <= most:
        return shown
    for tool, _ in shown[most:]:
        text = (
            f"{dialect.name} takes {most} tools in one request, and {tool.id} is beyond "
            "that. Hide tools, or defer them until they are searched."
        )
        refusals.append(refuse("dialect.full", tool.id, text))
    return shown[:most]
