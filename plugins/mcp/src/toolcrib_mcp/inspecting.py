"""Look at one server: start it, list everything, and end it."""

from __future__ import annotations

from typing import Any

import attrs

from toolcrib import Policy, Toolbox

from .settings import ServerConfig
from .texts import one_line


__all__ = ["inspected", "opened"]


def only(policy: Policy, config: ServerConfig) -> Policy:
    """Return a policy with no server but one, and with nothing kept."""
    entry = {
        field.name: value
        for field in attrs.fields(ServerConfig)
        if field.name not in {"name", "where", "net", "hosts"}
        and (value := getattr(config, field.name)) not in (None, (), {}, frozenset(), "")
    }
    for key in ("tools", "without", "volatile", "effects"):
        if key in entry:
            entry[key] = sorted(entry[key])
    entry["recover"] = 0
    if not config.remote:
        entry["transport"] = "stdio"
    own = policy.settings.get("mcp", {})
    kept = {key: own[key] for key in ("net", "hosts") if key in own}
    settings = {**policy.settings, "mcp": {**kept, "servers": {config.name: entry}}}
    return attrs.evolve(policy, settings=settings, ledger=None)


async def inspected(policy: Policy, config: ServerConfig) -> dict[str, Any]:
    """Return what a server says it is, and what its tools may do."""
    from . import definition  # noqa: PLC0415 - it makes the pack

    async with opened(policy, config) as box:
        hub = definition.HUBS.of_toolbox(box)
        server = hub.server(config.name)
        await server.connection.settled()
        status = server.status()
        value: dict[str, Any] = {**status, "instructions": server.instructions()}
        value["tools"] = [
            {
                "id": each.tool.id,
                "title": each.tool.title,
                "effects": sorted(each.tool.effects),
                "summary": one_line(each.tool.description.summary, 200),
                "hints": server.offer.hints.get(each.tool.id.split(".", 2)[2], ""),
            }
            for each in server.offer.implementations
        ]
        for what in ("resources", "templates", "prompts"):
            try:
                value[what] = len(await server.content.listed(what))
            except Exception as error:  # noqa: BLE001 - it is shown
                value[what] = f"cannot be read: {one_line(error)}"
    return value


def opened(policy: Policy, config: ServerConfig) -> Toolbox:
    """Return a toolbox with this pack and one server."""
    return Toolbox(only(policy, config))
