"""What a function takes and what a class holds, with every annotation resolved."""

from __future__ import annotations

import builtins
import collections.abc
import functools
import inspect
import sys
import types
import typing

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import attrs

from toolcrib.errors import DeclarationError


__all__ = [
    "MAPPINGS",
    "MISSING",
    "SEQUENCES",
    "SETS",
    "UNIONS",
    "Field",
    "Shape",
    "enclosing_names",
    "is_dataclass",
    "parameters",
    "peel",
    "resolve",
    "shape",
    "substitute",
]

MISSING: Any = inspect.Parameter.empty

# The types that travel as arrays and as objects with free keys.
SEQUENCES: tuple[Any, ...] = (
    list,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Iterable,
    collections.abc.Collection,
)
SETS: tuple[Any, ...] = (
    set,
    frozenset,
    collections.abc.Set,
    collections.abc.MutableSet,
)
MAPPINGS: tuple[Any, ...] = (
    dict,
    collections.abc.Mapping,
    collections.abc.MutableMapping,
)
UNIONS: tuple[Any, ...] = (typing.Union, types.UnionType)


def is_dataclass(kind: Any) -> bool:
    """Tell whether a class is a dataclass, without loading what makes them."""
    return isinstance(kind, type) and hasattr(kind, "__dataclass_fields__")


@attrs.frozen
class Shape:
    """What a function takes, read without evaluating an annotation.

    Attributes:
        function: The function that holds the annotations, without its wrappers.
        positional: Names that may be given by position, in order.
        only_positional: How many of them may be given by position only.
        keyword: Names that must be given by keyword.
        defaults: Their defaults by name.
        rest: Name of ``*args``, or None.
        extra: Name of ``**kwargs``, or None.
    """

    function: Callable[..., Any]
    positional: tuple[str, ...]
    only_positional: int
    keyword: tuple[str, ...]
    defaults: Mapping[str, Any]
    rest: str | None
    extra: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """Every named parameter, in order."""
        return self.positional + self.keyword


def shape(function: Callable[..., Any]) -> Shape:
    """Return what a function takes."""
    if type(function) is types.FunctionType and not hasattr(function, "__wrapped__"):
        return _quick(function)
    return _slow(function)


def _quick(function: types.FunctionType) -> Shape:
    # inspect.signature costs 11 µs; a thousand tools are defined in twice that each.
    code = function.__code__
    names = code.co_varnames
    count = code.co_argcount
    last = count + code.co_kwonlyargcount
    rest = extra = None
    if code.co_flags & inspect.CO_VARARGS:
        rest = names[last]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        extra = names[last + (rest is not None)]
    positional = names[:count]
    given = function.__defaults__ or ()
    defaults = dict(zip(positional[count - len(given) :], given, strict=True))
    defaults.update(function.__kwdefaults__ or {})
    return Shape(
        function, positional, code.co_posonlyargcount, names[count:last], defaults, rest, extra
    )


def _slow(function: Callable[..., Any]) -> Shape:
    parameters = inspect.signature(function).parameters.values()
    kinds: dict[Any, list[str]] = {kind: [] for kind in inspect._ParameterKind}  # noqa: SLF001
    for parameter in parameters:
        kinds[parameter.kind].append(parameter.name)
    only = kinds[inspect.Parameter.POSITIONAL_ONLY]
    rest = kinds[inspect.Parameter.VAR_POSITIONAL]
    extra = kinds[inspect.Parameter.VAR_KEYWORD]
    return Shape(
        _bare(function),
        (*only, *kinds[inspect.Parameter.POSITIONAL_OR_KEYWORD]),
        len(only),
        tuple(kinds[inspect.Parameter.KEYWORD_ONLY]),
        {p.name: p.default for p in parameters if p.default is not MISSING},
        rest[0] if rest else None,
        extra[0] if extra else None,
    )


def _bare(function: Any) -> Callable[..., Any]:
    """Return the function whose annotations count."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif isinstance(function, types.MethodType):
            function = function.__func__
        elif not isinstance(function, types.FunctionType) and not isinstance(function, type):
            function = type(function).__call__
        else:
            return typing.cast("Callable[..., Any]", function)


def enclosing_names(function: Callable[..., Any], depth: int) -> dict[str, Any]:
    """Return the local names of the functions that a nested function is defined in.

    ``from __future__ import annotations`` leaves annotations as text, and a type that
    a test defines inside a function is found nowhere else. ``depth`` is the number of
    frames between this call and the definition.
    """
    found: dict[str, Any] = {}
    if "<locals>" not in getattr(function, "__qualname__", ""):
        return found
    space = getattr(_bare(function), "__globals__", None)
    frame: types.FrameType | None = sys._getframe(depth)  # noqa: SLF001
    while frame is not None and frame.f_globals is space and frame.f_locals is not space:
        found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found


def resolve(
    annotations: Mapping[str, Any],
    space: Mapping[str, Any],
    local: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], dict[str, str]]:
    """Evaluate annotations; return the types, and what is wrong with the others."""
    found: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for name, annotation in annotations.items():
        if isinstance(annotation, str) and annotation.isidentifier():
            value = _look_up(annotation, space, local)
            if isinstance(value, type):
                found[name] = value
                continue
        elif isinstance(annotation, type) and not hasattr(annotation, "__args__"):
            found[name] = annotation
            continue
        try:
            found[name] = _evaluate(annotation, space, local)
        except Exception as error:  # noqa: BLE001 - an annotation may be any expression
            wrong[name] = f"the annotation {annotation!r} cannot be resolved: {error}"
    return found, wrong


def _look_up(name: str, space: Mapping[str, Any], local: Mapping[str, Any] | None) -> Any:
    if local and name in local:
        return local[name]
    return space[name] if name in space else getattr(builtins, name, None)


def _evaluate(
    annotation: Any, space: Mapping[str, Any], local: Mapping[str, Any] | None
) -> Any:
    if isinstance(annotation, str):
        # The author's own words in the author's own module: what Python itself would do.
        annotation = eval(_compiled(annotation), _namespace(space), dict(local or {}))  # noqa: S307
    if annotation is None:
        return types.NoneType
    return (
        _without_forward(annotation, space, local) if _has_forward(annotation) else annotation
    )


def _namespace(space: Mapping[str, Any]) -> dict[str, Any]:
    return space if isinstance(space, dict) else dict(space)


@functools.lru_cache(maxsize=1024)  # many parameters share one text
def _compiled(text: str) -> types.CodeType:
    return compile(text.strip(), "<annotation>", "eval")


def _has_forward(kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return False
    for each in getattr(kind, "__args__", ()):
        if isinstance(each, str | typing.ForwardRef) or _has_forward(each):
            return True
    return isinstance(kind, typing.ForwardRef)


def _without_forward(
    kind: Any, space: Mapping[str, Any], local: Mapping[str, Any] | None
) -> Any:
    def holder() -> None:
        """Carry one annotation: get_type_hints has no public form for a single one."""

    holder.__annotations__ = {"it": kind}
    names = {**space, **(local or {})}
    return typing.get_type_hints(holder, names, names, include_extras=True)["it"]


def peel(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Take aliases, ``NewType`` and ``Annotated`` off a type; return it and the marks.

    The outermost mark comes last, so that it has the last word.
    """
    marks: tuple[Any, ...] = ()
    if type(kind) is type:
        return kind, marks
    while True:
        if get_origin(kind) is Annotated:
            kind, marks = kind.__origin__, (*kind.__metadata__, *marks)
        elif hasattr(kind, "__supertype__"):
            kind = kind.__supertype__
        elif type(kind).__name__ == "TypeAliasType":
            kind = kind.__value__
        elif type(get_origin(kind)).__name__ == "TypeAliasType":
            alias = get_origin(kind)
            given = dict(zip(alias.__type_params__, get_args(kind), strict=False))
            kind = substitute(alias.__value__, given)
        elif isinstance(kind, TypeVar):
            if kind.__constraints__:
                return typing.Union[kind.__constraints__], marks  # noqa: UP007 - built here
            if kind.__bound__ is None:
                return kind, marks
            kind = kind.__bound__
        else:
            return kind, marks


def substitute(kind: Any, given: Mapping[Any, Any]) -> Any:
    """Put types in the place of type variables."""
    if not given:
        return kind
    if isinstance(kind, TypeVar):
        return given.get(kind, kind)
    parameters = getattr(kind, "__parameters__", ())
    if parameters and not isinstance(kind, type):
        return kind[tuple(given.get(p, p) for p in parameters)]
    return kind


@attrs.frozen
class Field:
    """One field of a class whose values travel as JSON objects.

    Attributes:
        name: Its name in the class.
        key: Its key in the object, which is also its name in the constructor.
        kind: Its type, resolved.
        required: Whether it must be given.
        default: Its default, or ``MISSING`` where a schema cannot tell one.
        text: What its author says of it.
        marks: Constraints from beside the annotation.
    """

    name: str
    key: str
    kind: Any
    required: bool
    default: Any = MISSING
    text: str | None = None
    marks: tuple[Any, ...] = ()


def parameters(
    function: Callable[..., Any] | Shape,
    *,
    skip: int = 1,
    local: Mapping[str, Any] | None = None,
) -> list[Field]:
    """Return the parameters of a handler as fields, the first ``skip`` left out.

    Raises:
        DeclarationError: it takes what has no name, or an annotation is missing or
            cannot be resolved; every problem is in it.
    """
    form = function if isinstance(function, Shape) else shape(function)
    title = getattr(form.function, "__qualname__", repr(form.function))
    names = form.names[skip:]
    notes = getattr(form.function, "__annotations__", None) or {}
    wanted = {name: notes[name] for name in names if name in notes}
    found, wrong = resolve(wanted, form.function.__globals__, local)
    problems = [f"{title}: parameter {name!r}: {text}" for name, text in wrong.items()]
    problems += [
        f"{title}: parameter {name!r} has no annotation: write its type"
        for name in names
        if name not in notes
    ]
    if problems:
        raise DeclarationError(*problems)
    defaults = form.defaults
    return [
        Field(name, name, found[name], name not in defaults, defaults.get(name, MISSING))
        for name in names
    ]
