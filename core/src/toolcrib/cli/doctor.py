"""``toolcrib doctor``: everything that could be wrong, each with what mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .exits import EXIT
from .options import policy_options
from .output import json_option, print_json, say


if TYPE_CHECKING:
    from .signs import Sign


__all__ = ["doctor"]

_MARKS = {
    "ok": ("✓", "green"),
    "note": ("·", None),
    "warn": ("!", "yellow"),
    "fail": ("✗", "red"),
}


@click.command()
@click.option("--activate", is_flag=True, help="Import each enabled pack and see what it does.")
@json_option
@policy_options
def doctor(*, activate: bool, as_json: bool, **options: Any) -> None:
    """Look for everything that could be wrong, and say what mends it.

    Imports no pack code, unless --activate is given. Exit code 1 if something is wrong.
    """
    from .checkup import Checkup  # noqa: PLC0415 - --help must not pay for it

    checkup = Checkup(**options)
    checkup.look()
    if activate and checkup.policy is not None:
        import asyncio  # noqa: PLC0415 - as above

        from .activating import activated  # noqa: PLC0415 - it loads everything

        checkup.signs += asyncio.run(activated(checkup.policy))
    signs = checkup.signs
    failed = any(sign.state == "fail" for sign in signs)
    if as_json:
        print_json({"ok": not failed, "signs": [sign.data() for sign in signs]})
    else:
        for sign in signs:
            _show(sign)
        wrong = sum(sign.state == "fail" for sign in signs)
        if wrong:
            say(f"{wrong} wrong.", colour="red")
        else:
            say("Nothing is wrong.", colour="green")
    raise SystemExit(EXIT["not_ok"] if failed else EXIT["ok"])


def _show(sign: Sign) -> None:
    mark, colour = _MARKS[sign.state]
    code = f" [{sign.code}]" if sign.code else ""
    say(f"{mark} {sign.area}: {sign.text}{code}", colour=colour)
    for line in sign.mend:
        say(f"    {line}")
