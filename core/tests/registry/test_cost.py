"""Cost grows with what is used, not with what is installed."""

from __future__ import annotations

import os

from toolcrib.catalog.stage import compose
from toolcrib.discovery.stage import discover
from toolcrib.policy.value import Policy


def test_only_enabled_packs_manifests_are_opened(site, monkeypatch):
    """Three enabled packs of thirty cost three manifests."""
    for number in range(30):
        site.install(f"toolcrib-p{number}")
    findings = discover(path=[str(site)])
    opened = []
    real = open

    def watched(file, *rest, **more):
        opened.append(os.fspath(file))
        return real(file, *rest, **more)

    monkeypatch.setattr("builtins.open", watched)
    enabled = [f"toolcrib-p{number}" for number in (3, 5, 7)]
    catalog = compose(findings, Policy(packs=enabled))
    assert len(catalog) == 3
    assert len(catalog.available) == 27
    assert len([name for name in opened if name.endswith("toolcrib.json")]) == 3
