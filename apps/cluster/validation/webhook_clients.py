"""How a webhook is reached: an address, or a Service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, all_invalid, invalid, required

Body = Mapping[str, Any]

_FORM: Final = "; desired format: https://host[/path]"
_HIGHEST_PORT: Final = 65535


def validate_client(client: Body, path: str) -> Causes:
    """A `clientConfig`."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(url, f"{path}.url")
    elif service is not None:
        yield from _service(service, f"{path}.service")


def _url(text: str, path: str) -> Causes:
    if text.startswith(":"):
        detail = f'url must be a valid URL: parse "{text}": missing protocol scheme{_FORM}'
        yield required(path, detail)
        return
    try:
        url = urlsplit(text)
        _ = url.hostname
    except ValueError as error:
        yield required(path, f'url must be a valid URL: parse "{text}": {error}{_FORM}')
        return
    if url.scheme != "https":
        yield invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not url.netloc:
        yield invalid(path, "", f"host must be specified{_FORM}")
    if "@" in url.netloc:
        user = url.netloc.rpartition("@")[0]
        yield invalid(path, user, "user information is not permitted in the URL")
    if url.fragment:
        yield invalid(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        yield invalid(path, url.query, "query parameters are not permitted in the URL")


def _service(service: Body, path: str) -> Causes:
    # the API server names the other one of the two
    for field, named in (("namespace", "name"), ("name", "namespace")):
        if not service.get(field):
            yield required(f"{path}.{named}")
    port = service.get("port")
    if port is not None and not 1 <= port <= _HIGHEST_PORT:
        detail = f"port is not valid: must be between 1 and {_HIGHEST_PORT}, inclusive"
        yield invalid(f"{path}.port", port, detail)
    if service.get("path"):
        yield from _path(service["path"], f"{path}.path")


def _path(text: str, path: str) -> Causes:
    if not text.startswith("/"):
        yield invalid(path, text, "must start with a '/'")
    if text == "/":
        return
    segments = text[1:].split("/")
    for index, segment in enumerate(segments):
        if segment:
            details = [f"segment[{index}]: {each}" for each in names.dns_subdomain(segment)]
            yield from all_invalid(path, text, details)
        elif index < len(segments) - 1 or index == 0:
            yield invalid(path, text, f"segment[{index}] may not be empty")
