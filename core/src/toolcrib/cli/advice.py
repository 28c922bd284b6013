"""What a person can do next about a tool that is not there, as commands to type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from toolcrib import names, places

from .mending import mend


if TYPE_CHECKING:
    from toolcrib.catalog.stage import Catalog
    from toolcrib.outcome import Outcome
    from toolcrib.policy.value import Policy


__all__ = ["DISTRIBUTIONS", "advised", "in_ids", "next_steps"]

# Packs of this project; no manifest says who would have a tool of one that is not installed.
DISTRIBUTIONS = {
    id_: f"toolcrib-{id_}"
    for id_ in (
        *("browser", "dialects", "files", "goal", "lsp", "mcp", "otel", "shell", "task"),
        "web",
    )
}


def next_steps(tool: str, catalog: Catalog, policy: Policy) -> tuple[str, ...]:
    """Return lines that say which pack would have a tool, and what makes it so.

    Args:
        tool: An id, or a name on the wire.
        catalog: What is enabled and what could be.
        policy: What the catalog was made of.
    """
    pack = tool.partition(".")[0] if "." in tool else tool.partition("_")[0]
    if pack in catalog.packs:
        return ()
    own = policy.file is None or policy.file == places.policy_file()
    where = "" if own else f" --policy {policy.file}"
    for item in catalog.available:
        if item.pack_id == pack:
            return (f"run: toolcrib packs enable {item.distribution}{where}",)
    for refusal in catalog.refusals:
        if refusal.subject in {pack, f"toolcrib-{pack}"} or refusal.details.get("pack") == pack:
            return (f"{refusal.text} [{refusal.code}]", *mend(refusal, policy))
    distribution = DISTRIBUTIONS.get(pack)
    if distribution is not None:
        text = f"the pack {pack!r} is not installed; run: pip install {distribution}"
        return (text, f"then: toolcrib packs enable {distribution}{where}")
    known = {item.pack_id: item for item in catalog.available}
    like = names.closest(pack, [*known, *catalog.packs], most=1)
    if not like or like[0] not in known:
        return ()
    distribution = known[like[0]].distribution
    text = f"the pack {like[0]!r} is installed and not enabled"
    return (f"{text}; run: toolcrib packs enable {distribution}{where}",)


def advised(
    outcome: Outcome, tool: str, catalog: Catalog, policy: Policy
) -> tuple[Outcome, tuple[str, ...]]:
    """Return a call's outcome in the words of who typed it, and what they can do next."""
    if outcome.code == "arguments.malformed":
        form = 'ARGUMENTS is one JSON object, such as \'{"path": "README.md"}\''
        return outcome, (f"{form}; what {tool} takes: toolcrib explain {tool}",)
    if outcome.code not in {"tool.unknown", "pack.disabled"}:
        return outcome, ()
    text = outcome.text
    if "_" not in tool:
        # Whoever types names on the wire is told those.
        ids = {names.wire_name(tool_id): tool_id for tool_id in catalog.tools}
        for word in outcome.details.get("closest", ()):
            text = text.replace(word, ids.get(word, word))
    return attrs.evolve(outcome, text=text), next_steps(tool, catalog, policy)


def in_ids(text: str, tool_id: str) -> str:
    """Return a text for people, who know a tool by its id, not by its name on the wire."""
    return text.replace(f"`{names.wire_name(tool_id)}`", f"`{tool_id}`")
