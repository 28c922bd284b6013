"""One tool in one dialect, before the request as a whole is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib.codes import refuse
from toolcrib.outcome import Refusal
from toolcrib.tool import Tool

from .dialect import Declared, Dialect
from .losses import Loss, Unfit
from .rewriting import rewrite


if TYPE_CHECKING:
    from .inverse import Inverse
    from .rewritten import Rewritten


__all__ = ["Prepared", "Projection", "prepare"]


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Projection:
    """One tool as one request shows it.

    Attributes:
        tool_id: The tool.
        wire_name: The name that the provider knows it by.
        declaration: The tool in the provider's form.
        losses: What the declaration does not carry.
        inverse: From what the model sends to what the tool declares; None: the same.
        strict: Whether the provider promises arguments that fit the declaration.
        form: Name of the schema's form.
    """

    tool_id: str
    wire_name: str
    declaration: Mapping[str, Any]
    losses: tuple[Loss, ...] = ()
    inverse: Inverse | None = None
    strict: bool = False
    form: str = ""


@attrs.frozen(slots=False)
class Prepared:
    """A tool that is shown, or why it is not, and what it takes of a request's budget."""

    tool: Tool
    projection: Projection | None
    refusal: Refusal | None
    optional: int = 0
    unions: int = 0


def prepare(tool: Tool, dialect: Dialect, *, strict: bool, deferred: bool) -> Prepared:
    """Say one tool in a dialect, or refuse it; whatever fails costs this tool alone."""
    try:
        said, form = rewrite(tool.input_schema, dialect, strict=strict)
        declared = Declared(
            tool=tool,
            name=dialect.wire_name(tool.id),
            description=_description(tool, said, native=dialect.native_examples),
            schema=said.schema,
            strict=said.strict,
            form=form,
            deferred=deferred,
            examples=_examples(tool, said) if dialect.native_examples else (),
        )
        declaration = dialect.declare(declared)
    except Unfit as unfit:
        return Prepared(tool, None, _unsupported(tool, dialect, unfit))
    except Exception as error:  # noqa: BLE001 - a broken dialect costs its tool, no other
        text = (
            f"The dialect {dialect.name} failed on {tool.id}: "
            f"{type(error).__name__}: {error}. Report it to whoever provides the dialect."
        )
        return Prepared(tool, None, refuse("dialect.broken", tool.id, text))
    projection = Projection(
        tool_id=tool.id,
        wire_name=declared.name,
        declaration=declaration,
        losses=said.losses,
        inverse=said.inverse,
        strict=said.strict,
        form=form,
    )
    return Prepared(tool, projection, None, said.optional, said.unions)


def _unsupported(tool: Tool, dialect: Dialect, unfit: Unfit) -> Refusal:
    where = unfit.pointer or "/"
    text = (
        f"{dialect.name} cannot be told the arguments of {tool.id}: {unfit.text} (keyword "
        f"{unfit.keyword!r} at {where}). Change the schema, or use another dialect."
    )
    return refuse(
        "schema.unsupported",
        tool.id,
        text,
        keyword=unfit.keyword,
        pointer=unfit.pointer,
        dialect=dialect.name,
    )


def _description(tool: Tool, said: Rewritten, *, native: bool) -> str:
    """Return the text of a tool, with its examples as a model would send them."""
    described = tool.description
    if not (described.details or described.usage or described.cautions or described.examples):
        text = described.summary
        return "\n\n".join([text, " ".join(said.notes)]) if said.notes else text
    if described.examples and (native or said.inverse is not None):
        pairs = zip(described.examples, _examples(tool, said), strict=True)
        sent = [] if native else [attrs.evolve(e, arguments=each) for e, each in pairs]
        # mypy cannot see through ``converter=tuple``.
        described = attrs.evolve(described, examples=sent)  # type: ignore[arg-type]
    text = described.text()
    return "\n\n".join([text, " ".join(said.notes)]) if said.notes else text


def _examples(tool: Tool, said: Rewritten) -> tuple[dict[str, Any], ...]:
    sent = []
    for example in tool.description.examples:
        arguments = dict(example.arguments)
        sent.append(said.inverse.encode(arguments) if said.inverse else arguments)
    return tuple(sent)
