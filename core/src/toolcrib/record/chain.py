"""The hash chain of one conversation: how entries are linked, and how links are checked.

An entry's digest is the SHA-256 of the canonical JSON text of ::

    {"body": …, "conversation": …, "kind": …, "number": …, "previous": …, "time": …}

so that anybody can check an exported ledger with nothing but JSON and SHA-256. The
first entry's ``previous`` is the empty text. What was removed for age is replaced by
an anchor: number and digest of the last entry that is gone.

A chain proves that nothing was changed, taken out or moved *after* a digest was noted
elsewhere. Who may write the whole file can write another chain: keep heads apart.
"""

from __future__ import annotations

import hashlib

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from toolcrib import canonical

from .damage import readable


__all__ = ["Anchor", "Entry", "Fault", "check", "check_export", "link"]


@attrs.frozen
class Anchor:
    """A place in a chain: number and digest of one entry; ``0`` and empty: its start."""

    number: int = 0
    digest: str = ""


@attrs.frozen(kw_only=True)
class Entry:
    """One entry of a chain, as stored.

    Attributes:
        seq: Position in the whole ledger; a cursor of ``Ledger.tail``.
        number: Position in the conversation's chain, from 1.
        kind: What happened, such as ``intent`` or ``outcome``.
        time: Seconds since the epoch.
        text: Canonical JSON text of the body.
        previous, digest: The links.
    """

    seq: int
    conversation: str
    number: int
    kind: str
    time: float
    text: str = attrs.field(repr=False)
    previous: str
    digest: str

    @property
    @readable
    def body(self) -> dict[str, Any]:
        """What happened, as a JSON value.

        Raises:
            RecordError: it was damaged.
        """
        value: dict[str, Any] = canonical.loads(self.text, max_bytes=1 << 28)
        return value


@attrs.frozen
class Fault:
    """Where a chain does not hold, and why. ``number`` is None for the chain as a whole."""

    conversation: str
    number: int | None
    text: str


def link(
    *, body: str, conversation: str, kind: str, number: int, previous: str, time: float
) -> str:
    """Return the digest of an entry; ``body`` is canonical text already."""
    # Built by hand: the keys are in order, and the body must not be parsed again.
    text = (
        f'{{"body":{body},"conversation":{canonical.dumps(conversation)},"kind":"{kind}",'
        f'"number":{number},"previous":"{previous}","time":{time!r}}}'
    )
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def check(
    entries: Iterable[Entry], *, conversation: str, base: Anchor, head: Anchor
) -> Iterator[Fault]:
    """Yield where a chain does not hold.

    Args:
        entries: What is stored, in order of number.
        conversation: Whose chain it is.
        base: The last entry that was removed on purpose.
        head: The newest entry, as noted apart from the entries.
    """
    last = base
    for entry in entries:
        if entry.number != last.number + 1:
            text = f"entries {last.number + 1} to {entry.number - 1} are missing"
            if entry.number <= last.number:
                text = "the number is not in order"
            yield Fault(conversation, entry.number, text)
        elif entry.previous != last.digest:
            yield Fault(conversation, entry.number, "it does not follow the entry before it")
        wanted = link(
            body=entry.text,
            conversation=entry.conversation,
            kind=entry.kind,
            number=entry.number,
            previous=entry.previous,
            time=entry.time,
        )
        if wanted != entry.digest or entry.conversation != conversation:
            yield Fault(conversation, entry.number, "it was changed after it was written")
        last = Anchor(entry.number, entry.digest)
    if last.number < head.number:
        text = f"entries {last.number + 1} to {head.number} are missing at the end"
        yield Fault(conversation, None, text)
    elif last != head:
        yield Fault(conversation, None, "the noted head is not the newest entry")


def check_export(lines: Iterable[str]) -> Iterator[Fault]:
    """Yield where an exported ledger does not hold; needs nothing but its lines.

    A line that cannot be read is a fault of its own.
    """
    entries: dict[str, list[Entry]] = {}
    heads: dict[str, tuple[Anchor, Anchor]] = {}
    for place, line in enumerate(lines, 1):
        try:
            value = canonical.loads(line, max_bytes=1 << 28)
            if value["type"] == "entry":
                entry = _exported(value)
                entries.setdefault(entry.conversation, []).append(entry)
            elif value["type"] == "head":
                base = Anchor(value["base"]["number"], value["base"]["digest"])
                head = Anchor(value["number"], value["digest"])
                heads[value["conversation"]] = (base, head)
        except (ValueError, KeyError, TypeError) as error:
            yield Fault("", None, f"line {place} cannot be read: {error}")
    for name in sorted(entries.keys() | heads.keys()):
        if name not in heads:
            yield Fault(name, None, "the export holds no head of it")
            continue
        base, head = heads[name]
        yield from check(entries.get(name, ()), conversation=name, base=base, head=head)


def _exported(value: dict[str, Any]) -> Entry:
    return Entry(
        seq=value["seq"],
        conversation=value["conversation"],
        number=value["number"],
        kind=value["kind"],
        time=value["time"],
        text=canonical.dumps(value["body"]),
        previous=value["previous"],
        digest=value["digest"],
    )
