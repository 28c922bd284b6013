"""What a client may do, and how much: one value for all that follows."""

from __future__ import annotations

import re

from collections.abc import Mapping
from ssl import SSLContext
from typing import Any

import attrs

from toolcrib import resources

from .addresses import Address, AddressRules, inner_of, parse_address


__all__ = ["MIB", "NetPolicy"]

MIB = 1 << 20
_NETWORK = re.compile(r"[0-9a-fA-F:.]+(/\d+)?", re.ASCII)

# Ports of services that read any text as commands: a request to them is an attack, or
# is of no use. The list is that of the Fetch standard, as browsers have it.
_BAD_PORTS = frozenset({
    *(0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87),
    *(95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143),
    *(161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556),
    *(563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190),
    *(5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211),
})  # fmt: skip


def _positive(_: Any, field: attrs.Attribute[Any], value: float) -> None:
    if not value > 0:
        text = f"{field.name} must be above zero, not {value!r}"
        raise ValueError(text)


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        text = f"must be a list, not the text {value!r}"
        raise ValueError(text)  # noqa: TRY004 - a policy's mistakes are values
    return tuple(value)


@attrs.frozen(kw_only=True)
class NetPolicy:
    """What requests may do.

    Attributes:
        schemes: Schemes that may be asked.
        allow: What may be reached although it is not on the public internet: networks
            (``10.1.0.0/16``), addresses, hosts (``wiki.corp``, ``*.corp``). A host that
            is named here may have any address.
        deny: What is never asked, written likewise. A host is denied by every way to write
            it; an address or a network also where a name leads to it, and where it stands
            inside of another address (NAT64, 6to4, mapped …).
        any_port: Whether ports of mail, shells and the like may be asked.
        connect_timeout: Seconds for name, connection and TLS.
        idle_timeout: Seconds without a byte.
        deadline: Seconds for everything, redirects included.
        min_rate: Bytes a second below which an answer is given up.
        rate_grace: Seconds before that is looked at.
        max_wire: Bytes of one answer's body as they come over the wire.
        max_body: Bytes of it after decompression.
        max_redirects: Hops after the first request.
        max_connections: Connections at once.
        per_host: Requests to one host at once.
        per_host_rate: Requests to one host in a second; 0: no limit.
        http2: Whether HTTP/2 is offered.
        tls: Context for certificates; the system's by default.
        proxy: Address of a proxy, or ``environment`` for that of the environment.
        proxy_resolves: Must be set with ``proxy``: names are then resolved where
            nobody can judge the addresses.
        user_agent: What requests say they are.
    """

    schemes: tuple[str, ...] = attrs.field(default=("http", "https"), converter=_words)
    allow: tuple[str, ...] = attrs.field(default=(), converter=_words)
    deny: tuple[str, ...] = attrs.field(default=(), converter=_words)
    any_port: bool = False
    connect_timeout: float = attrs.field(default=10.0, validator=_positive)
    idle_timeout: float = attrs.field(default=15.0, validator=_positive)
    deadline: float = attrs.field(default=60.0, validator=_positive)
    min_rate: int = 512
    rate_grace: float = 8.0
    max_wire: int = attrs.field(default=16 * MIB, validator=_positive)
    max_body: int = attrs.field(default=32 * MIB, validator=_positive)
    max_redirects: int = 10
    max_connections: int = attrs.field(default=100, validator=_positive)
    per_host: int = attrs.field(default=6, validator=_positive)
    per_host_rate: float = 0.0
    http2: bool = True
    tls: SSLContext | None = attrs.field(default=None, repr=False)
    proxy: str | None = None
    proxy_resolves: bool = False
    user_agent: str = "toolcrib/0.1"

    addresses: AddressRules = attrs.field(init=False, repr=False)
    denied: AddressRules = attrs.field(init=False, repr=False)
    _allowed: tuple[str, ...] = attrs.field(init=False, repr=False)
    _denied: tuple[str, ...] = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        networks = [entry for entry in self.allow if _is_network(entry)]
        hosts = [_pattern(entry) for entry in self.allow if not _is_network(entry)]
        object.__setattr__(self, "addresses", AddressRules(networks))
        object.__setattr__(self, "_allowed", tuple(hosts))
        shut = [inner_of(entry) or entry for entry in self.deny if _is_network(entry)]
        names = [_pattern(entry) for entry in self.deny if not _is_network(entry)]
        object.__setattr__(self, "denied", AddressRules(shut))
        object.__setattr__(self, "_denied", tuple(names))
        if self.proxy is not None and not self.proxy_resolves:
            text = (
                "a proxy resolves names itself, where their addresses cannot be judged: "
                "set proxy_resolves as well if that is meant"
            )
            raise ValueError(text)

    def host_named(self, host: str) -> bool:
        """Whether policy names a host, so that it may have any address."""
        return _covered(host, self._allowed)

    def host_refusal(self, host: str) -> str | None:
        """Say why a host is not to be asked, whatever its address, or return None."""
        address = parse_address(host)
        denied = self.denied.holds(address) if address is not None else False
        return "policy denies it" if denied or _covered(host, self._denied) else None

    def port_refusal(self, port: int) -> str | None:
        """Say why a port is not to be asked, or return None."""
        if port in _BAD_PORTS and not self.any_port:
            return "it belongs to a service that does not speak HTTP"
        return None

    def address_refusal(self, address: Address, host: str) -> str | None:
        """Say why an address is not to be connected to for a host, or return None."""
        if self.denied.holds(address):
            return "an address that policy denies"
        if self.host_named(host):
            return None
        return self.addresses.refusal(address)

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> NetPolicy:
        """Make a policy of a table of settings.

        Raises:
            ValueError: a key is unknown or a value wrong; the text names it.
        """
        known = {f.name: f for f in attrs.fields(cls) if f.init and f.name != "tls"}
        for key, value in table.items():
            if key not in known:
                text = f"{key} is no setting of the network; known are {', '.join(known)}"
                raise ValueError(text)
            default = known[key].default
            wrong = _wrong_kind(value, default)
            if wrong is not None:
                text = f"{key} must be {wrong}, not {value!r}"
                raise ValueError(text)
        return cls(**table)


def _wrong_kind(value: Any, default: Any) -> str | None:
    if isinstance(default, bool):
        return None if isinstance(value, bool) else "true or false"
    if isinstance(default, int | float):
        return None if type(value) in {int, float} else "a number"
    return None


def _is_network(entry: str) -> bool:
    return _NETWORK.fullmatch(entry) is not None and (":" in entry or entry[0].isdigit())


def _pattern(entry: str) -> str:
    star = "*." if entry.startswith("*.") else ""
    return star + resources.Host(entry.removeprefix("*.")).value


def _covered(host: str, patterns: tuple[str, ...]) -> bool:
    return any(
        host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern
        for pattern in patterns
    )
