"""``toolcrib tools``: list what policy lets through, or declare it to a provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .exits import EXIT
from .options import catalog_of, load_policy, mode_option, policy_options
from .output import complain, json_option, note, print_json, problems, table


if TYPE_CHECKING:
    from toolcrib.policy.value import Policy


__all__ = ["tools"]


@click.command()
@click.option("--effect", help="Only tools that may have this effect.")
@click.option("--kind", help="Only tools of this kind: read_only, write or execute.")
@click.option("--category", help="Only tools of this category.")
@click.option("--tag", help="Only tools with this tag.")
@click.option("--audience", help="Only tools for model, user or operator.")
@click.option("--pack", help="Only tools of this pack.")
@click.option(
    "--dialect", help="Print what goes into a request's tools, such as openai or anthropic."
)
@click.option("--strict", is_flag=True, help="With --dialect: ask for strict arguments.")
@mode_option
@json_option
@policy_options
def tools(
    *,
    effect: str | None,
    kind: str | None,
    category: str | None,
    tag: str | None,
    audience: str | None,
    pack: str | None,
    dialect: str | None,
    strict: bool,
    mode: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """List the tools that policy lets through; imports no pack code.

    With --dialect: print the declarations for the model's request, exactly what
    'toolcrib run' answers. This connects live sources.
    """
    policy = load_policy(**options)
    if dialect is not None:
        import asyncio  # noqa: PLC0415 - listing needs no event loop

        asyncio.run(_declare(policy, dialect, strict=strict, mode=mode))
        return
    catalog = catalog_of(policy)
    found = catalog.select(
        effect=effect, kind=kind, category=category, tag=tag, audience=audience, pack=pack
    )
    if as_json:
        print_json([entry.facts() for entry in found])
        return
    rows = [
        (
            entry.tool.id,
            entry.tool.kind,
            " ".join(sorted(entry.tool.effects)) or "none",
            entry.tool.description.summary,
        )
        for entry in found
    ]
    if rows:
        table("Tools", ("tool", "kind", "effects", "summary"), rows)
    else:
        note("No tools. See what is installed, and what enables it: toolcrib packs")
    problems(catalog.refusals)


async def _declare(policy: Policy, dialect: str, *, strict: bool, mode: str | None) -> None:
    """Print the declarations of a fresh session's view; losses go to stderr."""
    from toolcrib.record import Ledger  # noqa: PLC0415 - --help must not pay for it
    from toolcrib.toolbox import Toolbox  # noqa: PLC0415 - as above

    with Ledger.open(None) as scratch:
        async with (
            Toolbox(policy, ledger=scratch) as box,
            box.session(mode=mode) as session,
        ):
            await box.sources.settle()
            try:
                view = await session.view(dialect, strict=strict)
            except LookupError as error:
                complain(str(error.args[0]), code=EXIT["usage"])
            problems(box.catalog.refusals)
    for tool_id, loss in view.losses:
        note(f"{tool_id}: {loss.keyword} at {loss.pointer or '/'} is {loss.kind}: {loss.text}")
    problems(view.refusals)
    if view.listing:
        note(view.listing)
    print_json([dict(declaration) for declaration in view.declarations])
