"""``toolcrib packs``: what is installed, what is enabled; no pack code is ever imported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import EXIT
from .options import catalog_of, load_policy, policy_options
from .output import complain, counted, json_option, note, print_json, problem_facts, say, table


if TYPE_CHECKING:
    from toolcrib.catalog.stage import Catalog


__all__ = ["packs"]


@click.group(invoke_without_command=True)
@json_option
@policy_options
@click.pass_context
def packs(context: click.Context, /, *, as_json: bool, **options: Any) -> None:
    """List what is installed, and what would enable it; imports no pack code.

    With a subcommand: change which distributions your policy enables.
    """
    if context.invoked_subcommand is not None:
        return
    catalog = catalog_of(load_policy(**options))
    if as_json:
        print_json(_facts(catalog))
        return
    rows = [*_enabled(catalog), *_others(catalog)]
    if rows:
        table("Packs", ("pack", "distribution", "state", ""), rows)
    else:
        note("No pack is installed. Try: pip install toolcrib-files")


def _facts(catalog: Catalog) -> dict[str, Any]:
    return {
        "enabled": [
            {
                "pack": pack_id,
                "distribution": finding.distribution,
                "version": finding.version,
                "how": finding.provenance.how,
                "entry_point": finding.entry_point,
                "location": finding.provenance.location,
                "sources": finding.manifest.sources,
                "tools": [id_ for id_, entry in catalog.tools.items() if entry.pack == pack_id],
            }
            for pack_id, finding in catalog.packs.items()
        ],
        "available": [
            {
                "pack": item.pack_id,
                "distribution": item.distribution,
                "version": item.version,
                "entry_point": item.entry_point,
                "enable": item.how,
            }
            for item in catalog.available
        ],
        "refused": [problem_facts(refusal) for refusal in catalog.refusals],
    }


def _enabled(catalog: Catalog) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for pack_id, finding in catalog.packs.items():
        count = sum(entry.pack == pack_id for entry in catalog.tools.values())
        text = counted(count, "tool")
        if finding.manifest.sources:
            text += ", and live ones"
        if finding.provenance.how != "wheel":
            text += f" ({finding.provenance.how})"
        rows.append((pack_id, f"{finding.distribution} {finding.version}", "enabled", text))
    return rows


def _others(catalog: Catalog) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        (
            item.pack_id,
            f"{item.distribution} {item.version}",
            "available",
            f"toolcrib packs enable {item.distribution}",
        )
        for item in catalog.available
    ]
    return rows + [(r.subject, "", "refused", f"{r.text} [{r.code}]") for r in catalog.refusals]


_names = click.argument("names", metavar="DISTRIBUTION...", nargs=-1, required=True)
_policy = click.option(
    "--policy",
    "policy_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The policy file to change; your own by default.",
)


@packs.command()
@_names
@_policy
@json_option
def enable(*, names: tuple[str, ...], policy_file: Path | None, as_json: bool) -> None:
    """Enable installed packs, by distribution."""
    from toolcrib.discovery.stage import discover  # noqa: PLC0415 - --help must not pay for it
    from toolcrib.names import closest, normalize_distribution  # noqa: PLC0415 - as above

    from .advice import DISTRIBUTIONS  # noqa: PLC0415 - as above

    claims = discover().claims
    installed = {claim.distribution for claim in claims}
    for name in names:
        if normalize_distribution(name) in installed:
            continue
        pack = name.partition(".")[0]
        owners = sorted(c.distribution for c in claims if c.pack_id == pack)
        like = closest(name, installed)
        if owners:
            what = "a pack id" if pack == name else f"a tool of the pack {pack}"
            hint = f"it is {what}; its distribution is {' or '.join(owners)}"
        elif pack in DISTRIBUTIONS:
            hint = f"first: pip install {DISTRIBUTIONS[pack]}"
        else:
            hint = f"did you mean {like[0]}?" if like else f"first: pip install {name}"
        complain(
            f"no installed distribution {name!r} holds a pack: {hint}", code=EXIT["not_ok"]
        )
    _change([normalize_distribution(name) for name in names], policy_file, on=True, js=as_json)


@packs.command()
@_names
@_policy
@json_option
def disable(*, names: tuple[str, ...], policy_file: Path | None, as_json: bool) -> None:
    """Disable packs, by distribution; works whatever is wrong with them."""
    from toolcrib.names import normalize_distribution  # noqa: PLC0415 - as above

    _change([normalize_distribution(name) for name in names], policy_file, on=False, js=as_json)


def _check_known(names: list[str]) -> None:
    """Complain of names that are neither enabled nor installed: they are misspelt."""
    from toolcrib.discovery.stage import discover  # noqa: PLC0415 - as above
    from toolcrib.names import closest  # noqa: PLC0415 - as above

    claims = discover().claims if names else ()
    installed = {claim.distribution for claim in claims}
    for name in names:
        if name not in installed:
            owners = [claim.distribution for claim in claims if claim.pack_id == name]
            like = owners or closest(name, installed)
            hint = f"did you mean {like[0]}?" if like else "see: toolcrib packs"
            text = f"no distribution {name!r} is enabled or installed: {hint}"
            complain(text, code=EXIT["not_ok"])


def _change(names: list[str], file: Path | None, *, on: bool, js: bool) -> None:
    from toolcrib.places import policy_file  # noqa: PLC0415 - as above

    from .policyedit import with_pack, without_pack, write  # noqa: PLC0415 - as above

    file = file if file is not None else policy_file()
    try:
        old = file.read_bytes().decode() if file.exists() else ""
        # Some editors begin a file with a mark; it stays where it is.
        mark = old[: old.startswith("\ufeff")]
        new = old = old.removeprefix(mark)
        changed = []
        for name in names:
            before, new = new, (with_pack if on else without_pack)(new, name, file=file)
            changed += [name] if new != before else []
        if not on:
            _check_known([name for name in names if name not in changed])
        if new != old:
            write(file, mark + new)
    except (OSError, UnicodeDecodeError) as error:
        complain(f"{file} is as it was: {error}", code=EXIT["policy"])
    if js:
        print_json({"file": str(file), "changed": changed, "enabled": on})
        return
    word = "enabled" if on else "disabled"
    for name in names:
        state = word if name in changed else f"was {word} already"
        say(f"{name}: {state} ({file})")
