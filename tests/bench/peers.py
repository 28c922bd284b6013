"""What the same work costs with other frameworks, each through its own documented path.

``python peers.py PEER ROW`` runs in an environment that holds the peer, and prints the
least seconds as JSON, or null where the peer has no such path.
"""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import time

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from material import ARGUMENTS, WRONG, least, timed


Call = Callable[[str, Any], Awaitable[object]]

# What an app imports first. The package of langchain-core itself holds nothing.
IMPORTS = {
    "pydantic-ai": "import pydantic_ai",
    "fastmcp": "import fastmcp",
    "mcp": "import mcp",
    "langchain-core": "from langchain_core.tools import StructuredTool",
    "llm": "import llm",
}
NAMES = {
    "pydantic-ai": "from pydantic_ai import Agent, FunctionToolset",
    "fastmcp": "from fastmcp import FastMCP",
    "mcp": "from mcp.server import MCPServer",
    "langchain-core": "from langchain_core.tools import StructuredTool",
    "llm": "from llm import Tool, Toolbox",
}
REQUIREMENTS = ("pydantic-ai-slim", "fastmcp", "mcp", "langchain-core", "llm", "bm25s")


def _functions() -> tuple[Any, Any, Any]:
    from pydantic import Field

    async def forecast(
        city: Annotated[str, Field(min_length=1)],
        tags: list[str],
        days: Annotated[int, Field(ge=1, le=14)] = 3,
        unit: Literal["celsius", "fahrenheit"] = "celsius",
        offset: float = 0.0,
        verbose: bool = False,
    ) -> str:
        """Weather forecast for a town."""
        return "sunny"

    async def slow() -> str:
        """Wait on the loop."""
        await asyncio.sleep(0.01)
        return "done"

    def block() -> str:
        """Wait in a thread."""
        time.sleep(0.01)
        return "done"

    for function in (forecast, slow, block):
        # The annotations are strings of names that exist only here.
        function.__annotations__ = {
            name: eval(text, globals() | {"Field": Field})
            for name, text in function.__annotations__.items()
        }
    return forecast, slow, block


# -- one call ---------------------------------------------------------------------------


async def _pydantic_ai() -> Call:
    from pydantic_ai import FunctionToolset, RunContext
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tool_manager import ToolManager
    from pydantic_ai.usage import RunUsage

    context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), run_step=0)
    manager = await ToolManager(FunctionToolset(list(_functions()))).for_run_step(context)
    numbers = iter(range(10_000_000))

    async def call(name: str, arguments: Any) -> object:
        return await manager.handle_call(ToolCallPart(name, arguments, f"c{next(numbers)}"))

    return call


async def _fastmcp() -> Call:
    from fastmcp import FastMCP

    logging.disable()  # its default is to print each refusal with a traceback
    server = FastMCP("bench")
    for function in _functions():
        server.tool(function)
    return server.call_tool


async def _mcp() -> Call:
    from mcp.server import MCPServer

    logging.disable()
    server = MCPServer("bench")
    for function in _functions():
        server.tool()(function)
    return server.call_tool


async def _langchain() -> Call:
    from langchain_core.tools import StructuredTool

    forecast, slow, block = _functions()
    tools = {
        "forecast": StructuredTool.from_function(coroutine=forecast, name="forecast"),
        "slow": StructuredTool.from_function(coroutine=slow, name="slow"),
        "block": StructuredTool.from_function(func=block, name="block"),
    }

    async def call(name: str, arguments: Any) -> object:
        return await tools[name].ainvoke(arguments)

    return call


CALLS = {
    "pydantic-ai": _pydantic_ai,
    "fastmcp": _fastmcp,
    "mcp": _mcp,
    "langchain-core": _langchain,
}


async def _one(peer: str, arguments: Any, *, fails: bool) -> float:
    call = await CALLS[peer]()

    async def once() -> None:
        try:
            await call("forecast", arguments)
        except Exception as error:
            if not fails:
                raise
            str(error)

    await once()
    best = float("inf")
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(300):
            await once()
        best = min(best, (time.perf_counter() - start) / 300)
    return best


async def _many(peer: str, tool: str) -> float:
    call = await CALLS[peer]()
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        await asyncio.gather(*(call(tool, {}) for _ in range(1_000)))
        best = min(best, time.perf_counter() - start)
    return best


# -- definitions ------------------------------------------------------------------------


def _define(peer: str) -> float:
    forecast = _functions()[0]
    if peer == "pydantic-ai":
        from pydantic_ai import Tool

        work: Callable[[], object] = lambda: [Tool(forecast) for _ in range(1_000)]
    elif peer == "langchain-core":
        from langchain_core.tools import StructuredTool

        def work() -> object:
            return [
                StructuredTool.from_function(coroutine=forecast, name=f"t{n}")
                for n in range(1_000)
            ]
    elif peer == "llm":
        import llm

        work = lambda: [llm.Tool.function(forecast) for _ in range(1_000)]
    elif peer == "mcp":
        from mcp.server import MCPServer

        def work() -> object:
            server = MCPServer("bench")
            return [server.add_tool(forecast, name=f"t{n}") for n in range(1_000)]
    else:
        from fastmcp.tools import Tool as FastTool

        def work() -> object:
            return [FastTool.from_function(forecast, name=f"t{n}") for n in range(1_000)]

    return least(lambda: timed(work), rounds=2)[0]


def _search() -> float:
    import bm25s

    words = ("read", "write", "find", "send", "list", "update", "delete", "convert")
    things = ("file", "mail", "row", "page", "event", "issue", "image", "folder", "invoice")
    texts = [f"{words[n % 8]} one {things[n % 9]} number {n}" for n in range(10_000)]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    queries = ("send mail", "delete invoice 77", "convert image", "read page 4500")

    def work() -> None:
        for query in queries:
            tokens = bm25s.tokenize(query, show_progress=False)
            index.retrieve(tokens, k=10, show_progress=False)

    return least(lambda: timed(work, 4))[0]


# -- whole processes --------------------------------------------------------------------


def _process(code: str) -> float:
    command = [sys.executable, "-c", code]
    return least(lambda: timed(lambda: subprocess.run(command, check=True)), rounds=7)[0]


def _first_call(peer: str) -> float:
    folder = str(__import__("pathlib").Path(__file__).parent)
    return _process(
        f"import sys; sys.path.insert(0, {folder!r}); import asyncio, peers; "
        f"asyncio.run(peers.first({peer!r}))"
    )


async def first(peer: str) -> None:
    """Define and call once, in a process that has not."""
    await (await CALLS[peer]())("forecast", ARGUMENTS)


def measure(peer: str, row: str) -> float | None:
    """Measure one row of one peer."""
    if row == "cold-import":
        return _process(IMPORTS[peer]) if peer in IMPORTS else None
    if row in {"define", "define-with-schemas"}:
        return _define(peer) if peer != "bm25s" else None
    if row == "search":
        return _search() if peer == "bm25s" else None
    if row == "named-imports":
        return _process(NAMES[peer]) if peer in NAMES else None
    if peer not in CALLS:
        return None
    if row == "first-call":
        return _first_call(peer)
    if row == "call-memory":
        return asyncio.run(_one(peer, ARGUMENTS, fails=False))
    if row == "refused-call":
        return asyncio.run(_one(peer, WRONG, fails=True))
    if row == "thousand-async":
        return asyncio.run(_many(peer, "slow"))
    if row == "thousand-sync":
        return asyncio.run(_many(peer, "block"))
    return None


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2])))
