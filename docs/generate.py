"""Write the reference pages from the code, or check that they are current.

``python docs/generate.py`` writes them, ``--check`` leaves with 1 if one is not current.
"""

from __future__ import annotations

import inspect
import sys

from collections.abc import Iterator
from pathlib import Path

import click

from toolcrib import hookspecs
from toolcrib.cli.main import cli
from toolcrib.codes import CODES


DOCS = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py; change the code instead. -->\n\n"


def codes() -> str:
    """Return the page of codes."""
    rows = [
        f"| `{name}` | `{code.status}` | {code.meaning} | {'yes' if code.retryable else 'no'} |"
        for name, code in sorted(CODES.items())
    ]
    head = (
        "# Codes\n\nEvery code that a refusal or outcome of the core can carry. Packs have "
        "codes of their own, which begin with the pack's id.\n\n"
        "| code | status | meaning | may the same call succeed later? |\n|---|---|---|---|\n"
    )
    return NOTE + head + "\n".join(rows) + "\n"


def hooks() -> str:
    """Return the page of hooks, the framework's first four leading."""
    head = (
        "# Hooks\n\nMark an implementation with `toolcrib.hookimpl`; `Pack` does it for you. "
        "The first four are the framework's reason.\n"
    )
    parts = [head]
    ordered = [n for n in vars(hookspecs) if n.startswith("toolcrib_")]
    for name in ordered:
        function = getattr(hookspecs, name)
        signature = inspect.signature(function)
        text = inspect.getdoc(function) or ""
        parts.append(f"## `{name}`\n\n```text\n{name}{signature}\n```\n\n{text}\n")
    return NOTE + "\n".join(parts)


def commands() -> str:
    """Return the page of commands: the help of each."""
    parts = ["# Command line\n\n`pip install 'toolcrib[cli]'` brings the command `toolcrib`.\n"]
    for path, command in _walk(cli, ("toolcrib",)):
        parent = _parent(path[:-1])
        context = click.Context(command, info_name=path[-1], parent=parent, terminal_width=80)
        parts.append(f"## `{' '.join(path)}`\n\n```text\n{command.get_help(context)}\n```\n")
    return NOTE + "\n".join(parts)


def _parent(path: tuple[str, ...]) -> click.Context | None:
    context = None
    for name in path:
        context = click.Context(cli, info_name=name, parent=context)
    return context


def _walk(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path[-1])
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _walk(inner, (*path, name))


PAGES = {"codes.md": codes, "hooks.md": hooks, "cli.md": commands}


def main() -> int:
    """Write the pages, or name those that are not current."""
    stale = []
    for name, page in PAGES.items():
        file = DOCS / "reference" / name
        text = page()
        if "--check" in sys.argv:
            if not file.is_file() or file.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    for name in stale:
        sys.stderr.write(f"docs/reference/{name} is not current: python docs/generate.py\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
