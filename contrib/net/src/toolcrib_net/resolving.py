"""Names to addresses, behind one method that tests and apps can replace."""

from __future__ import annotations

import asyncio
import socket

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from .addresses import parse_address
from .faults import NetError
from .policy import NetPolicy
from .targets import shown


__all__ = ["FixedResolver", "Resolver", "SystemResolver", "judged_addresses"]

_MOST = 32


class Resolver(Protocol):
    """Turns a name into addresses."""

    async def resolve(self, host: str) -> Sequence[str]:
        """Return the addresses of a name, the preferred one first.

        Raises:
            NetError: there is no such name, or nobody answers.
        """


class SystemResolver:
    """What the operating system answers."""

    async def resolve(self, host: str) -> Sequence[str]:
        """Return the addresses of a name."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise _unresolved(host, error) from error
        except (UnicodeError, OSError) as error:
            text = f"The name {shown(host)} cannot be looked up: {error}."
            raise NetError(text, code="net.resolver_failed") from error
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class FixedResolver:
    """Answers from a table, for tests, closed networks and names that an app pins.

    Args:
        names: Name → addresses, or a function that gives them anew each time.
        fallback: Answers for every other name; without it there is none.
    """

    def __init__(
        self,
        names: Mapping[str, Iterable[str] | Callable[[], Iterable[str]]],
        fallback: Resolver | None = None,
    ) -> None:
        self._names = dict(names)
        self._fallback = fallback
        self._asked: deque[str] = deque(maxlen=1000)

    @property
    def asked(self) -> list[str]:
        """Every name that was looked up, in order; the last thousand."""
        return list(self._asked)

    async def resolve(self, host: str) -> Sequence[str]:
        """Return the addresses of a name."""
        self._asked.append(host)
        found = self._names.get(host)
        if found is not None:
            return list(found() if callable(found) else found)
        if self._fallback is not None:
            return await self._fallback.resolve(host)
        text = f"There is no host named {shown(host)}."
        raise NetError(text, code="net.name_not_found")


def _unresolved(host: str, error: socket.gaierror) -> NetError:
    if error.errno in {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", None)}:
        text = f"There is no host named {shown(host)}. Check the spelling."
        return NetError(text, code="net.name_not_found")
    text = f"The name {shown(host)} could not be looked up: {error.strerror}. Try again later."
    return NetError(text, code="net.resolver_failed")


async def judged_addresses(host: str, policy: NetPolicy, resolver: Resolver) -> tuple[str, ...]:
    """Resolve a name once and return its addresses, if every one may be connected to.

    One that may not is enough to refuse: whoever mixes inner addresses into a public
    name has no good reason, and which one is tried first is a matter of luck.

    Raises:
        NetError: there is none, or one that may not be connected to.
    """
    literal = parse_address(host)
    answers = [host] if literal is not None else list(await resolver.resolve(host))[:_MOST]
    if not answers:
        text = f"The name {shown(host)} has no address."
        raise NetError(text, code="net.name_not_found")
    for answer in answers:
        address = parse_address(answer)
        if address is None:
            text = (
                f"The resolver gave {shown(answer)!r} for {shown(host)}, which is no address."
            )
            raise NetError(text, code="net.resolver_failed")
        if reason := policy.address_refusal(address, host):
            text = (
                f"{shown(host)} is not asked: its address {address} is {reason}. "
                "Only policy can allow it."
            )
            raise NetError(text, code="net.address_refused")
    return tuple(answers)
