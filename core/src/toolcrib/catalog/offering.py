"""Which tools of the enabled packs are offered, and under which ids."""

from __future__ import annotations

import fnmatch
import re

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import attrs

from toolcrib.codes import refuse
from toolcrib.discovery.findings import Finding
from toolcrib.names import closest, is_tool_id
from toolcrib.outcome import Refusal
from toolcrib.policy.value import Policy
from toolcrib.policy.values import Hide
from toolcrib.tool import Provenance, Requirements, Tool

from .livesource import Live


__all__ = ["Entry", "Environment", "offer", "offered_ids"]


@attrs.frozen(kw_only=True, eq=False)
class Entry:
    """One offered tool.

    Attributes:
        tool: As it is offered: a rename or an override changes its id.
        declared: As its pack declares it.
        pack: The id of the pack whose code it runs.
        finding: That pack.
        replaces: What an override of policy put it in the place of.
        stale: Whether it comes from a live source that cannot be read now.
    """

    tool: Tool
    declared: Tool
    pack: str
    finding: Finding = attrs.field(repr=False)
    replaces: str | None = None
    stale: bool = False

    @property
    def provenance(self) -> Provenance:
        """Where its code comes from."""
        return self.finding.provenance

    def facts(self) -> dict[str, Any]:
        """Return everything a screen may show, as a JSON-safe value."""
        return {
            **self.tool.declaration(),
            "kind": self.tool.kind,
            "pack": self.pack,
            "declared_as": self.declared.id,
            "replaces": self.replaces,
            "stale": self.stale,
            "definition_digest": self.tool.definition_digest,
            "provenance": attrs.asdict(self.provenance),
        }


class Environment:
    """What tools may require to be there; each program is looked for once."""

    def __init__(
        self,
        capabilities: Collection[str],
        flags: Collection[str],
        which: Callable[[str], str | None] | None,
    ) -> None:
        self._capabilities = frozenset(capabilities)
        self._flags = frozenset(flags)
        self._which = which
        self._programs: dict[str, bool] = {}

    def unmet(self, needs: Requirements) -> list[str]:
        """Return what is required and not there, in words."""
        if not (needs.executables or needs.capabilities or needs.flags):
            return []
        missing = [
            f"the program {name!r} on PATH"
            for name in sorted(needs.executables)
            if not self._has(name)
        ]
        missing += (f"the host's {name!r}" for name in self.hostless(needs))
        missing += (
            f"the flag {name!r} in policy" for name in sorted(needs.flags - self._flags)
        )
        return missing

    def hostless(self, needs: Requirements) -> list[str]:
        """Return which parts of a host are required and not there, by name."""
        return sorted(needs.capabilities - self._capabilities)

    def _has(self, program: str) -> bool:
        if program not in self._programs:
            import shutil  # noqa: PLC0415 - few tools require a program

            which = self._which or shutil.which
            self._programs[program] = which(program) is not None
        return self._programs[program]


def _needs(entry: Entry) -> tuple[Requirements, Requirements]:
    return entry.finding.manifest.requires, entry.tool.requires


def offer(
    packs: Mapping[str, Finding],
    sources: Mapping[tuple[str, str], Live],
    policy: Policy,
    environment: Environment,
) -> tuple[dict[str, Entry], list[Refusal]]:
    """Return the offered tools by id, and why others are not."""
    refusals: list[Refusal] = []
    entries = {e.tool.id: e for e in _declared(packs, refusals)}
    entries.update((e.tool.id, e) for e in _live(packs, sources, refusals))
    entries = _renamed(_overridden(entries, policy, refusals), policy, refusals)
    offered: dict[str, Entry] = {}
    judge = _Judge(policy, environment)
    for id_ in sorted(entries):
        refusal = judge(entries[id_])
        if refusal is None:
            offered[id_] = entries[id_]
        else:
            refusals.append(refusal)
    return offered, refusals


def _declared(packs: Mapping[str, Finding], refusals: list[Refusal]) -> Iterator[Entry]:
    for pack_id, finding in packs.items():
        fault = _misdeclared(pack_id, finding)
        if fault is not None:
            refusals.append(fault)
            continue
        refusals += finding.manifest.withheld
        for tool in finding.manifest.tools:
            yield Entry(tool=tool, declared=tool, pack=pack_id, finding=finding)


def _live(
    packs: Mapping[str, Finding],
    sources: Mapping[tuple[str, str], Live],
    refusals: list[Refusal],
) -> Iterator[Entry]:
    for (pack_id, _), live in sorted(sources.items()):
        if pack_id not in packs:
            continue
        refusals += live.refusals()
        for tool in live.tools:
            yield Entry(
                tool=tool,
                declared=tool,
                pack=pack_id,
                finding=packs[pack_id],
                stale=live.stale,
            )


def offered_ids(policy: Policy) -> dict[str, str]:
    """Return id as offered → id as declared, for the tools that policy moves or renames."""

    def offered(id_: str) -> str:
        return _new_id(id_, policy.renames[id_]) if id_ in policy.renames else id_

    moved = {offered(target): source for target, source in policy.overrides.items()}
    renamed = {offered(id_): id_ for id_ in policy.renames if id_ not in policy.overrides}
    return renamed | moved


def _new_id(id_: str, name: str) -> str:
    front = id_.rpartition(".")[0] + "."
    return front + name.removeprefix(front)


def _misdeclared(pack_id: str, finding: Finding) -> Refusal | None:
    """Refuse a whole pack that misnames a tool, or names two alike."""
    seen: set[str] = set()
    for refusal in finding.manifest.withheld:
        if refusal.code in {"tool.misnamed", "tool.duplicated"}:
            text = f"{finding} is withheld as a whole: {refusal.text}"
            return refuse(refusal.code, pack_id, text, tool=refusal.subject)
    for tool in finding.manifest.tools:
        if tool.pack != pack_id or tool.source is not None or not is_tool_id(tool.id):
            text = f"{finding} names a tool {tool.id!r}; its tools are '{pack_id}.<name>'"
            return refuse("tool.misnamed", pack_id, text, tool=tool.id)
        if tool.id in seen:
            text = f"{finding} declares {tool.id!r} twice, so none of its tools is offered"
            return refuse("tool.duplicated", pack_id, text, tool=tool.id)
        seen.add(tool.id)
    return None


def _overridden(
    entries: dict[str, Entry], policy: Policy, refusals: list[Refusal]
) -> dict[str, Entry]:
    """Put tools in the place of others, as policy says; what goes is on the entry."""
    if not policy.overrides:
        return entries
    result = dict(entries)
    good: dict[str, str] = {}
    for target, substitute in policy.overrides.items():
        missing = [id_ for id_ in (target, substitute) if id_ not in entries]
        if missing or target == substitute:
            what = " and ".join(missing) if missing else "a tool in its own place"
            like = closest(missing[0], entries) if missing else []
            hint = f"; did you mean {like[0]!r}?" if like else ""
            text = (
                f'[override] "{target}" = "{substitute}" names {what}, which '
                f"cannot be: nothing is overridden{hint}"
            )
            refusals.append(refuse("policy.dangling", target, text, key="override"))
            continue
        good[target] = substitute
    for substitute in good.values():
        result.pop(substitute, None)
    for target, substitute in good.items():
        entry = entries[substitute]
        result[target] = attrs.evolve(
            entry,
            tool=attrs.evolve(entry.tool, id=target),
            replaces=f"{target} of {entries[target].provenance}",
        )
    return result


def _renamed(
    entries: dict[str, Entry], policy: Policy, refusals: list[Refusal]
) -> dict[str, Entry]:
    """Give tools the last parts that policy names; of two with one id, none is kept."""
    if not policy.renames:
        return entries
    new_ids = {}
    for id_, name in policy.renames.items():
        new = _new_id(id_, name)
        if id_ not in entries or not is_tool_id(new) or new.count(".") != id_.count("."):
            refusals.append(_unnamed(id_, name, entries))
        else:
            new_ids[id_] = new
    groups: dict[str, list[str]] = {}
    for id_ in entries:
        groups.setdefault(new_ids.get(id_, id_), []).append(id_)
    result: dict[str, Entry] = {}
    for new, olds in groups.items():
        if len(olds) > 1:
            text = (
                f"[rename] would give {' and '.join(sorted(olds))} the one id {new!r}, so "
                "none of them is offered: choose another name"
            )
            refusals += (refuse("tool.contested", old, text) for old in sorted(olds))
            continue
        entry = entries[olds[0]]
        if new != olds[0]:
            entry = attrs.evolve(entry, tool=attrs.evolve(entry.tool, id=new))
        result[new] = entry
    return result


def _unnamed(id_: str, name: str, entries: Mapping[str, Entry]) -> Refusal:
    why = "is not there" if id_ not in entries else f"cannot be called {name!r}"
    like = closest(id_, entries) if id_ not in entries else []
    hint = f"; did you mean {like[0]!r}?" if like else ""
    text = f"[rename] names {id_!r}, which {why}{hint}"
    return refuse("policy.dangling", id_, text, key="rename")


class _Judge:
    """Says why an entry is not offered; the quick answers first."""

    def __init__(self, policy: Policy, environment: Environment) -> None:
        self._hide = policy.hide if policy.hide != Hide() else None
        self._pattern = _any_of(policy.hide.tools)
        self._vocabulary = policy.vocabulary
        self._valid_id = policy.valid_id
        self._environment = environment

    def __call__(self, entry: Entry) -> Refusal | None:
        tool = entry.tool
        if self._hide is not None:
            why = next(self._reasons(tool, self._hide), None)
            if why:
                return refuse("tool.hidden", tool.id, f"policy hides {tool.id}: {why}")
        if self._vocabulary or self._valid_id is not None:
            found = [*self._misnamed(tool), *self._foreign(tool)]
            if found:
                text = "; ".join(found)
                return refuse("tool.foreign", tool.id, text, problems=found)
        missing = self._unmet(entry)
        if missing:
            text = f"{tool.id} requires {', '.join(missing)}; provide it, then try again"
            hosts = [h for needs in _needs(entry) for h in self._environment.hostless(needs)]
            only = len(hosts) == len(missing)
            return refuse("tool.unmet", tool.id, text, missing=missing, only_host=only)
        return None

    def _unmet(self, entry: Entry) -> list[str]:
        return [what for needs in _needs(entry) for what in self._environment.unmet(needs)]

    def _reasons(self, tool: Tool, hide: Hide) -> Iterator[str]:
        if self._pattern is not None and self._pattern.match(tool.id):
            yield "[hide] tools names it"
        for effect in sorted(hide.effects & tool.effects):
            yield f"[hide] effects holds {str(effect)!r}"
        if tool.kind in hide.kinds:
            yield f"[hide] kinds holds {str(tool.kind)!r}"
        if tool.category in hide.categories:
            yield f"[hide] categories holds {tool.category!r}"
        for tag in sorted(hide.tags.intersection(tool.tags)):
            yield f"[hide] tags holds {tag!r}"
        if tool.audience and tool.audience <= hide.audience:
            yield "[hide] audience holds everybody it is described to"

    def _misnamed(self, tool: Tool) -> Iterator[str]:
        valid = self._valid_id
        if valid is None:
            return
        if isinstance(valid, str):
            if re.fullmatch(valid, tool.id) is None:
                yield f"id of {tool.id} does not fit policy's valid_id {valid!r}"
            return
        try:
            good = valid(tool)
        except Exception as error:  # noqa: BLE001 - the app's own function; one tool is hurt
            yield f"policy's valid_id failed on {tool.id}: {type(error).__name__}: {error}"
            return
        if not good:
            yield f"id of {tool.id} is not valid, by policy's valid_id"

    def _foreign(self, tool: Tool) -> Iterator[str]:
        for field, known in self._vocabulary.items():
            value = getattr(tool, field)
            if isinstance(value, frozenset):
                value = tuple(sorted(map(str, value)))
            words = value if isinstance(value, tuple) else () if value is None else (value,)
            for index, word in enumerate(words):
                if word not in known:
                    like = closest(word, known)
                    hint = f"; did you mean {like[0]!r}?" if like else ""
                    yield (
                        f"{field}[{index}] of {tool.id} is {word!r}, which policy's "
                        f"[vocabulary] {field} lacks{hint}"
                    )


def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    # Only the star is special: tool ids of live sources may hold any other character.
    alike = "|".join(fnmatch.translate(re.sub(r"([\[?])", r"[\1]", p)) for p in patterns)
    return re.compile(alike)
