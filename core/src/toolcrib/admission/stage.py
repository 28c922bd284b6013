"""The stage *admit*: from what a model sent to arguments that are valid and frozen.

The arguments are parsed once, the projection's rewrite is undone, and the result is
checked against the tool's own schema. What has exactly one reading is mended and
recorded, see :mod:`toolcrib.repair`; everything else is refused, with a text from which a
model can correct itself in one turn. Nothing is ever guessed.
"""

from __future__ import annotations

import json

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from toolcrib import call as _call
from toolcrib import canonical
from toolcrib.call import AdmittedCall, Call, Repair
from toolcrib.codes import refuse
from toolcrib.errors import SchemaError
from toolcrib.outcome import Refusal
from toolcrib.repair import LOSSLESS
from toolcrib.schema import Problem
from toolcrib.tool import Tool
from toolcrib.validator import Validator, Validators

from .arguments import MAX_BYTES, MAX_DEPTH, UnusableError, read, simple
from .saying import Wire, invalid, unknown, unusable


if TYPE_CHECKING:
    from toolcrib.repair.values import Repairer


__all__ = ["admit", "check_output"]

_LISTED = 10


def admit(
    call: Call,
    tool: Tool | None,
    *,
    validators: Validators,
    known: Iterable[str] = (),
    inverse: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
    repairs: frozenset[str] = LOSSLESS,
) -> AdmittedCall | Refusal:
    """Admit one call, or say why not.

    Args:
        call: What the model sent.
        tool: The tool that it names, or None if there is none.
        validators: Where validators are kept.
        known: Wire names to suggest where there is no such tool.
        inverse: Undoes what the projection did to the arguments. If it has a method
            ``wire_pointer(pointer, sent)``, refusals speak of what was sent.
        max_bytes: Largest arguments, in bytes of JSON text.
        max_depth: Deepest nesting of the arguments.
        repairs: Rules that may be used; :data:`toolcrib.repair.OPTIONAL` is for those
            who ask for it, ``frozenset()`` turns mending off.
    """
    if call.problem is not None:
        return call.problem
    if tool is None:
        return unknown(call, known)
    try:
        validator = validators.get(tool.input_schema, arguments=True)
    except SchemaError as error:
        text = f"The schema of `{call.wire_name}` cannot be enforced: {error}. Nothing ran."
        return refuse("schema.unsupported", tool.id, text)
    try:
        flat = simple(call.arguments) if inverse is None else None
        value: dict[str, Any] = flat or {}
        mended: list[Repair] = []
        wire = None
        if flat is None:
            value, mended = read(call.arguments, max_bytes, max_depth, repairs)
            if inverse is not None:
                wire = _wire(inverse, value)
                value = _undo(inverse, value)
        problems = validator.check(value, flat=flat is not None)
        if problems:
            problems, more = _repair(validator, value, problems, repairs, max_depth)
            mended = [*mended, *more]
        if problems:
            return invalid(call, tool, problems, wire)
        text, mended = _freeze(validator, value, mended, repairs, max_bytes)
    except UnusableError as error:
        return unusable(call, tool, error)
    return _call._admitted(  # noqa: SLF001
        call=call,
        tool=tool,
        text=text,
        digest=canonical.digest_bytes(text.encode()),
        # With the keys of inner objects in canonical order, as every attempt sees them.
        parsed=[value] if flat is not None else [],
        repairs=(*call.repairs, *mended),
    )


def check_output(tool: Tool, value: Any, validators: Validators) -> tuple[Problem, ...]:
    """Return what is wrong with a tool's structured output; () if nothing, or no schema."""
    if tool.output_schema is None:
        return ()
    try:
        return validators.get(tool.output_schema).check(value)
    except SchemaError as error:
        text = f"the output schema cannot be enforced: {error}"
        return (Problem("", error.keyword, text),)


def _wire(inverse: Any, sent: dict[str, Any]) -> Wire | None:
    """Return what says a pointer as the model knows it."""
    found = getattr(inverse, "wire_pointer", None)
    return None if found is None else lambda pointer: str(found(pointer, sent))


def _undo(
    inverse: Callable[[dict[str, Any]], dict[str, Any]], value: dict[str, Any]
) -> dict[str, Any]:
    try:
        return inverse(value)
    except ValueError as error:
        raise UnusableError(str(error)[:1000], code="arguments.invalid") from None


def _repair(
    validator: Validator,
    value: dict[str, Any],
    problems: tuple[Problem, ...],
    rules: frozenset[str],
    max_depth: int,
) -> tuple[tuple[Problem, ...], list[Repair]]:
    if not rules or validator.normal.verbatim or not _mendable(problems, rules):
        return problems, []
    repairer = _repairer()(validator, rules, max_depth=max_depth)
    left = repairer.mend(value, problems)
    return left[:_LISTED], repairer.repairs


@cache
def _repairer() -> type[Repairer]:
    """Return what mends; loaded for the first call that is wrong."""
    from toolcrib.repair.values import Repairer  # noqa: PLC0415 - as it says

    return Repairer


# What no repair can mend: the value is missing, or of the right type.
_FINAL = frozenset(
    {"required", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "pattern"}
)


def _mendable(problems: tuple[Problem, ...], rules: frozenset[str]) -> bool:
    unknown = "additionalProperties" if "R13" not in rules else ""
    return any(each.keyword not in _FINAL and each.keyword != unknown for each in problems)


def _freeze(
    validator: Validator,
    value: dict[str, Any],
    mended: list[Repair],
    rules: frozenset[str],
    max_bytes: int,
) -> tuple[str, list[Repair]]:
    """Fill in defaults and write the arguments as canonical text."""
    before = canonical.dumps(value) if validator.entangled else ""
    if validator.fill(value) and validator.check(value, 1):
        # A default made the whole invalid: the tool gets what was sent.
        value = json.loads(before)
    text = canonical.dumps(value)
    if ".0" in text and "R5" in rules and not validator.normal.verbatim:
        repairer = _repairer()(validator, rules)
        if repairer.whole_floats(value):
            text = canonical.dumps(value)
            mended = [*mended, *repairer.repairs]
    if len(text) > max_bytes:
        reason = f"they are larger than {max_bytes} bytes; send less"
        raise UnusableError(reason, code="arguments.too_large")
    return text, mended
