"""How an outcome becomes text and media for a model."""

from __future__ import annotations

import attrs

from toolcrib import canonical
from toolcrib.names import wire_name
from toolcrib.outcome import ArtifactLink, Audio, Block, File, Image, Json, Link, Outcome, Text
from toolcrib.vocabulary import Status


__all__ = ["Media", "Rendered", "render"]

Media = Image | Audio | File

_READER = wire_name("crib.read")


@attrs.frozen
class Rendered:
    """What a model sees of an outcome.

    Attributes:
        text: Everything that can be said as text, media named where they stood. Never
            empty: some providers refuse an empty result.
        media: Images, sound and files, in order.
        failed: Whether the provider's error flag belongs on it.
    """

    text: str
    media: tuple[Media, ...] = ()
    failed: bool = False


def render(outcome: Outcome, budget: int | None = None) -> Rendered:
    """Say an outcome to a model: status, code, text, content and notes.

    Args:
        outcome: How the call ended.
        budget: Most characters of text; head and tail are kept. None keeps all, which
            is right where *execute* has already applied the tool's own budget.
    """
    parts: list[str] = []
    media: list[Media] = []
    if outcome.status is not Status.OK:
        parts.append(_status(outcome))
    parts += [_said(block, media) for block in outcome.result.content]
    if not outcome.result.content and outcome.result.structured is not None:
        parts.append(canonical.dumps(outcome.result.structured))
    if not any(parts):
        parts.append(outcome.result.summary or "Done; there is no output.")
    parts += _notes(outcome)
    text = _clean("\n".join(part for part in parts if part))
    if budget is not None and len(text) > budget:
        text = _cut(text, budget)
    return Rendered(text, tuple(media), outcome.status is not Status.OK)


def _status(outcome: Outcome) -> str:
    about = [outcome.code] if outcome.code else []
    if outcome.retryable:
        about.append("retryable")
    if outcome.attempts > 1:
        about.append(f"{outcome.attempts} attempts")
    where = f" ({', '.join(about)})" if about else ""
    return f"{outcome.status}{where}: {outcome.text}".rstrip()


def _notes(outcome: Outcome) -> list[str]:
    notes = list(outcome.result.notes)
    if outcome.replayed:
        notes.append("replayed: recorded earlier, nothing ran now")
    return [f"[notes: {'; '.join(notes)}]"] if notes else []


def _said(block: Block, media: list[Media]) -> str:
    """Say one block as text; media are named here and shown beside."""
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Json):
        return canonical.dumps(block.value)
    if isinstance(block, Link):
        title = f"{block.title} " if block.title else ""
        kind = f" ({block.media_type})" if block.media_type else ""
        return f"[link: {title}<{block.uri}>{kind}]"
    if isinstance(block, ArtifactLink):
        title = f"{block.title}, " if block.title else ""
        about = f"{title}{block.media_type}, {block.size} bytes"
        return f"[artifact {block.digest}: {about}; page it with {_READER}]"
    media.append(block)
    name = f"{block.name}, " if isinstance(block, File) else ""
    return f"[{block.type} {len(media)}: {name}{block.media_type}]"


def _clean(text: str) -> str:
    """Replace lone surrogates, which no provider's encoder accepts."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _cut(text: str, budget: int) -> str:
    """Keep head and tail, and say how much is gone."""
    head, tail = budget * 2 // 3, budget // 3
    gone = len(text) - head - tail
    return f"{text[:head]}\n[… {gone} characters left out …]\n{text[len(text) - tail :]}"
