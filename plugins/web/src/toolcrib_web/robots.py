"""What sites ask of programs: robots.txt, by Protego and RFC 9309."""

from __future__ import annotations

import time

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from toolcrib_net import Answer, NetError


__all__ = ["LARGEST", "Robots"]

#: Asks for one address and gives the answer; as bounded as every other request.
Ask = Callable[[str], Awaitable[Answer]]

_SECONDS = 3600.0
_MOST_SITES = 500
LARGEST = 500 * 1024


@attrs.frozen
class _Known:
    rules: Any
    until: float
    allowed: bool


class Robots:
    """What was read of each site, for an hour.

    Args:
        name: The product that the rules are looked up for.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._sites: OrderedDict[str, _Known] = OrderedDict()

    async def allows(self, url: str, ask: Ask) -> bool:
        """Tell whether a site lets programs ask for an address."""
        scheme, _, rest = url.partition("://")
        site = f"{scheme}://{rest.partition('/')[0]}"
        known = self._sites.get(site)
        if known is None or known.until < time.monotonic():
            known = self._sites[site] = await self._read(site, ask)
            while len(self._sites) > _MOST_SITES:
                self._sites.popitem(last=False)
        if known.rules is None:
            return known.allowed
        return bool(known.rules.can_fetch(url, self._name))

    async def _read(self, site: str, ask: Ask) -> _Known:
        until = time.monotonic() + _SECONDS
        try:
            answer = await ask(f"{site}/robots.txt")
        except NetError as error:
            # A site that cannot be reached says nothing; the page itself will tell why.
            refused = error.kind == "refused"
            return _Known(None, until if refused else time.monotonic() + 30, allowed=True)
        if answer.status >= 500 or answer.status == 429:
            return _Known(None, time.monotonic() + 60, allowed=False)
        if answer.status != 200:
            return _Known(None, until, allowed=True)
        from protego import Protego

        # A file that is too long counts as far as it was read (RFC 9309, 2.5).
        text = answer.body[:LARGEST].decode("utf-8", "replace")
        return _Known(Protego.parse(text), until, allowed=True)
