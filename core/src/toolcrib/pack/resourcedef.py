"""What a pack opens on first use and the core closes: clients, connections, caches."""

from __future__ import annotations

import inspect

from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast, get_args

from toolcrib.context import Context
from toolcrib.errors import DeclarationError


__all__ = ["ResourceDef", "ResourceScope"]

T = TypeVar("T")

ResourceScope: TypeAlias = Literal["session", "toolbox"]


class ResourceDef(Generic[T]):
    """The definition of one resource: a generator that yields its value once.

    Made by ``@pack.resource``; ``await ctx.use(it)`` gives the value.

    Attributes:
        name: The function's name.
        pack: The id of its pack.
        scope: How long a value lives: ``session``, or ``toolbox`` for all sessions.
    """

    def __init__(
        self,
        function: Callable[[Context], AsyncIterator[T]] | Callable[[Context], Iterator[T]],
        *,
        pack: str,
        scope: ResourceScope,
    ) -> None:
        self.name = getattr(function, "__name__", repr(function))
        self.pack = pack
        self.scope: ResourceScope = scope
        self.__doc__ = function.__doc__
        subject = f"resource {pack}.{self.name}"
        problems = []
        if scope not in get_args(ResourceScope):
            problems.append(f"{subject}: scope: {scope!r} is not 'session' or 'toolbox'")
        if inspect.isasyncgenfunction(function):
            self._function = cast("Callable[[Context], AsyncIterator[T]]", function)
        elif inspect.isgeneratorfunction(function):
            self._function = _stepped(function)
        else:
            problems.append(
                f"{subject}: it is no generator: write `yield value` where the value is "
                "ready, and below it what closes it"
            )
        if problems:
            raise DeclarationError(*problems)
        self._opened = asynccontextmanager(self._function)

    def __repr__(self) -> str:
        return f"<resource {self.pack}.{self.name} per {self.scope}>"

    def __call__(self, ctx: Context) -> AsyncIterator[T]:
        """Return the bare generator, for tests that step it by hand."""
        return self._function(ctx)

    @asynccontextmanager
    async def open(self, ctx: Context) -> AsyncIterator[T]:
        """Open the value, and close it when the block is left, whatever happens in it.

        Raises:
            DeclarationError: the generator yields no value, or more than one.
        """
        entered = left = False
        try:
            async with self._opened(ctx) as value:
                entered = True
                yield value
                left = True
        except RuntimeError as error:
            # This is how contextlib tells of a generator that breaks its contract.
            what = {
                "generator didn't yield": "yields no value",
                "generator didn't stop": "yields more than one value",
            }.get(str(error))
            if what is None or (entered and not left):
                raise
            text = f"resource {self.pack}.{self.name} {what}: it must yield exactly one"
            raise DeclarationError(text) from error


def _stepped(function: Callable[[Context], Any]) -> Callable[[Context], AsyncIterator[Any]]:
    """Give a sync generator the form of an async one."""

    async def stepped(ctx: Context) -> AsyncIterator[Any]:
        made: Generator[Any, Any, Any] = function(ctx)
        try:
            for value in made:
                try:
                    yield value
                except GeneratorExit:
                    raise
                except BaseException as error:  # noqa: BLE001 - its ``except`` clauses run
                    try:
                        made.throw(error)
                    except StopIteration:
                        return
        finally:
            made.close()

    return stepped
