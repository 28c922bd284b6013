"""The stage *admit*: from what a model sent to arguments that are valid and frozen.

The arguments are parsed once, the projection's rewrite is undone, and the result is
checked against the tool's own schema. What has exactly one reading is mended and
recorded, see :mod:`toolcrib.repair`; everything else is refused, with a text from which a
model can correct itself in one turn. Nothing is ever guessed.
"""

from __future__ import annotations

import json

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from . import call as _call
from . import canonical, names
from .call import AdmittedCall, Call, Repair
from .codes import refuse
from .errors import (
    Busy,
    Invalid,
    NotFound,
    Refused,
    SchemaError,
    ToolFailure,
    Unavailable,
)
from .outcome import Refusal
from .repair import LOSSLESS, Repairer, TruncatedError, mend
from .schema import Problem
from .schema.values import describe
from .tool import Tool
from .validator import Validator, Validators


__all__ = ["admit", "check_output"]

MAX_BYTES = 4 << 20
MAX_DEPTH = 64
_MOST_TEXT = 4_000
_MOST_POINTER = 200
_LISTED = 10


class _BadArgumentsError(Exception):
    """Raised inside this module when arguments end in a refusal."""

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        super().__init__(text)


def admit(  # noqa: PLR0913 - a stage takes what it needs, all of it by name
    call: Call,
    tool: Tool | None,
    *,
    validators: Validators,
    known: Iterable[str] = (),
    inverse: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    check: Callable[..., Any] | None = None,
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
        inverse: Undoes what the projection did to the arguments.
        check: The tool's own check, called with the arguments by name.
        max_bytes: Largest arguments, in bytes of JSON text.
        max_depth: Deepest nesting of the arguments.
        repairs: Rules that may be used; :data:`toolcrib.repair.OPTIONAL` is for those
            who ask for it, ``frozenset()`` turns mending off.
    """
    if call.problem is not None:
        return call.problem
    if tool is None:
        return _unknown(call, known)
    try:
        validator = validators.get(tool.input_schema, arguments=True)
    except SchemaError as error:
        text = f"The schema of `{call.wire_name}` cannot be enforced: {error}. Nothing ran."
        return refuse("schema.unsupported", tool.id, text)
    try:
        value, mended = _read(call.arguments, max_bytes, max_depth, repairs)
        if inverse is not None:
            value = _undo(inverse, value)
        problems = validator.check(value)
        if problems:
            problems, more = _repair(validator, value, problems, repairs, max_depth)
            mended = [*mended, *more]
            if problems:
                return _invalid(call, tool, problems, inverse)
        text, mended = _freeze(validator, value, mended, repairs, max_bytes, max_depth)
    except _BadArgumentsError as error:
        return _malformed(call, tool, error)
    if check is not None:
        refusal = _check(call, tool, check, text)
        if refusal is not None:
            return refusal
    return _call._admitted(  # noqa: SLF001 - the one maker of admitted calls
        call=call,
        tool=tool,
        text=text,
        digest=canonical.digest_bytes(text.encode()),
        repairs=tuple(mended),
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


def _read(
    arguments: Any, max_bytes: int, max_depth: int, rules: frozenset[str]
) -> tuple[dict[str, Any], list[Repair]]:
    """Parse what was sent into an object."""
    mended: list[Repair] = []
    value = arguments
    if isinstance(arguments, str) and arguments.strip():
        value, mended = _parse(arguments, max_bytes, max_depth, rules)
    for _ in range(2):
        if not isinstance(value, str) or not value.strip() or "R2" not in rules:
            break
        inner = _inner(value, max_bytes, max_depth)
        if inner is None:
            break
        value = inner
        mended = [*mended, Repair("R2", "", "decoded arguments that were encoded twice")]
    if value is None or (isinstance(value, str) and not value.strip()):
        if "R1" not in rules:
            _not_object(value)
        return {}, [*mended, Repair("R1", "", "read no arguments as an empty object")]
    if isinstance(value, Mapping):
        if value is arguments:
            value = _copy(value, max_bytes, max_depth)
        result: dict[str, Any] = value
        return result, mended
    return _not_object(value)


def _not_object(value: Any) -> Any:
    text = f"they must be a JSON object, not {describe(value)}"
    code = "arguments.not_object"
    raise _BadArgumentsError(code, text)


def _inner(text: str, max_bytes: int, max_depth: int) -> Any:
    """Return what is encoded in a string, if that leads to an object."""
    try:
        value = canonical.loads(text, max_bytes=max_bytes, max_depth=max_depth)
    except ValueError:
        return None
    return value if isinstance(value, dict | str) else None


def _parse(
    text: str, max_bytes: int, max_depth: int, rules: frozenset[str]
) -> tuple[Any, list[Repair]]:
    try:
        return canonical.loads(text, max_bytes=max_bytes, max_depth=max_depth), []
    except canonical.TooLargeError as error:
        raise _BadArgumentsError("arguments.too_large", f"{error}; send less") from None
    except json.JSONDecodeError as error:
        return _parse_mended(text, error, max_depth, rules)
    except ValueError as error:
        raise _BadArgumentsError("arguments.malformed", f"{str(error)[:300]}") from None


def _parse_mended(
    text: str, error: json.JSONDecodeError, max_depth: int, rules: frozenset[str]
) -> tuple[Any, list[Repair]]:
    try:
        clean, repairs = mend(text, rules)
        return canonical.loads(clean, max_depth=max_depth), repairs
    except TruncatedError:
        reason = "they end in the middle, cut off; send less, or split the work"
        raise _BadArgumentsError("arguments.truncated", reason) from None
    except ValueError:
        around = text[max(0, error.pos - 20) : error.pos + 20]
        reason = f"they are not JSON: {error.msg} at character {error.pos}, near {around!r}"
        raise _BadArgumentsError("arguments.malformed", reason) from None


def _copy(value: Mapping[str, Any], max_bytes: int, max_depth: int) -> dict[str, Any]:
    """Copy an object that a provider's library parsed, as the JSON that it stands for."""
    try:
        text = canonical.dumps(dict(value))
        if not all(type(key) is str for key in value):
            raise TypeError
        copy: dict[str, Any] = canonical.loads(text, max_bytes=max_bytes, max_depth=max_depth)
    except canonical.TooLargeError as error:
        raise _BadArgumentsError("arguments.too_large", f"{error}; send less") from None
    except (ValueError, TypeError, RecursionError) as error:
        reason = f"they hold what JSON cannot say ({type(error).__name__})"
        raise _BadArgumentsError("arguments.malformed", reason) from None
    return copy


def _undo(
    inverse: Callable[[dict[str, Any]], dict[str, Any]], value: dict[str, Any]
) -> dict[str, Any]:
    try:
        return inverse(value)
    except ValueError as error:
        raise _BadArgumentsError("arguments.invalid", str(error)[:1000]) from None


def _repair(
    validator: Validator,
    value: dict[str, Any],
    problems: tuple[Problem, ...],
    rules: frozenset[str],
    max_depth: int,
) -> tuple[tuple[Problem, ...], list[Repair]]:
    if not rules or validator.normal.verbatim or not _mendable(problems, rules):
        return problems, []
    repairer = Repairer(validator, rules, max_depth=max_depth)
    left = repairer.mend(value, problems)
    return left[:_LISTED], repairer.repairs


# What no repair can mend: the value is missing, or of the right type.
_FINAL = frozenset(
    {"required", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "pattern"}
)


def _mendable(problems: tuple[Problem, ...], rules: frozenset[str]) -> bool:
    unknown = "additionalProperties" if "R13" not in rules else ""
    return any(each.keyword not in _FINAL and each.keyword != unknown for each in problems)


def _freeze(  # noqa: PLR0913 - one step of one stage
    validator: Validator,
    value: dict[str, Any],
    mended: list[Repair],
    rules: frozenset[str],
    max_bytes: int,
    max_depth: int,
) -> tuple[str, list[Repair]]:
    """Fill in defaults and write the arguments as canonical text."""
    before = canonical.dumps(value) if validator.entangled else ""
    if validator.fill(value) and validator.check(value, 1):
        # A default made the whole invalid: the tool gets what was sent.
        value = json.loads(before)
    text = canonical.dumps(value)
    if ".0" in text and "R5" in rules and not validator.normal.verbatim:
        repairer = Repairer(validator, rules, max_depth=max_depth)
        if repairer.whole_floats(value):
            text = canonical.dumps(value)
            mended = [*mended, *repairer.repairs]
    if len(text) > max_bytes:
        reason = f"they are larger than {max_bytes} bytes; send less"
        raise _BadArgumentsError("arguments.too_large", reason)
    return text, mended


def _check(call: Call, tool: Tool, check: Callable[..., Any], text: str) -> Refusal | None:
    """Run the tool's own check on a copy of the arguments."""
    try:
        check(**json.loads(text))
    except Invalid as error:
        problem = Problem(error.path, "check", error.text[:1000])
        said = _say(call, [problem], None)
        return attrs.evolve(
            refuse("tool.invalid", tool.id, said, problems=_facts([problem])),
            code=error.code or "tool.invalid",
        )
    except ToolFailure as error:
        code = next((_FAILURES[kind] for kind in _FAILURES if isinstance(error, kind)), None)
        said = f"{error.text[:1000]} Nothing ran."
        return attrs.evolve(
            refuse(code or "tool.failed", tool.id, said),
            code=error.code or code or "tool.failed",
        )
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a pack's code may raise anything
        said = f"The check of `{call.wire_name}` broke ({type(error).__name__}). Nothing ran."
        return refuse("tool.crashed", tool.id, said)
    return None


_FAILURES = {
    NotFound: "tool.not_found",
    Unavailable: "tool.unavailable",
    Busy: "tool.busy",
    Refused: "tool.refused",
}


def _unknown(call: Call, known: Iterable[str]) -> Refusal:
    name = call.wire_name[:100]
    close = names.closest(name, known)
    text = f"There is no tool `{name}`. Nothing ran."
    if close:
        text += f" Did you mean {' or '.join(f'`{each}`' for each in close)}?"
    return refuse("tool.unknown", call.wire_name, text, closest=close)


def _malformed(call: Call, tool: Tool, error: _BadArgumentsError) -> Refusal:
    text = f"The arguments for `{call.wire_name}` cannot be used: {error}. Nothing ran."
    return refuse(error.code, tool.id, text)


def _invalid(call: Call, tool: Tool, problems: tuple[Problem, ...], inverse: Any) -> Refusal:
    text = _say(call, problems, getattr(inverse, "wire_pointer", None))
    return refuse("arguments.invalid", tool.id, text, problems=_facts(problems))


def _facts(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    return [
        {
            "pointer": each.pointer,
            "keyword": each.keyword,
            "expected": each.expected,
            "sent": each.sent,
        }
        for each in problems
    ]


def _say(call: Call, problems: Iterable[Problem], wire: Callable[[str], str] | None) -> str:
    """Say what is wrong in the names and paths that the model knows."""
    lines = [f"Invalid arguments for `{call.wire_name}`. Nothing ran."]
    for number, problem in enumerate(problems, 1):
        pointer = wire(problem.pointer) if wire is not None else problem.pointer
        if len(pointer) > _MOST_POINTER or pointer is not problem.pointer:
            shown = attrs.evolve(problem, pointer=pointer[:_MOST_POINTER])
            lines.append(f"{number}. {shown}")
        else:
            lines.append(f"{number}. {problem}")
    text = "\n".join(lines)
    if len(text) > _MOST_TEXT:
        text = text[:_MOST_TEXT] + "…"
    return f"{text}\nCall `{call.wire_name}` again with all arguments corrected."
