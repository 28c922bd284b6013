"""The pack itself, and the bench that all of its tools share."""

from __future__ import annotations

import asyncio
import os

from collections.abc import AsyncIterator

from toolcrib import Context, Pack, PackHost

from . import journal
from .bench import Bench


__all__ = ["Benches", "bench_of", "pack", "workbench"]

pack = Pack("lsp", title="Language servers", category="code")


class Benches:
    """The benches of a toolbox, one for each workspace that its sessions work in."""

    def __init__(self) -> None:
        self._benches: dict[str, Bench] = {}

    def of(self, host: PackHost) -> Bench:
        """Return the bench of a host's workspace.

        Raises:
            Unavailable: the pack's settings cannot be used.
        """
        root = os.fspath(host.workspace.root)
        bench = self._benches.get(root)
        if bench is None:
            bench = Bench(host)
            journal.recover(host, bench.root)
            self._benches[root] = bench
        return bench

    async def close(self) -> None:
        """Stop every server."""
        await asyncio.gather(*(bench.close() for bench in self._benches.values()))


@pack.resource(scope="toolbox")
async def workbench(ctx: Context) -> AsyncIterator[Benches]:
    """Own the language servers of a toolbox."""
    benches = Benches()
    try:
        yield benches
    finally:
        await benches.close()


async def bench_of(host: PackHost) -> Bench:
    """Return the bench for what is given a host; the same one that handlers use."""
    benches: Benches = await host.use(workbench)
    return benches.of(host)
