"""What a pack has to offer for its tools to be called: an activated pack, or the core's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol


if TYPE_CHECKING:
    from toolcrib.context import PackHost
    from toolcrib.implementation import Implementation
    from toolcrib.signature import Signature
    from toolcrib.tool import Tool


__all__ = ["RunnablePack"]


class RunnablePack(Protocol):
    """The part of an activated pack that calls need."""

    @property
    def id(self) -> str:
        """The pack's id."""

    @property
    def implementations(self) -> Mapping[str, Implementation]:
        """Tool id → implementation."""

    def has(self, hook: str) -> bool:
        """Tell whether the pack answers a hook."""

    @property
    def host(self) -> PackHost | None:
        """What the pack was given; None for the core's own."""

    async def signature(
        self, tool: Tool, arguments: Mapping[str, Any], host: PackHost | None = None
    ) -> Signature | None:
        """Return what a call touches; None if the pack does not say.

        Raises:
            ToolFailure: the call cannot do its work.
        """

    async def retry(self, tool: Tool, failure: BaseException, attempt: int) -> bool | float:
        """Return whether to try a failed call again."""

    async def companion(
        self,
        implementation: Implementation,
        name: str,
        arguments: Mapping[str, Any],
        *leading: Any,
        host: PackHost | None = None,
    ) -> Any:
        """Call a companion function of a tool."""

    async def verify(self, tool_id: str, name: str, function: Callable[[], Any]) -> None:
        """Call a check of a tool; ``TimeoutError`` says that it was late."""
