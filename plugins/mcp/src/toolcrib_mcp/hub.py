"""The servers of one toolbox, found again by the helper tools."""

from __future__ import annotations

from collections.abc import Mapping

from toolcrib import Context, NotFound, PackHost, Toolbox, Validators
from toolcrib import Source as LiveSource

from .remotejobs import RemoteJobs
from .server import Server
from .settings import Problem, read


__all__ = ["Hub", "Hubs"]


class Hub:
    """The servers that one policy configures.

    Attributes:
        problems: What is wrong with the settings.
        jobs: The kind of job that follows tasks of its servers.
        servers: By name.
    """

    def __init__(self, host: PackHost) -> None:
        found = read(host.settings, root=host.workspace.root)
        self.problems: tuple[Problem, ...] = found.problems
        self.jobs = RemoteJobs(self.server)
        self.validators = Validators()
        self.servers: Mapping[str, Server] = {
            name: Server(config, host, self.jobs) for name, config in found.configs.items()
        }
        for problem in self.problems:
            host.logger.warning("%s", problem.text)

    def server(self, name: str) -> Server:
        """Return a server.

        Raises:
            NotFound: there is none of that name.
        """
        if name not in self.servers:
            known = ", ".join(sorted(self.servers)) or "none"
            text = f"No server {name!r} is configured; there are: {known}."
            raise NotFound(text, code="mcp.unknown_server")
        return self.servers[name]


class Hubs:
    """The hub of each host that the pack was given; several toolboxes may be open at once."""

    def __init__(self) -> None:
        self._hubs: list[tuple[PackHost, Hub]] = []

    def open(self, host: PackHost) -> list[LiveSource]:
        """Make the servers of a host; they are forgotten when all of them were closed."""
        hub = Hub(host)
        self._hubs.append((host, hub))
        return [_Kept(server, self, hub) for server in hub.servers.values()]

    def of(self, ctx: Context) -> Hub:
        """Return the hub of a call's host."""
        for host, hub in self._hubs:
            if host is ctx.host:
                return hub
        text = "No servers are open in this toolbox."
        raise NotFound(text, code="mcp.unknown_server")

    def of_toolbox(self, toolbox: Toolbox) -> Hub:
        """Return the hub of a toolbox that is open.

        Raises:
            NotFound: the pack is not active in it.
        """
        wanted = toolbox.host_of("mcp")
        for host, hub in self._hubs:
            if host is wanted:
                return hub
        text = "The pack is not enabled, or did not start."
        raise NotFound(text, code="mcp.unknown_server")

    def forget(self, hub: Hub) -> None:
        """Let go of a hub whose servers are closed."""
        if all(server.connection.state == "closed" for server in hub.servers.values()):
            self._hubs = [each for each in self._hubs if each[1] is not hub]


class _Kept:
    """A server as a live source; tells the hubs when it is closed."""

    def __init__(self, server: Server, hubs: Hubs, hub: Hub) -> None:
        self.name = server.name
        self.volatile = sorted(server.config.volatile)
        self.open = server.open
        self.tools = server.tools
        self._server, self._hubs, self._hub = server, hubs, hub

    async def close(self) -> None:
        """Disconnect."""
        await self._server.close()
        self._hubs.forget(self._hub)
