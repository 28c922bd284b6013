"""Functions that a child process imports."""

from __future__ import annotations

import os
import sys
import time


def add(a, b=0):
    print("noise on standard output")
    return {"sum": a + b}


def crash():
    raise ValueError("broke")


def refuse():
    from toolcrib import NotFound

    raise NotFound("no such thing", code="probe.gone")


def leave():
    os._exit(7)


def leave_politely():
    sys.exit(3)


def much(n):
    return "x" * n


def not_json():
    return object()


def hang(path):
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(60)


def secret():
    return dict(os.environ)
