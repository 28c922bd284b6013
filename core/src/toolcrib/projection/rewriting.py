"""Choosing the form in which a dialect says a tool's schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from .dialect import Dialect
from .facts import Profile
from .losses import ROOT, Loss, Unfit
from .reading import copied
from .rewritten import Rewritten


__all__ = ["rewrite", "say"]

_Engine = Callable[[Mapping[str, Any], Profile], Rewritten]


def say(schema: Mapping[str, Any], profile: Profile) -> Rewritten:
    """Say a schema in one form.

    Raises:
        Unfit: the form cannot say it without losing a value.
    """
    engine = _narrow() if profile.narrow else _keep()
    try:
        return engine(schema, profile)
    except RecursionError:
        raise Unfit(ROOT, "properties", "the schema is nested too deeply") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # What is no schema at all ends here; it never takes other tools down.
        text = f"not a JSON Schema: {type(error).__name__}: {error}"
        raise Unfit(ROOT, "type", text[:300]) from error


# Calls by a tool's own name do without either of the engines.


@cache
def _narrow() -> _Engine:
    return import_module(".narrowing", __package__).narrow  # type: ignore[no-any-return]


@cache
def _keep() -> _Engine:
    return import_module(".keeping", __package__).keep  # type: ignore[no-any-return]


def rewrite(
    schema: Mapping[str, Any], dialect: Dialect, *, strict: bool
) -> tuple[Rewritten, str]:
    """Say a schema in the best form of a dialect that can say it; return the form's name.

    Raises:
        Unfit: no form can.
    """
    if dialect.profiles is None:
        return _unchanged(schema), "declared"
    before: tuple[Loss, ...] = ()
    if strict and dialect.strict is not None:
        try:
            return say(schema, dialect.strict), dialect.strict.name
        except Unfit as unfit:
            before = (Loss(unfit.pointer, unfit.keyword, "lax", unfit.text),)
    elif strict:
        before = (Loss("", "strict", "lax", f"{dialect.name} has no strict form"),)
    first: Unfit | None = None
    for profile in dialect.profiles:
        try:
            said = say(schema, profile)
        except Unfit as unfit:
            first = first or unfit
            continue
        if first is not None:
            text = f"said in the form {profile.name}: {first.text}"
            before = (*before, Loss(first.pointer, first.keyword, "widened", text))
        return (_with_losses(said, before) if before else said), profile.name
    if first is None:
        text = f"{dialect.name} has no form"
        raise Unfit(ROOT, "type", text)
    raise first


def _with_losses(said: Rewritten, before: tuple[Loss, ...]) -> Rewritten:
    return Rewritten(
        schema=said.schema,
        inverse=said.inverse,
        losses=before + said.losses,
        notes=said.notes,
        strict=said.strict,
        optional=said.optional,
        unions=said.unions,
    )


def _unchanged(schema: Mapping[str, Any]) -> Rewritten:
    """Pass a schema on as it was declared, with the object at its root made explicit."""
    kind = schema.get("type")
    if kind not in (None, "object"):
        text = f"arguments are an object, the root is {kind!r}"
        raise Unfit(ROOT, "type", text)
    wire = {k: copied(v) for k, v in schema.items() if not k.startswith("x-toolcrib")}
    if kind is None:
        wire = {"type": "object", **wire}
    return Rewritten(schema=wire, inverse=None, losses=(), notes=(), strict=False)
