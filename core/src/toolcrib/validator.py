"""Check JSON values against normalised schemas: fast verdicts, full explanations.

A schema is compiled when it is first used, once for all schemas of equal normal form. A
value that passes costs what the compiled form costs; only for one that fails does the
:class:`toolcrib.schema.judge.Judge` say what is wrong.
"""

from __future__ import annotations

import threading

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import SchemaError
from .schema import JsonSchema, NormalSchema, Problem, engines, normalize
from .schema.failures import UndecidableError
from .schema.filling import Plan, plan
from .schema.graph import every, is_heavy
from .schema.lowering import lower
from .schema.values import describe


if TYPE_CHECKING:
    from .schema.judge import Judge


__all__ = ["MOST_PROBLEMS", "Problem", "Validator", "Validators"]

T = TypeVar("T")

MOST_PROBLEMS = 10
_TEXT = frozenset({str})
_PLAIN = frozenset({str, int, bool, type(None)})


class Validator:
    """Check values against one normal form.

    Args:
        normal: What to check against.
    """

    __slots__ = ("_accepts", "_lock", "_made", "_multiples", "_other", "_plan", "normal")

    def __init__(self, normal: NormalSchema) -> None:
        self.normal = normal
        self._made: Judge | None = None
        self._accepts: Callable[[Any], bool | None] | None = None
        self._other: engines.Other | None = None
        self._plan: Plan | None = None
        self._multiples = False
        self._lock = threading.Lock()

    def check(
        self, value: Any, most: int = MOST_PROBLEMS, *, flat: bool = False
    ) -> tuple[Problem, ...]:
        """Return what is wrong with a value, at most some number of things; () if valid.

        Args:
            value: What to judge.
            most: How many problems are told.
            flat: It is known to be an object of scalars and lists of them, all JSON.
        """
        accepts = self._accepts
        if accepts is None:
            accepts = self._compile()
        if flat and not self._multiples:
            verdict = accepts(value)
            return () if verdict else self._explain(value, most, verdict=verdict)
        floats: bool | None = False
        # The commonest values by far are flat; the general walk is for the rest.
        if type(value) is dict and _TEXT.issuperset(map(type, value)):
            for item in value.values():
                kind = type(item)
                if kind in _PLAIN or (kind is list and _PLAIN.issuperset(map(type, item))):
                    continue
                if kind is float and isfinite(item):
                    floats = True
                    continue
                floats = survey(value, self.normal.deepest)
                break
        else:
            floats = survey(value, self.normal.deepest)
        if floats is None:
            return (_not_json(value, self.normal.deepest),)
        verdict = None if floats and self._multiples else _with_room(accepts, value)
        if verdict:
            return ()
        return self._explain(value, most, verdict=verdict)

    def is_valid(self, value: Any) -> bool:
        """Tell whether a value is valid."""
        return not self.check(value, 1)

    def fill(self, value: dict[str, Any]) -> bool:
        """Add the declared defaults to a valid value, in place.

        Returns whether the result has to be checked again, because keys that were added
        could have made it invalid.
        """
        if self._accepts is None:
            self._compile()
        made = self._plan
        return made is not None and made.fill(value) and made.entangled

    @property
    def entangled(self) -> bool:
        """Whether filling in defaults could make a valid value invalid."""
        if self._accepts is None:
            self._compile()
        return self._plan is not None and self._plan.entangled

    def matches(self, pattern: str, text: str) -> bool:
        """Tell whether a pattern of the schema is found in a text, as far as known."""
        try:
            return self._judge.pattern(pattern).search(text) is not None
        except UndecidableError:
            return False

    @property
    def _judge(self) -> Judge:
        if self._made is None:
            from .schema.judge import Judge  # noqa: PLC0415 - valid calls do without

            self._made = Judge(self.normal.schema)
        return self._made

    def _compile(self) -> Callable[[Any], bool | None]:
        with self._lock:
            if self._accepts is not None:
                return self._accepts
            normal = self.normal
            if not normal.verbatim:
                # A heavy schema leads to one value along very many ways, filling too.
                self._plan = None if is_heavy(normal.schema) else plan(normal.schema)
                self._multiples = _has_multiples(normal.schema)
            if normal.engine == "jsonschema-rs":
                self._other = engines.Other(normal.schema, normal.draft)
                accepts: Callable[[Any], bool | None] = self._other.accepts
            elif normal.engine == "toolcrib":
                accepts = _undecided
            else:
                accepts = _compiled(normal)
            self._accepts = accepts
            return accepts

    def _explain(self, value: Any, most: int, *, verdict: bool | None) -> tuple[Problem, ...]:
        """Say what is wrong, or decide where the compiled form did not."""
        found: list[Problem] = []
        if not self.normal.verbatim:
            try:
                found = list(dict.fromkeys(_with_room(self._judged, value, most)))
            except RecursionError:
                return (_not_json(value, self.normal.deepest),)
        if found or verdict is None:
            return tuple(found)
        if self._other is not None:
            return (self._other.first(value),)
        # The stricter of two verdicts counts; that they differ is not expected.
        return (Problem("", "schema", "does not fit the schema"),)

    def _judged(self, value: Any, most: int) -> list[Problem]:
        return self._judge.fresh(lenient=self._other is not None).problems(value, most)


class Validators:
    """The validators of one toolbox, found by schema; bounded, and safe to share.

    Args:
        most: How many schemas are kept.
    """

    def __init__(self, *, most: int = 4_096) -> None:
        self._most = most
        # By identity: finding the validator of a tool must not cost a digest per call.
        # The schema is kept beside it, so that its id cannot be used again.
        self._by_id: dict[tuple[int, bool], tuple[Any, Validator | SchemaError]] = {}
        self._by_digest: dict[str, Validator] = {}
        self._lock = threading.Lock()

    def get(self, schema: NormalSchema | JsonSchema, *, arguments: bool = False) -> Validator:
        """Return the validator of a schema.

        Args:
            schema: As authored, or normalised.
            arguments: The schema is of a tool's arguments, see
                :func:`toolcrib.schema.normalize`.

        Raises:
            SchemaError: the schema cannot be enforced exactly.
        """
        known = self._by_id.get((id(schema), arguments))
        if known is None or known[0] is not schema:
            known = self._add(schema, arguments=arguments)
        validator = known[1]
        if isinstance(validator, SchemaError):
            raise SchemaError(
                validator.text, keyword=validator.keyword, pointer=validator.pointer
            )
        return validator

    def _add(
        self, schema: NormalSchema | JsonSchema, *, arguments: bool
    ) -> tuple[Any, Validator | SchemaError]:
        found: Validator | SchemaError
        try:
            normal = (
                schema
                if isinstance(schema, NormalSchema)
                else normalize(schema, arguments=arguments)
            )
            with self._lock:
                found = self._by_digest.setdefault(normal.digest, Validator(normal))
        except SchemaError as error:
            found = error.with_traceback(None)
        entry = (schema, found)
        with self._lock:
            self._by_id[id(schema), arguments] = entry
            while len(self._by_id) > self._most:
                del self._by_id[next(iter(self._by_id))]
            while len(self._by_digest) > self._most:
                del self._by_digest[next(iter(self._by_digest))]
        return entry


def survey(value: Any, deepest: int) -> bool | None:
    """Tell whether a value holds floats; None if it is no JSON value or too deep."""
    floats = False
    level = [value]
    for _ in range(deepest + 2):
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind in _PLAIN:
                continue
            if kind is float:
                if not isfinite(item):
                    return None
                floats = True
            elif kind is dict:
                if not all(type(key) is str for key in item):
                    return None
                below.extend(item.values())
            elif kind is list:
                below.extend(item)
            else:
                return None
        if not below:
            return floats
        level = below
    return None


def _with_room(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function, and again on a stack of its own if there was too little of this one.

    How deep a value may be must not depend on how deep in its own calls an app asks.
    """
    try:
        return function(*arguments)
    except RecursionError:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - hardly ever

        with ThreadPoolExecutor(1) as own:
            return own.submit(function, *arguments).result()


def _not_json(value: Any, deepest: int) -> Problem:
    text = f"not a JSON value, not a finite number, or nested deeper than {deepest}"
    return Problem("", "value", text, describe(value))


def _compiled(normal: NormalSchema) -> Callable[[Any], bool | None]:
    try:
        return engines.compile_fast(lower(normal.schema))
    except SchemaError:
        # The judge takes every normal form; it is slower, and as exact.
        return _undecided


def _undecided(_value: Any) -> bool | None:
    return None


def _has_multiples(schema: dict[str, Any]) -> bool:
    schemas = [schema, *schema.get("$defs", {}).values()]
    return any("multipleOf" in node for each in schemas for node in every(each))
