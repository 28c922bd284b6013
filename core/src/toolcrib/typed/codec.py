"""From JSON values to Python objects, strictly: nothing is ever coerced.

Only this module imports cattrs, whose own hooks coerce (``"1"`` to 1, ``1.9`` to 1,
``"abc"`` to a list). Every type is dispatched here instead; cattrs builds the objects
of attrs classes and dataclasses. It is imported when the first of those is needed.
"""

from __future__ import annotations

import enum
import functools
import json
import math

from collections.abc import Callable, Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import attrs

from toolcrib.typed.introspection import MAPPINGS, SEQUENCES, SETS, UNIONS, peel

from .fields import fields_of, is_structured


if TYPE_CHECKING:
    from cattrs import Converter

    from .textforms import TextForm


__all__ = ["Mismatch", "Structurer"]

Hook = Callable[[Any], Any]


class Mismatch(ValueError):  # noqa: N818 - it names the state of a value
    """Raised when a JSON value is not of a type; ``path`` leads to the value."""

    def __init__(self, text: str, path: tuple[str | int, ...] = ()) -> None:
        self.text = text
        self.path = path
        super().__init__(text)

    def inside(self, key: str | int) -> Mismatch:
        """Return it as seen from one level further out."""
        return Mismatch(self.text, (key, *self.path))

    @property
    def pointer(self) -> str:
        """The JSON pointer of the value."""
        parts = (str(part).replace("~", "~0").replace("/", "~1") for part in self.path)
        return "".join(f"/{part}" for part in parts)


def _wanted(value: Any, what: str) -> Mismatch:
    shown = json.dumps(value, default=str)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return Mismatch(f"{shown} is not {what}")


def _anything(value: Any) -> Any:
    return value


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    raise _wanted(value, "a text")


def _integer(value: Any) -> int:
    if type(value) is int:
        return value
    # 1.0 and 1 are one JSON number, and the schema lets both through.
    if type(value) is float and value.is_integer():
        return int(value)
    raise _wanted(value, "an integer")


def _number(value: Any) -> float:
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        # An integer that no float can hold exactly stays one: Python takes it as float.
        return number if number == value else value
    raise _wanted(value, "a number")


def _boolean(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise _wanted(value, "true or false")


def _null(value: Any) -> None:
    if value is not None:
        raise _wanted(value, "null")


_SCALARS: dict[Any, Hook] = {
    str: _text,
    int: _integer,
    float: _number,
    bool: _boolean,
    NoneType: _null,
    None: _null,
    Any: _anything,
    object: _anything,
}


class Structurer:
    """Makes hooks that turn JSON values into objects of a type.

    Args:
        local: Names of enclosing functions, for annotations that are text.
    """

    def __init__(self, local: Mapping[str, Any] | None = None) -> None:
        self._local = local
        self._hooks: dict[Any, Hook] = {}

    def hook(self, annotation: Any) -> Hook:
        """Return the hook of a type; it raises ``Mismatch``.

        Raises:
            TypeError: values of the type cannot be built from JSON.
        """
        kind, _ = peel(annotation)
        known = _SCALARS.get(kind)
        return known or self._compose(kind)

    def _compose(self, kind: Any) -> Hook:
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Literal:
            return _one_of({(type(v), v): v for v in map(_plain, inner)}, inner)
        if origin in UNIONS:
            return _union([self.hook(each) for each in inner], kind)
        cls = origin or kind
        if is_structured(cls):
            return self._object(kind, cls)
        if cls is tuple:
            return self._tuple(inner if inner or not origin else ((),))
        if cls in SEQUENCES or cls in SETS:
            item = self.hook(inner[0]) if inner else _anything
            return _array(item, _MAKERS.get(cls, list), unique=cls in SETS)
        if cls in MAPPINGS:
            keys, values = inner or (str, Any)
            return _mapping(self.hook(keys), self.hook(values))
        return _named(cls)

    def _tuple(self, inner: tuple[Any, ...]) -> Hook:
        if not inner or inner[1:] == (Ellipsis,):
            return _array(self.hook(inner[0]) if inner else _anything, tuple)
        hooks = [] if inner == ((),) else [self.hook(each) for each in inner]

        def structure(value: Any) -> tuple[Any, ...]:
            if type(value) is not list or len(value) != len(hooks):
                raise _wanted(value, f"a list of {len(hooks)} items")
            return tuple(_at(i, hook, v) for i, (hook, v) in enumerate(zip(hooks, value)))  # noqa: B905 - same length

        return structure

    def _object(self, kind: Any, cls: Any) -> Hook:
        known = self._hooks.get(kind)
        if known is not None:
            return known
        # A class may contain itself: until it is built, its hook looks itself up.
        self._hooks[kind] = lambda value: self._hooks[kind](value)  # noqa: PLW0108 - looked up late
        fields = fields_of(kind, self._local)
        hooks = {field.name: self.hook(field.kind) for field in fields}
        if hasattr(cls, "__required_keys__"):
            build: Hook = dict
        elif issubclass(cls, tuple):
            build = lambda values: cls(**values)  # noqa: E731 - one of three like it
        else:
            build = _constructor(cls, hooks)
        keys = {field.key: (hooks[field.name], field.required) for field in fields}
        self._hooks[kind] = _record(cls.__name__, keys, build)
        return self._hooks[kind]


_MAKERS: dict[Any, Callable[[Any], Any]] = dict.fromkeys(SETS, frozenset) | {set: set}


def _at(key: str | int, hook: Hook, value: Any) -> Any:
    try:
        return hook(value)
    except Mismatch as error:
        raise error.inside(key) from None


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else value


def _one_of(table: Mapping[Any, Any], shown: tuple[Any, ...]) -> Hook:
    # The type is part of the key: True and 1 and 1.0 are equal in Python, not in JSON.
    def structure(value: Any) -> Any:
        try:
            return table[type(value), value]
        except (KeyError, TypeError):
            raise _wanted(value, "one of " + ", ".join(map(repr, map(_plain, shown)))) from None

    return structure


def _union(hooks: list[Hook], kind: Any) -> Hook:
    # Of "X or nothing" only X is worth a word.
    telling = len(hooks) - (_null in hooks) == 1

    def structure(value: Any) -> Any:
        deepest: Mismatch | None = None
        for hook in hooks:
            try:
                made = hook(value)
            except Mismatch as error:
                if hook is not _null and (
                    deepest is None or len(error.path) > len(deepest.path)
                ):
                    deepest = error
                continue
            if type(made) is type(value) or type(value) not in (int, float):
                return made
            # 1 for ``float | int``: an exact branch further on wins over a number's
            # other spelling.
            return next((v for v in _exact(hooks, value)), made)
        if deepest is not None and (deepest.path or telling):
            raise deepest
        raise _wanted(value, f"any of {kind}")

    return structure


def _exact(hooks: list[Hook], value: Any) -> list[Any]:
    found = []
    for hook in hooks:
        try:
            made = hook(value)
        except Mismatch:
            continue
        if type(made) is type(value):
            found.append(made)
    return found


def _array(item: Hook, make: Callable[[Any], Any], *, unique: bool = False) -> Hook:
    def structure(value: Any) -> Any:
        if type(value) is not list:
            raise _wanted(value, "a list")
        made = [_at(index, item, each) for index, each in enumerate(value)]
        try:
            return make(made)
        except TypeError:
            if not unique:
                raise
            raise _wanted(value, "a set of plain values") from None

    return structure


def _mapping(keys: Hook, values: Hook) -> Hook:
    def structure(value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise _wanted(value, "an object")
        return {_at(k, keys, k): _at(k, values, v) for k, v in value.items()}

    return structure


def _named(cls: Any) -> Hook:
    if isinstance(cls, type):
        from .textforms import text_form  # noqa: PLC0415 - most parameters are plain

        form = text_form(cls)
        if form is not None:
            return _from_text(form)
        if issubclass(cls, enum.Enum) and not issubclass(cls, enum.Flag):
            members = tuple(cls)
            return _one_of({(type(m.value), m.value): m for m in members}, members)
    message = f"values of {cls} cannot be built from JSON"
    raise TypeError(message)


def _from_text(form: TextForm) -> Hook:
    def structure(value: Any) -> Any:
        if type(value) is not str:
            raise _wanted(value, form.what)
        try:
            return form.read(value)
        except (ValueError, OverflowError, ArithmeticError):
            raise _wanted(value, form.what) from None

    return structure


def _record(name: str, keys: Mapping[str, tuple[Hook, bool]], build: Hook) -> Hook:
    required = [key for key, (_, needed) in keys.items() if needed]

    def structure(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _wanted(value, f"an object ({name})")
        for key in required:
            if key not in value:
                text = f"{name} needs {key!r}"
                raise Mismatch(text)
        made = {}
        for key, each in value.items():
            if key not in keys:
                text = f"{name} has no {key!r}"
                raise Mismatch(text, (key,))
            made[key] = _at(key, keys[key][0], each)
        try:
            return build(made)
        except Mismatch:
            raise
        except Exception as error:
            # A validator or converter of the class: its message is the author's.
            text = f"{name}: {error}"
            raise Mismatch(text) from error

    return structure


def _constructor(cls: Any, hooks: Mapping[str, Hook]) -> Hook:
    """Return what builds an object of an attrs class or dataclass from its values."""
    from cattrs.gen import make_dict_structure_fn_from_attrs, override  # noqa: PLC0415

    # The values are structured already, so that a mismatch has its path; cattrs is left
    # with what it is best at: aliases, defaults, and generated code that calls __init__.
    passing = {name: override(struct_hook=lambda value, _: value) for name in hooks}
    generated = make_dict_structure_fn_from_attrs(
        _attributes(cls),
        cls,
        _converter(),
        # Type variables matter to nobody where the values are structured already.
        {variable.__name__: object for variable in getattr(cls, "__parameters__", ())},
        _cattrs_use_linecache=False,
        _cattrs_detailed_validation=False,
        _cattrs_use_alias=True,
        **passing,  # type: ignore[arg-type]
    )
    return lambda values: generated(values, cls)


def _attributes(cls: Any) -> list[Any]:
    if attrs.has(cls):
        return list(attrs.fields(cls))
    import dataclasses  # noqa: PLC0415 - loaded already: it made the class

    missing = dataclasses.MISSING
    made = {
        f.name: attrs.field(
            init=f.init,
            kw_only=True,
            alias=f.name,
            default=attrs.NOTHING if f.default is f.default_factory is missing else None,
        )
        for f in dataclasses.fields(cls)
    }
    return list(attrs.fields(attrs.make_class(cls.__name__, made)))


@functools.cache  # building one costs 3 ms; nothing ever registers a hook with it
def _converter() -> Converter:
    from cattrs import Converter  # noqa: PLC0415

    return Converter(forbid_extra_keys=True, use_alias=True)
