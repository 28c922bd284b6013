"""What is measured of the core."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import gc
import hashlib
import importlib.metadata
import inspect
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import typing

from collections.abc import Callable
from pathlib import Path
from typing import Any

import material

from material import ARGUMENTS, PACK, SCHEMA, WRONG, least, timed
from measuring import main, row


# -- starting -------------------------------------------------------------------------


def process(code: str, path: Path | None = None) -> Callable[[], float]:
    """Time a whole process that runs some code."""
    environment = dict(os.environ)
    # As for a user: modules are compiled once, whatever this shell says of it.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "toolcrib-bench-pyc")
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    command = [sys.executable, "-c", code]
    return lambda: timed(lambda: subprocess.run(command, check=True, env=environment))


@row
def cold_import(_: Path) -> list[float]:
    """``import toolcrib``, against a process that does nothing."""
    return least(process("import toolcrib"), process("pass"), rounds=15)


@row
def named_imports(_: Path) -> list[float]:
    """The names that an app begins with, against the libraries that they stand on."""
    ours = process("from toolcrib import Pack, Policy, Toolbox")
    return least(ours, process("import asyncio, attrs, fastjsonschema, pluggy"), rounds=15)


FIRST_CALL = """
import asyncio
from toolcrib import Policy, Toolbox


async def main():
    async with Toolbox(Policy(packs=["pack-0"])) as box, box.session() as session:
        outcome = await session.call("p0.forecast", {arguments})
    assert outcome.ok, outcome


asyncio.run(main())
"""


@row
def first_call(folder: Path) -> list[float]:
    """Import, compose and call, with a thousand tools in a hundred packs installed."""
    for number in range(100):
        code = PACK.format(pack=f"p{number}", tools=10)
        material.install(folder, f"pack-{number}", pack=f"p{number}", tools=10, code=code)
    ours = process(FIRST_CALL.format(arguments=ARGUMENTS), folder)
    return least(ours, process("import asyncio, fastjsonschema", folder), rounds=15)


# -- defining and composing -----------------------------------------------------------


def _handlers(count: int) -> list[Any]:
    """As many functions of their own."""
    names: dict[str, Any] = {}
    exec(PACK.format(pack="p", tools=1), names)
    made = names["pack"].implementations()[0].handler
    copies = []
    for _ in range(count):
        copy = type(made)(made.__code__, made.__globals__, made.__name__, made.__defaults__)
        copy.__annotations__ = dict(made.__annotations__)
        copy.__doc__ = made.__doc__
        copies.append(copy)
    return copies


def _define(handlers: list[Any]) -> Any:
    from toolcrib import Pack

    pack = Pack("p")
    for number, handler in enumerate(handlers):
        pack.tool(name=f"tool{number}", effects=[])(handler)
    return pack


def _introspect(handlers: list[Any]) -> None:
    for handler in handlers:
        inspect.signature(handler)
        typing.get_type_hints(handler, include_extras=True)


@row
def define(_: Path) -> list[float]:
    """A thousand tools from typed functions, schemas not asked for."""
    handlers = _handlers(1_000)
    return least(
        lambda: timed(lambda: _define(handlers)), lambda: timed(lambda: _introspect(handlers))
    )


@row
def define_with_schemas(_: Path) -> list[float]:
    """The same, all schemas asked for."""
    handlers = _handlers(1_000)
    ours = lambda: timed(lambda: _define(handlers).tools())
    return least(ours, lambda: timed(lambda: _introspect(handlers)))


@row
def define_ten_thousand(_: Path) -> list[float]:
    """Ten thousand with schemas, a tool; the floor is a tool of a thousand."""
    many, few = _handlers(10_000), _handlers(1_000)
    return least(
        lambda: timed(lambda: _define(many).tools(), 10_000),
        lambda: timed(lambda: _define(few).tools(), 1_000),
        rounds=3,
    )


@row
def compose(folder: Path) -> list[float]:
    """A thousand tools from ten manifests; the floor parses them."""
    from toolcrib import Policy, Registry

    for number in range(10):
        material.install(folder, f"pack-{number}", pack=f"p{number}", tools=100)
    texts = [file.read_bytes() for file in folder.glob("*/toolcrib.json")]
    policy = Policy(packs=[f"pack-{number}" for number in range(10)])

    def ours() -> float:
        registry = Registry.discover(path=[str(folder)])
        return timed(lambda: _thousand(registry.compose(policy)))

    return least(ours, lambda: timed(lambda: [json.loads(text) for text in texts]))


def _thousand(catalog: Any) -> None:
    assert len(catalog) == 1_000, catalog.refusals


@row
def discover(folder: Path) -> list[float]:
    """A thousand distributions, ten of them packs; the floor opens what it must."""
    for number in range(990):
        material.stranger(folder, f"stranger-{number}", script=number % 3 == 0)
    for number in range(10):
        material.install(folder, f"pack-{number}", pack=f"p{number}", tools=1)
    code = (
        f"import sys, time; sys.path.insert(0, {str(Path(__file__).parent)!r}); import rows; "
        f"print(rows.discovery_once({str(folder)!r}, sys.argv[1]))"
    )

    def fresh(how: str) -> float:
        # A process each: all three keep what they have read.
        command = [sys.executable, "-c", code, how]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    return least(*(functools.partial(fresh, how) for how in ("ours", "floor", "peer")))


def discovery_once(folder: str, how: str) -> float:
    """Discover once, in a process that has not."""
    from toolcrib import Registry

    def peer() -> int:
        context = importlib.metadata.DistributionFinder.Context(path=[folder])
        found = importlib.metadata.MetadataPathFinder.find_distributions(context)
        return sum(p.group == "toolcrib.packs.v1" for d in found for p in d.entry_points)

    def floor() -> int:
        count = 0
        for entry in os.scandir(folder):
            if entry.name.endswith(".dist-info"):
                with contextlib.suppress(FileNotFoundError):
                    with open(entry.path + "/entry_points.txt", "rb") as file:
                        count += b"[toolcrib.packs.v1]" in file.read()
        return count

    def ours() -> int:
        return len(Registry.discover(path=[folder]).findings.claims)

    work = {"ours": ours, "floor": floor, "peer": peer}[how]
    start = time.perf_counter()
    assert work() == 10
    return time.perf_counter() - start


# -- showing ----------------------------------------------------------------------------


def _tools(count: int) -> Any:
    from toolcrib import Description, Tool

    words = ("read", "write", "find", "send", "list", "update", "delete", "convert")
    things = ("file", "mail", "row", "page", "event", "issue", "image", "folder", "invoice")
    return tuple(
        Tool(
            id=f"pack{n // 50}.{words[n % 8]}_{things[n % 9]}_{n}",
            title=f"{words[n % 8]} {things[n % 9]}",
            description=Description(f"{words[n % 8].title()} one {things[n % 9]} number {n}."),
            input_schema=SCHEMA,
        )
        for n in range(count)
    )


@row
def project_first(_: Path) -> list[float]:
    """A thousand tools into the strict form of OpenAI; the floor builds plain dicts."""
    from toolcrib import projection

    dialect = _unlimited(projection.dialect("openai"))

    def ours() -> float:
        tools = _tools(1_000)
        done = []
        # What making the tools left to collect is no part of it.
        gc.collect()
        took = timed(lambda: done.append(projection.project(tools, dialect, strict=True)))
        assert len(done[0].declarations) == 1_000
        return took

    tools = _tools(1_000)
    return least(ours, lambda: timed(lambda: [_plain(tool) for tool in tools]), rounds=5)


def _plain(tool: Any) -> dict[str, Any]:
    function = {
        "name": tool.id.replace(".", "_"),
        "description": tool.description.summary,
        "parameters": dict(tool.input_schema),
    }
    return {"type": "function", "function": function}


def _unlimited(dialect: Any) -> Any:
    """The dialect without the provider's limits of one request, which are below a thousand."""
    import attrs

    from toolcrib.projection.facts import RequestLimits

    return attrs.evolve(dialect, limits=RequestLimits())


@row
def project_again(_: Path) -> list[float]:
    """The same again, unchanged; the floor is a list of a tuple."""
    from toolcrib import projection

    tools, cache = _tools(1_000), projection.ProjectionCache()
    dialect = _unlimited(projection.dialect("openai"))
    projection.project(tools, dialect, strict=True, cache=cache)

    def ours() -> None:
        for _ in range(1_000):
            projection.project(tools, dialect, strict=True, cache=cache)

    return least(lambda: timed(ours, 1_000), lambda: timed(lambda: list(tools)))


# -- calling ----------------------------------------------------------------------------


@row
def validate(_: Path) -> list[float]:
    """Six arguments against their schema; the floor is the library that decides."""
    import fastjsonschema

    from toolcrib.schema import normalize
    from toolcrib.validator import Validators

    ours = Validators().get(normalize(SCHEMA)).check
    floor = fastjsonschema.compile(SCHEMA, use_default=False)
    assert ours(ARGUMENTS) == ()
    assert ours(WRONG)

    def many(check: Callable[[Any], Any]) -> Callable[[], float]:
        def run() -> None:
            for _ in range(10_000):
                check(ARGUMENTS)

        return lambda: timed(run, 10_000)

    return least(many(ours), many(floor))


def _pack(tools: int = 1) -> Any:
    names: dict[str, Any] = {}
    exec(PACK.format(pack="p", tools=tools), names)
    return names["pack"]


def _floor_call(arguments: Any) -> Callable[[], float]:
    """Find, validate with the library alone, call."""
    import fastjsonschema

    check = fastjsonschema.compile(SCHEMA, use_default=False)

    async def forecast(ctx: object, city: str, **rest: Any) -> str:
        return "sunny"

    tools = {"p.forecast": (check, forecast)}

    async def run() -> float:
        start = time.perf_counter()
        for _ in range(2_000):
            check_it, handler = tools["p.forecast"]
            try:
                check_it(arguments)
            except fastjsonschema.JsonSchemaValueException as error:
                str(error)
            else:
                await handler(None, **arguments)
        return (time.perf_counter() - start) / 2_000

    return lambda: asyncio.run(run())


def _ours(
    policy: Any, arguments: Any, status: str, *, count: int = 500, tool: str = "p.forecast"
) -> float:
    """Call one tool many times in one session, and give the least batch's share of a call."""
    from toolcrib import Toolbox

    async def run() -> float:
        best = float("inf")
        async with Toolbox(policy) as box, box.session("bench") as session:
            outcome = await session.call(tool, arguments)
            assert outcome.status == status, outcome
            for _ in range(7):
                gc.collect()
                start = time.perf_counter()
                for _ in range(count):
                    await session.call(tool, arguments)
                best = min(best, (time.perf_counter() - start) / count)
        return best

    return asyncio.run(run())


def _with_floor(ours: Callable[[], float], floor: Callable[[], float]) -> list[float]:
    return least(ours, floor, rounds=3)


@row
def call_memory(_: Path) -> list[float]:
    """One async call through all stages, the ledger in memory."""
    from toolcrib import Policy

    policy = Policy(local=[_pack()])
    return _with_floor(lambda: _ours(policy, ARGUMENTS, "ok"), _floor_call(ARGUMENTS))


@row
def call_durable(folder: Path) -> list[float]:
    """The same with the durable ledger; the floor is two commits."""
    from toolcrib import Policy

    folder.chmod(0o700)
    names = iter(range(1_000))

    def ours() -> float:
        policy = Policy(local=[_pack()], ledger=folder / f"ledger{next(names)}.sqlite")
        return _ours(policy, ARGUMENTS, "ok")

    def floor() -> float:
        connection = sqlite3.connect(folder / "floor.sqlite", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("CREATE TABLE IF NOT EXISTS t (a TEXT)")

        def commits() -> None:
            for _ in range(2_000):
                connection.execute("INSERT INTO t VALUES (?)", ("x" * 200,))

        took = timed(commits, 1_000)
        connection.close()
        return took

    return _with_floor(ours, floor)


@row
def refused_call(_: Path) -> list[float]:
    """One call with two wrong values, its text made; the floor is the library's refusal."""
    from toolcrib import Policy

    policy = Policy(local=[_pack()])
    return _with_floor(lambda: _ours(policy, WRONG, "invalid"), _floor_call(WRONG))


@row
def reply_of_five(_: Path) -> list[float]:
    """A reply with five calls, from JSON to the results in the provider's form, a call."""
    from toolcrib import Policy, Toolbox

    policy = Policy(local=[_pack()])
    function = {"name": "p_forecast", "arguments": json.dumps(ARGUMENTS)}

    def reply(number: int) -> dict[str, Any]:
        calls = [
            {"id": f"c{number}-{n}", "type": "function", "function": function} for n in range(5)
        ]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        return {"id": f"r{number}", "choices": [{"message": message}]}

    async def run() -> float:
        async with Toolbox(policy) as box, box.session("bench") as session:
            view = await session.view("openai")
            replies = [reply(n) for n in range(201)]
            assert len(await session.answer(replies[200], view=view)) == 5
            start = time.perf_counter()
            for each in replies[:200]:
                await session.answer(each, view=view)
            return (time.perf_counter() - start) / 1_000

    return _with_floor(lambda: asyncio.run(run()), _floor_call(ARGUMENTS))


# -- many at once -----------------------------------------------------------------------


def _sleepers() -> Any:
    from toolcrib import Context, Pack

    pack = Pack("p")

    @pack.tool(effects=[])
    async def slow(ctx: Context) -> str:
        """Wait on the loop."""
        await asyncio.sleep(0.01)
        return "done"

    @pack.tool(effects=[])
    def block(ctx: Context) -> str:
        """Wait in a thread."""
        time.sleep(0.01)
        return "done"

    return pack


def _at_once(tool: str, total: int) -> Callable[[], float]:
    from toolcrib import Policy, Toolbox

    limits = {"total": total, "pack": total, "session": total, "queue": 1_000}
    policy = Policy(local=[_sleepers()], limits=limits)

    async def run() -> float:
        best = float("inf")
        async with Toolbox(policy) as box, box.session("bench") as session:
            for _ in range(4):  # the first starts the threads
                start = time.perf_counter()
                outcomes = await asyncio.gather(*(session.call(tool) for _ in range(1_000)))
                best = min(best, time.perf_counter() - start)
                assert all(outcome.ok for outcome in outcomes), outcomes[-1]
        return best

    return lambda: asyncio.run(run())


@row
def thousand_async(_: Path) -> list[float]:
    """A thousand async calls of 10 ms at once; the floor is a thousand sleeps."""

    async def sleeps() -> float:
        start = time.perf_counter()
        await asyncio.gather(*(asyncio.sleep(0.01) for _ in range(1_000)))
        return time.perf_counter() - start

    return _with_floor(_at_once("p.slow", 1_000), lambda: asyncio.run(sleeps()))


@row
def thousand_sync(_: Path) -> list[float]:
    """A thousand sync calls of 10 ms at once; the floor is a warm pool as large."""

    def floor() -> float:
        with concurrent.futures.ThreadPoolExecutor(512) as pool:
            best = float("inf")
            for _ in range(3):
                start = time.perf_counter()
                list(pool.map(time.sleep, [0.01] * 1_000))
                best = min(best, time.perf_counter() - start)
        return best

    return _with_floor(_at_once("p.block", 512), floor)


# -- what must not grow -----------------------------------------------------------------


@row
def search(_: Path) -> list[float]:
    """One query over ten thousand tools; the floor adds up postings."""
    from toolcrib.search import SearchIndex

    tools = _tools(10_000)
    index = SearchIndex(tools)
    queries = ("send mail", "delete invoice 77", "convert image", "read page 4500")
    postings: dict[str, list[tuple[int, float]]] = {}
    for number, tool in enumerate(tools):
        for word in set(tool.description.summary.lower().rstrip(".").split()):
            postings.setdefault(word, []).append((number, 1.0))

    def floor() -> None:
        for query in queries:
            scores: dict[int, float] = {}
            for word in query.split():
                for number, weight in postings.get(word, ()):
                    scores[number] = scores.get(number, 0.0) + weight
            sorted(scores.items(), key=lambda item: -item[1])[:10]

    def ours() -> None:
        for query in queries:
            index.search(query, limit=10)

    return least(lambda: timed(ours, 4), lambda: timed(floor, 4))


@row
def thousand_rules(_: Path) -> list[float]:
    """One call under a thousand rules; the floor is the same under ten."""
    from toolcrib import Policy

    def under(count: int) -> Callable[[], float]:
        rules = [f"deny files.*(path=secret{n}/**)" for n in range(count // 2)]
        rules += [f"allow pack{n}.*(host=*.h{n}.test)" for n in range(count // 2)]
        policy = Policy(local=[_pack()], rules=rules)
        return lambda: _ours(policy, ARGUMENTS, "ok")

    return _with_floor(under(1_000), under(10))


@row
def ten_thousand_grants(folder: Path) -> list[float]:
    """One call of a session with ten thousand standing approvals; the floor has ten."""
    from toolcrib import Grant, Policy, Toolbox
    from toolcrib.record import Ledger

    def beside(count: int) -> Callable[[], float]:
        policy = Policy(local=[_pack()])

        def grant(number: int) -> Grant:
            return Grant(
                id=f"g{number}",
                tool_id=f"other.tool{number % 100}",
                definition_digest="sha256:0",
                arguments_digest=f"sha256:{number}",
                rule=None,
                approver="alice",
                principal="alice",
                conversation="bench",
                scope="project",
                created=0.0,
            )

        async def run() -> float:
            ledger = Ledger.open(None)
            for number in range(count):
                ledger.grant(grant(number), project=str(policy.workspace))
            best = float("inf")
            async with Toolbox(policy, ledger=ledger) as box:
                async with box.session("bench", principal="alice") as session:
                    await session.call("p.forecast", ARGUMENTS)
                    for _ in range(5):
                        start = time.perf_counter()
                        for _ in range(300):
                            await session.call("p.forecast", ARGUMENTS)
                        best = min(best, (time.perf_counter() - start) / 300)
            ledger.close()
            return best

        return lambda: asyncio.run(run())

    return _with_floor(beside(10_000), beside(10))


@row
def ten_thousand_tools(_: Path) -> list[float]:
    """One call in a catalog of ten thousand tools; the floor has ten."""
    from toolcrib import Policy

    def among(count: int) -> Callable[[], float]:
        policy = Policy(local=[_pack(count)])
        return lambda: _ours(policy, ARGUMENTS, "ok", count=200)

    return _with_floor(among(10_000), among(10))


@row
def artifact(folder: Path) -> list[float]:
    """Put a megabyte and get it back; the floor hashes, writes, syncs and reads."""
    from toolcrib.artifacts import ArtifactStore

    store = ArtifactStore(folder / "artifacts")
    space = store.namespace("bench")
    numbers = iter(range(1_000_000))

    def data() -> bytes:
        return next(numbers).to_bytes(8, "big") * (1 << 17)

    def ours() -> float:
        given = data()

        def both() -> None:
            link = space.put(given, media_type="application/octet-stream")
            assert space.get(link.digest) == given

        return timed(both)

    def floor() -> float:
        given = data()
        target = folder / hashlib.sha256(given).hexdigest()

        def both() -> None:
            hashlib.sha256(given).hexdigest()
            with target.open("wb") as file:
                file.write(given)
                file.flush()
                os.fsync(file.fileno())
            assert hashlib.sha256(target.read_bytes()).hexdigest() == target.name

        return timed(both)

    return least(ours, floor, rounds=15)


if __name__ == "__main__":
    main()
