"""What differs between two states of a pack, classified, in words for people."""

from __future__ import annotations

import fnmatch

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from .model import Lock, PackLock
from .schemadiff import Severity, schema_severity


__all__ = ["Change", "Severity", "diff", "render"]


@attrs.frozen(kw_only=True)
class Change:
    """One difference.

    Attributes:
        pack: The pack's id.
        subject: What differs: a file, a dependency, a tool, a field of it.
        severity: ``cosmetic``: words; ``widening``: it may do or accept more, new code
            included; ``breaking``: something is gone or refuses what it accepted.
        text: What was and what is.
        tolerated: Whether the lock names the tool as volatile, so that this refuses
            nothing.
    """

    pack: str
    subject: str
    severity: Severity
    text: str
    tolerated: bool = False

    def __str__(self) -> str:
        note = " (volatile)" if self.tolerated else ""
        return f"{self.severity}{note}: {self.pack}: {self.subject}: {self.text}"


#: Fields of a declaration that only people and models read.
_WORDS: Final = ("title", "version", "category", "tags", "serves", "deferred", "strict")
#: Fields whose new members let a tool do, or be offered, more.
_SETS: Final = ("effects", "labels", "directives", "audience")
#: What may change of a tool that the lock names as volatile.
_VOLATILE: Final = (*_WORDS, "description", "input_schema", "output_schema")
_LIMIT: Final = 160


def diff(old: Lock, new: Lock) -> tuple[Change, ...]:
    """Return what differs between two locks, worst first within a pack."""
    changes: list[Change] = []
    for pack in sorted(old.packs.keys() | new.packs.keys()):
        before, after = old.packs.get(pack), new.packs.get(pack)
        found = sorted(
            _pack_changes(pack, before, after), key=lambda c: (-c.severity, c.subject, c.text)
        )
        changes += found
    return tuple(changes)


def _pack_changes(pack: str, old: PackLock | None, new: PackLock | None) -> Iterator[Change]:
    if old is None and new is not None:
        text = f"new, from {new.distribution} {new.version}"
        yield Change(pack=pack, subject="pack", severity=Severity.WIDENING, text=text)
    elif new is None and old is not None:
        text = f"gone; it was {old.distribution} {old.version}"
        yield Change(pack=pack, subject="pack", severity=Severity.BREAKING, text=text)
    elif old is not None and new is not None and old != new:
        yield from _origin(pack, old, new)
        yield from _files(pack, old.files, new.files)
        yield from _dependencies(pack, old, new)
        yield from _tools(pack, old, new)


def _origin(pack: str, old: PackLock, new: PackLock) -> Iterator[Change]:
    for field in ("distribution", "version", "entry_point"):
        before, after = getattr(old, field), getattr(new, field)
        if before != after:
            text = f"{before} → {after}"
            yield Change(pack=pack, subject=field, severity=Severity.WIDENING, text=text)
    for field in ("hooks", "sources"):
        yield from _members(pack, field, getattr(old, field), getattr(new, field))
    if old.manifest != new.manifest and old.tools == new.tools:
        text = "other bytes, the same tools"
        yield Change(pack=pack, subject="manifest", severity=Severity.COSMETIC, text=text)


def _members(
    pack: str, subject: str, old: Sequence[str], new: Sequence[str]
) -> Iterator[Change]:
    for name in sorted(set(new) - set(old)):
        yield Change(
            pack=pack, subject=subject, severity=Severity.WIDENING, text=f"added {name}"
        )
    for name in sorted(set(old) - set(new)):
        yield Change(
            pack=pack, subject=subject, severity=Severity.COSMETIC, text=f"dropped {name}"
        )


def _files(pack: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Change]:
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        severity = Severity.WIDENING
        if before is None:
            text = f"added ({after})"
        elif after is None or after.startswith("unreadable:"):
            text, severity = "removed", Severity.BREAKING
        else:
            text = f"changed ({before[:19]}… → {after[:19]}…)"
        yield Change(pack=pack, subject=f"file {path}", severity=severity, text=text)


def _dependencies(pack: str, old: PackLock, new: PackLock) -> Iterator[Change]:
    names = sorted(old.dependencies.keys() | new.dependencies.keys())
    for name in names:
        before, after = old.dependencies.get(name), new.dependencies.get(name)
        if before == after:
            continue
        severity = Severity.WIDENING
        if before is None and after is not None:
            text = f"added {after.version}"
        elif after is None and before is not None:
            text, severity = f"removed (was {before.version})", Severity.BREAKING
        elif before and after and before.version != after.version:
            text = f"{before.version} → {after.version}"
        else:
            text = "other files under the same version"
        yield Change(pack=pack, subject=f"dependency {name}", severity=severity, text=text)


def _tools(pack: str, old: PackLock, new: PackLock) -> Iterator[Change]:
    for tool in sorted(old.tools.keys() | new.tools.keys()):
        before, after = old.tools.get(tool), new.tools.get(tool)
        volatile = any(fnmatch.fnmatchcase(tool, pattern) for pattern in old.volatile)
        if before is None and after is not None:
            effects = ", ".join(after["effects"]) or "no effects"
            text = f"added ({effects}): {_short(after['description']['summary'])}"
            found = [(f"tool {tool}", Severity.WIDENING, text)]
        elif after is None:
            found = [(f"tool {tool}", Severity.BREAKING, "removed")]
        elif before is not None:
            found = list(_declaration(tool, before, after))
        for subject, severity, text in found:
            # A volatile definition may change; what it does to the world may not, and
            # a tool that was not there was not approved.
            field = subject.removeprefix(f"tool {tool}").strip()
            excused = volatile and (field in _VOLATILE or after is None)
            yield Change(
                pack=pack, subject=subject, severity=severity, text=text, tolerated=excused
            )


def _declaration(
    tool: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, Severity, str]]:
    for field in sorted(old.keys() | new.keys()):
        before, after = old.get(field), new.get(field)
        if before == after:
            continue
        severity = _FIELDS.get(field, _other)(before, after)
        yield f"tool {tool} {field}", severity, _told(field, before, after)


def _told(field: str, before: Any, after: Any) -> str:
    if field in _SETS:
        added = sorted(set(after or ()) - set(before or ()))
        dropped = sorted(set(before or ()) - set(after or ()))
        return " ".join([*(f"+{word}" for word in added), *(f"-{word}" for word in dropped)])
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return "; ".join(_paths(before, after, ""))
    return f"{_short(before)} → {_short(after)}"


def _paths(old: Mapping[str, Any], new: Mapping[str, Any], where: str) -> Iterator[str]:
    """Yield what differs between two JSON values, by pointer."""
    for key in sorted(old.keys() | new.keys()):
        place = f"{where}/{key}"
        if key not in new:
            yield f"-{place}"
        elif key not in old:
            yield f"+{place} {_short(new[key])}"
        elif isinstance(old[key], Mapping) and isinstance(new[key], Mapping):
            yield from _paths(old[key], new[key], place)
        elif old[key] != new[key]:
            yield f"{place} {_short(old[key])} → {_short(new[key])}"


def _short(value: Any) -> str:
    text = " ".join(repr(value).split()) if not isinstance(value, str) else repr(value)
    return text if len(text) <= _LIMIT else text[: _LIMIT - 1] + "…"


def _words(_old: Any, _new: Any) -> Severity:
    return Severity.COSMETIC


def _sets(old: Any, new: Any) -> Severity:
    return Severity.WIDENING if set(new or ()) - set(old or ()) else Severity.COSMETIC


def _output(old: Any, new: Any) -> Severity:
    """Judge the schema of what comes out: words, or whoever reads it may break."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found = schema_severity(old, new)
        return found if found <= Severity.COSMETIC else Severity.BREAKING
    return Severity.BREAKING


def _other(_old: Any, _new: Any) -> Severity:
    """Judge a field whose meaning is not weighed here: retries, deadlines, requirements."""
    return Severity.WIDENING


_FIELDS: Final[Mapping[str, Callable[[Any, Any], Severity]]] = {
    **dict.fromkeys(_WORDS, _words),
    **dict.fromkeys(_SETS, _sets),
    "description": _words,
    "input_schema": schema_severity,
    "output_schema": _output,
}


def render(changes: Iterable[Change]) -> str:
    """Return a diff for a terminal, one block for each pack."""
    lines: list[str] = []
    pack = None
    for change in changes:
        if change.pack != pack:
            pack = change.pack
            lines += ["", f"pack {pack}"] if lines else [f"pack {pack}"]
        note = " (volatile, tolerated)" if change.tolerated else ""
        lines.append(f"  {change.severity!s:<9} {change.subject}: {change.text}{note}")
    return "\n".join(lines)
