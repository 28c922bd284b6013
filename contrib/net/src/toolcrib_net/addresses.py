"""Which addresses may be connected to: those of the public internet, and what policy names.

The tables are our own. What the standard library calls private or global differs between
releases of Python, and an address inside of an address (NAT64, 6to4, mapped …) is taken
for a public one there.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

import attrs


__all__ = ["Address", "AddressRules", "Network", "inner_of", "parse_address", "why_inner"]

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_V4: tuple[tuple[IPv4Network, str], ...] = tuple(
    (IPv4Network(network), what)
    for network, what in (
        ("127.0.0.0/8", "this machine (loopback)"),
        ("10.0.0.0/8", "a private network"),
        ("172.16.0.0/12", "a private network"),
        ("192.168.0.0/16", "a private network"),
        ("169.254.0.0/16", "the local link, where clouds keep their metadata"),
        ("100.64.0.0/10", "a carrier's shared network"),
        ("0.0.0.0/8", "this machine (unspecified)"),
        ("192.0.0.0/24", "a special network of the internet protocol"),
        ("192.0.2.0/24", "an example network"),
        ("198.51.100.0/24", "an example network"),
        ("203.0.113.0/24", "an example network"),
        ("192.88.99.0/24", "a relay of 6to4"),
        ("198.18.0.0/15", "a network for benchmarks"),
        ("224.0.0.0/4", "a multicast group"),
        ("240.0.0.0/4", "a reserved network"),
        ("168.63.129.16/32", "a cloud's own service"),
    )
)
_V6: tuple[tuple[IPv6Network, str], ...] = tuple(
    (IPv6Network(network), what)
    for network, what in (
        ("::1/128", "this machine (loopback)"),
        ("::/128", "this machine (unspecified)"),
        ("::ffff:0:0/96", "an IPv4 address in a mapped form"),
        ("::ffff:0:0:0/96", "an IPv4 address in a translated form"),
        ("64:ff9b::/96", "an IPv4 address behind NAT64"),
        ("64:ff9b:1::/48", "a network's own NAT64"),
        ("::/96", "an IPv4 address in a compatible form"),
        ("2002::/16", "an IPv4 address in the form of 6to4"),
        ("2001::/32", "an IPv4 address in the form of Teredo"),
        ("2001::/23", "a special network of the internet protocol"),
        ("2001:db8::/32", "an example network"),
        ("3fff::/20", "an example network"),
        ("fe80::/10", "the local link"),
        ("fec0::/10", "a site's own network"),
        ("fc00::/7", "a private network"),
        ("ff00::/8", "a multicast group"),
        ("100::/64", "a network that discards"),
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


def parse_address(text: str) -> Address | None:
    """Return the address that a text is, or None; a zone (``%eth0``) is left out."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def inner_of(host: str) -> str | None:
    """Return the IPv4 address that the text of an IPv6 address leads to, or None."""
    address = parse_address(host)
    inner = embedded(address) if isinstance(address, IPv6Address) else None
    return None if inner is None else str(inner)


def embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address leads to, or None."""
    value = int(address)
    low = value & 0xFFFFFFFF
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    high = value >> 32
    in_low_bits = high in {0x64FF9B << 64, 0xFFFF << 16} or (high == 0 and low > 1)
    if in_low_bits or (value >> 80) == 0x64FF9B0001 or (high & 0xFFFFFFFF) in _ISATAP:
        return IPv4Address(low)
    return None


def why_inner(address: Address) -> str | None:
    """Say what makes an address one that is not of the public internet, or None."""
    if isinstance(address, IPv4Address):
        return next((what for network, what in _V4 if address in network), None)
    inner = embedded(address)
    behind = why_inner(inner) if inner is not None else None
    for network, what in _V6:
        if address in network:
            return what if behind is None else f"{what}, and that is {behind}"
    if address not in _GLOBAL_V6:
        return "a reserved network"
    return behind and f"an IPv4 address in the form of ISATAP, and that is {behind}"


def _networks(values: Iterable[str]) -> tuple[Network, ...]:
    return tuple(ip_network(value) for value in values)


@attrs.frozen
class AddressRules:
    """Which addresses that are not of the public internet may be connected to all the same.

    Attributes:
        networks: Networks that policy names, such as ``10.1.0.0/16``.
    """

    networks: tuple[Network, ...] = attrs.field(default=(), converter=_networks)

    def refusal(self, address: Address) -> str | None:
        """Say why an address may not be connected to, or return None.

        An address that holds an IPv4 address is judged with that one: naming the
        network of NAT64 does not open what is private behind it.
        """
        what = why_inner(address)
        if what is None:
            return None
        if not self._names(address):
            return what
        inner = embedded(address) if isinstance(address, IPv6Address) else None
        return None if inner is None else self.refusal(inner)

    def holds(self, address: Address) -> bool:
        """Tell whether an address, or one that stands inside of it, is in these networks."""
        inner = embedded(address) if isinstance(address, IPv6Address) else None
        return self._names(address) or (inner is not None and self.holds(inner))

    def _names(self, address: Address) -> bool:
        return any(
            address in network
            for network in self.networks
            if network.version == address.version
        )
