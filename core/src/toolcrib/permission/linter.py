"""Find rules that do not say what their author meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib.names import closest
from toolcrib.rules import CONDITIONS, Bound, Rule, Verdict, bind
from toolcrib.vocabulary import Effect

from .part import types_of
from .programs import runs_others


if TYPE_CHECKING:
    from toolcrib.tool import Tool


__all__ = ["Finding", "is_within", "lint"]


@attrs.frozen(kw_only=True)
class Finding:
    """Something about one rule that its author should know.

    Attributes:
        code: ``rule.nothing`` names no tool, ``rule.dead`` can never match,
            ``rule.shadowed`` says what another says, ``rule.contradicted`` is overruled by
            another, ``rule.wide`` is wider than it looks, ``rule.narrow`` is narrower.
        rule: The rule.
        other: The rule that shadows or contradicts it.
        text: What is wrong, and what to write instead.
        severity: ``error`` for a rule that does nothing, ``warning`` otherwise.
    """

    code: str
    rule: Rule
    text: str
    other: Rule | None = None
    severity: str = "warning"

    def data(self) -> dict[str, Any]:
        """Return it as a JSON-safe value."""
        return {
            "code": self.code,
            "severity": self.severity,
            "rule": self.rule.text,
            "file": None if self.rule.file is None else str(self.rule.file),
            "line": self.rule.line,
            "other": None if self.other is None else self.other.text,
            "text": self.text,
        }

    def __str__(self) -> str:
        return f"{self.severity}: {self.rule.name}: {self.text} [{self.code}]"


def lint(
    rules: Iterable[Rule],
    tools: Iterable[Tool] | Mapping[str, Any],
    *,
    workspace: str = "/",
    home: str = "/",
) -> tuple[Finding, ...]:
    """Look at rules beside the tools that there are.

    Args:
        rules: The rules, in order.
        tools: The tools of a catalog, or a mapping of entries that have a ``tool``.
        workspace: Where relative paths start.
        home: What ``~`` stands for.
    """
    present = list(rules)
    known = _tools(tools)
    found: list[Finding] = []
    for position, rule in enumerate(present):
        own = _unnamed(rule, known) or _dead(rule, known)
        if own is not None:
            found.append(own)
            continue
        found += _looks(rule, known)
        earlier = _earlier(rule, present, position, workspace, home)
        found += [earlier] if earlier is not None else []
    return tuple(found)


def _tools(tools: Iterable[Tool] | Mapping[str, Any]) -> dict[str, Tool]:
    if isinstance(tools, Mapping):
        found: dict[str, Any] = dict(tools)
        return {name: getattr(entry, "tool", entry) for name, entry in found.items()}
    return {tool.id: tool for tool in tools}


def _unnamed(rule: Rule, known: Mapping[str, Tool]) -> Finding | None:
    if any(map(rule.names_tool, known)):
        return None
    near = closest(rule.tool_pattern.replace("__", "."), known)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    text = f"no tool is called {rule.tool_pattern!r}{hint}"
    return Finding(code="rule.nothing", rule=rule, text=text, severity="error")


def _dead(rule: Rule, known: Mapping[str, Tool]) -> Finding | None:
    """Tell that no call of any tool that a rule names could ever meet it."""
    named = [tool for tool_id, tool in known.items() if rule.names_tool(tool_id)]
    if any(_can_meet(rule, tool) for tool in named):
        return None
    fields = ", ".join(str(field) for field in rule.fields)
    text = f"no tool that it names can touch what it speaks of ({fields}): it never matches"
    return Finding(code="rule.dead", rule=rule, text=text, severity="error")


def _can_meet(rule: Rule, tool: Tool) -> bool:
    if not rule.fields:
        return True
    effects = {effect for effect in tool.effects if rule.holds("effect", effect) is not False}
    if tool.effects and not effects:
        return False
    if not tool.effects and rule.holds("effect", None) is False:
        return False
    if not rule.types:
        return True
    if "server" in rule.types and tool.source is not None:
        fields = [field for field in rule.fields if field.name == "server"]
        bound = [bind(f.pattern, broad=False, workspace="/", home="/") for f in fields]
        hits = [pattern.hits([[tool.source]]) for pattern in bound]
        if all(hit is not f.negated for hit, f in zip(hits, fields, strict=True)):
            return True
    reachable = {kind for effect in effects for kind in types_of(effect)}
    # What a pack of its own calls a server or anything else cannot be known from here.
    return any(k in reachable or k == "server" or "-" in k for k in rule.types) or (
        "path" in rule.types and Effect.HOST_STATE in effects
    )


def _looks(rule: Rule, known: Mapping[str, Tool]) -> list[Finding]:
    found = []
    if rule.verdict is Verdict.ALLOW:
        found += _wide_allow(rule, known)
    elif len(rule.types) > 1:
        text = (
            f"it {_verb(rule)} a call that meets any one of its fields, not all of them; "
            "write one rule for each, or keep the one that is meant"
        )
        found.append(Finding(code="rule.wide", rule=rule, text=text))
    for field in rule.fields:
        pattern = field.pattern
        if (
            rule.verdict is not Verdict.ALLOW
            and pattern.type == "path"
            and pattern.start == "."
            and len(pattern.tokens) == 1
            and not field.negated
        ):
            text = (
                f"{field.text!r} is only the one at the top of the workspace; "
                f"'**/{field.text.removeprefix('./')}' is in every folder"
            )
            found.append(Finding(code="rule.narrow", rule=rule, text=text))
    return found


def _verb(rule: Rule) -> str:
    return "denies" if rule.verdict is Verdict.DENY else "asks about"


def _wide_allow(rule: Rule, known: Mapping[str, Tool]) -> list[Finding]:
    found = []
    for field in rule.fields:
        if field.name == "command" and not field.negated and runs_others(field.pattern):
            text = (
                f"{field.text!r} runs whatever its words say, so it allows any program; "
                "name the words that are meant"
            )
            found.append(Finding(code="rule.wide", rule=rule, text=text))
    if not rule.types and "*" in rule.tool_pattern:
        strong = sorted(
            tool_id
            for tool_id, tool in known.items()
            if rule.names_tool(tool_id)
            and tool.effects & {Effect.PROCESS, Effect.FS_WRITE, Effect.NET_WRITE}
        )
        if strong:
            text = f"it also allows {', '.join(strong[:3])} on anything they may touch"
            found.append(Finding(code="rule.wide", rule=rule, text=text))
    for name in rule.types:
        if all(field.negated for field in rule.fields if field.name == name):
            text = f"it allows every {name} except what it names; say what is meant as well"
            found.append(Finding(code="rule.wide", rule=rule, text=text))
    return found


_RANK = {Verdict.DENY: 0, Verdict.ASK: 1, Verdict.ALLOW: 2}


def _earlier(
    rule: Rule, present: Sequence[Rule], position: int, workspace: str, home: str
) -> Finding | None:
    """Find another rule that makes this one idle."""
    for other_position, other in enumerate(present):
        if other is rule:
            continue
        same = other.verdict is rule.verdict
        stronger = _RANK[other.verdict] < _RANK[rule.verdict]
        if not (same or stronger) or not is_within(rule, other, workspace, home):
            continue
        if same:
            twin = is_within(other, rule, workspace, home)
            if twin and other_position > position:
                continue
            text = f"{other.name} says it already"
            return Finding(code="rule.shadowed", rule=rule, other=other, text=text)
        text = f"{other.name} comes first and {_verb(other)} all that it speaks of"
        return Finding(
            code="rule.contradicted", rule=rule, other=other, text=text, severity="error"
        )
    return None


def is_within(narrow: Rule, wide: Rule, workspace: str = "/", home: str = "/") -> bool:
    """Tell whether all that one rule speaks of, another surely does; False where unsure."""
    if not _tool_within(narrow, wide):
        return False
    for name in dict.fromkeys(field.name for field in wide.fields):
        if name in CONDITIONS:
            if not _same(narrow, wide, name):
                return False
        elif not _field_within(narrow, wide, name, workspace, home):
            return False
    # Fields that only the narrow one has make it narrower in an allow; in the others any
    # field is enough, so they would make it wider.
    if narrow.verdict is Verdict.ALLOW or not wide.types:
        return set(wide.types) <= set(narrow.types) and (
            not wide.types or set(narrow.types) <= set(wide.types)
        )
    return set(narrow.types) <= set(wide.types)


def _tool_within(narrow: Rule, wide: Rule) -> bool:
    if narrow.tool_pattern == wide.tool_pattern or wide.tool_pattern in {"*", "**"}:
        return True
    if narrow.exact_tool is not None:
        return wide.names_tool(narrow.exact_tool)
    pattern = wide.tool_pattern
    return pattern.endswith("*") and narrow.tool_pattern.startswith(pattern.rstrip("*"))


def _same(narrow: Rule, wide: Rule, name: str) -> bool:
    mine = {str(field) for field in narrow.fields if field.name == name}
    theirs = {str(field) for field in wide.fields if field.name == name}
    return bool(mine) and (mine <= theirs or mine == theirs)


def _field_within(narrow: Rule, wide: Rule, name: str, workspace: str, home: str) -> bool:
    mine, my_limits = _bound(narrow, name, workspace, home)
    theirs, their_limits = _bound(wide, name, workspace, home)
    if narrow.verdict is not Verdict.ALLOW and name not in narrow.types:
        return True
    if theirs and not (mine and all(any(m.within(t) for t in theirs) for m in mine)):
        return False
    if not mine and name not in narrow.types:
        return False
    return all(any(limit.within(own) for own in my_limits) for limit in their_limits)


def _bound(rule: Rule, name: str, workspace: str, home: str) -> tuple[list[Bound], list[Bound]]:
    """Return patterns and limits of a field, bound narrowly so that they compare."""
    places: tuple[list[Bound], list[Bound]] = ([], [])
    for field in rule.fields:
        if field.name == name:
            bound = bind(field.pattern, broad=False, workspace=workspace, home=home)
            places[field.negated].append(bound)
    return places
