"""The core's own tools: ``crib.search`` finds and loads, ``crib.read`` pages artifacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import Invalid, Unavailable
from .implementation import Companions, Implementation
from .names import wire_name
from .outcome import Result, Text
from .signature import Signature
from .tool import Description, Tool
from .vocabulary import Cancellation, Concurrency, Idempotence, Label


if TYPE_CHECKING:
    from .context import PackHost
    from .host import RunContext


__all__ = ["PACK", "READ", "SEARCH", "TOOLS", "CorePack"]

PACK = "crib"

MOST = 25
_QUERY = "/query"

SEARCH = Tool(
    id="crib.search",
    title="Find tools",
    description=Description(
        summary="Find tools by words and load them, so that they can be called.",
        details=(
            "Some tools are listed by name only. Search for what you want to do, or name "
            "tools with select:a,b. Those found can be called from the next request on."
        ),
    ),
    input_schema={
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": 500,
                "description": "Words for what you want to do, or select:first,second",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST,
                "default": 5,
                "description": "How many tools at most",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    effects=frozenset(),
    idempotent=Idempotence.YES,
    concurrency=Concurrency.SHARED,
    labels=frozenset(),
)

READ = Tool(
    id="crib.read",
    title="Read an artifact",
    description=Description(
        summary="Read a part of a long result that was kept as an artifact.",
    ),
    input_schema={
        "type": "object",
        "properties": {
            "artifact": {
                "type": "string",
                "pattern": "^sha256:[0-9a-f]{64}$",
                "description": "The artifact's digest, as the result gave it",
            },
            "start": {
                "type": "integer",
                "minimum": 0,
                "default": 0,
                "description": "First byte to read",
            },
            "size": {
                "type": "integer",
                "minimum": 1,
                "maximum": 262144,
                "default": 32768,
                "description": "How many bytes at most",
            },
        },
        "required": ["artifact"],
        "additionalProperties": False,
    },
    effects=frozenset(),
    idempotent=Idempotence.YES,
    concurrency=Concurrency.SHARED,
    cancellation=Cancellation.COOPERATIVE,
    # What an artifact holds came from some other tool, so nothing is known of it.
    labels=frozenset({Label.READS_PRIVATE, Label.RETURNS_UNTRUSTED}),
)


async def _search(ctx: RunContext, query: str, limit: int = 5) -> Result:
    shown = ctx._session.shown  # noqa: SLF001 - the core's own pack is part of the façade
    if query.startswith("select:"):
        names = [n.strip() for n in query.removeprefix("select:").split(",") if n.strip()]
        if not 1 <= len(names) <= MOST:
            text = f"name 1 to {MOST} tools, such as select:files_read,files_edit"
            raise Invalid(_QUERY, text)
        found, missing = await shown.named(names)
    else:
        found, missing = await shown.search(query, limit), []
    loaded = shown.load([tool.id for tool in found])
    lines = [f"{wire_name(t.id)}: {t.description.summary}" for t in found]
    pending = ctx._session.toolbox.sources.pending  # noqa: SLF001 - as above
    if pending and (missing or not found):
        text = f"Not read yet: {', '.join(pending)}. Their tools cannot be found now; "
        if not found:
            raise Unavailable(text + "try again in a moment.", code="source.pending")
        lines.append(text + "look for the others again in a moment.")
    if missing:
        lines.append("Not found: " + ", ".join(missing))
    if not found:
        lines.append("No tool matches. Try other words for what you want to do.")
    elif loaded:
        lines.append("They can be called from the next request on.")
    return Result(
        summary=f"{len(found)} tools found" + (f", {len(missing)} not" if missing else ""),
        content=[Text("\n".join(lines))],
        metadata={
            "found": [t.id for t in found],
            "missing": list(missing),
            "loaded": loaded,
            "revision": ctx._session.toolbox.catalog.revision,  # noqa: SLF001 - as above
        },
    )


async def _read(ctx: RunContext, artifact: str, start: int = 0, size: int = 32768) -> Result:
    return await ctx._session.page(artifact, start, size)  # noqa: SLF001 - as above


TOOLS = (READ, SEARCH)


class CorePack:
    """Stands beside the activated packs: the core's own tools need no activation."""

    id = PACK
    finding = None
    host = None

    def __init__(self) -> None:
        self.implementations: Mapping[str, Implementation] = {
            SEARCH.id: Implementation(tool=SEARCH, handler=_search, companions=Companions()),
            READ.id: Implementation(tool=READ, handler=_read, companions=Companions()),
        }

    def has(self, hook: str) -> bool:
        """Tell that it says what its calls touch, and answers no other hook."""
        return hook == "toolcrib_signature"

    async def signature(
        self, tool: Tool, arguments: Mapping[str, Any], host: PackHost | None = None
    ) -> Signature:
        """Return that nothing is touched: artifacts are the conversation's own."""
        return Signature()

    async def retry(self, tool: Tool, failure: BaseException, attempt: int) -> bool | float:
        """Return that the core's own answer holds."""
        return True

    async def companion(
        self,
        implementation: Implementation,
        name: str,
        arguments: Mapping[str, Any],
        *leading: Any,
        host: PackHost | None = None,
    ) -> Any:
        """Return that there is no companion function."""
        return

    async def verify(self, tool_id: str, name: str, function: Callable[[], Any]) -> None:
        """Call a check; the core's own tools have none."""
        function()
