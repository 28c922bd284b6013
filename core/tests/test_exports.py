"""What the package exports is what it says, and loading it is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys

from pathlib import Path

import toolcrib


def test_every_exported_name_can_be_loaded():
    """Each name of ``__all__`` exists."""
    for name in toolcrib.__all__:
        assert getattr(toolcrib, name) is not None


def test_what_type_checkers_see_is_what_is_exported():
    """The block for type checkers and the table of homes agree."""
    tree = ast.parse(Path(toolcrib.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname: f"{node.module}" for node in block.body for alias in node.names}

    assert seen.pop("resources") == "None"
    assert seen == toolcrib._HOME


def test_importing_the_package_loads_nothing():
    """Not one further module, the event loop and typing included."""
    code = (
        "import sys; before = set(sys.modules); import toolcrib; "
        "print(sorted(set(sys.modules) - before))"
    )

    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert run.stdout.strip() == "['toolcrib']"


def test_a_name_that_is_not_there_is_an_attribute_error():
    """Probing for names works as with any module."""
    assert not hasattr(toolcrib, "Nothing")
