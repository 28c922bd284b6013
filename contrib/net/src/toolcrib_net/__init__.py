"""Networking for tools: judged addresses, pinned connections, bounded answers.

Names are loaded when they are first used: importing a pack costs no HTTP library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from .addresses import AddressRules as AddressRules
    from .addresses import inner_of as inner_of
    from .addresses import why_inner as why_inner
    from .client import Client as Client
    from .client import Send as Send
    from .client import Via as Via
    from .faults import CODES as CODES
    from .faults import NetError as NetError
    from .faults import TimedOut as TimedOut
    from .faults import failure as failure
    from .filtering import FilteringProxy as FilteringProxy
    from .messages import Answer as Answer
    from .messages import Body as Body
    from .messages import Exchange as Exchange
    from .messages import Headers as Headers
    from .messages import Hop as Hop
    from .messages import Request as Request
    from .policy import NetPolicy as NetPolicy
    from .resolving import FixedResolver as FixedResolver
    from .resolving import Resolver as Resolver
    from .resolving import SystemResolver as SystemResolver
    from .targets import Target as Target
    from .targets import shown as shown
    from .targets import target as target
    from .transport import PinnedTransport as PinnedTransport
    from .waiting import retry_after as retry_after

_HOMES = {
    "addresses": ("AddressRules", "inner_of", "why_inner"),
    "client": ("Client", "Send", "Via"),
    "faults": ("CODES", "NetError", "TimedOut", "failure"),
    "filtering": ("FilteringProxy",),
    "messages": ("Answer", "Body", "Exchange", "Headers", "Hop", "Request"),
    "policy": ("NetPolicy",),
    "resolving": ("FixedResolver", "Resolver", "SystemResolver"),
    "targets": ("Target", "shown", "target"),
    "transport": ("PinnedTransport",),
    "waiting": ("retry_after",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = list(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
