"""JSON forms of what the ledger stores: outcomes, questions, decisions and grants.

A form leaves out what has its default, so that the common outcome is short.
"""

from __future__ import annotations

import math

from collections.abc import Mapping
from typing import Any

import attrs

from toolcrib import canonical
from toolcrib.errors import RecordError
from toolcrib.outcome import (
    ArtifactLink,
    Audio,
    Block,
    Directive,
    File,
    Image,
    Json,
    Link,
    Outcome,
    Result,
    Text,
)
from toolcrib.question import Allow, AllowRule, Decision, Deny, Grant, Question
from toolcrib.vocabulary import Scope, Status

from .damage import readable


__all__ = [
    "decision_from_json",
    "decision_to_json",
    "grant_from_json",
    "grant_to_json",
    "outcome_from_json",
    "outcome_of",
    "outcome_to_json",
    "question_from_json",
    "question_to_json",
    "text_of",
]

JsonObject = canonical.JsonObject

_BLOCKS: dict[str, type[Block]] = {
    "text": Text,
    "json": Json,
    "image": Image,
    "audio": Audio,
    "file": File,
    "link": Link,
    "artifact": ArtifactLink,
}
_DECISIONS: dict[str, type[Decision]] = {"allow": Allow, "allow_rule": AllowRule, "deny": Deny}
_DEEPEST = 100


def text_of(value: canonical.JsonValue) -> str:
    """Return canonical text of a value, whatever it is.

    What JSON cannot say is written as text: an effect has happened by now, and a bad
    value in its result must not lose the record of it.
    """
    try:
        return canonical.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return canonical.dumps(_plain(value, 0))


def _plain(value: Any, depth: int) -> canonical.JsonValue:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return {str(k): _plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, depth + 1) for v in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(v, depth + 1) for v in value), key=str)
    return repr(value)


def _block_form(block: Block) -> JsonObject:
    if isinstance(block, Text):  # nearly always
        return {"type": "text", "text": block.text}
    return attrs.asdict(block, recurse=False)


def _block_from(form: Mapping[str, Any]) -> Block:
    fields = dict(form)
    block: Block = _BLOCKS[fields.pop("type")](**fields)
    return block


def _result_form(result: Result) -> JsonObject:
    form: JsonObject = {}
    if result.summary:
        form["summary"] = result.summary
    if result.content:
        form["content"] = [_block_form(block) for block in result.content]
    if result.structured is not None:
        form["structured"] = result.structured
    if result.metadata:
        form["metadata"] = dict(result.metadata)
    if result.notes:
        form["notes"] = list(result.notes)
    if result.directives:
        form["directives"] = [[d.name, d.value] for d in result.directives]
    return form


def _result_from(form: Mapping[str, Any]) -> Result:
    return Result(
        summary=form.get("summary", ""),
        content=tuple(_block_from(block) for block in form.get("content", ())),
        structured=form.get("structured"),
        metadata=form.get("metadata", {}),
        notes=tuple(form.get("notes", ())),
        directives=tuple(Directive(name, value) for name, value in form.get("directives", ())),
    )


def outcome_to_json(outcome: Outcome) -> JsonObject:
    """Return the JSON form of an outcome, content blocks included."""
    form: JsonObject = {
        "call_id": outcome.call_id,
        "tool_id": outcome.tool_id,
        "status": outcome.status,
    }
    for name, default in (
        ("code", None),
        ("text", ""),
        ("retryable", False),
        ("attempts", 0),
        ("started", None),
        ("ended", None),
    ):
        value = getattr(outcome, name)
        if value != default:
            form[name] = value
    if outcome.details:
        form["details"] = dict(outcome.details)
    result = _result_form(outcome.result)
    if result:
        form["result"] = result
    return form


@readable
def outcome_of(text: str) -> Outcome:
    """Return the outcome that a text of the ledger holds.

    Raises:
        RecordError: it was damaged.
    """
    form = canonical.loads(text, max_bytes=1 << 30, max_depth=10_000)
    return outcome_from_json(form)


def outcome_from_json(form: Mapping[str, Any]) -> Outcome:
    """Return the outcome that a form describes, marked as replayed."""
    fields = dict(form)
    fields["status"] = Status(fields["status"])
    fields["result"] = _result_from(fields.get("result", {}))
    return Outcome(**fields, replayed=True)


def question_to_json(question: Question) -> JsonObject:
    """Return the JSON form of a question."""
    form = attrs.asdict(question, recurse=False)
    form["arguments"] = dict(question.arguments)
    return form


def question_from_json(form: Mapping[str, Any]) -> Question:
    """Return the question that a form describes."""
    fields = dict(form)
    fields["resources"] = tuple(fields["resources"])
    fields["reasons"] = tuple(fields["reasons"])
    return Question(**fields)


def decision_to_json(decision: Decision) -> JsonObject:
    """Return the JSON form of a decision."""
    for name, kind in _DECISIONS.items():
        if type(decision) is kind:
            return {"decision": name, **attrs.asdict(decision, recurse=False)}
    text = f"a decision is an Allow, AllowRule or Deny, not {type(decision).__name__}"
    raise RecordError(text)


def decision_from_json(form: Mapping[str, Any]) -> Decision:
    """Return the decision that a form describes."""
    fields = dict(form)
    decision: Decision = _DECISIONS[fields.pop("decision")](**fields)
    return decision


def grant_to_json(grant: Grant) -> JsonObject:
    """Return the JSON form of a grant as it was given, without what changes later."""
    form = attrs.asdict(grant, recurse=False)
    del form["uses_left"], form["revoked"]
    form["uses"] = grant.uses_left
    return form


def grant_from_json(form: Mapping[str, Any], *, uses_left: int | None, revoked: bool) -> Grant:
    """Return the grant that a form describes, as it stands now."""
    fields = dict(form)
    del fields["uses"]
    fields["scope"] = Scope(fields["scope"])
    return Grant(**fields, uses_left=uses_left, revoked=revoked)
