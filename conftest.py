"""What all tests of the workspace can be asked for."""

from __future__ import annotations

import signal

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switch for the long form of property tests."""
    parser.addoption(
        "--slow",
        action="store_true",
        help="try 10,000 examples of each law about spellings; takes minutes",
    )


def pytest_configure() -> None:
    """Let programs that tests interrupt be interrupted.

    A shell that starts the tests in the background has them ignore Ctrl-C, and whatever
    they start inherits that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
