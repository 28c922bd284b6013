"""A site on 127.0.0.2 that stands for the public internet, and a watch on every connection."""

from __future__ import annotations

import sys

import pytest

from toolcrib_net import NetPolicy
from toolcrib_net.testing import Site


# What policy names in these tests. All other addresses of this machine stay refused.
PUBLIC = "127.0.0.2"

_seen: list[tuple[str, int]] | None = None


def _watch(event, arguments):
    if event == "socket.connect" and _seen is not None and isinstance(arguments[1], tuple):
        _seen.append(arguments[1][:2])


sys.addaudithook(_watch)


@pytest.fixture
def connections():
    """Every address that any socket of this process was connected to, as the system saw it."""
    global _seen  # noqa: PLW0603 - an audit hook cannot be taken back
    _seen = []
    yield _seen
    _seen = None


@pytest.fixture
def site():
    with Site(PUBLIC) as served:
        yield served


@pytest.fixture
def inner():
    """A server that nobody may reach; its connections are counted."""
    with Site("127.0.0.1") as served:
        served.add("/", b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
        yield served


@pytest.fixture
def policy():
    def make(**fields):
        fields.setdefault("allow", [f"{PUBLIC}/32"])
        fields.setdefault("deadline", 5.0)
        return NetPolicy(**fields)

    return make
