"""IP addresses and networks, with the errors of Go's package netip."""

from __future__ import annotations

import ipaddress
import re

from apps.cel.values import CelError, Cidr, Ip

_ZERO = ord("0")


def parse_ip(text: str) -> Ip | CelError:
    address = _parse_address(text)
    if isinstance(address, str):
        return CelError(f'IP Address "{text}" parse error during conversion from string: {address}')
    wrong = _refusal(text, address)
    return CelError(wrong) if wrong else Ip(address)


def parse_cidr(text: str) -> Cidr | CelError:
    prefix = _parse_prefix(text)
    if isinstance(prefix, str):
        start = "network address parse error during conversion from string: "
        return CelError(f'{start}netip.ParsePrefix("{text}"): {prefix}')
    wrong = _refusal(text, prefix.ip)
    return CelError(wrong) if wrong else Cidr(prefix)


def _refusal(text: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """Why Kubernetes does not accept an address that is one."""
    if isinstance(address, ipaddress.IPv4Address):
        return ""
    if address.scope_id is not None:
        return f'IP address "{text}" with zone value is not allowed'
    if address.ipv4_mapped is not None:
        return f'IPv4-mapped IPv6 address "{text}" is not allowed'
    return ""


def _parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | str:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return f'ParseAddr("{text}"): {_why_no_address(text)}'


def _why_no_address(text: str) -> str:
    first = next((each for each in text if each in ".:%"), "")
    if first == "%":
        return "missing IPv6 address"
    return _why_no_ipv4(text) if first == "." else "unable to parse IP"


def _why_no_ipv4(text: str) -> str:
    value, digits, dots = 0, 0, 0
    for position, character in enumerate(text):
        if character in "0123456789":
            if digits == 1 and value == 0:
                return "IPv4 field has octet with leading zero"
            value, digits = value * 10 + ord(character) - _ZERO, digits + 1
            if value > 255:
                return "IPv4 field has value >255"
        elif character == ".":
            if not digits or position == len(text) - 1:
                return f'IPv4 field must have at least one digit (at "{text[position:]}")'
            if dots == 3:
                return "IPv4 address too long"
            value, digits, dots = 0, 0, dots + 1
        else:
            return f'unexpected character (at "{text[position:]}")'
    return "IPv4 address too short"


def _parse_prefix(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface | str:
    start, slash, bits = text.rpartition("/")
    if not slash:
        return "no '/'"
    address = _parse_address(start)
    if isinstance(address, str):
        return address
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        return "IPv6 zones cannot be present in a prefix"
    if not re.fullmatch(r"0|[1-9][0-9]*", bits):
        return f'bad bits after slash: "{bits}"'
    if int(bits) > address.max_prefixlen:
        return "prefix length out of range"
    return ipaddress.ip_interface(f"{address}/{bits}")
