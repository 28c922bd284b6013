"""Mend values that a schema refuses, at the places that it refuses, and nowhere else."""

from __future__ import annotations

import re

from typing import Any

from toolcrib import canonical
from toolcrib.call import Repair
from toolcrib.schema import Problem
from toolcrib.schema.pointers import escape
from toolcrib.schema.values import shorten, type_name
from toolcrib.validator import Validator

from .accepting import Accepted, Reader


__all__ = ["Repairer"]

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?", re.ASCII)
_SEPARATORS = re.compile(r"[,;\n]")
_JSON_STARTS = frozenset("[{-0123456789tf")
_MOST_ROUNDS = 8
_MOST_PROBLEMS = 60
_EXACT = 1 << 53

Path = tuple[str | int, ...]


class Repairer:
    """Mend one value for one schema.

    Args:
        validator: Of the schema.
        rules: The rules that may be used.
        max_depth: Deepest nesting of JSON that is found in a string.
    """

    def __init__(
        self, validator: Validator, rules: frozenset[str], *, max_depth: int = 64
    ) -> None:
        self._validator = validator
        self._rules = rules
        self._max_depth = max_depth
        self._reader = Reader(validator.normal.schema, validator.matches)
        self.repairs: list[Repair] = []

    def mend(self, value: dict[str, Any], problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
        """Mend a value in place; return what is still wrong with it."""
        for _ in range(_MOST_ROUNDS):
            mended = [self._problem(value, problem) for problem in problems]
            if not any(mended):
                return problems
            problems = self._validator.check(value, _MOST_PROBLEMS)
            if not problems:
                break
        return problems

    def whole_floats(self, value: Any, path: Path = ()) -> bool:
        """R5: turn ``5.0`` into ``5`` where only an integer is accepted, in place."""
        found = False
        steps: Any = ()
        if isinstance(value, dict):
            steps = list(value.items())
        elif isinstance(value, list):
            steps = list(enumerate(value))
        for step, item in steps:
            here = (*path, step)
            if isinstance(item, dict | list):
                found |= self.whole_floats(item, here)
            elif _is_whole(item) and "number" not in self._reader.accepted(here).types:
                value[step] = int(item)
                self._note("R5", here, f"read {item} as an integer")
                found = True
        return found

    def _problem(self, root: dict[str, Any], problem: Problem) -> bool:
        found = _locate(root, problem.pointer)
        if found is None:
            return False
        holder, path = found
        step, value = path[-1], holder[path[-1]]
        if problem.keyword in ("additionalProperties", "propertyNames"):
            return value is None and self._remove("R13", holder, path, "an unknown null")
        if "R12" not in self._rules and not _hopeful(value, problem.keyword):
            return False
        accepted = self._reader.accepted(path)
        if isinstance(value, str):
            if self._text(holder, path, value, accepted):
                return True
        elif (
            value is None
            and "null" not in accepted.types
            and isinstance(step, str)
            and not self._reader.may_require(path[:-1], step)
        ):
            return self._remove("R6", holder, path, "null: the property is optional")
        return self._single(holder, path, value)

    def _text(self, holder: Any, path: Path, value: str, accepted: Accepted) -> bool:
        if "string" in accepted.types:
            return self._listed(holder, path, value, accepted.texts)
        if value[:1] in ("[", "{"):
            try:
                parsed = canonical.loads(value, max_depth=self._max_depth)
            except ValueError:
                return False
            if type_name(parsed) in accepted.types:
                return self._put("R3", holder, path, parsed, "decoded JSON text")
            return False
        scalar = _scalar(value)
        if scalar is not None and type_name(scalar) in accepted.types:
            return self._put("R4", holder, path, scalar, f"read {shorten(value)} as {value}")
        return False

    def _listed(
        self, holder: Any, path: Path, value: str, texts: frozenset[str] | None
    ) -> bool:
        if texts is None or value in texts:
            return False
        same = [text for text in texts if text.casefold() == value.casefold()]
        if len(same) != 1:
            return False
        note = f"read {shorten(value)} as {shorten(same[0])}"
        return self._put("R7", holder, path, same[0], note)

    def _single(self, holder: Any, path: Path, value: Any) -> bool:
        """R12, for those who ask for it: one value where only a list is accepted."""
        if "R12" not in self._rules or value is None:
            return False
        if self._reader.accepted(path).types - {"null"} != {"array"}:
            return False
        if isinstance(value, list) or (isinstance(value, str) and _SEPARATORS.search(value)):
            return False
        if type_name(value) not in self._reader.accepted((*path, 0)).types:
            return False
        return self._put("R12", holder, path, [value], "made a list of one value")

    def _put(self, rule: str, holder: Any, path: Path, value: Any, text: str) -> bool:
        if rule not in self._rules:
            return False
        holder[path[-1]] = value
        self._note(rule, path, text)
        return True

    def _remove(self, rule: str, holder: Any, path: Path, text: str) -> bool:
        if rule not in self._rules or not isinstance(holder, dict):
            return False
        del holder[path[-1]]
        self._note(rule, path, f"left out {text}")
        return True

    def _note(self, rule: str, path: Path, text: str) -> None:
        pointer = "".join(f"/{escape(str(step))}" for step in path)
        self.repairs.append(Repair(rule, pointer, text))


def _hopeful(value: Any, keyword: str) -> bool:
    """Whether a look at the schema may be worth it; most mistakes are beyond mending."""
    if isinstance(value, str) and keyword == "type":
        return value[:1] in _JSON_STARTS
    return isinstance(value, str | None)


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer() and abs(value) < _EXACT


def _scalar(text: str) -> int | float | bool | None:
    """Read text that is exactly how JSON writes a number or boolean."""
    if text in ("true", "false"):
        return text == "true"
    if len(text) > 600 or not _NUMBER.fullmatch(text):
        return None
    value: int | float = float(text) if "." in text else int(text)
    return value if canonical.dumps(value) == text and text != "-0" else None


def _locate(root: Any, pointer: str) -> tuple[Any, Path] | None:
    """Find the container and path of a pointer; None for the root and what is not there."""
    holder: Any = None
    value = root
    path: list[str | int] = []
    for token in pointer.split("/")[1:]:
        step: str | int = token.replace("~1", "/").replace("~0", "~")
        holder = value
        if isinstance(holder, list):
            step = int(step) if token.isdecimal() else -1
            if not 0 <= step < len(holder):
                return None
        elif not isinstance(holder, dict) or step not in holder:
            return None
        path.append(step)
        value = holder[step]
    return (holder, tuple(path)) if path else None
