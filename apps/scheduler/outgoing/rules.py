"""What a site allows to the requests that its users configure: extenders and webhooks."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

#: Services of clouds that give credentials to the machine, outside the link-local networks.
_METADATA = tuple(ip_network(text) for text in ("fd00:ec2::254/128", "100.100.100.200/32"))
#: The IPv4 address is in the last 32 bits (NAT64).
_TRANSLATED = IPv6Network("64:ff9b::/96")


class DestinationRefused(Exception):
    """The site does not send requests to this host."""


class FileRefused(Exception):
    """The site does not let configurations read this file."""


@dataclass(frozen=True, slots=True)
class OutgoingRules:
    """The addresses that requests may reach, and the files that their TLS settings may name.

    ``networks``: the allowed ones. None: all addresses except multicast, link-local ones and those
    of cloud metadata services; loopback only if ``loopback``. ``folders``: those of readable files.
    """

    networks: tuple[Network, ...] | None = None
    loopback: bool = True
    folders: tuple[Path, ...] = (Path("/"),)

    def resolve(self, host: str, port: int) -> list[tuple[str, int]]:
        """The allowed addresses of *host*, to connect to without another look-up.

        Raises DestinationRefused if there is none, and socket.gaierror for an unknown host.
        """
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        texts = list(dict.fromkeys(str(each[4][0]) for each in found))
        allowed = [text for text in texts if self.allows(_parse(text))]
        if not allowed:
            raise DestinationRefused(_describe_refusal(host, texts))
        return [(text, port) for text in allowed]

    def allows(self, address: Address) -> bool:
        """Whether requests may be sent to this address; an embedded IPv4 address counts."""
        address = _unwrap(address)
        if self.networks is not None:
            return any(address in network for network in self.networks)
        if address.is_loopback or address.is_unspecified:
            return self.loopback
        special = address.is_link_local or address.is_multicast
        return not special and not any(address in network for network in _METADATA)

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


def _unwrap(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, otherwise the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _describe_refusal(host: str, addresses: Sequence[str]) -> str:
    where = host if host in addresses else f"{host} ({', '.join(addresses)})"
    return f"{where}: this site does not send requests to this address (SCHEDWEB_OUTGOING_NETWORKS)"
