"""``python -m toolcrib_mcp``: the pack's commands, whatever the user's policy enables."""

from __future__ import annotations

import click

from .commands import mcp
from .serving import serve


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Servers of the Model Context Protocol in, the whole catalog out."""


main.add_command(serve)
main.add_command(mcp)

if __name__ == "__main__":
    main(prog_name="toolcrib-mcp")
