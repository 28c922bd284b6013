"""Signatures of ``web.search`` that name the hosts which policy's providers need.

A function beside a tool is given arguments only. Which providers are asked is a setting,
so the pack's ``toolcrib_tools`` hook gives every host its own signature.
"""

from __future__ import annotations

from typing import Any

import attrs

from toolcrib import Implementation, Pack, PackHost, Signature, hookimpl, resources

from .settings import WebSettings


__all__ = ["bind", "destinations"]


def bind(pack: Pack) -> None:
    """Let the pack's tools be given to a host with signatures that know its settings."""

    @hookimpl
    def toolcrib_tools(host: PackHost) -> tuple[Implementation, ...]:
        return tuple(_bound(each, host) for each in pack.implementations())

    pack.toolcrib_tools = toolcrib_tools  # type: ignore[attr-defined]


def _bound(implementation: Implementation, host: PackHost) -> Implementation:
    if implementation.tool.id != "web.search":
        return implementation

    def signature(**arguments: Any) -> Signature:
        # Looked up late: a host is complete only once calls are made.
        hosts = destinations(WebSettings.read(host.settings))
        if not hosts:
            return Signature(effects={"net_read"})
        return Signature(reads=[resources.Host(each) for each in hosts])

    companions = attrs.evolve(implementation.companions, signature=signature)
    return attrs.evolve(implementation, companions=companions)


def destinations(settings: WebSettings) -> list[str]:
    """Return the hosts that a search may ask."""
    from .providers.keyless import DEFAULT_ENGINES, ENGINE_HOSTS
    from .providers.registry import DESTINATIONS

    found: dict[str, None] = {}
    for name in settings.providers:
        provider = settings.provider(name)
        if name == "ddgs":
            engines = provider.engines or DEFAULT_ENGINES
            hosts = [h for e in engines for h in ENGINE_HOSTS.get(e, ())]
        elif provider.url is not None:
            hosts = [resources.host_of(resources.Url(provider.url).value)]
        else:
            hosts = list(DESTINATIONS[name])
        found.update(dict.fromkeys(host.removeprefix("*.") for host in hosts))
    return list(found)
