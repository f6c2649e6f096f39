"""What a request says about itself and may be believed: its scheme, and its user."""

from __future__ import annotations

from ipaddress import ip_address

from django.conf import settings

from schedweb.front.asgi import Scope
from schedweb.front.bodies import reserved_bytes

#: A client without credentials may send so many bytes: the login form is smaller.
STRANGERS_BYTES = 256 * 1024

_FORWARDED = b"x-forwarded-proto"


def drop_claims(scope: Scope) -> None:
    """Remove X-Forwarded-Proto, unless a trusted proxy has sent the request."""
    headers = scope["headers"]
    if any(name == _FORWARDED for name, _ in headers) and not _is_trusted(scope):
        scope["headers"] = [pair for pair in headers if pair[0] != _FORWARDED]


def is_secure(scope: Scope) -> bool:
    """Whether the client uses https, here or at a trusted proxy; call `drop_claims` before."""
    claimed = next((value for name, value in scope["headers"] if name == _FORWARDED), b"")
    return scope.get("scheme") in ("https", "wss") or claimed == b"https"


def needs_user(scope: Scope) -> bool:
    """Whether the body is so large that its user must be known before it is read."""
    return scope["method"] not in ("GET", "HEAD") and reserved_bytes(scope) > STRANGERS_BYTES


def _is_trusted(scope: Scope) -> bool:
    client = scope.get("client")
    try:
        address = ip_address(client[0]) if client else None
    except ValueError:
        return False
    if address is None:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in settings.CONFIG.trusted_proxies)
