"""What a session shows a model: offered tools, hidden schemas, and names that are wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from toolcrib import crib, names, projection
from toolcrib.activation.activepack import ActivePack
from toolcrib.codes import refuse
from toolcrib.events import Event
from toolcrib.outcome import Refusal
from toolcrib.projection.dialects import CORE
from toolcrib.vocabulary import Audience, Effect, Mode

from .view import View


if TYPE_CHECKING:
    from toolcrib.call import Call
    from toolcrib.projection import Dialect
    from toolcrib.tool import Tool

    from .session import Session


__all__ = ["Shown"]

# Effects of calls that plan mode may run; a tool with none of them can do nothing there.
_PLANNABLE = frozenset({Effect.FS_READ, Effect.NET_READ, Effect.HOST_STATE})
_LISTING_BUDGET = 12_000


class Shown:
    """The tools of one session: which are offered, and which of them are loaded."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._loaded: set[str] = set()
        self._stored = False

    # -- which tools -----------------------------------------------------------------

    async def offered(self, audience: Audience = Audience.MODEL) -> tuple[Tool, ...]:
        """Return the tools that the session may use now, by id; deferred ones too."""
        found = []
        for entry in self._session.toolbox.catalog.tools.values():
            tool = entry.tool
            if audience in tool.audience and self._may(tool) and await self._active(tool):
                found.append(tool)
        return tuple(found)

    def _may(self, tool: Tool) -> bool:
        session = self._session
        if not session.may_use(tool):
            return False
        return (
            session.mode is not Mode.PLAN or not tool.effects or bool(tool.effects & _PLANNABLE)
        )

    async def _active(self, tool: Tool) -> bool:
        """Ask a tool's ``active`` function; it is availability, not authorisation."""
        if "active" not in tool.companions:
            return True
        toolbox = self._session.toolbox
        pack = await toolbox.activate_for(tool)
        if not isinstance(pack, ActivePack):
            return False
        implementation = pack.implementations.get(tool.id)
        if implementation is None:
            return False
        try:
            answer = await pack.companion(implementation, "active", {}, self._session.app)
        except Exception as error:  # noqa: BLE001 - a pack that fails is left out, and named
            event = Event(
                name="lifecycle.failed",
                conversation=self._session.conversation,
                tool_id=tool.id,
                time=toolbox.clock.time(),
                data={"function": "active", "problem": str(error)},
            )
            toolbox.tell(event, key=f"active {tool.id}")
            return False
        return bool(answer)

    def is_deferred(self, tool: Tool) -> bool:
        """Tell whether a tool's schema is hidden until it is searched for."""
        policy = self._session.toolbox.policy
        if tool.id in self._loaded or tool.id in policy.always_loaded:
            return False
        return tool.deferred if tool.deferred is not None else bool(policy.defer)

    def load(self, tool_ids: Iterable[str]) -> list[str]:
        """Show the schemas of tools from the next request on; return what was hidden."""
        catalog = self._session.toolbox.catalog
        hidden = [
            id_
            for id_ in tool_ids
            if (entry := catalog.tools.get(id_)) is not None and self.is_deferred(entry.tool)
        ]
        self._loaded.update(hidden)
        return hidden

    async def named(self, wanted: Sequence[str]) -> tuple[list[Tool], list[str]]:
        """Return deferred or loaded tools by id or wire name, and the names not found."""
        offered = {
            name: t for t in await self.offered() for name in (t.id, names.wire_name(t.id))
        }
        found = {offered[name].id: offered[name] for name in wanted if name in offered}
        return list(found.values()), [name for name in wanted if name not in offered]

    async def search(self, query: str, limit: int) -> list[Tool]:
        """Return the best deferred tools for some words; loaded ones are left out."""
        offered = {tool.id: tool for tool in await self.offered() if self.is_deferred(tool)}
        hits = self._session.toolbox.index.search(query, limit=limit, may=offered.__contains__)
        return [offered[hit.tool_id] for hit in hits]

    def stored(self) -> None:
        """Note that there is an artifact, so that ``crib.read`` is offered."""
        self._stored = True

    # -- views -------------------------------------------------------------------------

    async def view(self, dialect: str, *, strict: bool) -> View:
        """Project what the session may use now."""
        offered = await self.offered()
        shown = [tool for tool in offered if not self.is_deferred(tool)]
        hidden = [tool for tool in offered if self.is_deferred(tool)]
        if hidden:
            shown.append(crib.SEARCH)
        if self._stored:
            shown.append(crib.READ)
        return self.project(shown, self.dialect(dialect), strict=strict, hidden=hidden)

    async def everything(self) -> View:
        """Return a view of all that may be used, schemas and audience aside."""
        catalog = self._session.toolbox.catalog
        tools = [e.tool for e in catalog.tools.values() if self._may(e.tool)]
        mcp = self.dialect("mcp")
        return self.project([*tools, crib.SEARCH, crib.READ], mcp, strict=False)

    def dialect(self, name: str) -> Dialect:
        """Return a dialect of the core, or of a pack that policy names as projector."""
        toolbox = self._session.toolbox
        if name in CORE:
            return projection.dialect(name)
        return projection.dialect(name, projection.spoken_by(name, toolbox.projectors))

    def project(
        self,
        tools: Sequence[Tool],
        dialect: Dialect,
        *,
        strict: bool,
        hidden: Sequence[Tool] = (),
    ) -> View:
        """Project some tools."""
        toolbox = self._session.toolbox
        projected = projection.project(
            tuple(tools),
            dialect,
            strict=strict,
            cache=toolbox.projections,
            projectors=toolbox.projectors,
        )
        return View(
            conversation=self._session.conversation,
            dialect=dialect,
            strict=strict,
            tools={tool.id: tool for tool in tools},
            hidden={tool.id: tool for tool in hidden},
            projected=projected,
            listing=listing(hidden),
        )

    # -- from a call back to a tool ------------------------------------------------------

    def tool_of(self, view: View, call: Call) -> Tool | Refusal:
        """Return the tool that a call names, as the view showed it, or why not."""
        tool = view.tools.get(call.tool_id) if call.tool_id is not None else None
        if tool is None:
            return self._not_shown(view, call)
        if tool.pack == crib.PACK:
            return tool
        entry = self._session.toolbox.catalog.tools.get(tool.id)
        if entry is None or not self._may(tool):
            text = f"{tool.id} was withdrawn since it was shown. Nothing ran."
            return refuse("tool.hidden", tool.id, text)
        if entry.tool is not tool and entry.tool.definition_digest != tool.definition_digest:
            text = f"{tool.id} changed since it was shown. Nothing ran. Look at it again."
            return refuse("answer.stale", tool.id, text)
        return tool

    def _not_shown(self, view: View, call: Call) -> Refusal:
        """Say why a name is none of the view's; never guess what was meant."""
        name = call.wire_name
        for tool in view.hidden.values():
            if name in {tool.id, names.wire_name(tool.id)} and self._may(tool):
                self.load([tool.id])
                text = (
                    f"{name} had not been loaded, so its parameters were unknown to you. "
                    "It is loaded now. Nothing ran. Call it again to fit its schema."
                )
                return refuse("tool.not_loaded", tool.id, text, schema=dict(tool.input_schema))
        known = [*view.projected.by_wire_name, *map(names.wire_name, view.hidden)]
        like = names.closest(name, known)
        hint = f" Did you mean {' or '.join(like)}?" if like else ""
        found = self._session.toolbox.catalog.find(_as_id(name))
        if isinstance(found, Refusal) and found.code != "tool.unknown":
            text = f"{name!r} is not available: {found.text} Nothing ran."
            return refuse(found.code, name, text) if found.code == "pack.disabled" else found
        if not isinstance(found, Refusal) and self._session.may_use(found.tool):
            tool = found.tool
            if not self._may(tool):
                effects = ", ".join(sorted(tool.effects))
                text = f"Mode plan permits no call of {tool.id} ({effects}). Nothing ran."
                return refuse("mode.denied", tool.id, text)
        disabled = self._disabled(name)
        text = f"There is no tool {name!r}. Nothing ran.{disabled or hint}"
        return refuse("tool.unknown", name, text, closest=like)

    def _disabled(self, name: str) -> str:
        """Say which installed pack would have the tool, and the line that enables it."""
        pack = name.partition(".")[0] if "." in name else name.partition("_")[0]
        for item in self._session.toolbox.catalog.available:
            if item.pack_id == pack:
                return f" The pack {pack!r} is installed and not enabled: {item.how}."
        return ""


def _as_id(name: str) -> str:
    return name if "." in name else name.replace("_", ".", 1)


def listing(hidden: Sequence[Tool], budget: int = _LISTING_BUDGET) -> str:
    """List deferred tools for the system prompt: by pack, one line each, in order.

    Args:
        hidden: The tools whose schemas are hidden.
        budget: Characters at most; what does not fit is counted.
    """
    if not hidden:
        return ""
    lines = [f"Tools to load with {names.wire_name(crib.SEARCH.id)} before calling them:"]
    group, left = "", len(hidden)
    size = len(lines[0])
    for tool in sorted(hidden, key=lambda t: t.id):
        new = [] if tool_group(tool) == group else [f"{tool_group(tool)}:"]
        new.append(f"- {names.wire_name(tool.id)}: {tool.description.summary[:120]}")
        size += sum(len(line) + 1 for line in new)
        if size > budget:
            lines.append(f"… and {left} more; search for them.")
            break
        group = tool_group(tool)
        lines += new
        left -= 1
    return "\n".join(lines)


def tool_group(tool: Tool) -> str:
    """Return the pack, or pack and source, that a tool is listed under."""
    return f"{tool.pack}.{tool.source}" if tool.source else tool.pack
