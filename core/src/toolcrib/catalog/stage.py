"""Compose: findings and policy become a catalog, a value that never changes.

Installed is not enabled. Contested names withhold exactly what is contested; nothing is
ever chosen by order. A live source that changes makes a new catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import attrs

from toolcrib import canonical
from toolcrib.codes import refuse
from toolcrib.discovery.findings import Finding, Findings
from toolcrib.names import closest, wire_name
from toolcrib.outcome import Refusal
from toolcrib.policy.value import Policy
from toolcrib.vocabulary import Audience, Effect, Kind

from . import enabling, offering
from .delegates import delegates_of
from .enabling import Available
from .livesource import Live
from .offering import Entry, Environment


__all__ = ["Available", "Catalog", "Changes", "Entry", "Live", "changes", "compose"]

_CAPABILITIES = frozenset({"ask", "artifacts", "jobs", "secrets"})


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Catalog:
    """Every tool that policy lets be offered, and why the others are not.

    Attributes:
        tools: Tool id → entry, by id.
        refusals: What is withheld or refused, each with its reason.
        available: Packs that are installed and not enabled, with the line for it.
        packs: Pack id → finding, of the enabled packs.
        sources: (pack id, source) → live source.
        delegates: Delegate id → id of the tool that answers it, or why none does.
        revision: One more with each catalog that was made from another.
    """

    tools: Mapping[str, Entry] = attrs.field(repr=False)
    refusals: tuple[Refusal, ...] = attrs.field(repr=False)
    available: tuple[Available, ...] = attrs.field(repr=False)
    packs: Mapping[str, Finding] = attrs.field(repr=False)
    sources: Mapping[tuple[str, str], Live] = attrs.field(repr=False)
    delegates: Mapping[str, str | Refusal] = attrs.field(repr=False)
    revision: int
    _enabled: enabling.Enabled = attrs.field(repr=False)
    _environment: Environment = attrs.field(repr=False)
    _policy: Policy = attrs.field(repr=False)

    def __getitem__(self, tool_id: str) -> Entry:
        return self.tools[tool_id]

    def __contains__(self, tool_id: object) -> bool:
        return tool_id in self.tools

    def __iter__(self) -> Iterator[str]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    @cached_property
    def digest(self) -> str:
        """Digest of every offered definition; equal catalogs have equal digests."""
        return canonical.digest(
            {id_: entry.tool.definition_digest for id_, entry in self.tools.items()}
        )

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Id as offered → id as declared, of the tools that policy moves or renames."""
        return MappingProxyType(offering.offered_ids(self._policy))

    @cached_property
    def _refused(self) -> Mapping[str, Refusal]:
        return {refusal.subject: refusal for refusal in reversed(self.refusals)}

    @cached_property
    def _withheld(self) -> Mapping[str, Refusal]:
        """Packs that nobody owns or that cannot be used: their tools are not unknown."""
        return {
            pack: refusal
            for refusal in self.refusals
            if (pack := refusal.details.get("pack")) is not None and pack not in self.packs
        }

    @cached_property
    def _by_wire_name(self) -> Mapping[str, str]:
        return {wire_name(id_): id_ for id_ in self.tools}

    def find(self, name: str) -> Entry | Refusal:
        """Return a tool by id or wire name, or why there is none; never a guess."""
        entry = self.tools.get(name) or self.tools.get(self._by_wire_name.get(name, ""))
        if entry is not None:
            return entry
        refusal = self._refused.get(name)
        if refusal is not None:
            return refusal
        whole = self._withheld.get(name.partition(".")[0])
        if whole is not None and "." in name:
            return refuse(whole.code, name, whole.text)
        return refuse("tool.unknown", name, *self._unknown(name))

    def _unknown(self, name: str) -> tuple[str]:
        like = closest(name, self.tools)
        pack = name.partition(".")[0]
        for item in self.available:
            if item.pack_id == pack:
                text = f"{name!r} belongs to a pack that is not enabled: {item.how}"
                return (text,)
        hint = f"did you mean {' or '.join(like)}?" if like else "list them: toolcrib tools"
        return (f"there is no tool {name!r}; {hint}",)

    def owner(self, tool_id: str) -> str | None:
        """Return the id of the pack whose code a tool runs; overrides change it."""
        entry = self.tools.get(tool_id)
        return None if entry is None else entry.pack

    def select(
        self,
        *,
        kind: Kind | str | None = None,
        effect: Effect | str | None = None,
        category: str | None = None,
        tag: str | None = None,
        audience: Audience | str | None = None,
        pack: str | None = None,
    ) -> tuple[Entry, ...]:
        """Return the entries that fit every given criterion, by id."""
        return tuple(
            entry
            for entry in self.tools.values()
            if (kind is None or entry.tool.kind == kind)
            and (effect is None or effect in entry.tool.effects)
            and (category is None or entry.tool.category == category)
            and (tag is None or tag in entry.tool.tags)
            and (audience is None or audience in entry.tool.audience)
            and (pack is None or entry.pack == pack)
        )

    def with_live(
        self,
        pack: str,
        source: str,
        tools: Iterable[Any],
        *,
        judge: Callable[[Live], Mapping[str, Refusal]] | None = None,
    ) -> Catalog:
        """Return a new catalog in which a source has exactly these tools.

        A tool that is bad or clashes is withheld alone, and named in the refusals; so is
        one that ``judge`` refuses by its id.
        """
        return self.with_read(self.read_live(pack, source, tools, judge=judge))

    def read_live(
        self,
        pack: str,
        source: str,
        tools: Iterable[Any],
        *,
        judge: Callable[[Live], Mapping[str, Refusal]] | None = None,
    ) -> Live:
        """Look at each tool of a source; for long lists, away from the event loop."""
        before = self.sources.get((pack, source))
        revision = before.revision + 1 if before else 1
        live = Live.read(pack, source, tools, revision=revision, before=before)
        return live if judge is None else live.withholding(judge(live))

    def with_read(self, live: Live) -> Catalog:
        """Return a new catalog with a source as it was read by :meth:`read_live`."""
        return self._again({**self.sources, (live.pack, live.source): live})

    def with_unreadable(self, pack: str, source: str, problem: str) -> Catalog:
        """Return a new catalog in which a source keeps its tools, marked stale."""
        key = (pack, source)
        before = self.sources.get(key) or Live(pack=pack, source=source, revision=0)
        return self._again({**self.sources, key: before.unreadable(problem)})

    def without(self, pack: str, source: str) -> Catalog:
        """Return a new catalog without the tools of a source."""
        rest = {key: live for key, live in self.sources.items() if key != (pack, source)}
        return self._again(rest)

    def _again(self, sources: Mapping[tuple[str, str], Live]) -> Catalog:
        return _made(self._enabled, self._policy, sources, self._environment, self.revision + 1)


def compose(
    findings: Findings,
    policy: Policy,
    *,
    revision: int = 1,
    live: Iterable[Live] = (),
    capabilities: Collection[str] = _CAPABILITIES,
    which: Callable[[str], str | None] | None = None,
) -> Catalog:
    """Compose a catalog; every problem is reported, none stops the others.

    Args:
        findings: What is installed.
        policy: What the user decided.
        revision: The catalog's number.
        live: Live sources as they are now.
        capabilities: Names of the host's interfaces that tools may require.
        which: Finds a program by name, for what tools require; ``shutil.which`` by default.
    """
    enabled = enabling.enable(findings, policy)
    environment = Environment(capabilities, policy.flags, which)
    sources = {(item.pack, item.source): item for item in live}
    return _made(enabled, policy, sources, environment, revision)


def _made(
    enabled: enabling.Enabled,
    policy: Policy,
    sources: Mapping[tuple[str, str], Live],
    environment: Environment,
    revision: int,
) -> Catalog:
    tools, refusals = offering.offer(enabled.packs, sources, policy, environment)
    delegates = delegates_of(tools)
    refusals += (found for found in delegates.values() if isinstance(found, Refusal))
    return Catalog(
        tools=MappingProxyType(tools),
        delegates=MappingProxyType(delegates),
        refusals=(*enabled.refusals, *refusals),
        available=enabled.available,
        packs=MappingProxyType(dict(enabled.packs)),
        sources=MappingProxyType(dict(sources)),
        revision=revision,
        enabled=enabled,
        environment=environment,
        policy=policy,
    )


@attrs.frozen(kw_only=True)
class Changes:
    """How one catalog differs from another, each by tool id.

    ``changed`` holds, for each tool, the names of the declared fields that differ.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict, hash=False)
    stale: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.stale)


def changes(old: Catalog, new: Catalog) -> Changes:
    """Compare two catalogs."""
    changed = {}
    stale = []
    for id_, entry in new.tools.items():
        before = old.tools.get(id_)
        if before is None:
            continue
        if entry.stale and not before.stale:
            stale.append(id_)
        # Tools that no source touched are the very same objects.
        if entry.tool is not before.tool:
            fields = _different(before, entry)
            if fields:
                changed[id_] = fields
    return Changes(
        added=tuple(i for i in new.tools if i not in old.tools),
        removed=tuple(i for i in old.tools if i not in new.tools),
        changed=changed,
        stale=tuple(stale),
    )


def _different(before: Entry, after: Entry) -> tuple[str, ...]:
    if before.tool.definition_digest == after.tool.definition_digest:
        return ()
    old, new = before.tool.declaration(), after.tool.declaration()
    return tuple(key for key in new if new[key] != old[key])
