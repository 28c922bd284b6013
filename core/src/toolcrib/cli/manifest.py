"""``toolcrib manifest``: write a pack's manifest, or check that it is current."""

from __future__ import annotations

import importlib
import sys

from pathlib import Path
from typing import Any

import click

from toolcrib.errors import DeclarationError, ManifestError

from .exits import EXIT
from .output import complain, json_option, print_json, say


__all__ = ["manifest"]


@click.group()
def manifest() -> None:
    """Write or check a pack's manifest (in the pack's own project)."""


def _project(folder: Path) -> dict[str, tuple[str, Path]]:
    """Return pack id → (entry point, path of its manifest), from a ``pyproject.toml``."""
    import tomllib  # noqa: PLC0415 - only authors need it

    file = folder / "pyproject.toml"
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        text = f"there is no {file}; name the folder of the pack's project"
        complain(text, code=EXIT["usage"])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        complain(f"{file}: {error}", code=EXIT["usage"])
    points = project.get("project", {}).get("entry-points", {}).get("toolcrib.packs.v1", {})
    if not points:
        text = f'{file} declares no pack: [project.entry-points."toolcrib.packs.v1"]'
        complain(text, code=EXIT["usage"])
    found = {}
    for pack_id, reference in sorted(points.items()):
        package = reference.partition(":")[0].partition(".")[0]
        roots = [folder / "src" / package, folder / package]
        root = next((r for r in roots if r.is_dir()), None)
        if root is None:
            complain(f"{folder} holds no package {package!r}", code=EXIT["usage"])
        found[pack_id] = (reference, root / "toolcrib.json")
    return found


def _load(reference: str, package: Path) -> Any:
    """Import the pack of this very project, not a copy installed elsewhere."""
    sys.path.insert(0, str(package.parent.resolve()))
    name, _, attribute = reference.partition(":")
    try:
        module = importlib.import_module(name)
        value: Any = module
        for part in attribute.split(".") if attribute else ():
            value = getattr(value, part)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's own code, shown to them
        text = f"{reference}: {_place(error, package)}{type(error).__name__}: {error}"
        if isinstance(error, ModuleNotFoundError):
            text += "; install what the project needs: pip install -e ."
        complain(text, code=EXIT["not_ok"])
    where = Path(module.__file__ or "").resolve()
    if not where.is_relative_to(package.resolve()):
        text = f"import {name} loads {where}, not this project: pip install -e ."
        complain(text, code=EXIT["not_ok"])
    return value


def _place(error: BaseException, package: Path) -> str:
    """Return file and line, in the project's own code, of what an import raised."""
    if isinstance(error, SyntaxError):
        return ""  # it says so itself
    found = ""
    trace = error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(package.resolve()):
            found = f"{file}:{trace.tb_lineno}: "
        trace = trace.tb_next
    return found


_folder = click.argument(
    "folder", type=click.Path(path_type=Path, file_okay=False, exists=True), default=Path()
)


@manifest.command()
@_folder
@json_option
def write(*, folder: Path, as_json: bool) -> None:
    """Write toolcrib.json for each pack of the project in FOLDER."""
    from toolcrib.authoring import write as written  # noqa: PLC0415 - --help must not pay

    done = []
    for pack_id, (reference, file) in _project(folder).items():
        try:
            data = written(_load(reference, file.parent), pack=pack_id)
        except (DeclarationError, ManifestError) as error:
            complain(f"{pack_id}: {error}", code=EXIT["not_ok"])
        changed = not file.is_file() or file.read_bytes() != data
        if changed:
            file.write_bytes(data)
        done.append({"pack": pack_id, "file": str(file), "changed": changed})
        if not as_json:
            say(f"{file}: {'written' if changed else 'unchanged'}")
    if as_json:
        print_json(done)


@manifest.command()
@_folder
@json_option
def check(*, folder: Path, as_json: bool) -> None:
    """Check that each toolcrib.json says what its code says; exit code 1 if not."""
    from toolcrib.authoring import check as differences  # noqa: PLC0415 - as above

    done: list[dict[str, Any]] = []
    for pack_id, (reference, file) in _project(folder).items():
        stale = False
        if not file.is_file():
            found = ["there is none; write it with: toolcrib manifest write"]
        else:
            try:
                plugin = _load(reference, file.parent)
                found = differences(file.read_bytes(), plugin, pack=pack_id)
                stale = bool(found)
            except (DeclarationError, ManifestError) as error:
                found = [str(error)]
        done.append({"pack": pack_id, "file": str(file), "differences": found})
        if not as_json:
            for difference in found or ["current"]:
                say(f"{file}: {difference}", colour="red" if found else "green")
            if stale:
                say("Write it again: toolcrib manifest write", colour="yellow")
    if as_json:
        print_json(done)
    wrong = any(one["differences"] for one in done)
    raise SystemExit(EXIT["not_ok"] if wrong else EXIT["ok"])
