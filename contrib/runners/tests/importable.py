"""Functions that a child process imports."""

from __future__ import annotations

import os
import sys
import time

from pathlib import Path


def add(a, b=0):
    sys.stdout.write("noise on standard output")
    return {"sum": a + b}


def crash():
    msg = "broke"
    raise ValueError(msg)


def refuse():
    from toolcrib import NotFound  # noqa: PLC0415 - only this one needs it

    msg = "no such thing"
    raise NotFound(msg, code="probe.gone")


def leave():
    os._exit(7)


def leave_politely():
    sys.exit(3)


def much(n):
    return "x" * n


def not_json():
    return object()


def hang(path):
    Path(path).write_text(str(os.getpid()))
    time.sleep(60)


def secret():
    return dict(os.environ)
