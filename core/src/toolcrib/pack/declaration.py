"""The options of a tool: which there are, and every problem of a declaration at once."""

from __future__ import annotations

import math

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, get_args

from toolcrib.names import is_tool_name
from toolcrib.tool import Example, Requirements
from toolcrib.vocabulary import Audience, Cancellation, Concurrency, Effect, Idempotence, Label


__all__ = ["PackOptions", "ToolOptions", "check_name", "read_options"]

EffectWord: TypeAlias = Literal[
    "fs_read",
    "fs_write",
    "process",
    "net_read",
    "net_write",
    "agent",
    "host_state",
    "browser",
    "device",
]
LabelWord: TypeAlias = Literal["reads_private", "returns_untrusted", "sends_out"]
AudienceWord: TypeAlias = Literal["model", "user", "operator"]
DirectiveWord: TypeAlias = Literal[
    "stop_turn", "use_mode", "use_model", "restrict", "switch_workspace"
]


class PackOptions(TypedDict, total=False):
    """What a pack may say once for all of its tools; a tool's own word wins.

    ``requires`` is the exception: a tool requires what its pack requires, and more.

    Attributes:
        effects: Upper bound of what a call may do; **left out: everything**.
        idempotent: Whether a call may be replayed; default ``no``.
        concurrency: Beside which calls it may run; default ``exclusive``.
        cancellation: What cancelling does; default from the function.
        labels: What flows through it; left out: all.
        requires: What must be there for it to be offered.
        audience: To whom it is described; default the model.
        category, tags: Index keys.
        strict, deferred, timeout, result_budget: Left out: policy decides.
    """

    effects: Iterable[EffectWord | Effect]
    idempotent: Literal["no", "yes", "keyed"] | Idempotence
    concurrency: Literal["exclusive", "shared"] | Concurrency
    cancellation: Literal["cooperative", "thread", "process", "remote"] | Cancellation | None
    labels: Iterable[LabelWord | Label]
    requires: Requirements | None
    audience: Iterable[AudienceWord | Audience]
    category: str | None
    tags: Iterable[str]
    strict: bool | None
    deferred: bool | None
    timeout: float | None
    result_budget: int | None


class ToolOptions(PackOptions, total=False):
    """What a tool may say of itself.

    Attributes:
        name: Last part of its id; default the function's name.
        title: Name for people; default from the name.
        version: Free text.
        summary: One sentence; default the docstring's first paragraph.
        details, usage, cautions, examples: The rest of its description. An example is
            a sentence and its arguments.
        serves: Goal ids.
        intent: Whether it is advertised as a selectable intent.
        delegate: Workflow delegate id that it answers.
        directives: Names of the directives that it may emit.
        input_schema: JSON Schema in the place of the typed parameters; or an attrs
            class or dataclass, an object of which is then the only parameter.
        output_schema: JSON Schema or type in the place of the return annotation.
    """

    name: str | None
    title: str | None
    version: str
    summary: str
    details: str
    usage: Iterable[str]
    cautions: Iterable[str]
    examples: Iterable[Example | tuple[str, Mapping[str, Any]]]
    serves: Iterable[str]
    intent: bool
    delegate: str | None
    directives: Iterable[DirectiveWord]
    input_schema: Mapping[str, Any] | type[Any] | None
    output_schema: Mapping[str, Any] | bool | type[Any] | None


W = TypeVar("W", bound=StrEnum)


def _closest(word: Any, known: Iterable[str]) -> str:
    names = sorted(known)
    import difflib  # noqa: PLC0415 - only for words that are wrong

    near = difflib.get_close_matches(str(word), names, n=1)
    return f"did you mean {near[0]!r}?" if near else "use one of: " + " ".join(names)


def _one(kind: type[W]) -> Callable[[Any], W]:
    table: dict[Any, W] = {str(word): word for word in kind}

    def read(value: Any) -> W:
        try:
            return table[value]
        except (KeyError, TypeError):
            text = f"{value!r} is not known; {_closest(value, table)}"
            raise ValueError(text) from None

    return read


def _some(kind: type[W]) -> Callable[[Any], frozenset[W]]:
    one = _one(kind)

    def read(value: Any) -> frozenset[W]:
        if isinstance(value, str):
            text = f"{value!r} is one word; write a set: {{{value!r}}}"
            raise ValueError(text)  # noqa: TRY004 - gathered with its like
        return frozenset(one(each) for each in value)

    return read


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        text = f"{value!r} is one text; write a list: [{value!r}]"
        raise ValueError(text)  # noqa: TRY004 - gathered with its like
    found = tuple(value)
    if not all(isinstance(each, str) and each.strip() for each in found):
        text = "every item is a text that is not empty"
        raise ValueError(text)
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        text = f"{value!r} is no text"
        raise ValueError(text)  # noqa: TRY004 - gathered with its like
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        text = f"{value!r} is not True or False"
        raise ValueError(text)  # noqa: TRY004 - gathered with its like
    return value


def _positive(kinds: tuple[type, ...], what: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        good = isinstance(value, kinds) and not isinstance(value, bool)
        if not good or not (0 < value < math.inf):
            text = f"{value!r} is not {what}"
            raise ValueError(text)
        return value

    return read


def _requires(value: Any) -> Requirements:
    if not isinstance(value, Requirements):
        text = f"{value!r} is no Requirements(executables=…, capabilities=…, flags=…)"
        raise ValueError(text)  # noqa: TRY004 - gathered with its like
    for field in ("executables", "capabilities", "flags"):
        _words(sorted(getattr(value, field)))
    return value


def _examples(value: Any) -> tuple[Example, ...]:
    found = []
    for each in value:
        if isinstance(each, Example):
            found.append(each)
        elif isinstance(each, tuple) and len(each) == 2 and isinstance(each[1], Mapping):
            found.append(Example(_text(each[0]), dict(each[1])))
        else:
            text = f"{each!r} is not (sentence, arguments)"
            raise ValueError(text)
    return tuple(found)


_DIRECTIVES = frozenset(get_args(DirectiveWord))


def _directives(value: Any) -> frozenset[str]:
    found = frozenset(_words(value))
    for word in sorted(found - _DIRECTIVES):
        text = f"{word!r} is not known; {_closest(word, _DIRECTIVES)}"
        raise ValueError(text)
    return found


def _schema(value: Any) -> Any:
    if not isinstance(value, Mapping | type | bool):
        text = f"{value!r} is no JSON Schema and no class"
        raise ValueError(text)  # noqa: TRY004 - gathered with its like
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "effects": _some(Effect),
    "idempotent": _one(Idempotence),
    "concurrency": _one(Concurrency),
    "cancellation": _one(Cancellation),
    "labels": _some(Label),
    "requires": _requires,
    "audience": _some(Audience),
    "category": _text,
    "tags": _words,
    "strict": _flag,
    "deferred": _flag,
    "timeout": _positive((int, float), "a number of seconds above zero"),
    "result_budget": _positive((int,), "a number of characters above zero"),
    "name": _text,
    "title": _text,
    "version": _text,
    "summary": _text,
    "details": _text,
    "usage": _words,
    "cautions": _words,
    "examples": _examples,
    "serves": _words,
    "intent": _flag,
    "delegate": _text,
    "directives": _directives,
    "input_schema": _schema,
    "output_schema": _schema,
}


def read_options(
    given: Mapping[str, Any], subject: str, *, known: Iterable[str] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return the options in their final form, and every problem of them.

    An option of None is one that was not given. Each problem names the subject, the
    field and a remedy.
    """
    found: dict[str, Any] = {}
    problems: list[str] = []
    allowed = _READERS if known is None else set(known)
    for field, value in given.items():
        if field not in allowed:
            remedy = _closest(field, allowed)
            problems.append(f"{subject}: {field}: there is no such option; {remedy}")
        elif value is not None:
            try:
                found[field] = _READERS[field](value)
            except (ValueError, TypeError) as error:
                problems.append(f"{subject}: {field}: {error}")
    return found, problems


def check_name(name: str, subject: str) -> list[str]:
    """Return what is wrong with the name of a tool."""
    if is_tool_name(name):
        return []
    text = (
        f"{subject}: name: {name!r} is outside the grammar of tool names: lower-case words "
        "of letters and digits joined by one underscore, at most 64 characters; pass name="
    )
    return [text]
