"""Bound what a result shows to the model; what does not fit goes to an artifact."""

from __future__ import annotations

import base64
import inspect
import json
import math

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import attrs

from toolcrib import canonical
from toolcrib.outcome import ArtifactLink, Audio, Block, File, Image, Json, Link, Result, Text

from .cutting import cut_text
from .pruning import ends, prune, shares, size_of_json
from .terms import SMALLEST, SUMMARY


__all__ = ["Keep", "bound", "bound_all", "shown_size"]

Keep = Callable[[bytes, str, str], Awaitable[ArtifactLink | None] | ArtifactLink | None]
"""``keep(data, media_type, title)`` stores bytes and returns the link, if it can."""

# What an artifact's link takes of the budget when it is shown.
_LINK = 160
# Text larger than this is not looked into for JSON.
_LARGEST_JSON = 1 << 24


def shown_size(result: Result) -> int:
    """Return how many characters of content a result shows to the model."""
    return sum(_size(block) for block in result.content)


async def bound(
    result: Result, budget: int, *, keep: Keep | None = None, binary: int = 10_000_000
) -> Result:
    """Return a result whose content shows at most ``budget`` characters.

    Blocks share the budget fairly; each that is too long keeps its head and tail by
    structure, and the whole goes to ``keep``. Structured output stays whole: programs
    read it. What was left out is counted exactly in ``metadata["truncated"]``.

    Args:
        result: What a handler gave.
        budget: Most characters; less than 200 counts as 200.
        keep: Takes the whole of what is shortened; None: it is lost. What is lost is
            said so, with the note ``not_kept``.
        binary: Most characters of base64 of one picture, sound or file.
    """
    sizes = [_size(block) for block in result.content]
    budget = max(budget, SMALLEST)
    large = any(_is_large(block, binary) for block in result.content)
    if sum(sizes) <= budget and not large and len(result.summary) <= SUMMARY:
        return result
    blocks, facts = await _ends(result.content, sizes, budget, keep)
    sizes = [_size(block) for block in blocks]
    given = _given(sizes, budget, keep)
    content: list[Block] = []
    for block, size, share in zip(blocks, sizes, given, strict=True):
        if size > share or _is_large(block, binary):
            shorter, fact = await _shorten(block, share, keep)
            facts.append({"block": len(content), **fact})
            content.extend(shorter)
        else:
            content.append(block)
    return _marked(result, content, facts)


def _marked(result: Result, content: list[Block], facts: list[dict[str, Any]]) -> Result:
    notes = result.notes
    if facts and "truncated" not in notes:
        notes = (*notes, "truncated")
    if any(fact["artifact"] is None for fact in facts) and "not_kept" not in notes:
        notes = (*notes, "not_kept")
    return attrs.evolve(
        result,
        summary=cut_text(result.summary, SUMMARY, inline=True).text,
        content=tuple(content),
        metadata={**result.metadata, "truncated": facts} if facts else result.metadata,
        notes=notes,
    )


def _is_large(block: Block, binary: int) -> bool:
    return isinstance(block, Image | Audio | File) and len(block.data) > binary


async def _ends(
    content: tuple[Block, ...], sizes: list[int], budget: int, keep: Keep | None
) -> tuple[list[Block], list[dict[str, Any]]]:
    """Return the blocks that are shown at all: with very many, the first and the last."""
    head, tail = ends(sizes, budget, most=SMALLEST + _LINK)
    if head == tail:
        return list(content), []
    gone = content[head:tail]
    whole = canonical.dumps([attrs.asdict(block) for block in gone]).encode()
    link = await _kept(keep, whole, "application/json", "content")
    more = " …" if link is None else "; they are kept as the artifact below …"
    note: list[Block] = [Text(f"[… {len(gone)} of {len(content)} blocks left out{more}]")]
    if link is not None:
        note.append(link)
    fact = {
        "block": head,
        "blocks": len(gone),
        "bytes": len(whole),
        "artifact": link.digest if link else None,
    }
    return [*content[:head], *note, *content[tail:]], [fact]


async def bound_all(
    results: Sequence[Result], *, each: int, total: int, keep: Keep | None = None
) -> list[Result]:
    """Bound the results of a batch: each one, and all of them together, shared fairly."""
    given = shares([min(shown_size(r), max(each, SMALLEST)) for r in results], total)
    return [await bound(r, share, keep=keep) for r, share in zip(results, given, strict=True)]


def _given(sizes: list[int], budget: int, keep: Keep | None) -> list[int]:
    """Divide the budget; links to what is cut are paid for by those that are cut."""
    given = shares(sizes, budget)
    if keep is None:
        return given
    cut = [size > share for size, share in zip(sizes, given, strict=True)]
    return shares(sizes, max(budget - _LINK * sum(cut), 0))


def _size(block: Block) -> int:
    if isinstance(block, Text):
        return len(block.text)
    if isinstance(block, Json):
        return size_of_json(block.value)
    if isinstance(block, Link):
        return len(block.uri) + len(block.title or "")
    return 0


async def _shorten(
    block: Block, room: int, keep: Keep | None
) -> tuple[list[Block], dict[str, Any]]:
    data, media_type, title = _whole(block)
    link = await _kept(keep, data, media_type, title)
    fact: dict[str, Any] = {"bytes": len(data), "artifact": link.digest if link else None}
    links: list[Block] = [link] if link is not None else []
    if isinstance(block, Text | Json):
        shorter, lost = _shorter(block, room, kept=link is not None)
        return [shorter, *links], {**fact, **lost}
    if isinstance(block, Link):
        return [Text(cut_text(block.uri, room, inline=True).text), *links], fact
    gone = "" if link is not None else " and could not be kept"
    text = f"[… {title} of {len(data)} bytes ({media_type}) is too large to show{gone} …]"
    return [Text(text), *links], fact


def _shorter(block: Text | Json, room: int, *, kept: bool) -> tuple[Block, dict[str, Any]]:
    if isinstance(block, Json):
        pruned = prune(block.value, room)
        lost = attrs.asdict(pruned, filter=lambda a, _: a.name != "value")
        return Json(pruned.value), lost
    value = _json_of(block.text)
    if value is not None:
        pruned = prune(value, room)
        lost = attrs.asdict(pruned, filter=lambda a, _: a.name != "value")
        # In the order of the original, unlike canonical text.
        shorter = json.dumps(pruned.value, ensure_ascii=False, separators=(",", ":"))
        return Text(shorter), lost
    more = "; the whole is kept as the artifact below" if kept else ""
    cut = cut_text(block.text, room, more=more)
    return Text(cut.text), {"total": cut.total, "dropped": cut.dropped, "lines": cut.lines}


def _json_of(text: str) -> Any:
    """Return the object or array that a text is, or None if it is anything else."""
    if len(text) > _LARGEST_JSON or text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        value = json.loads(text, parse_float=_finite)
        canonical.dumps(value)
    except (ValueError, RecursionError):
        return None
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        message = "too large for a float"
        raise ValueError(message)
    return number


def _whole(block: Block) -> tuple[bytes, str, str]:
    """Return a block's bytes, media type and what it is called."""
    if isinstance(block, Text):
        # Lone surrogates have no UTF-8; escaped they can be kept and read.
        return block.text.encode("utf-8", "backslashreplace"), "text/plain", "text"
    if isinstance(block, Json):
        return canonical.dumps(block.value).encode(), "application/json", "JSON"
    if isinstance(block, Image | Audio | File):
        title = block.name if isinstance(block, File) else block.type
        try:
            return base64.b64decode(block.data), block.media_type, title
        except ValueError:
            return block.data.encode("utf-8", "replace"), "text/plain", title
    return (
        (block.uri if isinstance(block, Link) else block.digest).encode(),
        "text/plain",
        "link",
    )


async def _kept(
    keep: Keep | None, data: bytes, media_type: str, title: str
) -> ArtifactLink | None:
    if keep is None:
        return None
    try:
        link = keep(data, media_type, title)
        if inspect.isawaitable(link):
            link = await link
    except Exception:  # noqa: BLE001 - a full store must not cost the result
        return None
    return link
