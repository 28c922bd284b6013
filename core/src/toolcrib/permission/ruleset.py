"""Rules of one place, indexed: a thousand of them cost hardly more than ten."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING

from toolcrib import rules
from toolcrib.errors import PolicyError
from toolcrib.resources import paths
from toolcrib.rules import Rule, Verdict

from .bound import BoundRule
from .index import RuleIndex
from .typed import Place, places_of


if TYPE_CHECKING:
    from toolcrib.tool import Tool


__all__ = ["RuleSet", "ToolRules"]

_KEPT = 1024


class ToolRules:
    """The rules that name one tool, and where its schema holds paths and addresses."""

    __slots__ = ("allow", "ask", "deny", "empty", "places", "tool")

    def __init__(self, tool: Tool, bound: Iterable[BoundRule]) -> None:
        self.tool = tool
        self.places: tuple[Place, ...] = places_of(tool.input_schema)
        self.deny, self.ask, self.allow = RuleIndex(), RuleIndex(), RuleIndex()
        self.empty = True
        by_verdict = {
            Verdict.DENY: self.deny,
            Verdict.ASK: self.ask,
            Verdict.ALLOW: self.allow,
        }
        for rule in bound:
            self.empty = False
            by_verdict[rule.rule.verdict].add(rule)


class RuleSet:
    """Rules bound to a workspace; immutable.

    Args:
        rules: Rules or their texts, in order; of two that match, the first is named.
        workspace: Where relative paths start.
        home: What ``~`` stands for; the user's home folder by default.

    Attributes:
        denies_tools: Whether a rule without fields denies every call of some tool.
    """

    def __init__(
        self,
        rules: Iterable[Rule | str] = (),
        *,
        workspace: str | PurePath = "/",
        home: str | PurePath | None = None,
    ) -> None:
        self.rules = tuple(_parsed(rule) for rule in rules)
        self.workspace = paths.text_of(workspace)
        self.home = paths.text_of(home) if home is not None else paths.home()
        if self.home == "~":  # nothing says where it is
            _check_homeless(self.rules)
        self._bound: dict[int, BoundRule] = {}
        self._tools: dict[str, ToolRules] = {}
        self._exact: dict[str, list[int]] = {}
        self._packs: dict[str, list[int]] = {}
        self._others: list[int] = []
        # Tools that rules without fields deny: by id, and by pattern.
        self._denied: set[str] = set()
        self._denying: list[Rule] = []
        self.denies_tools = False
        for order, rule in enumerate(self.rules):
            self._place(order, rule)

    def __len__(self) -> int:
        return len(self.rules)

    def _place(self, order: int, rule: Rule) -> None:
        if rule.verdict is Verdict.DENY and not rule.fields:
            self.denies_tools = True
            if rule.exact_tool is not None:
                self._denied.add(rule.exact_tool)
            else:
                self._denying.append(rule)
        if rule.exact_tool is not None:
            self._exact.setdefault(rule.exact_tool, []).append(order)
            return
        pack, dot, _ = rule.tool_pattern.partition(".")
        if dot and "*" not in pack and "\\" not in pack:
            self._packs.setdefault(pack, []).append(order)
        else:
            self._others.append(order)

    def for_tool(self, tool: Tool) -> ToolRules:
        """Return the rules that name a tool; kept, since neither can change."""
        kept = self._tools.get(tool.id)
        if kept is not None and kept.tool is tool:
            return kept
        if len(self._tools) >= _KEPT:
            self._tools.clear()
        found = ToolRules(tool, self._naming(tool))
        self._tools[tool.id] = found
        return found

    def denies_all_of(self, tool: Tool) -> bool:
        """Tell whether a rule denies every call of a tool, whatever it touches."""
        if tool.id in self._denied:
            return True
        return bool(self._denying) and any(r.names_tool(tool.id) for r in self._denying)

    def _naming(self, tool: Tool) -> list[BoundRule]:
        orders = [
            *self._exact.get(tool.id, ()),
            *self._packs.get(tool.pack, ()),
            *self._others,
        ]
        found = []
        for order in sorted(orders):
            if not self.rules[order].names_tool(tool.id):
                continue
            if order not in self._bound:
                self._bound[order] = self.bind(self.rules[order], order=order)
            bound = self._bound[order].for_source(tool.source)
            if bound is not None:
                found.append(bound)
        return found

    def bind(self, rule: Rule, *, order: int = 0) -> BoundRule:
        """Give a rule this set's workspace and home."""
        return BoundRule(rule, workspace=self.workspace, home=self.home, order=order)


def _check_homeless(found: Iterable[Rule]) -> None:
    """Refuse a rule about a home folder that is not known: a denial would never match."""
    for rule in found:
        if any(field.pattern.start == "~" for field in rule.fields):
            text = f"{rule}: nothing says where '~' is: set HOME, or write the path in full"
            raise PolicyError(text, file=rule.file, line=rule.line)


def _parsed(rule: Rule | str) -> Rule:
    return rule if isinstance(rule, Rule) else rules.parse(rule)
