"""What tools asked of the host, obeyed only for packs that policy names.

A directive is a typed value of a result, apart from everything that others may write
into: text from the web, metadata and hooks cannot carry one. What is obeyed is enforced
where calls are judged; what is not stands on the outcome as a note.
"""

from __future__ import annotations

import os

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib import crib, permission
from toolcrib.codes import refuse
from toolcrib.errors import PolicyError
from toolcrib.host import Folder
from toolcrib.outcome import Directive, Outcome, Refusal
from toolcrib.rules import parse
from toolcrib.vocabulary import Mode


if TYPE_CHECKING:
    from toolcrib.call import AdmittedCall
    from toolcrib.rules import Rule
    from toolcrib.signature import Signature
    from toolcrib.tool import Tool

    from .session import Session


__all__ = ["Directions", "Restriction", "ceiling"]

_WIDER = (Mode.PLAN, Mode.ASK, Mode.EDITS, Mode.TRUST)
_MOST = 64


@attrs.frozen
class Restriction:
    """What a tool limited the session to.

    Attributes:
        id: Its name, for ``session.directions.release``.
        tool_id: The tool that asked for it.
        rules: What may still run: any one of these is enough.
        until: ``turn`` or ``session``.
    """

    id: str
    tool_id: str
    rules: tuple[Rule, ...] = attrs.field(repr=False)
    until: str

    @property
    def tools(self) -> tuple[str, ...]:
        """The patterns of what may still run, as they were asked for."""
        return tuple(rule.text.partition(" ")[2] for rule in self.rules)


class Directions:
    """What the tools of one session asked for, and was obeyed.

    Attributes:
        stopped: The tool that ended the turn, or None; ``session.begin_turn()`` begins
            another.
        model: What a tool asked the app to use as the model, or None.
        restrictions: What the session is limited to now; all of them hold.
        version: One more with each change; for what is kept of the tools on offer.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._widest = ceiling(session.mode, session.toolbox.policy.mode)
        self.stopped: str | None = None
        self.model: Any = None
        self.restrictions: tuple[Restriction, ...] = ()
        self.version = 0

    def begin_turn(self) -> None:
        """Forget what held for the last turn only."""
        self.stopped = None
        kept = tuple(r for r in self.restrictions if r.until != "turn")
        if kept != self.restrictions:
            self.restrictions = kept
            self.version += 1

    def release(self, restriction_id: str) -> None:
        """End a restriction; the app's word counts more than the tool's.

        Raises:
            KeyError: there is no such restriction.
        """
        kept = tuple(r for r in self.restrictions if r.id != restriction_id)
        if len(kept) == len(self.restrictions):
            text = f"there is no restriction {restriction_id!r}"
            raise KeyError(text)
        self.restrictions = kept
        self.version += 1

    @property
    def limits(self) -> bool:
        """Whether anything of it limits what may run now."""
        return self.stopped is not None or bool(self.restrictions)

    # -- enforcing ---------------------------------------------------------------------

    def permits(self, tool: Tool) -> bool:
        """Tell whether some call of a tool may still run."""
        return tool.pack == crib.PACK or all(
            any(rule.names_tool(tool.id) for rule in restriction.rules)
            for restriction in self.restrictions
        )

    def refuses(self, admitted: AdmittedCall, signature: Signature | None) -> Refusal | None:
        """Return why a call may not run now, or None."""
        tool = admitted.tool
        if self.stopped is not None:
            text = f"{self.stopped} ended this turn, so {tool.id} did not run."
            return refuse("turn.stopped", tool.id, text, decided_by=f"tool {self.stopped}")
        if not self.restrictions or tool.pack == crib.PACK:
            return None
        context = self._session.authority.context()
        for restriction in self.restrictions:
            if not any(
                permission.covers_call(rule, admitted, signature, context)
                for rule in restriction.rules
            ):
                return _restricted(restriction, tool.id)
        return None

    # -- obeying -----------------------------------------------------------------------

    def take(self, tool: Tool, pack: str, outcome: Outcome) -> Outcome:
        """Obey the directives of an outcome; return it with those, and notes on the others.

        Args:
            tool: The tool that ran.
            pack: The pack whose code it ran.
            outcome: What it came to.
        """
        obeyed: list[Directive] = []
        notes: list[str] = []
        for directive in outcome.result.directives:
            why = self._unwelcome(directive, tool, pack, outcome) or self._obey(directive, tool)
            if why is None:
                obeyed.append(directive)
            else:
                notes.append(f"directive {getattr(directive, 'name', '?')} not obeyed: {why}")
        result = attrs.evolve(
            outcome.result, directives=obeyed, notes=(*outcome.result.notes, *notes)
        )
        return attrs.evolve(outcome, result=result)

    def _unwelcome(self, directive: Any, tool: Tool, pack: str, outcome: Outcome) -> str | None:
        if not isinstance(directive, Directive):
            return f"it is a {type(directive).__name__}"
        if pack not in self._session.toolbox.policy.directives:
            return f"policy's directives do not name the pack {pack}"
        if directive.name not in tool.directives:
            return f"{tool.id} does not declare it"
        return None if outcome.ok else "the call did not succeed"

    def _obey(self, directive: Directive, tool: Tool) -> str | None:
        """Do what a directive asks for; return why not, or None."""
        value = directive.value
        match directive.name:
            case "stop_turn":
                self.stopped = tool.id
                return None
            case "use_model":
                if not isinstance(value, str) or not 0 < len(value) <= 200:
                    return "its value is no name of a model"
                self.model = value
                return None
            case "use_mode":
                return self._use_mode(value)
            case "restrict":
                return self._restrict(value, tool.id)
            case "switch_workspace":
                return self._switch(value)
        return "it is not known"

    def _use_mode(self, value: Any) -> str | None:
        try:
            mode = Mode(value)
        except ValueError:
            return f"{value!r} is no mode"
        if _WIDER.index(mode) > _WIDER.index(self._widest):
            return f"mode {mode} is wider than {self._widest}, which the user chose"
        self._session.mode = mode
        return None

    def _restrict(self, value: Any, tool_id: str) -> str | None:
        given = value if isinstance(value, Mapping) else {"tools": value}
        until = given.get("until", "turn")
        patterns = given.get("tools")
        if until not in {"turn", "session"}:
            return "until is 'turn' or 'session'"
        if isinstance(patterns, str) or not isinstance(patterns, Iterable):
            return "its tools are no list of patterns"
        if len(self.restrictions) >= _MOST:
            return f"there are {_MOST} restrictions already"
        try:
            rules = tuple(parse(f"allow {pattern}") for pattern in patterns)
        except PolicyError as error:
            return f"its tools cannot be read: {str(error).splitlines()[0]}"
        one = Restriction("r_" + os.urandom(6).hex(), tool_id, rules, until)
        self.restrictions = (*self.restrictions, one)
        self.version += 1
        return None

    def _switch(self, value: Any) -> str | None:
        """Work in another folder, inside the workspace or toolcrib's own state."""
        toolbox = self._session.toolbox
        if not isinstance(value, str | Path) or not str(value):
            return "its value is no folder"
        place = Folder(self._session.workspace.root / value, toolbox.workspace.trusted)
        home = (toolbox.workspace.root, (toolbox.state / "packs").resolve())
        if not any(place.root.is_relative_to(folder) for folder in home):
            return f"{place.root} is outside the workspace {toolbox.workspace.root}"
        if not place.root.is_dir():
            return f"there is no folder {place.root}"
        self._session.workspace = place
        return None


def ceiling(*modes: Mode) -> Mode:
    """Return the widest of some modes."""
    return max(modes, key=_WIDER.index)


def narrowest(*modes: Mode) -> Mode:
    """Return the narrowest of some modes."""
    return min(modes, key=_WIDER.index)


def _restricted(restriction: Restriction, tool_id: str) -> Refusal:
    allowed = ", ".join(restriction.tools) or "nothing"
    text = (
        f"{restriction.tool_id} restricted this {restriction.until} to {allowed}, which "
        f"does not cover this call of {tool_id}. Nothing ran."
    )
    return refuse(
        "directive.restricted", tool_id, text, decided_by=f"tool {restriction.tool_id}"
    )
