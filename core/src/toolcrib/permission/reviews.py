"""What a reviewer may do to an outcome: append, redact, mark failed; never rewrite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from toolcrib.outcome import Json, Link, Outcome, Text
from toolcrib.vocabulary import Status


__all__ = ["REDACTED", "Review", "reviewed"]

REDACTED = "[redacted]"
_MOST = 8_000


@attrs.frozen(kw_only=True)
class Review:
    """A reviewer's answer.

    Attributes:
        append: Texts shown to the model after the result.
        redact: Texts that are taken out wherever they stand.
        failed: Why the result must not be relied on, or None.
        notes: Short words added to the outcome.
    """

    append: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    redact: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    failed: str | None = None
    notes: tuple[str, ...] = attrs.field(default=(), converter=tuple)


def reviewed(outcome: Outcome, answer: Any, *, reviewer: str) -> Outcome:
    """Return an outcome with a reviewer's answer; what is no answer changes nothing.

    Args:
        outcome: How the call ended.
        answer: A :class:`Review`, a mapping with its fields, or None.
        reviewer: The pack that answered, named in what it adds.
    """
    review = _review(answer)
    if review is None:
        return outcome
    redact = [text for text in review.redact if text]
    result = outcome.result
    content = tuple(_redacted(block, redact) for block in result.content)
    content += tuple(Text(f"[{reviewer}] {text[:_MOST]}") for text in review.append)
    marks = [f"{reviewer}: {note}" for note in review.notes]
    if redact and (content[: len(result.content)] != result.content):
        marks.append(f"{reviewer}: redacted")
    changed = attrs.evolve(
        outcome,
        text=_cut(outcome.text, redact),
        result=attrs.evolve(
            result,
            summary=_cut(result.summary, redact),
            content=content,
            structured=_deep(result.structured, redact),
            notes=(*result.notes, *marks),
        ),
    )
    if review.failed is None or changed.status is not Status.OK:
        return changed
    # The call did run; only its result is not to be relied on.
    text = f"The call ran, but the reviewer {reviewer!r} rejects its result: {review.failed}"
    return attrs.evolve(changed, status=Status.FAILED, code="review.failed", text=text)


def _review(answer: Any) -> Review | None:
    if isinstance(answer, Review):
        return answer
    if not isinstance(answer, Mapping):
        return None
    known = {field.name for field in attrs.fields(Review)}
    if not answer or set(answer) - known:
        return None
    lists = {name: answer[name] for name in answer if name != "failed"}
    if any(not _is_texts(value) for value in lists.values()):
        return None
    failed = answer.get("failed")
    return Review(**lists, failed=failed) if isinstance(failed, str | None) else None


def _is_texts(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(text, str) for text in value)
    )


def _cut(text: str, redact: Sequence[str]) -> str:
    for secret in redact:
        text = text.replace(secret, REDACTED)
    return text


def _redacted(block: Any, redact: Sequence[str]) -> Any:
    if not redact:
        return block
    if isinstance(block, Text):
        return Text(_cut(block.text, redact))
    if isinstance(block, Json):
        return Json(_deep(block.value, redact))
    if isinstance(block, Link):
        title = None if block.title is None else _cut(block.title, redact)
        return attrs.evolve(block, uri=_cut(block.uri, redact), title=title)
    return block


def _deep(value: Any, redact: Sequence[str]) -> Any:
    if not redact:
        return value
    if isinstance(value, str):
        return _cut(value, redact)
    if isinstance(value, Mapping):
        return {_cut(str(k), redact): _deep(v, redact) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_deep(item, redact) for item in value]
    return value
