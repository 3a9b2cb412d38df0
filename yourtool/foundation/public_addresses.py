"""Addresses of hosts, and the public ones."""

import asyncio
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

_NOT_PUBLIC_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
            "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
            "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
            "168.63.129.16/32",
        ),
    )
)  # fmt: skip
"""Private, shared, reserved and multicast networks
(https://www.iana.org/assignments/iana-ipv4-special-registry), and Azure's metadata service
(https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16). The table is
ours because `ipaddress` classifies some networks differently in different Python versions."""
_UNICAST_V6 = IPv6Network("2000::/3")
"""The only IPv6 range from which public addresses are assigned
(https://www.iana.org/assignments/ipv6-address-space)."""
_NOT_PUBLIC_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
_MAPPED, _NAT64, _6TO4 = map(IPv6Network, ("::ffff:0:0/96", "64:ff9b::/96", "2002::/16"))


def is_public(address: Address) -> bool:
    """Whether an address is public; IPv4 addresses embedded in IPv6 are checked as well."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_V4)
    if address in _MAPPED or address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    if address in _6TO4:
        return is_public(IPv4Address(int(address) >> 80 & 0xFFFFFFFF))
    return address in _UNICAST_V6 and not any(address in network for network in _NOT_PUBLIC_V6)


async def find_addresses(host: str, port: int) -> list[Address]:
    """Return the addresses of a host; a connection has to use one of them, not the name.

    Raises:
        OSError: the host was not found.
        UnicodeError: the name is not valid.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
