"""Writing, verifying and accepting a lock, and the check at a pack's activation."""

from __future__ import annotations

import os

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import attrs

from toolcrib.catalog.livesource import Live
from toolcrib.codes import refuse
from toolcrib.discovery.findings import Finding
from toolcrib.errors import PolicyError
from toolcrib.outcome import Refusal

from .compare import Change, diff, render
from .importer import LockedImporter
from .model import Lock, PackLock
from .snapshot import closure, find_installed, snapshot, top_levels


__all__ = ["Gate", "accept", "live_refusals", "read", "take", "verify", "write"]

_SHOWN = 12


def read(path: Path) -> Lock | None:
    """Return the lock in a file, or None if there is no such file.

    Raises:
        PolicyError: it cannot be read, or is not a lock.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        text = f"the lock cannot be read ({error.strerror})"
        raise PolicyError(text, file=path) from error
    return Lock.loads(data, file=str(path))


def write(path: Path, lock: Lock) -> None:
    """Write a lock whole or not at all.

    Raises:
        PolicyError: it cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("x", encoding="utf-8", newline="\n") as file:
            file.write(lock.dumps())
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        text = f"the lock cannot be written ({error.strerror})"
        raise PolicyError(text, file=path) from error


def take(
    findings: Iterable[Finding],
    *,
    live: Iterable[Live] = (),
    volatile: Iterable[str] = (),
    path: Sequence[str] | None = None,
) -> tuple[Lock, tuple[Refusal, ...]]:
    """Return a lock of packs as they are installed, and which cannot be locked."""
    sources, patterns = tuple(one.whole() for one in live), tuple(volatile)
    packs: dict[str, PackLock] = {}
    refusals = []
    for finding in findings:
        own = [p for p in patterns if p.partition(".")[0] in (finding.pack_id, "*")]
        found = snapshot(finding, live=sources, path=path, volatile=own)
        if isinstance(found, Refusal):
            refusals.append(found)
        else:
            packs[finding.pack_id] = found
    return Lock(packs), tuple(refusals)


def verify(lock: Lock, now: Lock, *, packs: Iterable[str] | None = None) -> tuple[Change, ...]:
    """Return what drifted and is not tolerated.

    Tools of live sources are judged only in packs whose sources were read.

    Args:
        lock: What was approved.
        now: What is installed, from :func:`take`.
        packs: Only these; by default all that either side has.
    """
    chosen = None if packs is None else set(packs)
    unread = {name for name, pack in now.packs.items() if not pack.sources}
    judged = Lock({n: _without_live(p) if n in unread else p for n, p in lock.packs.items()})
    found = (change for change in diff(judged, now) if not change.tolerated)
    return tuple(c for c in found if chosen is None or c.pack in chosen)


def accept(lock: Lock, now: Lock, packs: Iterable[str]) -> Lock:
    """Return the lock with some packs as they are now; the names of volatile tools stay.

    A pack that is gone is dropped.
    """
    merged = dict(lock.packs)
    for pack in packs:
        old, new = lock.packs.get(pack), now.packs.get(pack)
        if new is None:
            merged.pop(pack, None)
        else:
            kept = {*new.volatile, *(old.volatile if old else ())}
            merged[pack] = attrs.evolve(new, volatile=tuple(sorted(kept)))
    return Lock(merged)


def live_refusals(lock: Lock, live: Live) -> Mapping[str, Refusal]:
    """Return which tools of a live source are not what was approved, by tool id.

    They are withheld, each alone. A source whose pack is not locked is not judged.
    """
    pack = lock.packs.get(live.pack)
    if pack is None:
        return {}
    approved = {
        name: form for name, form in pack.tools.items() if name.split(".")[1:2] == [live.source]
    }
    old = attrs.evolve(pack, tools=approved)
    new = attrs.evolve(pack, tools={tool.id: tool.declaration() for tool in live.tools})
    texts: dict[str, list[Change]] = {}
    for change in verify(Lock({live.pack: old}), Lock({live.pack: new})):
        texts.setdefault(change.subject.split(" ")[1], []).append(change)
    offered = {tool.id for tool in live.tools}
    return {
        tool: _drifted(tool, f"tool {tool} of source {live.source!r}", found)
        for tool, found in texts.items()
        if tool in offered
    }


class Gate:
    """Lets a pack be activated only as it was approved; the activator's ``check``.

    Args:
        lock: What was approved.
        path: Where distributions are looked for; ``sys.path`` by default.
        deep: Compare the files of dependencies too, not only what RECORD says of them.
    """

    def __init__(
        self, lock: Lock, *, path: Sequence[str] | None = None, deep: bool = False
    ) -> None:
        self._lock = lock
        self._path = path
        self._deep = deep
        self.importer = LockedImporter()

    def __call__(self, finding: Finding) -> Refusal | None:
        """Return why a pack may not be imported, or None.

        If it may, its modules are from now on loaded from source, as the lock lists
        them.
        """
        if finding.provenance.how == "core":
            return None
        locked = self._lock.packs.get(finding.pack_id)
        if locked is None:
            text = (
                f"{finding} is not in the lock, so none of its code runs. Look at it, then "
                f"run: toolcrib lock accept {finding.pack_id}"
            )
            return refuse("lock.absent", finding.pack_id, text)
        now = snapshot(finding, path=self._path)
        if isinstance(now, Refusal):
            return now
        changes = verify(Lock({finding.pack_id: locked}), Lock({finding.pack_id: now}))
        if changes:
            return _drifted(finding.pack_id, str(finding), changes)
        refusal = self._deeply(finding)
        if refusal is None:
            self._take_over(locked)
        return refusal

    def live(self, live: Live) -> Mapping[str, Refusal]:
        """Return which tools of a live source are not what was approved, by tool id."""
        return live_refusals(self._lock, live)

    def _deeply(self, finding: Finding) -> Refusal | None:
        installed = find_installed(finding.distribution or "", self._path)
        if not self._deep or installed is None:
            return None
        for one in closure(installed, self._path).values():
            altered = one.altered()
            if altered:
                text = (
                    f"files of {one.name} {one.version}, which {finding} needs, were changed "
                    f"after it was installed: {', '.join(altered[:_SHOWN])}. Install it again: "
                    f"pip install --force-reinstall {one.name}"
                )
                return refuse("lock.drifted", finding.pack_id, text)
        return None

    def _take_over(self, locked: PackLock) -> None:
        installed = find_installed(locked.distribution, self._path)
        if installed is not None:
            for package in top_levels(locked.files):
                self.importer.add(package, installed.root, locked.files)
            self.importer.install()

    def close(self) -> None:
        """Let other importers have the packages again."""
        self.importer.uninstall()


def _without_live(locked: PackLock) -> PackLock:
    """Return a pack's lock without live tools, which are not there before activation."""
    static = {name: form for name, form in locked.tools.items() if len(name.split(".", 2)) == 2}
    return attrs.evolve(locked, tools=static, sources=())


def _drifted(subject: str, name: str, changes: Sequence[Change]) -> Refusal:
    more = len(changes) - _SHOWN
    live = " --live" if len(subject.split(".")) > 2 else ""
    shown = render(changes[:_SHOWN]) + (f"\n  … and {more} more" if more > 0 else "")
    text = (
        f"{name} is not what was approved, so it is withheld:\n{shown}\n"
        f"Look at the changes: toolcrib lock diff{live}. To approve them: toolcrib lock "
        f"accept {subject.partition('.')[0]}{live}"
    )
    worst = max(change.severity for change in changes)
    return refuse("lock.drifted", subject, text, severity=str(worst))
