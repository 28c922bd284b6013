"""Renaming: what every server of a file would write for it, as one plan."""

from __future__ import annotations

import asyncio

from collections.abc import Mapping
from typing import Any

import attrs

from toolcrib import Failed, Unavailable

from .asking import Desk, Target, position, settled, with_users
from .client import Client, Unsupported
from .combining import combined
from .edits import miscounted
from .peer import RemoteError
from .places import shown
from .proposals import Proposal, by_all, planned, spot_of, with_open_files
from .server import Server


__all__ = ["renamed"]

# What says that a server sees nothing there; another one may.
_NOTHING = frozenset({"lsp.not_renamable", "lsp.nothing_renamed"})


async def renamed(desk: Desk, target: Target, new_name: str) -> Proposal:
    """Return what renaming something would write: the places of all servers, each once.

    Raises:
        ToolFailure: it cannot be renamed, no server can, or one that should cannot tell
            its places now; half of a rename is none.
    """

    async def work(_: Server, client: Client) -> Proposal:
        return await _Renaming(desk, client, target, new_name).proposal()

    given, failures = await by_all(desk, "textDocument/rename", work)
    serious = [each for each in failures if each.code not in _NOTHING]
    if serious and given:
        servers = " and ".join(each.server for each in given)
        text = f"{serious[0].text} {servers} could rename, but it is all places or none."
        raise type(serious[0])(text + " Nothing was changed.", code=serious[0].code)
    if not given:
        raise (serious or failures)[0]
    plan = combined([each.plan for each in given])
    return Proposal(plan, " and ".join(each.server for each in given))


@attrs.frozen
class _Renaming:
    """One server's part in a rename."""

    desk: Desk
    client: Client
    target: Target
    new_name: str

    async def proposal(self) -> Proposal:
        """Return what it would write.

        Raises:
            ToolFailure: it finds nothing, or cannot be trusted to find the right places.
        """
        desk, client = self.desk, self.client
        end = asyncio.get_running_loop().time() + desk.wait
        desk.opened(client)
        await settled(client, end)
        what = ""

        async def ask() -> Any:
            nonlocal what
            opened = desk.opened(client)
            spot = spot_of(desk, opened, self.target)
            what = spot.name
            await with_users(desk, client, what, end)
            return await self._asked(position(client, opened, spot), what)

        edit = await with_open_files(desk, client, ask)
        plan = planned(desk, client, edit)
        if stray := miscounted(edit, what, client.documents, client.encoding):
            text = (
                f"{client.name} would change something else than {what!r} in "
                f"{shown(desk.bench.root, stray)}: it counts columns otherwise than it says. "
                "Nothing was changed. Ask a person to use another server."
            )
            raise Failed(text, code="lsp.miscounted")
        if not plan.files:
            raise self._nothing(what)
        return Proposal(plan, client.name)

    async def _asked(self, at: Mapping[str, Any], what: str) -> Any:
        desk, client = self.desk, self.client
        options = client.features.options("textDocument/rename", desk.place.path, desk.language)
        if isinstance(options, Mapping) and options.get("prepareProvider"):
            await _prepared(desk, client, at, what)
        params = {**at, "newName": self.new_name}
        return await client.request("textDocument/rename", params, until=desk.until)

    def _nothing(self, what: str) -> Failed | Unavailable:
        progress = self.client.progress
        text = f"Nothing was renamed: {self.client.name} found no place of {what!r} to change."
        if progress.busy:
            text += f" It is still working ({progress.said()}); call again."
            return Unavailable(text, code="lsp.indexing")
        return Failed(text, code="lsp.nothing_renamed")


async def _prepared(desk: Desk, client: Client, at: Mapping[str, Any], what: str) -> None:
    try:
        answer = await client.request("textDocument/prepareRename", at, until=desk.until)
    except RemoteError as error:
        text = f"{client.name} cannot rename {what!r}: {error.message}"
        raise Failed(text, code="lsp.not_renamable") from error
    except Unsupported:
        # It said so and does not know it; the question itself will tell.
        return
    if answer is None:
        text = f"{client.name} cannot rename {what!r} in {desk.place.shown}."
        raise Failed(text, code="lsp.not_renamable")
