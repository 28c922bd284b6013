"""``toolcrib rules trust``: let a workspace's policy widen what is allowed."""

from __future__ import annotations

import tomllib

from pathlib import Path

import click

from toolcrib.errors import PolicyError

from .exits import EXIT
from .output import complain, json_option, print_json, say


__all__ = ["trust"]


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option(
    "--workspace",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    show_default="the current folder",
    help="The folder whose toolcrib.toml is meant.",
)
@click.option("--digest", help="Trust exactly these bytes (sha256:…), without being asked.")
@click.option("--forget", is_flag=True, help="Trust it no more.")
@json_option
def trust(
    *, file: Path | None, workspace: Path, digest: str | None, forget: bool, as_json: bool
) -> None:
    """Trust a workspace's toolcrib.toml, as it is now, to widen what is allowed.

    FILE is the one in the workspace by default. It is shown, and asked about at the
    terminal. Any change to it ends the trust.
    """
    from toolcrib.places import POLICY_FILE  # noqa: PLC0415 - as above
    from toolcrib.policy import trust as store  # noqa: PLC0415 - as above
    from toolcrib.policy.file import read  # noqa: PLC0415 - as above

    file = file.resolve() if file is not None else workspace.resolve() / POLICY_FILE
    if forget:
        known = store.untrust(file)
        _trusted(file, None, as_json=as_json, text="forgotten" if known else "was not trusted")
        return
    try:
        document = read(file)
    except PolicyError as error:
        complain(str(error), code=EXIT["policy"])
    if store.is_trusted(file, document.digest):
        _trusted(file, document.digest, as_json=as_json, text="is trusted already")
        return
    if digest is None:
        _ask_to_trust(file, document.digest)
    elif digest != document.digest:
        complain(f"{file} is {document.digest}, not what was named", code=EXIT["refused"])
    store.trust(file, document.digest)
    _trusted(file, document.digest, as_json=as_json, text="is trusted as it is now")


def _trusted(file: Path, digest: str | None, *, as_json: bool, text: str) -> None:
    if as_json:
        print_json({"file": str(file), "digest": digest, "trusted": digest is not None})
    else:
        say(f"{file} {text}" + (f" ({digest})" if digest else ""))


def _ask_to_trust(file: Path, digest: str) -> None:
    from .terminal import confirmed  # noqa: PLC0415 - as above

    content = file.read_text(encoding="utf-8-sig")
    wide = sorted({"packs", "owners", "guards", "secrets"} & tomllib.loads(content).keys())
    lines = [f"   │ {line}" for line in content.split("\n")]
    about = f"   It sets {', '.join(wide)}." if wide else ""
    text = "\n".join(["", f"── {file} ({digest})", *lines, about, "   Trust it?", ""])
    answer = confirmed(text)
    if answer is None:
        hint = f"nobody to ask here; look at {file}, then pass --digest {digest}"
        complain(hint, code=EXIT["needs_approval"])
    if not answer:
        complain("not trusted", code=EXIT["refused"])
