"""Addresses, networks and domains, as fields of services, endpoints and ingresses have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, all_invalid, invalid, required

NOT_AN_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_A_NETWORK: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
NOT_A_NAME: Final = "must be a DNS name, not an IP address"
_MAPPED: Final = "must not be an IPv4-mapped IPv6 address"
#: Zeros before the other digits of a decimal part of an IPv4 address, or of a prefix length.
_LEADING_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F:])0+(?=[0-9])")
_WILDCARD: Final = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NOT_WILDCARD: Final = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which "
    "must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric "
    f"character (e.g. '*.example.com', regex used for validation is '{_WILDCARD}')"
)
_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_NOT_PREFIXED: Final = 'must be a domain-prefixed path (such as "acme.io/foo")'
_FEW_SEGMENTS: Final = "should be a domain with at least two segments separated by dots"


def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """The address; None for any other text."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def read_network(text: str) -> IPv4Network | IPv6Network | None:
    """The network that an address with the length of a prefix is in; None for any other text."""
    try:
        return ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


def read_old_network(text: str) -> IPv4Network | IPv6Network | None:
    """`read_network`, also of a text with leading zeros, which stored objects may have."""
    return read_network(_LEADING_ZEROS.sub("", text))


def address_name(text: str) -> tuple[str, ...]:
    """The name of an IPAddress."""
    return () if read_address(text) else (NOT_AN_ADDRESS,)


def validate_address(text: str, path: str) -> Causes:
    """An IP address."""
    address = read_address(text)
    if address is None:
        is_padded = read_address(_LEADING_ZEROS.sub("", text)) is not None
        yield invalid(path, text, "must not have leading 0s" if is_padded else NOT_AN_ADDRESS)
    elif address.version == 6 and address.ipv4_mapped is not None:
        yield invalid(path, text, _MAPPED)


def validate_network(text: str, path: str) -> Causes:
    """A network: an IP address with the length of a prefix, and no bits behind that."""
    network = read_network(text)
    plain = _LEADING_ZEROS.sub("", text)
    if plain != text and read_network(plain) is not None:
        yield invalid(path, text, "must not have leading 0s in IP or prefix length")
    elif network is None:
        yield invalid(path, text, NOT_A_NETWORK)
    elif network.version == 6 and network.network_address.ipv4_mapped is not None:
        yield invalid(path, text, _MAPPED)
    elif network.network_address != ip_address(text.partition("/")[0]):
        yield invalid(path, text, "must not have bits set beyond the prefix length")


def network_warnings(text: str, path: str) -> Iterator[str]:
    """The warning about an IPv6 address or network that is not in its canonical form."""
    parsed = read_network(text) if "/" in text else read_address(text)
    if parsed is not None and parsed.version == 6 and str(parsed) != text:
        what = "CIDR value" if "/" in text else "address"
        yield (f'{path}: IPv6 {what} "{text}" should be in RFC 5952 canonical format ("{parsed}")')


def validate_canonical_network(text: str, path: str) -> Causes:
    """A network in the one notation that is not ambiguous."""
    causes = list(validate_network(text, path))
    yield from causes
    if causes:
        return
    network = ip_network(text, strict=False)
    if str(network) != text:
        yield invalid(path, text, f'must be in canonical form ("{network}")')


def validate_reachable(text: str, path: str) -> Causes:
    """An address that other machines can reach; no error for a text that is no address."""
    address = read_address(text)
    if address is None:
        return
    if address.is_unspecified:
        yield invalid(path, text, "may not be unspecified (0.0.0.0 or ::)")
    if address.is_loopback:
        yield invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        yield invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if address in ip_network("224.0.0.0/24" if address.version == 4 else "ff02::/16"):
        ranges = "(224.0.0.0/24, ff02::/10)"
        yield invalid(path, text, f"may not be in the link-local multicast range {ranges}")


def validate_host(text: str, path: str) -> Causes:
    """A DNS name, possibly with a wildcard as its first label."""
    if "*" not in text:
        yield from all_invalid(path, text, names.dns_subdomain(text))
        return
    if len(text) > 253:
        yield invalid(path, text, "must be no more than 253 characters")
    if not re.fullmatch(_WILDCARD, text):
        yield invalid(path, text, _NOT_WILDCARD)


def validate_full_domain(text: str, path: str) -> Causes:
    """A DNS name with at least two labels."""
    if not text:
        yield required(path)
        return
    text = text.removesuffix(".")
    problems = names.dns_subdomain(text)
    yield from all_invalid(path, text, problems)
    if problems:
        return
    if "." not in text:
        yield invalid(path, text, _FEW_SEGMENTS)
    for label in text.split("."):
        if len(label) > 63:
            yield invalid(path, label, "must be no more than 63 characters")


def validate_prefixed_path(text: str, path: str) -> Causes:
    """A domain and a path, such as `example.com/ingress`."""
    domain, _, rest = text.partition("/")
    if not domain or not rest:
        yield invalid(path, text, _NOT_PREFIXED)
        return
    yield from all_invalid(path, domain, names.dns_subdomain(domain))
    if not re.fullmatch(_HTTP_PATH, rest):
        yield invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')")
