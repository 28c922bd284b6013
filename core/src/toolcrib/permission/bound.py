"""One rule in one place: which parts of a call it meets."""

from __future__ import annotations

from enum import IntEnum

import attrs

from toolcrib.resources.paths import is_folder
from toolcrib.rules import CONDITIONS, Bound, Rule, Verdict, bind
from toolcrib.vocabulary import Mode

from .part import Part


__all__ = ["BoundRule", "Facts", "Strike"]


class Strike(IntEnum):
    """How a rule that denies or asks meets a part."""

    NO = 0
    MIGHT = 1
    YES = 2


@attrs.frozen
class Facts:
    """What conditions of rules look at, beside the parts."""

    mode: Mode
    agent: str | None = None
    principal: str = ""


class BoundRule:
    """A rule with its patterns bound; ``owner`` is the grant that holds it, if one does."""

    __slots__ = ("_asked", "broad", "negatives", "order", "owner", "positives", "rule", "types")

    def __init__(
        self,
        rule: Rule,
        *,
        workspace: str,
        home: str,
        order: int = 0,
        owner: str | None = None,
    ) -> None:
        self.rule = rule
        self.order = order
        self.owner = owner
        self.broad = rule.verdict is not Verdict.ALLOW
        self.types = rule.types
        self.positives: dict[str, list[Bound]] = {name: [] for name in self.types}
        self.negatives: dict[str, list[Bound]] = {name: [] for name in self.types}
        self._asked = tuple({f.name for f in rule.fields if f.name in CONDITIONS})
        for field in rule.fields:
            if field.name in CONDITIONS:
                continue
            # Turned round, what reads narrowly must read widely, or "all but secrets"
            # would let another spelling of a secret through.
            broad = self.broad is not field.negated
            pattern = bind(field.pattern, broad=broad, workspace=workspace, home=home)
            into = self.negatives if field.negated else self.positives
            into[field.name].append(pattern)

    @property
    def whole(self) -> bool:
        """Whether it speaks of every part of every call, without looking at it."""
        return not self.types and not self._asked

    def for_source(self, source: str | None) -> BoundRule | None:
        """Return the rule for tools of a source: its ``server`` is then settled.

        Returns:
            The rule without its ``server`` field, where the source fits it; the rule
            itself where the field has to be judged by resources; None if the source
            does not fit and nothing else could.
        """
        if source is None or "server" not in self.types:
            return self
        if not self._fits("server", Part(None, "server", source)):
            return None
        settled = object.__new__(BoundRule)
        for name in BoundRule.__slots__:
            setattr(settled, name, getattr(self, name))
        settled.types = tuple(name for name in self.types if name != "server")
        return settled

    def strikes(self, part: Part, facts: Facts) -> Strike:
        """Tell how a rule that denies or asks meets a part: any field that fits is enough."""
        if self._asked and not self._conditions(part, facts, unknown=True):
            return Strike.NO
        types = self.types
        if not types:
            return Strike.YES
        if part.value is None:
            return Strike.MIGHT if any(t in types for t in part.types) else Strike.NO
        kind = part.type or ""
        if kind in types and self._fits(kind, part):
            return Strike.YES
        if part.tree and kind == "path" and kind in types and self._might_hold(part):
            return Strike.MIGHT
        if kind == "url" and "host" in types and self._fits("host", part):
            return Strike.YES
        if kind == "host" and "url" in types and self._might_be_on(part):
            return Strike.MIGHT
        return Strike.NO

    def covers(self, part: Part, facts: Facts) -> bool:
        """Tell whether a rule that allows covers a part for certain."""
        if self._asked and not self._conditions(part, facts, unknown=False):
            return False
        types = self.types
        if not types:
            return True
        kind = part.type or ""
        if part.value is None:
            return False
        if kind == "url" and "host" in types and not self._fits("host", part):
            return False
        if kind in types:
            return self._fits(kind, part)
        return kind == "url" and "host" in types

    def _conditions(self, part: Part, facts: Facts, *, unknown: bool) -> bool:
        for name in self._asked:
            if name == "effect":
                value: str | None = part.effect
            elif name == "access":
                value = part.access
                if value is None and part.type is None:
                    if unknown:
                        continue
                    return False
            else:
                value = getattr(facts, name)
            if not self.rule.holds(name, value):
                return False
        return True

    def _fits(self, kind: str, part: Part) -> bool:
        try:
            broad, narrow = part.wide(kind), part.narrow(kind)
        except ValueError:
            # A value that cannot be taken apart: strict is what each side needs.
            return self.broad
        positives, negatives = self.positives[kind], self.negatives[kind]
        lists, others = (broad, narrow) if self.broad else (narrow, broad)
        if positives and not any(pattern.hits(lists) for pattern in positives):
            return False
        return not any(pattern.hits(others) for pattern in negatives)

    def _might_hold(self, part: Part) -> bool:
        """Tell whether something that the rule means may lie below a folder."""
        folders = part.wide("path")
        positives, negatives = self.positives["path"], self.negatives["path"]
        if positives and not any(pattern.reaches_below(folders) for pattern in positives):
            return False
        if any(pattern.holds_all_below(part.narrow("path")) for pattern in negatives):
            return False
        # Most paths that are named are files, with nothing below them.
        return is_folder(part.value or "")

    def _might_be_on(self, part: Part) -> bool:
        """Tell whether an address of the pattern may lie on a host."""
        patterns = self.positives["url"]
        if not patterns:
            return True
        hosts = part.wide("host")
        return any(pattern.host_hits(hosts) for pattern in patterns)
