"""A site that stands for the public internet, and policies that name it."""

from __future__ import annotations

import pytest

from toolcrib_net import NetPolicy
from toolcrib_net.fixtures import PUBLIC, connections, inner, program, site


__all__ = ["connections", "inner", "policy", "program", "site"]


@pytest.fixture
def policy():
    def make(**fields):
        fields.setdefault("allow", [f"{PUBLIC}/32"])
        fields.setdefault("deadline", 5.0)
        return NetPolicy(**fields)

    return make
