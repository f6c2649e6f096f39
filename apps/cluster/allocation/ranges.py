"""The ranges of service addresses and node ports, and drawing a free value from one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv4Network
from itertools import chain
from secrets import randbelow
from typing import Final

#: A random number from 0 up to a number, which it does not reach.
Draw = Callable[[int], int]

#: Node ports.
NODE_PORTS: Final = range(30_000, 32_768)
#: The network of service addresses; ServiceCIDR objects add others.
NETWORK: Final = IPv4Network("10.96.0.0/12")

#: The first values of each range are drawn last: those are what users choose by hand.
_LOW_PORTS: Final = len(NODE_PORTS) // 32
_LOW_ADDRESSES: Final = 256


def contains(networks: Iterable[IPv4Network], address: IPv4Address) -> bool:
    """Whether one of the networks has this address for a service.

    The first and the last address of a network are for no service.
    """
    return any(
        network.network_address < address < network.broadcast_address for network in networks
    )


def draw_port(is_taken: Callable[[int], bool], draw: Draw = randbelow) -> int | None:
    """A random free node port; None if all are taken."""
    return _draw(NODE_PORTS, _LOW_PORTS, is_taken, draw)


def draw_address(is_taken: Callable[[str], bool], draw: Draw = randbelow) -> str | None:
    """A random free address of the default network; None if all are taken."""
    numbers = range(int(NETWORK.network_address) + 1, int(NETWORK.broadcast_address))
    number = _draw(numbers, _LOW_ADDRESSES, lambda each: is_taken(str(IPv4Address(each))), draw)
    return None if number is None else str(IPv4Address(number))


def _draw(values: range, low: int, is_taken: Callable[[int], bool], draw: Draw) -> int | None:
    """The first free value after a random one; one of the first `low` if no other is free."""
    for part in (values[low:], values[:low]):
        start = draw(len(part))
        for value in chain(part[start:], part[:start]):
            if not is_taken(value):
                return value
    return None
