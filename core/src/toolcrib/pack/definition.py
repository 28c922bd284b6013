"""The author's side: a pack, its tools, resources, sources and hooks.

::

    pack = Pack("weather")

    @pack.tool(effects={"net_read"}, idempotent="yes")
    async def forecast(ctx: Context, city: str, days: int = 3) -> Forecast:
        \"\"\"Weather forecast for a town.\"\"\"

A ``Pack`` is an ordinary pluggy plugin: it carries exactly the hook implementations that
its author provided, as attributes, and could be written by hand with ``@hookimpl``.
"""

from __future__ import annotations

import inspect

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from toolcrib import hookspecs
from toolcrib.context import Context, PackHost
from toolcrib.errors import DeclarationError
from toolcrib.hookspecs import hookimpl
from toolcrib.implementation import Implementation
from toolcrib.names import is_pack_id
from toolcrib.tool import Requirements, Tool
from toolcrib.typed.introspection import enclosing_names, shape

from .companion import check_form, where
from .declaration import PackOptions, ToolOptions, check_name, read_options
from .resourcedef import ResourceDef, ResourceScope
from .toolfunction import ToolFunction, merged


if TYPE_CHECKING:
    from toolcrib.manifest.document import CommandGroup


__all__ = ["Pack", "PackOptions", "ResourceDef", "ToolFunction", "ToolOptions"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

AsyncHandler = Callable[Concatenate[Context, P], Awaitable[R]]
Handler = Callable[Concatenate[Context, P], R]


class ToolDecorator(Protocol):
    """What ``@pack.tool(…)`` is: for async handlers, then for sync ones."""

    @overload
    def __call__(self, handler: AsyncHandler[P, R], /) -> ToolFunction[P, R]: ...
    @overload
    def __call__(self, handler: Handler[P, R], /) -> ToolFunction[P, R]: ...


class ResourceDecorator(Protocol):
    """What ``@pack.resource(…)`` is: for async generators, then for sync ones."""

    @overload
    def __call__(
        self, function: Callable[[Context], AsyncIterator[T]], /
    ) -> ResourceDef[T]: ...
    @overload
    def __call__(self, function: Callable[[Context], Iterator[T]], /) -> ResourceDef[T]: ...


class Pack:
    """A distribution's contribution.

    Args:
        id: Lower-case words joined by hyphens; the first part of every tool's id.
        title: Name for people; default from the id.
        version: The manifest's version, free text.
        options: What holds for every tool that says nothing else.

    Raises:
        DeclarationError: every problem, each with subject, field and remedy.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of the glossary
        *,
        title: str | None = None,
        version: str = "1",
        **options: Unpack[PackOptions],
    ) -> None:
        subject = f"pack {id}"
        known = PackOptions.__optional_keys__
        self._defaults, problems = read_options(options, subject, known=known)
        if not isinstance(id, str) or not is_pack_id(id):
            problems.insert(
                0,
                f"{subject}: id: {id!r} is outside the grammar of pack ids: lower-case "
                "words of letters and digits joined by one hyphen, at most 32 characters",
            )
        if problems:
            raise DeclarationError(*problems)
        self.id = id
        self.title = title or id.replace("-", " ").capitalize()
        self.version = version
        self.requires: Requirements = self._defaults.pop("requires", Requirements())
        self._tools: dict[str, ToolFunction[Any, Any]] = {}
        self._sources: list[Callable[..., Any]] = []
        self._groups: dict[str, CommandGroup] = {}

    def __repr__(self) -> str:
        return f"<pack {self.id}>"

    @overload
    def tool(self, handler: AsyncHandler[P, R], /) -> ToolFunction[P, R]: ...
    @overload
    def tool(self, handler: Handler[P, R], /) -> ToolFunction[P, R]: ...
    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> ToolDecorator: ...
    def tool(
        self, handler: Callable[..., Any] | None = None, /, **options: Any
    ) -> ToolFunction[..., Any] | ToolDecorator:
        """Declare a tool; the options are those of :class:`ToolOptions`.

        Raises:
            DeclarationError: every problem of the declaration at once. What needs the
                types of the parameters is found when the schema is first asked for.
        """
        if handler is not None:
            return self._declare(handler, options)

        def decorate(handler: Callable[..., Any], /) -> ToolFunction[..., Any]:
            return self._declare(handler, options)

        return cast("ToolDecorator", decorate)

    def _declare(
        self, handler: Callable[..., Any], options: Mapping[str, Any]
    ) -> ToolFunction[..., Any]:
        name = str(options.get("name") or getattr(handler, "__name__", ""))
        subject = f"{self.id}.{name}"
        given, problems = read_options(options, subject)
        problems += check_name(name, subject)
        form = shape(handler)
        problems += check_form(form, subject, given=given.get("input_schema"))
        if name in self._tools:
            problems.append(f"{subject}: name: the pack declares it twice; pass name=")
        if problems:
            raise DeclarationError(*problems)
        given.pop("name", None)
        final = {**self._defaults, **given}
        final["requires"] = merged(self.requires, given.get("requires"))
        made: ToolFunction[..., Any] = ToolFunction(
            handler,
            pack=self.id,
            name=name,
            options=final,
            form=form,
            # This function, and the decorator or method that called it.
            local=enclosing_names(handler, 3),
            announce=self._companion_given,
        )
        if not self._tools:
            self._provide_tools()
        self._tools[name] = made
        return made

    @overload
    def resource(
        self, function: Callable[[Context], AsyncIterator[T]], /
    ) -> ResourceDef[T]: ...
    @overload
    def resource(self, function: Callable[[Context], Iterator[T]], /) -> ResourceDef[T]: ...
    @overload
    def resource(self, /, *, scope: ResourceScope = "session") -> ResourceDecorator: ...
    def resource(
        self,
        function: Callable[[Context], Any] | None = None,
        /,
        *,
        scope: ResourceScope = "session",
    ) -> ResourceDef[Any] | ResourceDecorator:
        """Define what is opened on first use and closed always: a generator of one value.

        ``scope`` is ``session``, or ``toolbox`` for one value that all sessions share.

        Raises:
            DeclarationError: it is no generator, or the scope is not known.
        """
        if function is not None:
            return ResourceDef(function, pack=self.id, scope=scope)

        def decorate(function: Callable[[Context], Any], /) -> ResourceDef[Any]:
            return ResourceDef(function, pack=self.id, scope=scope)

        return decorate

    def source(self, function: Callable[[PackHost], T], /) -> Callable[[PackHost], T]:
        """Provide live tools: ``(host)`` gives a source, several, or an awaitable of them."""
        self._check_hook("toolcrib_sources", function)
        if not self._sources:
            self._provide_sources()
        self._sources.append(function)
        return function

    def retry(self, function: F, /) -> F:
        """Tighten the core's retry: ``(tool, failure, attempt)``, see ``toolcrib_retry``."""
        return self._hook("toolcrib_retry", function)

    def guard(self, function: F, /) -> F:
        """Look at calls before they are authorised: ``(call)``, see ``toolcrib_guard``."""
        return self._hook("toolcrib_guard", function)

    def review(self, function: F, /) -> F:
        """Look at outcomes: ``(call, outcome)``, see ``toolcrib_review``."""
        return self._hook("toolcrib_review", function)

    def observe(self, function: F, /) -> F:
        """Hear what happens: ``(event)``, see ``toolcrib_observe``."""
        return self._hook("toolcrib_observe", function)

    def project(self, function: F, /) -> F:
        """Project tools into a dialect: ``(tool, dialect)``, see ``toolcrib_project``."""
        return self._hook("toolcrib_project", function)

    def command_group(self, name: str, *, help: str, target: str) -> None:  # noqa: A002
        """Add a group to the command line, listed without importing the pack.

        Args:
            name: The group's name.
            help: One line.
            target: ``module:attribute`` of the click group.

        Raises:
            DeclarationError: the name is taken, or the target is no reference.
        """
        problems = []
        if name in self._groups:
            problems.append(f"pack {self.id}: command group {name!r} is given twice")
        if not is_pack_id(name):
            problems.append(f"pack {self.id}: {name!r} is no name of a command group")
        # Few packs have commands.
        from toolcrib.manifest.document import CommandGroup, is_reference  # noqa: PLC0415

        if not is_reference(target):
            problems.append(f"pack {self.id}: {target!r} is not module:attribute")
        if problems:
            raise DeclarationError(*problems)
        self._groups[name] = CommandGroup(name, help, target)

    @property
    def groups(self) -> tuple[CommandGroup, ...]:
        """The command groups, by name."""
        return tuple(self._groups[name] for name in sorted(self._groups))

    @property
    def functions(self) -> tuple[ToolFunction[Any, Any], ...]:
        """The declared tools, in the order of their declaration."""
        return tuple(self._tools.values())

    def tools(self) -> tuple[Tool, ...]:
        """Return the declarations, in order.

        Raises:
            DeclarationError: every problem of every tool.
        """
        return _all(lambda each: each.tool, self._tools.values())

    def implementations(self) -> tuple[Implementation, ...]:
        """Return the declarations with their code, in order.

        Raises:
            DeclarationError: every problem of every tool.
        """
        return _all(lambda each: each.implementation, self._tools.values())

    def _hook(self, name: str, function: F) -> F:
        self._check_hook(name, function)
        if name in self.__dict__:
            text = f"pack {self.id}: {name}: it is given twice; a pack has one"
            raise DeclarationError(text)
        self._provide(name, function)
        return function

    def _check_hook(self, name: str, function: Callable[..., Any]) -> None:
        wanted = shape(getattr(hookspecs, name)).names
        form = shape(function)
        stray = [each for each in form.names if each not in wanted]
        odd = form.keyword or form.defaults or form.rest or form.extra
        if stray or odd:
            text = (
                f"pack {self.id}: {name}: {where(function)} may take ({', '.join(wanted)}), "
                "some or all, by these names and without defaults"
            )
            raise DeclarationError(text)

    def _provide(self, name: str, function: Callable[..., Any]) -> None:
        # As attributes of the instance and not as methods: pluggy, and whoever reads
        # the manifest, sees the hooks that are there and no others.
        setattr(self, name, hookimpl(function))

    def _provide_tools(self) -> None:
        def toolcrib_tools(host: PackHost) -> tuple[Implementation, ...]:  # noqa: ARG001 - the hook's
            return self.implementations()

        self._provide("toolcrib_tools", toolcrib_tools)

    def _companion_given(self, kind: str, hosted: bool) -> None:  # noqa: FBT001 - a callback
        if kind != "signature" or ("toolcrib_signature" in self.__dict__ and not hosted):
            return

        # pluggy gives a function what it names, so that the host is named where it is used.
        def toolcrib_signature(tool: Tool, arguments: Mapping[str, Any]) -> Any:
            return self._signature_of(tool, arguments, None)

        def with_host(tool: Tool, arguments: Mapping[str, Any], host: PackHost) -> Any:
            return self._signature_of(tool, arguments, host)

        self._provide("toolcrib_signature", with_host if hosted else toolcrib_signature)

    def _signature_of(
        self, tool: Tool, arguments: Mapping[str, Any], host: PackHost | None
    ) -> Any:
        # Any: a Signature, or an awaitable of one.
        made = self._tools.get(tool.name) if tool.pack == self.id else None
        if made is None or tool.source is not None or "signature" not in made.companions:
            return None
        companions = made.implementation.companions
        if companions.signature is None:
            return None
        leading = (host,) if "signature" in companions.hosted else ()
        return companions.signature(*leading, **arguments)

    def _provide_sources(self) -> None:
        def toolcrib_sources(host: PackHost) -> Any:
            # Any: a list of sources, or an awaitable of one.
            takes = [(f, shape(f).names) for f in self._sources]
            found = [f(host) if names else f() for f, names in takes]
            if any(inspect.isawaitable(each) for each in found):
                return _awaited(found)
            return [source for each in found for source in _several(each)]

        self._provide("toolcrib_sources", toolcrib_sources)


def _all(
    make: Callable[[ToolFunction[Any, Any]], T], tools: Iterable[ToolFunction[Any, Any]]
) -> tuple[T, ...]:
    made: list[T] = []
    problems: list[str] = []
    for each in tools:
        try:
            made.append(make(each))
        except DeclarationError as error:
            problems += error.problems
    if problems:
        raise DeclarationError(*problems)
    return tuple(made)


async def _awaited(found: Iterable[Any]) -> list[Any]:
    sources: list[Any] = []
    for each in found:
        sources += _several(await each if inspect.isawaitable(each) else each)
    return sources


def _several(value: Any) -> Iterable[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple | Iterator) else (value,)
