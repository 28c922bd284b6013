"""What all tests of the workspace can be asked for."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switch for the long form of property tests."""
    parser.addoption(
        "--slow",
        action="store_true",
        help="try 10,000 examples of each law about spellings; takes minutes",
    )
