"""The tools of a live source at one moment: good ones, and what is wrong with others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from toolcrib.codes import refuse
from toolcrib.errors import SchemaError
from toolcrib.names import is_tool_id
from toolcrib.outcome import Refusal
from toolcrib.tool import Tool


__all__ = ["Live"]


@attrs.frozen(kw_only=True)
class Live:
    """What a live source offers.

    Attributes:
        pack, source: Whose it is, and its name.
        tools: Its good tools, by id.
        withheld: Why others of it are not offered.
        unapproved: The tools among those that are good, but not what the lock says.
        revision: One more each time it was read.
        problem: Why it could not be read last time; its tools are then the old ones.
    """

    pack: str
    source: str
    tools: tuple[Tool, ...] = attrs.field(default=(), repr=False)
    withheld: tuple[Refusal, ...] = attrs.field(default=(), repr=False)
    unapproved: tuple[Tool, ...] = attrs.field(default=(), repr=False)
    revision: int = 1
    problem: str | None = None

    @property
    def stale(self) -> bool:
        """Whether the tools are the last known ones, not the present ones."""
        return self.problem is not None

    @classmethod
    def read(
        cls,
        pack: str,
        source: str,
        tools: Iterable[Any],
        *,
        revision: int = 1,
        before: Live | None = None,
    ) -> Live:
        """Look at each tool by itself; of tools with one name, none is good."""
        listed = list(tools)
        counts = Counter(tool.id for tool in listed if isinstance(tool, Tool))
        known = {t.definition_digest for t in before.tools} if before else set()
        good: dict[str, Tool] = {}
        withheld: dict[str, Refusal] = {}
        for position, tool in enumerate(listed):
            refusal = _judge(tool, position, f"{pack}.{source}", counts, known)
            if refusal is None:
                good[tool.id] = tool
            else:
                withheld.setdefault(refusal.subject, refusal)
        return cls(
            pack=pack,
            source=source,
            tools=tuple(good[id_] for id_ in sorted(good)),
            withheld=tuple(withheld[id_] for id_ in sorted(withheld)),
            revision=revision,
        )

    def withholding(self, refusals: Mapping[str, Refusal]) -> Live:
        """Return the same source without some of its tools, by id, and why."""
        if not refusals:
            return self
        return attrs.evolve(
            self,
            tools=tuple(tool for tool in self.tools if tool.id not in refusals),
            withheld=(*self.withheld, *(refusals[id_] for id_ in sorted(refusals))),
            unapproved=tuple(tool for tool in self.tools if tool.id in refusals),
        )

    def whole(self) -> Live:
        """Return the source as it was read, with the tools that the lock does not have."""
        found = {tool.id: tool for tool in (*self.tools, *self.unapproved)}
        return attrs.evolve(self, tools=tuple(found[id_] for id_ in sorted(found)))

    def unreadable(self, problem: str) -> Live:
        """Return the same source, marked stale."""
        return attrs.evolve(self, problem=problem)

    def refusals(self) -> tuple[Refusal, ...]:
        """Return what is wrong with the source and with its tools."""
        if self.problem is None:
            return self.withheld
        name = f"{self.pack}.{self.source}"
        text = (
            f"the source {name} cannot be read ({self.problem}); its {len(self.tools)} tools "
            "are the last known ones"
        )
        return (refuse("source.unreadable", name, text), *self.withheld)


def _judge(
    tool: Any, position: int, name: str, counts: Counter[str], known: set[str]
) -> Refusal | None:
    if not isinstance(tool, Tool):
        text = f"item {position} of the source {name} is a {type(tool).__name__}, not a Tool"
        return refuse("tool.misnamed", f"{name}[{position}]", text)
    if not tool.id.startswith(name + ".") or not is_tool_id(tool.id):
        text = f"{tool.id!r} is not a name that the source {name} can give to a tool"
        return refuse("tool.misnamed", tool.id, text)
    if counts[tool.id] > 1:
        text = f"the source {name} names {counts[tool.id]} tools {tool.id!r}; none is offered"
        return refuse("tool.duplicated", tool.id, text)
    if tool.definition_digest in known:
        return None
    return _enforceable(tool)


def _enforceable(tool: Tool) -> Refusal | None:
    from toolcrib.schema import normalize  # noqa: PLC0415 - only for those who have live tools

    for which, schema in (("input", tool.input_schema), ("output", tool.output_schema)):
        if schema is None:
            continue
        try:
            normalize(schema, arguments=which == "input")
        except SchemaError as error:
            text = f"the {which} schema of {tool.id} cannot be enforced exactly: {error}"
            return refuse(
                "schema.unsupported",
                tool.id,
                text,
                keyword=error.keyword,
                pointer=error.pointer,
            )
        except (ValueError, TypeError, RecursionError) as error:
            text = f"the {which} schema of {tool.id} is not JSON Schema: {error}"
            return refuse("schema.unsupported", tool.id, text)
    return None
