"""A declared tool: its handler, its options and the functions beside it.

Everything that needs the types of the parameters waits until somebody asks: defining a
thousand tools costs what reading their names costs.
"""

from __future__ import annotations

import inspect

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeAlias,
    TypeVar,
    overload,
)

import attrs

from toolcrib.context import Context, PackHost
from toolcrib.errors import DeclarationError
from toolcrib.implementation import Companions, Implementation
from toolcrib.signature import Signature
from toolcrib.tool import Description, Requirements, Tool
from toolcrib.typed.introspection import Shape
from toolcrib.vocabulary import Cancellation

from .companion import adapt, check_arguments, check_values, takes_host


if TYPE_CHECKING:
    from toolcrib.outcome import Outcome
    from toolcrib.typed.docstring import Docstring

    from .inputs import Inputs


__all__ = ["ToolFunction"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
A = TypeVar("A")
F = TypeVar("F", bound=Callable[..., Any])
Later: TypeAlias = Awaitable[T] | T

# Companions that take something else than the arguments, and what they take.
_VALUES: dict[str, tuple[str, ...]] = {
    "check_output": ("value",),
    "active": ("app",),
    "rules": ("app",),
    "context": ("app",),
    "visible_text": ("text", "app"),
    "deliver": ("outcome", "app"),
}


class ToolFunction(Generic[P, R]):
    """A tool of a pack, made by ``@pack.tool``.

    Its methods are decorators for the functions beside the handler. Those that take the
    arguments may leave out what they do not need; type checkers, stricter, want all of
    them, defaults included.

    Attributes:
        handler: The decorated function.
        id: The tool's id.
        name: Last part of the id.
        options: What the declaration says, in final form.
    """

    def __init__(
        self,
        handler: Callable[..., Any],
        *,
        pack: str,
        name: str,
        options: Mapping[str, Any],
        form: Shape,
        local: Mapping[str, Any],
        announce: Callable[[str, bool], None],
    ) -> None:
        self.handler = handler
        self.id = f"{pack}.{name}"
        self.name = name
        self.options = options
        self.__doc__ = handler.__doc__
        self._form = form
        self._local = local
        self._announce = announce
        self._companions: dict[str, Callable[..., Any]] = {}
        self._inputs: Inputs | None = None
        self._tool: Tool | None = None
        self._implementation: Implementation | None = None

    def __repr__(self) -> str:
        return f"<tool {self.id}>"

    async def call(self, ctx: Context, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the handler and nothing else: no stage checks, permits or records it.

        For tests of the handler itself; arguments are Python values, not JSON.
        """
        value = self.handler(ctx, *args, **kwargs)
        if inspect.isawaitable(value):
            value = await value
        return value  # type: ignore[no-any-return]

    # What follows are decorators; each takes the function and returns it unchanged. Those
    # that take the arguments may take the host before them, by position only:
    # ``def _(host: PackHost, /, city: str)``. It knows the workspace and the settings.

    @overload
    def signature(
        self, function: Callable[P, Later[Signature | None]], /
    ) -> Callable[P, Later[Signature | None]]: ...
    @overload
    def signature(
        self, function: Callable[Concatenate[PackHost, P], Later[Signature | None]], /
    ) -> Callable[Concatenate[PackHost, P], Later[Signature | None]]: ...
    def signature(self, function: Callable[..., Any], /) -> Callable[..., Any]:
        """Say what a call touches: ``(arguments) -> Signature``."""
        return self._beside("signature", function)

    @overload
    def generalize(
        self, function: Callable[P, Later[str | None]], /
    ) -> Callable[P, Later[str | None]]: ...
    @overload
    def generalize(
        self, function: Callable[Concatenate[PackHost, P], Later[str | None]], /
    ) -> Callable[Concatenate[PackHost, P], Later[str | None]]: ...
    def generalize(self, function: Callable[..., Any], /) -> Callable[..., Any]:
        """Offer the rule that "always" stores: ``(arguments) -> str``."""
        return self._beside("generalize", function)

    @overload
    def preview(
        self, function: Callable[P, Later[str | None]], /
    ) -> Callable[P, Later[str | None]]: ...
    @overload
    def preview(
        self, function: Callable[Concatenate[PackHost, P], Later[str | None]], /
    ) -> Callable[Concatenate[PackHost, P], Later[str | None]]: ...
    def preview(self, function: Callable[..., Any], /) -> Callable[..., Any]:
        """Describe a call without any effect: ``(arguments) -> str``."""
        return self._beside("preview", function)

    @overload
    def check(self, function: Callable[P, None], /) -> Callable[P, None]: ...
    @overload
    def check(
        self, function: Callable[Concatenate[PackHost, P], None], /
    ) -> Callable[Concatenate[PackHost, P], None]: ...
    def check(self, function: Callable[..., Any], /) -> Callable[..., Any]:
        """Refuse what the schema cannot: ``(arguments)``, raises ``Invalid``; not async."""
        return self._beside("check", function)

    @overload
    def debug_steps(
        self, function: Callable[P, Iterable[str]], /
    ) -> Callable[P, Iterable[str]]: ...
    @overload
    def debug_steps(
        self, function: Callable[Concatenate[PackHost, P], Iterable[str]], /
    ) -> Callable[Concatenate[PackHost, P], Iterable[str]]: ...
    def debug_steps(self, function: Callable[..., Any], /) -> Callable[..., Any]:
        """Say step by step what a call would do: ``(arguments) -> lines``."""
        return self._beside("debug_steps", function)

    def resolve(
        self, function: Callable[Concatenate[str, P], T], /
    ) -> Callable[Concatenate[str, P], T]:
        """Give what selecting the intent hands back: ``(stage_id, arguments)``; not async."""
        return self._beside("resolve", function)

    def check_output(self, function: Callable[[R], None], /) -> Callable[[R], None]:
        """Check a value beyond the output schema: ``(value)``, raises; not async."""
        return self._beside("check_output", function)

    def active(self, function: Callable[[A], Later[bool]], /) -> Callable[[A], Later[bool]]:
        """Tell whether the tool is there now: ``(app) -> bool``; no authorisation."""
        return self._beside("active", function)

    def rules(
        self, function: Callable[[A], Iterable[tuple[int, str]]], /
    ) -> Callable[[A], Iterable[tuple[int, str]]]:
        """Give ordered rules for the prompt: ``(app) -> (order, text)…``."""
        return self._beside("rules", function)

    def visible_text(self, function: Callable[[str, A], str], /) -> Callable[[str, A], str]:
        """Transform text that is shown: ``(text, app) -> str``."""
        return self._beside("visible_text", function)

    def context(
        self, function: Callable[[A], Iterable[tuple[int, str, str]]], /
    ) -> Callable[[A], Iterable[tuple[int, str, str]]]:
        """Give fragments for the model: ``(app) -> (order, text, placement)…``."""
        return self._beside("context", function)

    def deliver(self, function: Callable[[Outcome, A], T], /) -> Callable[[Outcome, A], T]:
        """Deliver an outcome: ``(outcome, app)``."""
        return self._beside("deliver", function)

    def _beside(self, kind: str, function: F) -> F:
        if kind in self._companions:
            text = f"{self.id}: {kind}: it is given twice; a tool has one"
            raise DeclarationError(text)
        if kind in _VALUES:
            check_values(kind, function, _VALUES[kind], self.id)
        else:
            check_arguments(kind, function, self._form, self.handler, self.id)
        self._companions[kind] = function
        self._tool = self._implementation = None
        self._announce(kind, takes_host(kind, function))
        return function

    @property
    def companions(self) -> Mapping[str, Callable[..., Any]]:
        """The functions beside the handler, as written, by name."""
        return self._companions

    @property
    def inputs(self) -> Inputs:
        """How the handler takes its arguments.

        Raises:
            DeclarationError: every parameter that cannot be described.
        """
        if self._inputs is None:
            from .inputs import Inputs  # noqa: PLC0415 - nothing of schemas before one is asked

            schema = self.options.get("input_schema")
            self._inputs = Inputs.of(self.handler, self._form, schema, self._local, self.id)
        return self._inputs

    @property
    def tool(self) -> Tool:
        """The declaration.

        Raises:
            DeclarationError: every problem of parameters and return annotation.
        """
        if self._tool is None:
            from toolcrib.typed import docstring  # noqa: PLC0415 - the same

            said = docstring.parse(self.handler.__doc__)
            input_schema, output = _together(
                partial(self._input_schema, said), self._output_schema
            )
            self._tool = self._declare(said, input_schema, output)
        return self._tool

    def _declare(self, said: Docstring, input_schema: dict[str, Any], output: Any) -> Tool:
        plain = dict(self.options)
        title = plain.pop("title", None) or self.name.replace("_", " ").capitalize()
        description = Description(
            plain.pop("summary", None) or said.summary or title,
            plain.pop("details", said.details),
            plain.pop("usage", ()),
            plain.pop("cautions", ()),
            plain.pop("examples", ()),
        )
        plain.setdefault("cancellation", cancellation_of(self.handler))
        plain["input_schema"] = input_schema
        plain["output_schema"] = output
        return Tool(
            id=self.id,
            title=title,
            description=description,
            companions=frozenset(self._companions),
            **plain,
        )

    def _input_schema(self, said: Docstring) -> dict[str, Any]:
        return self.inputs.schema(said.parameters)

    def _output_schema(self) -> Any:
        from toolcrib.typed.schema import output_schema, schema_of  # noqa: PLC0415 - the same

        given = self.options.get("output_schema")
        if isinstance(given, type):
            return schema_of(given, local=self._local, subject=f"{self.id}: output_schema")
        if given is not None:
            return given
        return output_schema(self.handler, local=self._local)

    @property
    def implementation(self) -> Implementation:
        """The declaration with its code.

        Raises:
            DeclarationError: as ``tool``.
        """
        if self._implementation is None:
            from toolcrib.typed import structure as typed  # noqa: PLC0415 - the same

            tool = self.tool
            structure = self.inputs.structurer()
            ready = {
                kind: function
                if kind in _VALUES
                else adapt(kind, function, self._form, structure)
                for kind, function in self._companions.items()
            }
            hosted = frozenset(k for k, f in self._companions.items() if takes_host(k, f))
            self._implementation = Implementation(
                tool=tool,
                handler=self.handler,
                companions=Companions(**ready, hosted=hosted),
                structure=structure,
                unstructure=typed.unstructurer(self.handler, local=self._local),
            )
        return self._implementation


def cancellation_of(handler: Callable[..., Any]) -> Cancellation:
    """Return what cancelling a handler does, as far as its kind tells."""
    call = getattr(handler, "__call__", None)  # noqa: B004 - its kind is asked, not whether
    if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(call):
        return Cancellation.COOPERATIVE
    return Cancellation.THREAD


def _together(*makers: Callable[[], Any]) -> list[Any]:
    """Call all, and raise the problems of all at once."""
    made: list[Any] = []
    problems: list[str] = []
    for make in makers:
        try:
            made.append(make())
        except DeclarationError as error:
            problems += error.problems
    if problems:
        raise DeclarationError(*problems)
    return made


def merged(pack: Requirements, tool: Requirements | None) -> Requirements:
    """Return what a tool requires: what its pack does, and its own."""
    if tool is None:
        return pack
    names = [field.name for field in attrs.fields(Requirements)]
    return Requirements(**{n: getattr(pack, n) | getattr(tool, n) for n in names})
