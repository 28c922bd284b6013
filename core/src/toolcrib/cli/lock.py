"""``toolcrib lock``: pin the code that was approved, and say what differs from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import click

from .exits import EXIT
from .options import catalog_of, load_policy, policy_options
from .output import (
    complain,
    counted,
    json_option,
    note,
    print_json,
    problem_facts,
    problems,
    say,
)


if TYPE_CHECKING:
    from toolcrib.catalog.stage import Catalog
    from toolcrib.lock import Change, Lock
    from toolcrib.outcome import Refusal
    from toolcrib.policy.value import Policy


__all__ = ["lock"]

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def lock() -> None:
    """Pin the code that was approved: distributions, files, dependencies, tools.

    The lock is toolcrib.lock beside your policy file. While it is there, a pack that is
    not in it, or is not what it says, does not run.
    """


def _options(command: F) -> F:
    live = click.option(
        "--live", is_flag=True, help="Connect live sources, and lock their tools."
    )
    file = click.option(
        "--lock",
        "file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The lock file; toolcrib.lock beside the policy file by default.",
    )
    return live(file(json_option(policy_options(command))))


@lock.command("write")
@click.option("--force", is_flag=True, help="Replace a lock that is there.")
@click.option("--volatile", multiple=True, help="Tools whose definition may change, as files.*")
@_options
def write_(
    *,
    force: bool,
    volatile: tuple[str, ...],
    live: bool,
    file: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Lock every enabled pack as it is installed now."""
    from toolcrib.lock import write  # noqa: PLC0415 - --help must not pay for it

    policy = load_policy(**options)
    path = _file(policy, file)
    if path.exists() and not force:
        text = f"{path} is there already; see 'toolcrib lock diff', then 'toolcrib lock accept'"
        complain(text, code=EXIT["not_ok"])
    now, refusals = _now(policy, live=live, volatile=volatile)
    write(path, now)
    _written(path, now, now.packs, refusals, as_json=as_json)


@lock.command()
@_options
def verify(*, live: bool, file: Path | None, as_json: bool, **options: Any) -> None:
    """Verify that every enabled pack is what the lock says; exit code 1 if not."""
    from toolcrib.lock import verify as drifted  # noqa: PLC0415 - as above

    policy, path, old, now, refusals = _both(file, live=live, options=options)
    packs = catalog_of(policy).packs
    changes = [c for c in drifted(old, now, packs=packs) if live or _static(c)]
    absent = _absent(packs, old, refusals)
    refusals += _gone(policy, old)
    wrong = bool(changes or absent or refusals)
    if as_json:
        _print_changes(path, changes, absent, refusals)
    else:
        _say_changes(changes)
        _say_absent(absent)
        problems(refusals)
        if not wrong:
            are = "is" if len(packs) == 1 else "are"
            say(f"{counted(len(packs), 'pack')} {are} what {path} says.", colour="green")
    raise SystemExit(EXIT["not_ok"] if wrong else EXIT["ok"])


@lock.command()
@_options
def diff(*, live: bool, file: Path | None, as_json: bool, **options: Any) -> None:
    """Show what differs from the lock: cosmetic, widening, breaking."""
    from toolcrib.lock import diff as compared  # noqa: PLC0415 - as above

    policy, path, old, now, refusals = _both(file, live=live, options=options)
    changes = [c for c in compared(old, now) if live or _static(c)]
    absent = _absent(catalog_of(policy).packs, old, refusals)
    if as_json:
        _print_changes(path, changes, absent, refusals)
        return
    _say_changes(changes)
    _say_absent(absent)
    problems(refusals)
    if not (changes or absent or refusals):
        say("Nothing differs.", colour="green")


@lock.command()
@click.argument("packs", nargs=-1, required=True)
@_options
def accept(
    *,
    packs: tuple[str, ...],
    live: bool,
    file: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Take PACKS into the lock as they are now, and show what that approves."""
    from toolcrib.lock import accept as accepted  # noqa: PLC0415 - as above
    from toolcrib.lock import diff as compared  # noqa: PLC0415 - as above
    from toolcrib.lock import write  # noqa: PLC0415 - as above

    policy, path, old, now, refusals = _both(file, live=live, options=options)
    packs = _pack_ids(policy, packs)
    unknown = sorted(set(packs) - set(old.packs) - set(now.packs))
    if unknown:
        problems(refusals)
        if unknown[0] in {refusal.subject for refusal in refusals}:
            raise SystemExit(EXIT["not_ok"])
        complain(f"no enabled pack {unknown[0]!r}; see: toolcrib packs", code=EXIT["not_ok"])
    changes = [c for c in compared(old, now) if c.pack in packs]
    new = accepted(old, now, packs)
    write(path, new)
    if not as_json:
        _say_changes(changes)
    _written(path, new, packs, refusals, as_json=as_json)


# -- what they share -------------------------------------------------------------------


def _file(policy: Policy, file: Path | None) -> Path:
    from toolcrib.places import LOCK_FILE  # noqa: PLC0415 - as above
    from toolcrib.places import policy_file as own  # noqa: PLC0415 - as above

    if policy.develop:
        complain("--develop composes code that nobody approved; it never goes with a lock")
    return file if file is not None else (policy.file or own()).with_name(LOCK_FILE)


def _both(
    file: Path | None, *, live: bool, options: Any
) -> tuple[Policy, Path, Lock, Lock, tuple[Refusal, ...]]:
    """Return policy, lock file, lock, what is installed, and what cannot be locked."""
    from toolcrib.lock import read  # noqa: PLC0415 - as above

    policy = load_policy(**options)
    path = _file(policy, file)
    old = read(path)
    if old is None:
        complain(f"there is no {path}; make it with: toolcrib lock write", code=EXIT["policy"])
    now, refusals = _now(policy, live=live)
    return policy, path, old, now, refusals


def _now(
    policy: Policy, *, live: bool, volatile: Iterable[str] = ()
) -> tuple[Lock, tuple[Refusal, ...]]:
    from toolcrib.lock import take  # noqa: PLC0415 - as above

    catalog, own = _connected(policy) if live else (catalog_of(policy), ())
    sources = [source for source in catalog.sources.values() if not source.stale]
    for source in catalog.sources.values():
        if source.stale:
            note(f"{source.pack}.{source.source} cannot be read: {source.problem}")
    return take(catalog.packs.values(), live=sources, volatile=(*volatile, *own))


def _connected(policy: Policy) -> tuple[Catalog, tuple[str, ...]]:
    """Return the catalog with the tools of live sources, and which of these are volatile.

    Imports the packs that have any.
    """
    import asyncio  # noqa: PLC0415 - only live sources need an event loop

    from toolcrib.record import Ledger  # noqa: PLC0415 - as above
    from toolcrib.toolbox import Toolbox  # noqa: PLC0415 - as above

    async def connect() -> tuple[Catalog, tuple[str, ...]]:
        with Ledger.open(None) as scratch:
            async with Toolbox(policy, ledger=scratch) as box:
                await box.sources.settle(30.0)
                return box.catalog, box.sources.volatile

    return asyncio.run(connect())


def _pack_ids(policy: Policy, names: Iterable[str]) -> tuple[str, ...]:
    """Take distributions for the packs that they hold, as ``packs enable`` does."""
    packs = catalog_of(policy).packs
    held = {finding.distribution: pack for pack, finding in packs.items()}
    return tuple(name if name in packs else held.get(name, name) for name in names)


def _absent(packs: Iterable[str], old: Lock, refusals: Iterable[Refusal]) -> list[str]:
    """Return the packs that the lock could take in, and does not hold."""
    return sorted(set(packs) - set(old.packs) - {refusal.subject for refusal in refusals})


def _gone(policy: Policy, old: Lock) -> tuple[Refusal, ...]:
    """Return why enabled packs that the lock holds are not there as it says."""
    from toolcrib.codes import refuse  # noqa: PLC0415 - as above

    catalog = catalog_of(policy)
    found: list[Refusal] = []
    for pack, locked in old.packs.items():
        name = locked.distribution
        if pack in catalog.packs or name not in policy.packs:
            continue
        text = f"pack {pack} is in the lock and enabled, and not there: pip install {name}"
        found += [r for r in catalog.refusals if r.subject in {pack, name}] or [
            refuse("pack.missing", name, text)
        ]
    return tuple(found)


def _say_absent(absent: Iterable[str]) -> None:
    for pack in absent:
        say(f"pack {pack} is not in the lock: toolcrib lock accept {pack}", colour="red")


def _static(change: Change) -> bool:
    """Tell changes that can be seen without connecting live sources."""
    if change.subject == "sources":
        return False
    kind, _, tool = change.subject.partition(" ")
    return kind != "tool" or len(tool.split(" ")[0].split(".")) == 2


def _say_changes(changes: Iterable[Change]) -> None:
    from toolcrib.lock import render  # noqa: PLC0415 - as above

    text = render(changes)
    if text:
        say(text)


def _print_changes(
    path: Path, changes: Iterable[Change], absent: list[str], refusals: Iterable[Refusal]
) -> None:
    print_json(
        {
            "file": str(path),
            "changes": [
                attrs.asdict(change) | {"severity": str(change.severity)} for change in changes
            ],
            "absent": absent,
            "refused": [problem_facts(refusal) for refusal in refusals],
        }
    )


def _written(
    path: Path,
    lock: Lock,
    packs: Iterable[str],
    refusals: tuple[Refusal, ...],
    *,
    as_json: bool,
) -> None:
    names = sorted(set(packs) & set(lock.packs))
    if as_json:
        refused = [problem_facts(refusal) for refusal in refusals]
        print_json({"file": str(path), "locked": names, "refused": refused})
    else:
        say(f"{path}: {', '.join(names) or 'no pack'} locked.")
        problems(refusals)
    raise SystemExit(EXIT["not_ok"] if refusals else EXIT["ok"])
