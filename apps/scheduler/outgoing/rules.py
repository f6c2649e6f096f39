"""What a site allows to the requests that its users configure: extenders and webhooks."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

#: Services of clouds that give credentials to the machine. Only a network of the one address
#: allows it: a large network that happens to contain it does not.
_METADATA = frozenset(
    ip_address(text)
    for text in (
        *("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
        *("fd00:ec2::254", "fd20:ce::254"),
    )
)
#: Every global unicast address of IPv6 is here: not those of NAT64, nor those that are compatible
#: with IPv4 or local to a site.
_UNICAST = IPv6Network("2000::/3")
#: IANA's special-purpose addresses that Python's older tables take for global ones: protocol
#: assignments (Teredo among them) and relays of 6to4, tunnels, documentation.
_SPECIAL = tuple(
    ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2002::/16", "3fff::/20")
)
#: Addresses inside a company or a home.
_PRIVATE = tuple(
    ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
)
#: Gateways of NAT64: the IPv4 address is in the last 32 bits.
_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))


class DestinationRefused(Exception):
    """The site does not send requests to this host."""


class FileRefused(Exception):
    """The site does not let configurations read this file."""


@dataclass(frozen=True, slots=True)
class OutgoingRules:
    """The addresses that requests may reach, and the files that their TLS settings may name.

    ``networks``: the allowed ones, and with ``public`` global unicast addresses, too. None: global
    unicast addresses; with ``internal`` also those of this machine and of private networks.
    ``folders``: those of readable files.
    """

    networks: tuple[Network, ...] | None = None
    public: bool = False
    internal: bool = True
    folders: tuple[Path, ...] = (Path("/"),)

    def resolve(self, host: str, port: int) -> list[tuple[str, int]]:
        """The allowed addresses of *host*, to connect to without another look-up.

        Raises DestinationRefused if there is none, and socket.gaierror for an unknown host.
        """
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        texts = list(dict.fromkeys(str(each[4][0]) for each in addresses))
        allowed = [text for text in texts if self.allows(_parse(text))]
        if not allowed:
            raise DestinationRefused(_describe_refusal(host, texts))
        return [(text, port) for text in allowed]

    def allows(self, address: Address) -> bool:
        """Whether requests may be sent to this address, and to an IPv4 address inside it."""
        address = getattr(address, "ipv4_mapped", None) or address
        if not self._allows_one(address):
            return False
        return all(self._allows_one(each) or _is_global(each) for each in _embedded(address))

    def _allows_one(self, address: Address) -> bool:
        if self.networks is not None:
            return _is_listed(address, self.networks) or (self.public and _is_global(address))
        if address.is_loopback or address.is_unspecified or _is_in(address, _PRIVATE):
            return self.internal and address not in _METADATA
        return _is_global(address)

    def check_file(self, name: str) -> None:
        """Raise FileRefused, whether the file exists or not, if it is outside the folders."""
        path = Path(name).resolve()
        if not any(path.is_relative_to(folder.resolve()) for folder in self.folders):
            raise FileRefused(
                f"{name}: this site lets configurations read only files in the folders of "
                "SCHEDWEB_TLS_FOLDERS; give the content instead (caData, certData, keyData)"
            )


#: The rules of a site that only its own machine can reach.
PERSONAL = OutgoingRules()


def _parse(text: str) -> Address:
    return ip_address(text.partition("%")[0])


def _is_global(address: Address) -> bool:
    """Whether this is an address of one machine in the Internet, and not of a cloud's metadata."""
    if address.is_multicast or not address.is_global or address in _METADATA:
        return False
    return not _is_in(address, _SPECIAL) and (address.version == 4 or address in _UNICAST)


def _is_listed(address: Address, networks: Sequence[Network]) -> bool:
    exact = address in _METADATA
    return _is_in(address, [each for each in networks if not exact or each.num_addresses == 1])


def _is_in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


def _embedded(address: Address) -> Sequence[IPv4Address]:
    """The IPv4 addresses to which gateways and tunnels send what an IPv6 address is sent."""
    if isinstance(address, IPv4Address):
        return ()
    if _is_in(address, _TRANSLATED):
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    embedded = (address.sixtofour, *(address.teredo or ()))
    return [each for each in embedded if each is not None]


def _describe_refusal(host: str, addresses: Sequence[str]) -> str:
    where = host if host in addresses else f"{host} ({', '.join(addresses)})"
    return f"{where}: this site does not send requests to this address (SCHEDWEB_OUTGOING_NETWORKS)"
