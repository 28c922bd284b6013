"""The parts of a policy, and how what people write becomes a value or an error.

Every converter raises :class:`BadValue` with the path of the offending key, so that the
loader of the file can say on which line it stands.
"""

from __future__ import annotations

import math
import re

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import attrs

from toolcrib import places
from toolcrib.errors import PolicyError
from toolcrib.names import closest, is_pack_id, is_tool_id, normalize_distribution
from toolcrib.vocabulary import Audience, Effect, Kind, Label


__all__ = [
    "BadValue",
    "Hide",
    "Limits",
    "Notice",
    "RetryPolicy",
    "SecretBinding",
]

E = TypeVar("E", bound=StrEnum)
V = TypeVar("V")


class BadValue(PolicyError):  # noqa: N818 - a problem on its way, named as one
    """Raised when one value of a policy is wrong; ``path`` leads to it."""

    def __init__(self, text: str, *path: str | int) -> None:
        self.path = path
        super().__init__(text, key=dotted(path))

    def under(self, *path: str | int) -> BadValue:
        """Return the same problem, seen from further out."""
        return BadValue(self.text, *path, *self.path)


def dotted(path: Iterable[str | int]) -> str | None:
    """Return a path as people write it: ``limits.total``, ``rules[2]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or None


def listed(convert: Callable[[Any], V]) -> Callable[[Any], tuple[V, ...]]:
    """Make a converter of arrays; order is kept, repeats are dropped."""

    def convert_all(value: Any) -> tuple[V, ...]:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            text = f"must be an array, not {_kind(value)}"
            raise BadValue(text)
        out: dict[V, None] = {}
        for index, item in enumerate(value):
            try:
                out.setdefault(convert(item))
            except BadValue as error:
                raise error.under(index) from None
        return tuple(out)

    return convert_all


def frozen(convert: Callable[[Any], V]) -> Callable[[Any], frozenset[V]]:
    """Make a converter of arrays that stand for a set."""
    inner = listed(convert)

    def convert_set(value: Any) -> frozenset[V]:
        if isinstance(value, frozenset | set):
            value = sorted(value)
        return frozenset(inner(value))

    return convert_set


def tabled(
    key: Callable[[Any], str], convert: Callable[[Any], V]
) -> Callable[[Any], Mapping[str, V]]:
    """Make a converter of tables; the result cannot be changed."""

    def convert_table(value: Any) -> Mapping[str, V]:
        out: dict[str, V] = {}
        for name, item in table(value).items():
            try:
                out[key(name)] = convert(item)
            except BadValue as error:
                raise error.under(name) from None
        return MappingProxyType(out)

    return convert_table


def table(value: Any) -> Mapping[str, Any]:
    """Accept a table."""
    if not isinstance(value, Mapping):
        text = f"must be a table, not {_kind(value)}"
        raise BadValue(text)
    return value


def word(value: Any) -> str:
    """Accept text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        text = f"must be text, not {_kind(value)}"
        raise BadValue(text)
    return value


def distribution(value: Any) -> str:
    """Accept the name of a distribution, in its normal form."""
    name = normalize_distribution(word(value))
    if not name.replace("-", "").isalnum() or not name.isascii():
        text = (
            f"{value!r} is not the name of a distribution; versions and hashes are pinned "
            "in the lock, not here"
        )
        raise BadValue(text)
    return name


def pack_id(value: Any) -> str:
    """Accept a pack id."""
    if not is_pack_id(word(value)):
        text = f"{value!r} is not a pack id, such as 'web'"
        raise BadValue(text)
    return str(value)


def tool_id(value: Any) -> str:
    """Accept a tool id."""
    if not is_tool_id(word(value)):
        text = f"{value!r} is not a tool id, such as 'web.fetch'"
        raise BadValue(text)
    return str(value)


_OPTIONAL_REPAIRS = ("R12", "R13")


def optional_repair(value: Any) -> str:
    """Convert the name of a repair that is off unless asked for."""
    if value not in _OPTIONAL_REPAIRS:
        text = (
            f"{value!r} is no repair that can be asked for: 'R12' takes one value for a list "
            "of one, 'R13' drops null for an unknown property"
        )
        raise BadValue(text)
    return str(value)


def member(kind: type[E]) -> Callable[[Any], E]:
    """Make a converter into one of a closed set of words."""

    def convert(value: Any) -> E:
        try:
            return kind(value)
        except ValueError:
            like = closest(str(value), list(kind), most=1)
            hint = f"; did you mean {str(like[0])!r}?" if like else ""
            words = ", ".join(repr(str(m)) for m in kind)
            text = f"{value!r} is not one of {words}{hint}"
            raise BadValue(text) from None

    return convert


def flag(value: Any) -> bool:
    """Accept true or false."""
    if not isinstance(value, bool):
        text = f"must be true or false, not {_kind(value)}"
        raise BadValue(text)
    return value


def number(*, least: float = 0.0) -> Callable[[Any], float]:
    """Make a converter of finite numbers above a bound."""

    def convert(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            text = f"must be a number, not {_kind(value)}"
            raise BadValue(text)
        if not math.isfinite(value) or value <= least:
            text = f"must be a finite number above {least:g}, not {value}"
            raise BadValue(text)
        return float(value)

    return convert


def whole(*, least: int = 1) -> Callable[[Any], int]:
    """Make a converter of whole numbers from a bound on."""

    def convert(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            text = f"must be a whole number, not {_kind(value)}"
            raise BadValue(text)
        if value < least:
            text = f"must be at least {least}, not {value}"
            raise BadValue(text)
        return value

    return convert


def path(value: Any) -> Path:
    """Accept a path; ``~`` is the user's home."""
    if isinstance(value, Path):
        return places.expanded(value)
    return places.expanded(Path(word(value)))


def optional(convert: Callable[[Any], V]) -> Callable[[Any], V | None]:
    """Make a converter that lets None through."""
    return lambda value: None if value is None else convert(value)


def converted(name: str, convert: Callable[[Any], V], value: Any) -> V:
    """Convert the value of one key; a problem is named after the key."""
    try:
        return convert(value)
    except BadValue as error:
        raise error.under(name) from None


def converting(
    cls: type[Any],  # noqa: ARG001 - attrs passes it
    fields: list[attrs.Attribute[Any]],
) -> list[attrs.Attribute[Any]]:
    """Give each field the converter that its metadata names (an attrs hook).

    In the metadata a type checker does not see it, so that it knows the field's type.
    """
    return [
        field.evolve(converter=partial(converted, field.name, field.metadata["convert"]))
        for field in fields
    ]


def part(default: Any, convert: Callable[[Any], Any]) -> Any:
    return attrs.field(default=default, metadata={"convert": convert})


def built(kind: type[V]) -> Callable[[Any], V]:
    """Make a converter into a value of several fields; a table will do."""
    known = [f.name for f in attrs.fields(kind)]  # type: ignore[arg-type]

    def convert(value: Any) -> V:
        if isinstance(value, kind):
            return value
        value = {} if value is None else value
        for key in table(value):
            if key not in known:
                raise unknown_key(key, known)
        return kind(**value)

    return convert


def unknown_key(key: str, known: Iterable[str]) -> BadValue:
    """Return the problem of a key that nobody reads."""
    known = sorted(known)
    like = closest(key, known, most=1)
    hint = f"did you mean {like[0]!r}?" if like else f"known here: {', '.join(known)}"
    return BadValue(f"unknown key {key!r}; {hint}", key)


def _kind(value: Any) -> str:
    if isinstance(value, str) and not value.strip():
        return "empty text"
    names = {str: "text", bool: "true or false", int: "a number", float: "a number"}
    if isinstance(value, Mapping):
        return "a table"
    return names.get(type(value), "an array" if isinstance(value, list) else repr(value))


@attrs.frozen(kw_only=True, field_transformer=converting)
class Limits:
    """How many calls may run at once, and how many may wait.

    Attributes:
        total, pack, session: Running calls in all, of one pack, of one session.
        queue: Waiting calls; one more is answered ``busy``.
    """

    total: int = part(64, whole())
    pack: int = part(16, whole())
    session: int = part(16, whole())
    queue: int = part(1024, whole(least=0))


@attrs.frozen(kw_only=True, field_transformer=converting)
class RetryPolicy:
    """How often a call that may be replayed is tried, and how long between.

    Attributes:
        attempts: Runs in all; 1 never retries.
        base, cap: Seconds of the first wait, and of the longest.
    """

    attempts: int = part(3, whole())
    base: float = part(0.5, number())
    cap: float = part(30.0, number())


@attrs.frozen(kw_only=True, field_transformer=converting)
class Hide:
    """Which tools are not offered to anybody, whatever else enables them.

    Attributes:
        tools: Tool ids; ``*`` stands for any characters.
        effects, kinds, categories, tags: A tool that has one of them is hidden.
        audience: A tool described to nobody but these is hidden.
    """

    tools: tuple[str, ...] = part((), listed(word))
    effects: frozenset[Effect] = part(frozenset(), frozen(member(Effect)))
    kinds: frozenset[Kind] = part(frozenset(), frozen(member(Kind)))
    categories: frozenset[str] = part(frozenset(), frozen(word))
    tags: frozenset[str] = part(frozenset(), frozen(word))
    audience: frozenset[Audience] = part(frozenset(), frozen(member(Audience)))

    def __or__(self, other: Hide) -> Hide:
        """Hide what either hides."""
        return Hide(
            tools=(*self.tools, *other.tools),
            effects=self.effects | other.effects,
            kinds=self.kinds | other.kinds,
            categories=self.categories | other.categories,
            tags=self.tags | other.tags,
            audience=self.audience | other.audience,
        )


@attrs.frozen(kw_only=True, field_transformer=converting)
class SecretBinding:
    """Where a secret comes from, and which tools may send it where.

    Attributes:
        env, file, keyring: Environment variable, file whose content it is, or entry of
            the system's keyring as ``service/user``; exactly one.
        tools: Tool ids that may use it; ``*`` stands for any characters.
        destinations: Hosts it may be sent to; empty: the tool need not name one.
    """

    env: str | None = part(None, optional(word))
    file: Path | None = part(None, optional(path))  # noqa: RUF009 - a field all the same
    tools: tuple[str, ...] = part((), listed(word))
    destinations: tuple[str, ...] = part((), listed(word))
    keyring: str | None = part(None, optional(word))

    def __attrs_post_init__(self) -> None:
        if [self.env, self.file, self.keyring].count(None) != 2:
            text = "a secret comes from exactly one of env, file and keyring"
            raise BadValue(text)
        if self.keyring is not None and not all(self.keyring.partition("/")[::2]):
            text = "an entry of the keyring is service/user"
            raise BadValue(text, "keyring")
        if not self.tools:
            text = "name the tools that may use it"
            raise BadValue(text, "tools")


@attrs.frozen
class Notice:
    """Something of a policy file that was not obeyed, and why."""

    text: str
    file: Path | None = None
    line: int | None = None
    key: str | None = None

    def __str__(self) -> str:
        where = "" if self.file is None else f"{self.file}:{self.line or 1}: "
        return f"{where}{self.text}"


def label_sets(value: Any) -> tuple[frozenset[Label], ...]:
    """Accept an array of arrays of labels, each a combination."""
    return listed(frozen(member(Label)))(value)


def vocabulary(value: Any) -> Mapping[str, frozenset[str]]:
    """Accept a table of the fields whose words are closed."""
    fields = ("audience", "category", "effects", "kind", "serves", "tags")
    for key in table(value):
        if key not in fields:
            raise unknown_key(key, fields)
    return tabled(word, frozen(word))(value)


def valid_id(value: Any) -> str | Callable[[Any], bool] | None:
    """Accept a pattern that ids must fit as a whole, or a function of a tool."""
    if value is None:
        return None
    if callable(value):
        function: Callable[[Any], bool] = value
        return function
    try:
        re.compile(word(value))
    except re.error as error:
        text = f"{value!r} is no regular expression: {error}"
        raise BadValue(text) from None
    return str(value)
