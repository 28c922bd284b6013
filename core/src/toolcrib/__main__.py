"""``python -m toolcrib``, and the ``toolcrib`` command."""

from __future__ import annotations

import sys

from pathlib import Path


def main() -> None:
    """Run the command line, or say what to install for it."""
    if sys.path and sys.path[0] in {"", str(Path.cwd())}:
        # ``python -m`` puts the current folder first: what lies there is not installed.
        del sys.path[0]
    try:
        from .cli import main as run  # noqa: PLC0415 - click is an extra
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich"}:
            raise
        sys.exit("toolcrib: the command line needs an extra: pip install 'toolcrib[cli]'")
    run()


if __name__ == "__main__":
    main()
