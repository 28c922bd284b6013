"""Cost grows with what is used, not with what is installed."""

from __future__ import annotations

import importlib.metadata
import os
import time

from toolcrib.catalog.stage import compose
from toolcrib.discovery.stage import discover
from toolcrib.policy.value import Policy


def best(function, times=5):
    """Return the shortest of several runs, in seconds."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        took.append(time.perf_counter() - start)
    return min(took)


def test_discovery_is_faster_than_the_standard_library(site):
    """In the same run, over the same folders."""
    for number in range(200):
        points = "[console_scripts]\nx = y:z\n" if number % 3 == 0 else None
        site.info(f"stranger-{number}", points=points)
    site.install("toolcrib-web")
    path = [str(site)]

    def standard():
        found = importlib.metadata.MetadataPathFinder.find_distributions(
            importlib.metadata.DistributionFinder.Context(path=path)
        )
        return [e for d in found for e in d.entry_points if e.group == "toolcrib.packs.v1"]

    assert len(standard()) == len(discover(path=path).claims) == 1
    assert best(lambda: discover(path=path)) <= 0.7 * best(standard)


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


def test_a_thousand_tools_compose_within_the_budget(site, make_tool):
    """Manifests read and checked; the limit leaves room for a busy machine."""
    tools = [make_tool(f"t{number}") for number in range(100)]
    for number in range(10):
        site.install(f"toolcrib-p{number}", manifest=site.manifest(f"p{number}", *tools))
    policy = Policy(packs=[f"toolcrib-p{number}" for number in range(10)])

    def composed():
        return compose(discover(path=[str(site)]), policy)

    assert len(composed()) == 1000
    assert best(composed) < 0.25
