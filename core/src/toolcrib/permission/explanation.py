"""Say why a call runs, is asked or is refused: as text, and as a JSON-safe value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from toolcrib import rules
from toolcrib.outcome import Refusal

from . import modes
from .judgement import judge
from .part import Part
from .stage import reasons_of


if TYPE_CHECKING:
    from toolcrib.call import AdmittedCall
    from toolcrib.question import Decision, Grant
    from toolcrib.signature import Signature

    from .context import AuthorityContext
    from .judgement import Judgement


__all__ = ["Explanation", "PartStory", "explain"]


@attrs.frozen(kw_only=True)
class PartStory:
    """What there is to say about one part of a call.

    Attributes:
        part: What the part is, in words.
        facts: The same, JSON-safe.
        rules: ``(verdict, rule, how)`` of every rule that meets it; ``how`` is ``yes``
            or ``might``.
        mode: ``runs``, ``asks`` or ``refuses``.
        verdict: ``run``, ``ask`` or ``refuse``.
        by: Who or what decided it.
        allow: A rule that would let it run next time, or None.
    """

    part: str
    facts: dict[str, Any] = attrs.field(eq=False)
    rules: tuple[tuple[str, str, str], ...]
    mode: str
    verdict: str
    by: str
    allow: str | None = None


@attrs.frozen(kw_only=True)
class Explanation:
    """The whole decision on one call.

    Attributes:
        tool_id: The tool.
        verdict: ``run``, ``ask`` or ``refuse``.
        code: The refusal's code, or None.
        reasons: Why, a sentence each.
        parts: Part by part.
        decided_by: Who or what let it run.
        allow: Rules that together would let it run, or empty where no rule can.
    """

    tool_id: str
    verdict: str
    code: str | None
    reasons: tuple[str, ...]
    parts: tuple[PartStory, ...]
    decided_by: tuple[str, ...]
    allow: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """Return it as a JSON-safe value."""
        return {
            "tool": self.tool_id,
            "verdict": self.verdict,
            "code": self.code,
            "reasons": list(self.reasons),
            "decided_by": list(self.decided_by),
            "allow": list(self.allow),
            "parts": [
                {
                    **story.facts,
                    "text": story.part,
                    "verdict": story.verdict,
                    "by": story.by,
                    "mode": story.mode,
                    "rules": [
                        {"verdict": verdict, "rule": rule, "meets": how}
                        for verdict, rule, how in story.rules
                    ],
                    "allow": story.allow,
                }
                for story in self.parts
            ],
        }

    def __str__(self) -> str:
        lines = [f"{self.tool_id}: {self.verdict}" + (f" [{self.code}]" if self.code else "")]
        lines += [f"  because {reason}" for reason in self.reasons]
        for story in self.parts:
            lines.append(f"  {story.part}: {story.verdict}, by {story.by}")
            lines += [
                f"    {rule}" + (" (might meet it)" if how == "might" else "")
                for _, rule, how in story.rules
            ]
        if self.allow:
            lines.append("  would let it run:")
            lines += [f"    {rule}" for rule in self.allow]
        elif self.verdict == "ask":
            lines.append("  no rule can let it run; a person can approve it")
        return "\n".join(lines)


def explain(
    admitted: AdmittedCall,
    signature: Signature | None,
    context: AuthorityContext,
    *,
    answer: Decision | Grant | None = None,
) -> Explanation:
    """Explain what ``authorize`` would decide on the same arguments."""
    judgement = judge(admitted, signature, context, answer)
    refusal = judgement.refusal
    reasons: tuple[str, ...]
    if refusal is not None:
        verdict, reasons = "refuse", (refusal.text,)
    elif judgement.decided_by:
        verdict, reasons = "run", tuple(f"of {by}" for by in judgement.decided_by)
    else:
        verdict, reasons = "ask", reasons_of(judgement, context)
    stories = _stories(admitted, judgement, context)
    allow = tuple(dict.fromkeys(story.allow for story in stories if story.allow))
    blocked = refusal is not None or judgement.asks or judgement.doubts
    return Explanation(
        tool_id=admitted.tool.id,
        verdict=verdict,
        code=refusal.code if refusal is not None else None,
        reasons=reasons,
        parts=stories,
        decided_by=judgement.decided_by,
        allow=() if blocked or verdict == "run" else allow,
    )


def _stories(
    admitted: AdmittedCall, judgement: Judgement, context: AuthorityContext
) -> tuple[PartStory, ...]:
    parts = judgement.parts
    if parts is None:
        return ()
    known = context.rules.for_tool(admitted.tool)
    found = []
    for part in parts.all or [Part(None)]:
        met = [
            (bound.rule.verdict.value, bound.rule.name, "yes" if strike == 2 else "might")
            for index in (known.deny, known.ask)
            for strike, bound in index.strikes(part, context.facts)
        ]
        allowing = {b.order: b for b in known.allow.covers(part, context.facts)}
        met += [("allow", allowing[order].rule.name, "yes") for order in sorted(allowing)]
        verdict, by = _fate(part, judgement, judgement.refusal)
        found.append(
            PartStory(
                part=str(part) if part.effect or part.type else "the call itself",
                facts=part.data(),
                rules=tuple(met),
                mode=_mode(part, context, vague=parts.vague),
                verdict=verdict,
                by=by,
                allow=_allowing(admitted, part) if verdict == "ask" else None,
            )
        )
    return tuple(found)


def _mode(part: Part, context: AuthorityContext, *, vague: bool) -> str:
    if not modes.permits(part, context):
        return "refuses"
    return "runs" if not vague and modes.runs(part, context) else "asks"


def _fate(part: Part, judgement: Judgement, refusal: Refusal | None) -> tuple[str, str]:
    if refusal is not None:
        blamed = refusal.details.get("part")
        if blamed is None or blamed == part.data():
            return "refuse", refusal.code
        return "refuse", "another part"
    for bound, asked in judgement.asks:
        if str(asked) == str(part) and not judgement.decided_by:
            return "ask", bound.rule.name
    for text, doubted in judgement.doubts:
        if str(doubted) == str(part) and not judgement.decided_by:
            return "ask", f"'{text}', which may concern it"
    waiting = {str(left) for left in judgement.open}
    for covered, by in judgement.covered:
        if str(covered) == str(part) and str(part) not in waiting:
            return "run", by
    return "ask", "nothing that lets it run"


def _allowing(admitted: AdmittedCall, part: Part) -> str | None:
    """Return the narrowest rule that would cover a part."""
    tool = f"allow {rules.quote(rules.escape(admitted.tool.id))}"
    if part.value is None or part.type is None:
        return f"{tool}(effect={part.effect})" if part.effect else tool
    text = f"{tool}({part.type}={rules.quote(rules.exact(part.type, part.value))})"
    return text if text.isprintable() else None
