"""What a session shows a model: offered tools, hidden schemas, and back from a call to one."""

from __future__ import annotations

import asyncio
import fnmatch

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from toolcrib import crib, names
from toolcrib.codes import refuse
from toolcrib.outcome import Refusal
from toolcrib.vocabulary import Audience, Effect, Mode

from .listing import listing
from .view import View


if TYPE_CHECKING:
    from toolcrib.call import Call
    from toolcrib.catalog.stage import Catalog
    from toolcrib.projection import Dialect, Projected
    from toolcrib.tool import Tool

    from .contributions import Described
    from .session import Session


__all__ = ["Shown"]

# Effects of calls that plan mode may run; a tool with none of them can do nothing there.
_PLANNABLE = frozenset({Effect.FS_READ, Effect.NET_READ, Effect.HOST_STATE})
_KEPT = 256


class _Offer:
    """What a session may use as long as ``key`` holds; ``asking`` have to be asked still."""

    __slots__ = ("asking", "catalog", "key", "tools")

    def __init__(self, key: Hashable, catalog: Catalog, tools: tuple[Tool, ...]) -> None:
        self.key = key
        self.catalog = catalog
        self.tools = tools
        self.asking = tuple(tool for tool in tools if "active" in tool.companions)


class Shown:
    """The tools of one session: which are offered, and which of them are loaded."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._loaded: dict[str, None] = {}
        self._stored = False
        self._offers: dict[Audience | None, _Offer] = {}
        self._views: dict[tuple[str, bool], tuple[Hashable, View]] = {}
        self._singles: dict[str, tuple[View, str | None, str]] = {}
        self._singles_key: Hashable = None

    # -- which tools -----------------------------------------------------------------

    def may(self, tool: Tool) -> bool:
        """Tell whether any call of a tool could run; offer, search and dispatch ask this.

        Sub-agents may what their caller may, at most.
        """
        session = self._session
        plan = session.authority.mode_now is Mode.PLAN
        rules = session.toolbox.rules
        if session.is_free and not plan and not rules.denies_tools:
            return True
        if not session.may_use(tool) or rules.denies_all_of(tool):
            return False
        if plan and tool.effects and not tool.effects & _PLANNABLE and tool.pack != crib.PACK:
            return False
        return session.parent is None or session.parent.shown.may(tool)

    def state(self) -> Hashable:
        """Return what the offer depends on, beside the catalog."""
        session = self._session
        above = session.parent.shown.state() if session.parent is not None else None
        return session.authority.mode_now, session.directions.version, above

    def usable(self, function: str) -> list[Tool]:
        """Return the tools that the session may use and that have a companion function."""
        return [tool for tool in self._offer(None).tools if function in tool.companions]

    async def offered(self, audience: Audience = Audience.MODEL) -> tuple[Tool, ...]:
        """Return the tools that the session may use now, by id; deferred ones too."""
        offer = self._offer(audience)
        if not offer.asking:
            return offer.tools
        lifecycle = self._session.lifecycle
        active = await asyncio.gather(*map(lifecycle.is_active, offer.asking))
        away = {t.id for t, there in zip(offer.asking, active, strict=True) if not there}
        return tuple(t for t in offer.tools if t.id not in away) if away else offer.tools

    def _offer(self, audience: Audience | None) -> _Offer:
        catalog = self._session.toolbox.catalog
        key = self.state()
        kept = self._offers.get(audience)
        if kept is not None and kept.catalog is catalog and kept.key == key:
            return kept
        tools = tuple(
            entry.tool
            for entry in catalog.tools.values()
            if (audience is None or audience in entry.tool.audience) and self.may(entry.tool)
        )
        offer = self._offers[audience] = _Offer(key, catalog, tools)
        return offer

    async def described(self, audience: Audience) -> tuple[Described, ...]:
        """Return how the active tools are described to an audience."""
        from .contributions import Described  # noqa: PLC0415 - for those who ask

        return tuple(
            Described(
                id=tool.id,
                title=tool.title,
                description=tool.description.text(),
                kind=tool.kind,
                serves=tool.serves,
            )
            for tool in await self.offered(audience)
        )

    # -- deferral ------------------------------------------------------------------------

    @property
    def searchable(self) -> bool:
        """Whether ``crib.search`` is offered; where it is not, no schema is hidden."""
        session = self._session
        if session.only is not None and crib.SEARCH.id not in session.only:
            return False
        hidden = session.toolbox.policy.hide.tools
        return not any(fnmatch.fnmatchcase(crib.SEARCH.id, pattern) for pattern in hidden)

    def is_deferrable(self, tool: Tool) -> bool:
        """Tell whether a tool's schema is hidden from a session that has just begun."""
        policy = self._session.toolbox.policy
        defer = tool.deferred if tool.deferred is not None else bool(policy.defer)
        if not defer or not self.searchable:
            return False
        always = policy.always_loaded
        return tool.id not in always and not any(
            "*" in pattern and fnmatch.fnmatchcase(tool.id, pattern) for pattern in always
        )

    def is_deferred(self, tool: Tool) -> bool:
        """Tell whether a tool's schema is hidden until it is searched for."""
        return tool.id not in self._loaded and self.is_deferrable(tool)

    def load(self, tool_ids: Iterable[str]) -> list[str]:
        """Show the schemas of tools from the next request on; return what was hidden."""
        catalog = self._session.toolbox.catalog
        hidden = [
            id_
            for id_ in tool_ids
            if (entry := catalog.tools.get(id_)) is not None and self.is_deferred(entry.tool)
        ]
        self._loaded.update(dict.fromkeys(hidden))
        return hidden

    def forget(self, tool_ids: Iterable[str]) -> None:
        """Forget that tools were loaded, because they are gone; the others stay loaded."""
        for id_ in tool_ids:
            self._loaded.pop(id_, None)

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
        """Project what the session may use now.

        What was loaded comes after what always was, in the order of loading, and the
        listing names every tool whose schema was hidden at first: so requests differ at
        their ends, and what a provider cached of them stays valid.
        """
        offered = await self.offered()
        key = (offered, tuple(self._loaded), self._stored)
        kept = self._views.get((dialect, strict))
        if kept is not None and kept[0] == key:
            return kept[1]
        later = {tool.id: tool for tool in offered if self.is_deferrable(tool)}
        shown = [tool for tool in offered if tool.id not in later]
        if later:
            shown.append(crib.SEARCH)
        if self._stored:
            shown.append(crib.READ)
        shown += [later[id_] for id_ in self._loaded if id_ in later]
        hidden = [tool for id_, tool in later.items() if id_ not in self._loaded]
        view = self.project(
            shown,
            self.dialect(dialect),
            strict=strict,
            hidden=hidden,
            listed=tuple(later.values()),
        )
        self._views[dialect, strict] = (key, view)
        return view

    def single(self, name: str) -> tuple[View, str | None, str]:
        """Return a view of one tool, by id or wire name, its id, and its wire name.

        Schemas and audience are left aside. An app that calls a tool by its name pays
        for that tool, not for the catalog.
        """
        key = (self._session.toolbox.catalog, self.state(), self._stored)
        if key != self._singles_key:
            self._singles_key = key
            self._singles.clear()
        found = self._singles.get(name)
        if found is None:
            if len(self._singles) >= _KEPT:
                self._singles.clear()
            tool = self._found(name)
            id_ = None if tool is None else tool.id
            wire = name if id_ is None else names.wire_name(id_)
            found = self._singles[name] = (self._direct(tool), id_, wire)
        return found

    def _direct(self, tool: Tool | None) -> View:
        tools = () if tool is None else (tool,)
        return View(
            conversation=self._session.conversation,
            direct=True,
            tools={tool.id: tool for tool in tools},
            speak=partial(self.dialect, "mcp"),
            project=lambda dialect: self._projected(tools, dialect, strict=False),
        )

    def _found(self, name: str) -> Tool | None:
        for own in crib.TOOLS:
            if name in {own.id, names.wire_name(own.id)}:
                return own if own is not crib.SEARCH or self.searchable else None
        entry = self._session.toolbox.catalog.find(name)
        if isinstance(entry, Refusal) or not self.may(entry.tool):
            return None
        return entry.tool

    def dialect(self, name: str) -> Dialect:
        """Return a dialect of the core, or of a pack that policy names as projector."""
        # Not loaded for those who call by name.
        from toolcrib import projection  # noqa: PLC0415
        from toolcrib.projection.dialects import CORE  # noqa: PLC0415

        if name in CORE:
            return projection.dialect(name)
        projectors = self._session.toolbox.projectors
        return projection.dialect(name, projection.spoken_by(name, projectors))

    def project(
        self,
        tools: Sequence[Tool],
        dialect: Dialect,
        *,
        strict: bool,
        hidden: Sequence[Tool] = (),
        listed: Sequence[Tool] = (),
    ) -> View:
        """Project some tools."""
        projected = self._projected(tools, dialect, strict=strict)
        return View(
            conversation=self._session.conversation,
            strict=strict,
            tools={tool.id: tool for tool in tools},
            hidden={tool.id: tool for tool in hidden},
            listing=listing(listed),
            speak=lambda: dialect,
            project=lambda _: projected,
        )

    def _projected(self, tools: Sequence[Tool], dialect: Dialect, *, strict: bool) -> Projected:
        from toolcrib.projection import project  # noqa: PLC0415 - as above

        toolbox = self._session.toolbox
        return project(
            tuple(tools),
            dialect,
            strict=strict,
            cache=toolbox.projections,
            projectors=toolbox.projectors,
        )

    @property
    def ids(self) -> list[str]:
        """Ids of the tools that a model may use now; deferred ones too."""
        return [tool.id for tool in self._offer(Audience.MODEL).tools]

    # -- from a call back to a tool ------------------------------------------------------

    def tool_of(self, view: View, call: Call) -> Tool | Refusal:
        """Return the tool that a call names, as the view showed it, or why not."""
        tool = view.tools.get(call.tool_id) if call.tool_id is not None else None
        if tool is None:
            from .unfound import not_shown  # noqa: PLC0415 - most calls have a tool

            return not_shown(self._session, view, call)
        if tool.pack == crib.PACK:
            return tool
        entry = self._session.toolbox.catalog.tools.get(tool.id)
        if entry is None or not self.may(tool):
            from .unfound import withdrawn  # noqa: PLC0415 - as above

            return withdrawn(self._session, tool)
        if entry.tool is not tool and entry.tool.definition_digest != tool.definition_digest:
            text = f"{tool.id} changed since it was shown. Nothing ran. Look at it again."
            return refuse("answer.stale", tool.id, text)
        return tool
