"""What the tools of a session say beside their calls, each with the tool that says it."""

from __future__ import annotations

import attrs


__all__ = ["Described", "Fragment", "PromptRule", "VisibleText"]


@attrs.frozen(kw_only=True)
class Described:
    """A tool as it is described to an audience."""

    id: str
    title: str
    description: str
    kind: str
    serves: tuple[str, ...]


@attrs.frozen
class PromptRule:
    """One rule for the prompt, and the tool that gives it; lower orders come first."""

    order: float
    text: str
    tool_id: str

    def __str__(self) -> str:
        return self.text


@attrs.frozen
class Fragment:
    """One piece of context for the model.

    ``placement`` is a word of the app's own, such as ``system`` or ``before_user``.
    """

    order: float
    text: str
    placement: str
    tool_id: str

    def __str__(self) -> str:
        return self.text


@attrs.frozen
class VisibleText:
    """A text as it is shown, and the tools that changed it, in the order they did."""

    text: str
    changed_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text
