"""What a request says about itself and may be believed: its scheme, its client, and its user."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings

from schedweb.front.asgi import Scope
from schedweb.front.bodies import reserved_bytes

#: A client without credentials may send so many bytes: the login form is smaller.
STRANGERS_BYTES = 256 * 1024

_FORWARDED = b"x-forwarded-proto"
_CLIENTS = b"x-forwarded-for"

Address = IPv4Address | IPv6Address


def drop_claims(scope: Scope) -> None:
    """Remove X-Forwarded-Proto, unless a trusted proxy has sent the request.

    The client of a request of a trusted proxy is the one that X-Forwarded-For names.
    """
    if is_trusted(scope):
        if client := _forwarded_client(scope):
            scope["client"] = (client, 0)
        return
    headers = scope["headers"]
    if any(name == _FORWARDED for name, _ in headers):
        scope["headers"] = [pair for pair in headers if pair[0] != _FORWARDED]


def is_secure(scope: Scope) -> bool:
    """Whether the client uses https, here or at a trusted proxy; call `drop_claims` before."""
    claimed = [value for name, value in scope["headers"] if name == _FORWARDED]
    # a proxy that appends leaves what its client has sent before
    return scope.get("scheme") in ("https", "wss") or set(claimed) == {b"https"}


def client_network(scope: Scope) -> str:
    """The network for which a request is counted: an IPv4 address, or the /64 of an IPv6 address.

    Hosts choose their addresses below a /64 freely.
    """
    named = _forwarded_client(scope) if is_trusted(scope) else ""
    text = named or (scope.get("client") or ("",))[0]
    address = _address(text)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return text if address is None else str(address)


def needs_user(scope: Scope) -> bool:
    """Whether the body is so large that its user must be known before it is read."""
    return scope["method"] not in ("GET", "HEAD") and reserved_bytes(scope) > STRANGERS_BYTES


def _forwarded_client(scope: Scope) -> str:
    """The last address in X-Forwarded-For that is not a trusted proxy; "" without the header.

    Those before it were sent by the client, and may be invented.
    """
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == _CLIENTS]
    addresses = [_address(word) for word in ",".join(values).split(",")]
    for address in reversed(addresses):
        if address is None:
            return ""
        if not _is_proxy(address):
            return str(address)
    return ""


def is_trusted(scope: Scope) -> bool:
    """Whether a proxy of the site has sent the request."""
    client = scope.get("client")
    address = _address(client[0]) if client else None
    return address is not None and _is_proxy(address)


def _is_proxy(address: Address) -> bool:
    return any(address in network for network in settings.CONFIG.trusted_proxies)


@lru_cache(maxsize=1000)
def _address(text: str) -> Address | None:
    try:
        address = ip_address(text.strip())
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
