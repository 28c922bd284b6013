"""Packs: tools from functions, the functions beside them, resources, sources and hooks."""

# ruff: noqa: FBT001, FBT002 - handlers of every kind are the material

from __future__ import annotations

import asyncio
import functools

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack

import attrs
import pluggy
import pytest

from toolcrib import hookspecs
from toolcrib.context import Context
from toolcrib.errors import DeclarationError, Invalid
from toolcrib.pack.definition import Pack
from toolcrib.signature import Signature
from toolcrib.tool import Requirements
from toolcrib.typed.constraints import Between
from toolcrib.vocabulary import (
    Audience,
    Cancellation,
    Concurrency,
    Effect,
    Idempotence,
    Label,
)


CTX: Any = object()


@attrs.frozen
class Forecast:
    city: str
    days: int


@pytest.fixture
def pack():
    return Pack("weather")


@pytest.fixture
def forecast(pack):
    @pack.tool(effects={"net_read"}, idempotent="yes")
    async def forecast(
        ctx, city: Annotated[str, "Town"], days: Annotated[int, Between(1, 14)] = 3
    ) -> Forecast:
        """Weather forecast for a town.

        It is a guess.
        """
        return Forecast(city, days)

    return forecast


def registered(pack):
    """Register a pack as the core does, and return the names of its hooks."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(pack)
    manager.check_pending()
    return manager, [caller.name for caller in manager.get_hookcallers(pack) or ()]


def test_tool_from_function(forecast):
    """A typed function says all that the contract needs."""
    tool = forecast.tool
    assert tool.id == "weather.forecast"
    assert tool.title == "Forecast"
    assert tool.description.summary == "Weather forecast for a town."
    assert tool.description.details == "It is a guess."
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Town"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert tool.output_schema["required"] == ["city", "days"]
    assert tool.effects == {Effect.NET_READ}
    assert tool.idempotent is Idempotence.YES


def test_widest_defaults(pack):
    """Who says nothing may do everything, alone, and never again."""

    @pack.tool
    def wipe_all(ctx) -> None:
        """Wipe."""

    tool = wipe_all.tool
    assert tool.title == "Wipe all"
    assert tool.effects == frozenset(Effect)
    assert tool.labels == frozenset(Label)
    assert tool.concurrency is Concurrency.EXCLUSIVE
    assert tool.idempotent is Idempotence.NO
    assert tool.audience == {Audience.MODEL}


def test_cancellation_comes_from_the_function(pack):
    """Async is interrupted, sync runs in a thread, also behind wrappers."""

    async def slow(ctx, x: int) -> None: ...
    def quick(ctx, x: int) -> None: ...

    class Callable:
        async def __call__(self, ctx, x: int) -> None: ...

    found = [
        pack.tool(name="a")(slow),
        pack.tool(name="b")(quick),
        pack.tool(name="c")(functools.partial(slow)),
        pack.tool(name="d")(Callable()),
        pack.tool(name="e", cancellation="process")(slow),
    ]
    assert [each.tool.cancellation for each in found] == [
        Cancellation.COOPERATIVE,
        Cancellation.THREAD,
        Cancellation.COOPERATIVE,
        Cancellation.COOPERATIVE,
        Cancellation.PROCESS,
    ]
    assert all(list(each.tool.input_schema["properties"]) == ["x"] for each in found)


def test_wrapped_handler(pack):
    """A handler behind a decorator keeps its own parameters."""

    def decorated(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            return function(*args, **kwargs)

        return run

    @pack.tool
    @decorated
    def f(ctx, path: Path) -> None:
        """F."""

    assert f.tool.input_schema["properties"] == {"path": {"type": "string", "format": "path"}}


def test_pack_defaults():
    """A pack's word holds where its tool says nothing; requirements add up."""
    pack = Pack(
        "files",
        effects={"fs_read"},
        category="files",
        requires=Requirements(executables={"git"}),
    )

    @pack.tool
    def read(ctx) -> str:
        """Read."""
        return ""

    @pack.tool(effects={"fs_write"}, requires=Requirements(flags={"write"}))
    def write(ctx) -> str:
        """Write."""
        return ""

    assert read.tool.effects == {Effect.FS_READ}
    assert write.tool.effects == {Effect.FS_WRITE}
    assert write.tool.category == "files"
    assert write.tool.requires == Requirements(executables={"git"}, flags={"write"})


def test_every_problem_of_a_declaration_at_once(pack):
    """One error names tool, field and remedy of each problem."""
    with pytest.raises(DeclarationError) as raised:

        @pack.tool(
            effects={"net_raed"},
            labels="sends_out",
            timeout=-1,
            idempotant="yes",
            directives=["stop"],
            examples=[{"city": "Bonn"}],
        )
        def Bad(ctx, /, x: int, *rest: int, **more: int) -> None: ...  # noqa: N802

    problems = raised.value.problems
    assert all(problem.startswith("weather.Bad: ") for problem in problems)
    text = str(raised.value)
    for words in (
        "effects: 'net_raed' is not known; did you mean 'net_read'?",
        "labels: 'sends_out' is one word; write a set",
        "timeout: -1 is not a number of seconds",
        "did you mean 'idempotent'?",
        "directives: 'stop' is not known",
        "examples:",
        "name: 'Bad' is outside the grammar",
        "'*rest'",
        "'**more'",
    ):
        assert words in text
    assert len(problems) == 9


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (lambda: None, "takes no context"),
        (lambda ctx, x, /: None, "positional-only"),
        (lambda self, ctx: None, "is a method"),
        (lambda x: None, r"weather\.f: .* parameter 'x' comes first, where the context"),
    ],
)
def test_handlers_out_of_form(pack, handler, words):
    """A handler that could not be called by name is refused when it is declared."""
    with pytest.raises(DeclarationError, match=words):
        pack.tool(name="f")(handler)


def test_a_context_is_told_by_name_or_annotation(pack):
    """Whatever it is called, a parameter that is annotated with Context is one."""

    def f(c: Context, x: int) -> int:
        return x

    def g(_, x: int) -> int:
        return x

    assert list(pack.tool(f).tool.input_schema["properties"]) == ["x"]
    assert list(pack.tool(g).tool.input_schema["properties"]) == ["x"]


def test_generator_handlers(pack):
    """A handler gives one value; a generator would never run."""

    async def f(ctx):
        yield 1

    with pytest.raises(DeclarationError, match="is a generator"):
        pack.tool(f)


def test_pack_id_is_checked():
    """A pack's problems come at once, too."""
    with pytest.raises(DeclarationError) as raised:
        Pack("My_Pack", effects={"x"}, name="y")
    assert len(raised.value.problems) == 3


def test_a_name_twice(pack, forecast):
    """Two functions of one name are refused; another name helps."""
    with pytest.raises(DeclarationError, match="declares it twice"):
        pack.tool(name="forecast")(lambda ctx: None)


def test_problems_of_all_tools_at_once(pack):
    """Asking for the tools names every parameter of every tool that is wrong."""

    @pack.tool
    def one(ctx, a: complex) -> None: ...
    @pack.tool
    def two(ctx, b: Nowhere) -> complex: ...  # noqa: F821

    with pytest.raises(DeclarationError) as raised:
        pack.tools()
    assert len(raised.value.problems) == 3
    with pytest.raises(DeclarationError, match=r"parameter 'b'.*Nowhere") as raised:
        two.tool  # noqa: B018
    assert "parameter 'return'" in str(raised.value)


def test_types_of_the_enclosing_function(pack):
    """A type defined in the function around the tool is found by its name."""

    @attrs.frozen
    class Order:
        count: int

    @pack.tool
    def order(ctx, order: Order) -> Order:
        """Order."""
        return order

    implementation = order.implementation
    assert implementation.structure({"order": {"count": 1}}) == {"order": Order(1)}
    assert implementation.unstructure(Order(2)) == {"count": 2}


def test_call_skips_the_stages(forecast, pack):
    """``call`` runs the handler alone, sync or async."""

    @pack.tool
    def double(ctx, x: int) -> int:
        """Double."""
        return 2 * x

    assert asyncio.run(forecast.call(CTX, city="Bonn")) == Forecast("Bonn", 3)
    assert asyncio.run(double.call(CTX, x=2)) == 4


def test_companions_share_the_typed_parameters(pack):
    """A companion gets the handler's typed values, and only those that it takes."""
    seen = {}

    @pack.tool
    def copy(ctx, source: Path, target: Path, force: bool = False) -> None:
        """Copy."""

    @copy.signature
    def _(target: Path) -> Signature:
        seen["signature"] = target
        return Signature(effects={"fs_write"})

    @copy.preview
    async def _(source: Path, **rest: Any) -> str:
        return f"{source!r} {sorted(rest)}"

    @copy.resolve
    def _(stage_id: str, force: bool) -> tuple[str, bool]:
        return stage_id, force

    @copy.active
    def _(app: Any) -> bool:
        return app == "on"

    ready = copy.implementation.companions
    arguments = {"source": "a", "target": "b", "force": True}
    assert ready.signature(**arguments) == Signature(effects={"fs_write"})
    assert seen == {"signature": Path("b")}
    assert asyncio.run(ready.preview(**arguments)) == f"{Path('a')!r} ['force', 'target']"
    assert ready.resolve("s1", **arguments) == ("s1", True)
    assert ready.active("on")
    assert ready.names() == {"signature", "preview", "resolve", "active"}
    assert copy.tool.companions == ready.names()


def test_companion_with_a_foreign_parameter(forecast):
    """A companion that takes what the tool has not is refused; both are named."""

    def show(town: str) -> str:
        return town

    with pytest.raises(DeclarationError) as raised:
        forecast.preview(show)
    text = str(raised.value)
    assert "takes 'town'" in text
    assert "show" in text
    assert "forecast.<locals>.forecast" in text
    assert "city, days" in text


@pytest.mark.parametrize(
    ("kind", "function", "words"),
    [
        ("resolve", lambda: None, "stage_id"),
        ("signature", lambda city, /: None, "by position only"),
        ("active", lambda: None, r"callable with \(app\)"),
        ("visible_text", lambda text: None, r"callable with \(text, app\)"),
        ("check_output", lambda a, b: None, r"callable with \(value\)"),
    ],
)
def test_companions_out_of_form(forecast, kind, function, words):
    """A companion that the core could not call is refused where it is given."""
    with pytest.raises(DeclarationError, match=words):
        getattr(forecast, kind)(function)


def test_async_check_is_refused(forecast):
    """Admission awaits nothing, so an async check would never run."""

    async def check(city: str, days: int = 3) -> None: ...

    with pytest.raises(DeclarationError, match="is async"):
        forecast.check(check)


def test_a_companion_twice(forecast):
    """A second function of one kind is refused."""
    forecast.active(lambda app: True)
    with pytest.raises(DeclarationError, match="given twice"):
        forecast.active(lambda app: False)


def test_check_raises_through(forecast):
    """What a check raises is what the core sees."""

    @forecast.check
    def _(city: str, days: int = 3) -> None:
        where, text = "/city", "There is no such town."
        raise Invalid(where, text)

    with pytest.raises(Invalid, match="no such town"):
        forecast.implementation.companions.check(city="x", days=1)


def test_given_schema(pack):
    """A JSON Schema stands in the place of typed parameters."""
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}

    @pack.tool(input_schema=schema)
    def search(ctx, **arguments: Any) -> str:
        """Search."""
        return arguments["q"]

    @pack.tool(input_schema=schema)
    def find(ctx, q: Path) -> str:
        """Find."""
        return str(q)

    assert search.tool.input_schema == schema
    assert search.implementation.structure is None
    assert find.implementation.structure({"q": "a"}) == {"q": Path("a")}
    schema["properties"]["q"]["type"] = "integer"
    assert find.tool.input_schema["properties"]["q"] == {"type": "string"}


def test_given_schema_that_does_not_fit(pack):
    """Schema and parameters are compared, in both directions."""

    @pack.tool(input_schema={"type": "object", "properties": {"a": {}, "b": {}}})
    def f(ctx, a: int) -> None: ...

    with pytest.raises(DeclarationError) as raised:
        f.tool  # noqa: B018
    text = str(raised.value)
    assert "property 'b' has no parameter" in text
    assert "parameter 'a'" in text
    assert "no default" in text


def test_object_parameter(pack):
    """With a class as input schema the handler and its companions get one object."""

    @pack.tool(input_schema=Forecast)
    def store(ctx, forecast: Forecast) -> None:
        """Store."""

    @store.preview
    def _(forecast: Forecast) -> str:
        return f"store {forecast.city}"

    arguments = {"city": "Bonn", "days": 1}
    implementation = store.implementation
    assert implementation.structure(arguments) == {"forecast": Forecast("Bonn", 1)}
    assert implementation.companions.preview(**arguments) == "store Bonn"
    assert list(store.tool.input_schema["properties"]) == ["city", "days"]


class Options(TypedDict, total=False):
    deep: bool
    where: Path


def test_unpacked_typed_dict(pack):
    """Keyword arguments typed by a TypedDict are parameters."""

    @pack.tool
    def search(ctx, q: str, **options: Unpack[Options]) -> None:
        """Search."""

    assert list(search.tool.input_schema["properties"]) == ["q", "deep", "where"]
    assert search.tool.input_schema["required"] == ["q"]
    made = search.implementation.structure({"q": "x", "where": "y"})
    assert made == {"q": "x", "where": Path("y")}


def test_context_annotation_is_not_evaluated(pack):
    """The context's type may be imported for type checkers only."""

    @pack.tool
    def f(ctx: OnlyForCheckers, x: int) -> None:  # noqa: F821
        """F."""

    assert list(f.tool.input_schema["properties"]) == ["x"]


def test_only_provided_hooks_are_there(pack):
    """An empty pack answers nothing; each declaration adds its hook and no other."""
    assert registered(pack)[1] == []

    @pack.tool
    def f(ctx, x: int = 0) -> None:
        """F."""

    assert registered(pack)[1] == ["toolcrib_tools"]
    f.signature(lambda x: Signature(effects={"net_read"}))
    pack.retry(lambda failure: False)
    pack.guard(lambda call: None)
    pack.source(lambda host: "live")
    assert sorted(registered(pack)[1]) == [
        "toolcrib_guard",
        "toolcrib_retry",
        "toolcrib_signature",
        "toolcrib_sources",
        "toolcrib_tools",
    ]


def test_hooks_answer(pack, forecast):
    """The hooks give tools, signatures and None where a tool has none."""
    pack.tool(name="other")(lambda ctx: None)
    forecast.signature(lambda city, days: Signature(effects={"net_read"}))
    manager, _ = registered(pack)
    [implementations] = manager.hook.toolcrib_tools(host=None)
    assert [each.tool.id for each in implementations] == ["weather.forecast", "weather.other"]
    ask = manager.hook.toolcrib_signature
    assert ask(tool=implementations[0].tool, arguments={"city": "x", "days": 1}, host=None)
    assert ask(tool=implementations[1].tool, arguments={}, host=None) is None
    foreign = attrs.evolve(implementations[0].tool, id="other.forecast")
    assert ask(tool=foreign, arguments={"city": "x", "days": 1}, host=None) is None


def test_sources_in_all_forms(pack):
    """A source function gives one, several, none, or an awaitable of them."""

    @pack.source
    def one(host: Any) -> str:
        return f"one of {host}"

    @pack.source
    def several() -> Iterator[str]:
        yield from "ab"

    assert pack.toolcrib_sources("h") == ["one of h", "a", "b"]

    @pack.source
    async def later(host: Any) -> list[str]:
        return ["c"]

    assert asyncio.run(pack.toolcrib_sources("h")) == ["one of h", "a", "b", "c"]


@pytest.mark.parametrize(
    "function",
    [lambda cal: None, lambda call=1: None, lambda *, call: None, lambda *call: None],
)
def test_hooks_out_of_form(pack, function):
    """A hook that pluggy would refuse, or call wrongly, is refused at once."""
    with pytest.raises(DeclarationError, match=r"may take \(call\)"):
        pack.guard(function)


def test_a_hook_twice(pack):
    """A pack has one guard."""
    pack.guard(lambda call: None)
    with pytest.raises(DeclarationError, match="given twice"):
        pack.guard(lambda call: None)


def test_command_groups(pack):
    """Groups of the command line are listed by name; wrong ones are refused."""
    pack.command_group("later", help="Later.", target="m:b")
    pack.command_group("forecast", help="Forecasts.", target="toolcrib_weather.cli:group")
    assert [group.name for group in pack.groups] == ["forecast", "later"]
    with pytest.raises(DeclarationError) as raised:
        pack.command_group("later", help="", target="no reference")
    assert len(raised.value.problems) == 2


def test_resource_opens_and_closes(pack):
    """A resource is closed when its block is left, whatever happens in it."""
    steps = []

    @pack.resource(scope="toolbox")
    async def client(ctx: Any) -> AsyncIterator[str]:
        steps.append("open")
        try:
            yield f"client of {ctx}"
        finally:
            steps.append("close")

    @pack.resource
    def cache(ctx: Any) -> Iterator[str]:
        steps.append("open")
        try:
            yield "cache"
        except KeyError:
            steps.append("saw")
            raise
        finally:
            steps.append("close")

    async def use(resource, error=None):
        async with resource.open("c") as value:
            steps.append(value)
            if error:
                raise error

    asyncio.run(use(client))
    with pytest.raises(KeyError):
        asyncio.run(use(cache, KeyError("k")))
    assert steps == ["open", "client of c", "close", "open", "cache", "saw", "close"]
    assert (client.scope, cache.scope) == ("toolbox", "session")


def test_resource_is_a_bare_generator_for_tests(pack):
    """Calling the definition gives the generator itself."""

    @pack.resource
    def cache(ctx: Any) -> Iterator[int]:
        yield 1

    async def values():
        return [value async for value in cache(CTX)]

    assert asyncio.run(values()) == [1]


def test_resource_out_of_form(pack):
    """What is no generator, yields nothing or yields twice is refused by name."""
    with pytest.raises(DeclarationError) as raised:
        pack.resource(scope="process")(lambda ctx: 1)
    assert len(raised.value.problems) == 2

    @pack.resource
    async def none(ctx: Any) -> AsyncIterator[int]:
        if ctx is None:
            yield 1

    @pack.resource
    def twice(ctx: Any) -> Iterator[int]:
        yield 1
        yield 2

    async def use(resource):
        async with resource.open(CTX):
            pass

    with pytest.raises(DeclarationError, match=r"weather\.none yields no value"):
        asyncio.run(use(none))
    with pytest.raises(DeclarationError, match=r"weather\.twice yields more than one"):
        asyncio.run(use(twice))


def test_defining_is_lazy(pack):
    """No annotation is evaluated until the schema is asked for."""

    def f(ctx, x: int) -> None:
        """F."""

    f.__annotations__["x"] = "LaterDefined"
    tool = pack.tool(f)
    globals()["LaterDefined"] = int
    try:
        assert tool.tool.input_schema["properties"] == {"x": {"type": "integer"}}
    finally:
        del globals()["LaterDefined"]
