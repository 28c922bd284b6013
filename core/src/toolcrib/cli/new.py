"""``toolcrib new``: start a pack that is ready to install, test and ship."""

from __future__ import annotations

from pathlib import Path

import click

from .exits import EXIT
from .output import complain, json_option, print_json, say
from .starter import files


__all__ = ["new"]


@click.command()
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--distribution", help="The name on the package index; toolcrib-NAME by default.")
@json_option
def new(*, name: str, folder: Path | None, distribution: str | None, as_json: bool) -> None:
    """Start a pack called NAME in FOLDER (by default ./toolcrib-NAME).

    Writes a whole project: a typed tool with its signature, a test, and all that pip
    needs. NAME is the pack's id, the first part of its tools' ids.
    """
    from toolcrib.names import is_pack_id, normalize_distribution  # noqa: PLC0415 - --help is quick

    name = name.removeprefix("toolcrib-").replace("_", "-")
    if not is_pack_id(name) or name == "crib":
        complain(f"{name!r} is no pack id: lower-case words joined by -, such as weather")
    distribution = normalize_distribution(distribution or f"toolcrib-{name}")
    folder = folder if folder is not None else Path(distribution)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        complain(f"{folder} is there already, and not empty")
    written = []
    try:
        for place, text in files(name, distribution).items():
            file = folder / place
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
            written.append(str(file))
    except OSError as error:
        complain(f"{error.filename}: {error.strerror}", code=EXIT["not_ok"])
    if as_json:
        print_json({"pack": name, "distribution": distribution, "files": written})
        return
    for line in (
        f"{folder} holds the pack {name}. Next:",
        f"  cd {folder}",
        "  pip install -e '.[test]'",
        "  toolcrib manifest write",
        "  pytest",
        f"  toolcrib packs enable {distribution}",
        f'  toolcrib call {name}.count_words \'{{"path": "README.md"}}\'',
    ):
        say(line)
