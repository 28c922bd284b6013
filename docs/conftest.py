"""Run every Python block of the pages, each page in a namespace and folder of its own."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import os
import re

from pathlib import Path

from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser


def _setup(namespace):
    namespace["__runner"] = asyncio.Runner()
    namespace["__folder"] = Path.cwd()


def _teardown(namespace):
    namespace["__runner"].close()
    os.chdir(namespace["__folder"])


def _evaluate(example):
    """Run a block; ``await`` may stand at its top, as in a notebook.

    A block with comments ``# → …`` prints exactly what stands behind them, in order.
    """
    source = "\n" * (example.line + example.parsed.line_offset) + example.parsed
    code = compile(
        source,
        str(example.path),
        "exec",
        flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
        dont_inherit=True,
    )
    expected = re.findall(r"# → (.*)", example.parsed)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        value = eval(code, example.namespace)
        if inspect.iscoroutine(value):
            example.namespace["__runner"].run(value)
    if expected:
        assert output.getvalue().splitlines() == expected


pytest_collect_file = Sybil(
    parsers=[CodeBlockParser(language="python", evaluator=_evaluate)],
    patterns=["*.md"],
    setup=_setup,
    teardown=_teardown,
).pytest()
