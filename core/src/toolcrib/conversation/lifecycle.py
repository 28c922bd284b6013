"""What tools contribute beside their calls: prompt rules, text, fragments, delivery.

Every function is bounded: it has a deadline, what it gives has a size, and it is asked
only for tools that the session may use and that are active now. One that raises, hangs
or gives what it should not is left out; the news and the doctor say so, and nothing else
is touched. What is kept carries the id of the tool that gave it.
"""

from __future__ import annotations

import asyncio
import math

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from toolcrib.activation.activepack import ActivePack
from toolcrib.activation.offloop import Late
from toolcrib.errors import ToolFailure
from toolcrib.events import Event


if TYPE_CHECKING:
    from toolcrib.outcome import Outcome
    from toolcrib.tool import Tool

    from .contributions import Fragment, PromptRule, VisibleText
    from .session import Session


__all__ = ["Lifecycle"]

_LONGEST = 4_000
_EACH = 64
_TOTAL = 40_000
_DELIVERIES = 256
# A function that was late this often is not asked again by this session: each time
# would cost its whole deadline.
_PATIENCE = 2
_NOTHING = object()


class Lifecycle:
    """The contributions of the tools of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._late: dict[tuple[str, str], int] = {}
        self._waiting: deque[tuple[Tool, Outcome]] = deque()
        self._delivering: asyncio.Task[None] | None = None

    # -- what the app asks for --------------------------------------------------------

    async def rules(self) -> tuple[PromptRule, ...]:
        """Return the rules of the active tools, by order, then by tool."""
        from .contributions import PromptRule  # noqa: PLC0415 - for those who ask

        found = [
            PromptRule(order, text, tool.id)
            for tool, values in await self._gathered("rules")
            for order, text in self._read(tool, "rules", values, 2)
        ]
        return self._fitting("rules", found)

    async def context(self) -> tuple[Fragment, ...]:
        """Return the fragments of the active tools, by order, then by tool."""
        from .contributions import Fragment  # noqa: PLC0415 - for those who ask

        found = [
            Fragment(order, text, placement, tool.id)
            for tool, values in await self._gathered("context")
            for order, text, placement in self._read(tool, "context", values, 3)
        ]
        return self._fitting("context", found)

    async def visible_text(
        self, text: str, *, tools: Collection[str] | None = None
    ) -> VisibleText:
        """Pass a text through the tools that shape it, in the order of their ids.

        Args:
            text: What would be shown.
            tools: Ids of the only tools that may shape it; all active ones by default.
        """
        from .contributions import VisibleText  # noqa: PLC0415 - for those who ask

        changed = []
        for tool in await self._active("visible_text"):
            if tools is not None and tool.id not in tools:
                continue
            shaped = await self._ask(tool, "visible_text", text, self._session.app)
            if shaped is _NOTHING or shaped == text:
                continue
            if not isinstance(shaped, str):
                self._failed(tool, "visible_text", f"gave a {type(shaped).__name__}, no text")
            elif len(shaped) > 2 * len(text) + _LONGEST:
                self._failed(tool, "visible_text", f"made {len(text)} into {len(shaped)}")
            else:
                text = shaped
                changed.append(tool.id)
        return VisibleText(text, tuple(changed))

    # -- delivery ----------------------------------------------------------------------

    def deliver(self, tool: Tool, outcome: Outcome) -> None:
        """Hand an outcome to the tool's ``deliver``, soon and in order; never waits."""
        if "deliver" not in tool.companions:
            return
        if len(self._waiting) >= _DELIVERIES:
            self._failed(tool, "deliver", "is too slow: an outcome was not delivered")
            return
        self._waiting.append((tool, outcome))
        if self._delivering is None or self._delivering.done():
            self._delivering = asyncio.get_running_loop().create_task(self._drain())

    async def delivered(self) -> None:
        """Wait until everything has been delivered."""
        if self._delivering is not None:
            await asyncio.wait({self._delivering})

    async def close(self, timeout: float = 10.0) -> None:
        """Deliver what waits, for a while, and stop."""
        if self._delivering is None:
            return
        await asyncio.wait({self._delivering}, timeout=timeout)
        if not self._delivering.done():
            self._delivering.cancel()
            await asyncio.wait({self._delivering})

    async def _drain(self) -> None:
        while self._waiting:
            tool, outcome = self._waiting.popleft()
            await self._ask(tool, "deliver", outcome, self._session.app)

    # -- asking ------------------------------------------------------------------------

    async def is_active(self, tool: Tool) -> bool:
        """Ask a tool's ``active`` function; it is availability, not authorisation."""
        if "active" not in tool.companions:
            return True
        answer = await self._ask(tool, "active", self._session.app)
        return answer is not _NOTHING and bool(answer)

    async def _active(self, function: str) -> list[Tool]:
        tools = self._session.shown.usable(function)
        active = await asyncio.gather(*map(self.is_active, tools))
        return [tool for tool, there in zip(tools, active, strict=True) if there]

    async def _gathered(self, function: str) -> list[tuple[Tool, Any]]:
        tools = await self._active(function)
        app = self._session.app
        # Side by side, so that several that hang cost one deadline.
        answers = await asyncio.gather(*(self._ask(t, function, app) for t in tools))
        pairs = zip(tools, answers, strict=True)
        return [(tool, answer) for tool, answer in pairs if answer is not _NOTHING]

    async def _ask(self, tool: Tool, function: str, *values: Any) -> Any:
        """Call one function of a tool; whatever goes wrong comes out as nothing."""
        key = (tool.id, function)
        if self._late.get(key, 0) >= _PATIENCE:
            return _NOTHING
        toolbox = self._session.toolbox
        pack = await toolbox.activate_for(tool)
        if not isinstance(pack, ActivePack):
            return _NOTHING
        implementation = pack.implementations.get(tool.id)
        if implementation is None:
            return _NOTHING
        try:
            answer = await pack.companion(implementation, function, {}, *values)
            if isinstance(answer, Iterator):
                answer = list(answer)
        except ToolFailure as failure:
            if isinstance(failure.__cause__, Late):
                self._late[key] = self._late.get(key, 0) + 1
            self._failed(tool, function, failure.text)
            return _NOTHING
        except Exception as error:  # noqa: BLE001 - a generator of the pack's may raise anything
            self._failed(tool, function, f"{type(error).__name__}: {error}")
            return _NOTHING
        self._late.pop(key, None)
        toolbox.health.worked(*key)
        return answer

    def _read(self, tool: Tool, function: str, values: Any, size: int) -> Iterator[Any]:
        """Give the well-formed items of an answer; the others are left out and named."""
        if values is None:
            return
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            self._failed(tool, function, f"gave a {type(values).__name__}, no list")
            return
        for number, item in enumerate(values):
            if number >= _EACH:
                self._failed(tool, function, f"gave more than {_EACH} items")
                return
            if _is_item(item, size):
                yield item
            else:
                form = "(order, text)" if size == 2 else "(order, text, placement)"
                self._failed(tool, function, f"item {number} is not {form}, or too long")

    def _fitting(self, function: str, found: list[Any]) -> tuple[Any, ...]:
        """Put contributions in order, and keep as many as there is room for."""
        room = _TOTAL
        kept: list[Any] = []
        for item in sorted(found, key=lambda each: (each.order, each.tool_id)):
            room -= len(item.text)
            if room < 0:
                text = f"{len(found) - len(kept)} contributions found no room"
                self._tell(item.tool_id, function, text)
                break
            kept.append(item)
        return tuple(kept)

    def _failed(self, tool: Tool, function: str, problem: str) -> None:
        self._tell(tool.id, function, problem)

    def _tell(self, tool_id: str, function: str, problem: str) -> None:
        session, toolbox = self._session, self._session.toolbox
        now = toolbox.clock.time()
        toolbox.health.failed(tool_id, function, problem, now)
        event = Event(
            name="lifecycle.failed",
            conversation=session.conversation,
            tool_id=tool_id,
            time=now,
            data={"function": function, "problem": problem[:_LONGEST]},
        )
        toolbox.tell(event, key=f"{session.conversation} {function} {tool_id}")


def _is_item(item: Any, size: int) -> bool:
    if not isinstance(item, tuple | list) or len(item) != size:
        return False
    order, *texts = item
    if isinstance(order, bool) or not isinstance(order, int | float):
        return False
    return math.isfinite(order) and all(
        isinstance(text, str) and len(text) <= _LONGEST for text in texts
    )
