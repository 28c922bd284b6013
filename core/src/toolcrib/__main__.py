"""``python -m toolcrib``, and the ``toolcrib`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        from .cli import main as run  # noqa: PLC0415 - click is an extra
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich"}:
            raise
        sys.exit("toolcrib: the command line needs an extra: pip install 'toolcrib[cli]'")
    run()


if __name__ == "__main__":
    main()
