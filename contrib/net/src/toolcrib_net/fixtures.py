"""Fixtures of pytest for packs that use the network; a conftest imports those it wants.

::

    from toolcrib_net.fixtures import connections, inner, site

The site stands for the public internet: it listens on ``PUBLIC``, which a test's policy
names. Every other address of this machine stays refused, so that reaching one is a fault.
"""

from __future__ import annotations

import os
import shutil
import socket
import time

from collections.abc import Callable, Iterator

import pytest

from .testing import Site, ok, watched


__all__ = ["PUBLIC", "connections", "free_port", "inner", "listens", "program", "site"]

#: Where the public site listens.
PUBLIC = "127.0.0.2"


@pytest.fixture
def connections() -> Iterator[list[tuple[str, int]]]:
    """Every address that any socket of this process was connected to, as the system saw it."""
    with watched() as seen:
        yield seen


@pytest.fixture
def site() -> Iterator[Site]:
    """A site that may be asked."""
    with Site(PUBLIC) as served:
        yield served


@pytest.fixture
def inner() -> Iterator[Site]:
    """A site that nobody may reach; its connections are counted."""
    with Site("127.0.0.1") as served:
        served.add("/", ok("secret", ""))
        yield served


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """Find a program; without it a test is skipped, and fails where peers are asked for."""

    def find(name: str) -> str:
        found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
        if found is None and not os.environ.get("TOOLCRIB_PEERS"):
            pytest.skip(f"{name} is not installed")
        assert found is not None, f"{name} is not installed"  # noqa: S101 - it fails a test
        return found

    return find


def free_port(host: str = PUBLIC) -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def listens(port: int, host: str = PUBLIC, *, seconds: float = 30.0) -> bool:
    """Wait until somebody listens on a port."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex((host, port)) == 0:
                return True
        time.sleep(0.02)
    return False
