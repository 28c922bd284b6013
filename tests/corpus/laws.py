"""The laws of projection on real declarations: nothing is lost, nothing is unexplained.

For every tool, dialect and form, arguments that fit the tool's own schema are encoded as
a model would send them and come back as they were. And what a model may send under the
declaration, although the tool's own schema refuses it, must be in the report of losses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolcrib import SchemaError, Tool
from toolcrib.projection import Dialect, Projection
from toolcrib.projection.losses import Unfit
from toolcrib.projection.rewriting import rewrite
from toolcrib.schema import Problem, normalize
from toolcrib.validator import Validators

from variants import broken, variants


__all__ = ["GENERATED", "Generated"]

GENERATED = 50
_BROKEN = 20
# Says what is sent in another language than JSON Schema.
_FOREIGN = ("openapi",)


class Generated:
    """Arguments of every tool: some that fit, and some that do not, with what is wrong."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._validators = Validators()
        self.fitting: dict[str, list[dict[str, Any]]] = {}
        self.wrong: dict[str, list[tuple[dict[str, Any], tuple[Problem, ...]]]] = {}
        for tool in tools:
            self._generate(tool)

    def _generate(self, tool: Tool) -> None:
        strictly = self._validators.get(tool.input_schema, arguments=True)
        # The closing rule is the core's own, and no difference of a projection.
        openly = self._validators.get(tool.input_schema)
        schema = normalize(tool.input_schema, arguments=True).schema
        found = variants(schema, GENERATED, tool.id, lambda v: not strictly.check(v))
        for value in found:
            strictly.fill(value)  # what is left out and what is the default are one
        found = [value for value in found if not strictly.check(value)]
        self.fitting[tool.id] = found
        odd = broken(found[0], tool.id, _BROKEN) if found else ()
        checked = ((value, openly.check(value)) for value in odd)
        self.wrong[tool.id] = [(value, problems) for value, problems in checked if problems]

    def judge(
        self,
        tool: Tool,
        entry: Projection,
        dialect: Dialect,
        *,
        must: Callable[[bool, str], None],
    ) -> Counter[str]:
        """Check the laws for one tool in one form; return what was counted."""
        where = f"{tool.id} in {dialect.name}, {entry.form}"
        sent_fits = self._sent_schema(tool, dialect, entry)
        counts: Counter[str] = Counter()
        for given in self.fitting[tool.id]:
            sent = _encoded(entry, given)
            if sent is None:
                must(False, f"{where}: {given!r} cannot be sent")
                continue
            if sent_fits is not None and not sent_fits(sent):
                told = _closes(entry, tool)
                must(told, f"{where}: {given!r} may not be sent as {sent!r}")
                counts["may not be sent, and a closing says so"] += told
            must(_decoded(entry, sent) == given, f"{where}: {given!r} comes back otherwise")
            counts["sent and back"] += 1
        for given, problems in self.wrong[tool.id] if sent_fits is not None else ():
            sent = _encoded(entry, given)
            if sent is None or not sent_fits(sent) or _decoded(entry, sent) != given:
                counts["wrong, and may not be sent"] += 1
                continue
            told = _explained(entry, problems)
            must(told, f"{where}: {given!r} may be sent, no loss says so: {problems[0]}")
            counts["wrong, may be sent, and a loss says so"] += told
        return counts

    def _sent_schema(
        self, tool: Tool, dialect: Dialect, entry: Projection
    ) -> Callable[[Any], bool] | None:
        """Return what tells whether a model may send a value; None: nobody here can."""
        try:
            said, form = rewrite(tool.input_schema, dialect, strict=entry.strict)
            return None if form in _FOREIGN else self._validators.get(said.schema).is_valid
        except (Unfit, SchemaError):
            return None


def _encoded(entry: Projection, given: dict[str, Any]) -> dict[str, Any] | None:
    if entry.inverse is None:
        return given
    try:
        return entry.inverse.encode(given)
    except (ValueError, TypeError, AttributeError, KeyError):
        return None


def _decoded(entry: Projection, sent: Mapping[str, Any]) -> Any:
    if entry.inverse is None:
        return sent
    try:
        return entry.inverse(sent)
    except ValueError:
        return None


def _closes(entry: Projection, tool: Tool) -> bool:
    """Tell whether an object that lists no property, and so takes any, was closed on record."""
    closed = [loss.pointer for loss in entry.losses if loss.kind == "closed"]
    return any(not _at(tool.input_schema, pointer).get("properties") for pointer in closed)


def _at(schema: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        schema = schema[int(name)] if isinstance(schema, list) else schema[name]
    return schema


def _explained(entry: Projection, problems: Sequence[Problem]) -> bool:
    """Tell whether the losses speak of what is wrong with a value."""
    wrong = {problem.keyword for problem in problems}
    return any(loss.keyword in wrong or loss.kind == "widened" for loss in entry.losses)
