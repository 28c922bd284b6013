"""Typed packs as authors write them: mypy --strict and pyright accept every line.

Lines marked with an ignore are mistakes; a checker that no longer finds one of them
reports the ignore as unused.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Self, TypedDict, Unpack, assert_type

import attrs

from toolcrib.context import Context, PackHost
from toolcrib.outcome import Outcome
from toolcrib.pack.definition import Pack
from toolcrib.signature import Signature
from toolcrib.typed.constraints import Between, Length, Url


class Client:
    """Something that is opened and closed."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        return None

    async def get(self, city: str, days: int) -> Forecast:
        """Answer."""
        return Forecast(city=city, days=days)


@attrs.frozen(kw_only=True)
class Forecast:
    """A forecast."""

    city: str
    days: int


@attrs.frozen
class State:
    """The value of an app."""

    online: bool = True


pack = Pack("weather", title="Weather", labels={"returns_untrusted"})


@pack.resource(scope="session")
async def client(ctx: Context) -> AsyncIterator[Client]:
    """Open a client."""
    await ctx.secret("weather")
    async with Client() as opened:
        yield opened


@pack.resource
def cache(ctx: Context) -> Iterator[dict[str, str]]:
    """Open a cache."""
    yield {ctx.tool_id: ""}


@pack.tool(effects={"net_read"}, idempotent="yes")
async def forecast(
    ctx: Context, city: Annotated[str, "Town"], days: Annotated[int, Between(1, 14)] = 3
) -> Forecast:
    """Weather forecast for a town."""
    opened = await ctx.use(client)
    assert_type(opened, Client)
    assert_type(await ctx.use(cache), dict[str, str])
    return await opened.get(city, days)


@forecast.signature
def _(city: str, days: int = 3) -> Signature:
    return Signature(effects=["net_read"])


@forecast.preview
async def _(city: str, days: int = 3) -> str:
    return f"{days} days in {city}"


@forecast.generalize
def _(city: str, days: int = 3) -> str | None:
    return "allow weather.forecast" if city and days else None


@forecast.check
def _(city: str, days: int = 3) -> None:
    return None


@forecast.resolve
def _(stage_id: str, city: str, days: int = 3) -> tuple[str, str, int]:
    return stage_id, city, days


@forecast.check_output
def _(value: Forecast) -> None:
    assert value.days


@forecast.active
def _(app: State) -> bool:
    return app.online


@forecast.rules
def _(app: State) -> list[tuple[int, str]]:
    return [(1, "Name the town.")]


@forecast.visible_text
def _(text: str, app: State) -> str:
    return text.strip()


@forecast.context
def _(app: State) -> list[tuple[int, str, str]]:
    return [(1, "It is sunny.", "system")]


@forecast.deliver
async def _(outcome: Outcome, app: State) -> None:
    return None


@forecast.debug_steps
def _(city: str, days: int = 3) -> list[str]:
    return [f"ask for {city}", f"keep {days} days"]


@pack.tool(effects={"fs_read"}, concurrency="shared")
def read(ctx: Context, path: Path, lines: Annotated[list[int], Length(1, 10)]) -> str:
    """Read lines of a file."""
    return path.read_text()


@pack.tool
def ping(ctx: Context, address: Url) -> bool:
    """Ask whether somebody is there."""
    return bool(address)


class Options(TypedDict, total=False):
    """Parameters that are written elsewhere."""

    deep: bool


@pack.tool(effects=())
async def search(ctx: Context, query: str, **options: Unpack[Options]) -> list[str]:
    """Search."""
    return [query]


@pack.guard
def _(call: object) -> None:
    return None


@pack.retry
def _(failure: BaseException, attempt: int) -> bool:
    return attempt < 2


async def calls_directly(fake: Context) -> None:
    assert_type(await forecast.call(fake, city="Bonn"), Forecast)
    assert_type(await forecast.call(fake, "Bonn", days=2), Forecast)
    assert_type(await read.call(fake, path=Path("x"), lines=[1]), str)
    assert_type(await ping.call(fake, address="https://example.com"), bool)
    assert_type(await search.call(fake, query="x", deep=True), list[str])
    await forecast.call(fake)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await forecast.call(fake, city=1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pack.tool(effects={"net_raed"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
async def misspelt(ctx: Context) -> None:
    """Show that a wrong word is found."""


@forecast.preview  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
def _(town: str, days: int = 3) -> str:
    return town


@pack.tool  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue, reportUntypedFunctionDecorator]
async def contextless(city: str) -> str:
    """Show that a handler without a context is found."""
    return city


@pack.tool(effects=())
async def keep(ctx: Context, name: str, times: int = 1) -> str:
    """Keep something."""
    return name * times


@keep.preview
def _(host: PackHost, /, name: str, times: int = 1) -> str:
    return f"{host.workspace.root}: {name}"


@keep.check
def _(host: PackHost, /, name: str, times: int = 1) -> None:
    assert_type(host.workspace.root, Path)


@keep.preview  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
def _(host: PackHost, /, name: int, times: int = 1) -> str:
    return ""
