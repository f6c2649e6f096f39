"""Calls the webhooks that a cluster configures: its admission asks them, and conversion.

They are called over https, at addresses that the site allows. One deadline holds for the whole
exchange, answers have a largest size, and of one cluster a process makes a few calls at a time.
"""

from __future__ import annotations

import base64
import binascii
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from django.conf import settings

from apps.scheduler.outgoing.deadline import connect, seconds_until, secured
from apps.scheduler.outgoing.rules import DestinationRefused

Body = Mapping[str, Any]
#: Namespace and name of a Service -> the object; None if there is none.
FindService = Callable[[str, str], Body | None]

#: Bytes of an answer: the largest object, as a patch that replaces it, and more.
LARGEST_ANSWER: Final = 8 * 1024 * 1024
#: Calls for one cluster at the same time, of one process; others wait, which is part of their time.
CALLS_AT_A_TIME: Final = 8
_HEADERS: Final = {
    "Accept": "application/json, */*",
    "Content-Type": "application/json",
    "Accept-Encoding": "identity",
    "Connection": "close",
}
#: What OpenSSL says of a certificate that leads to no authority that is trusted.
_UNKNOWN_AUTHORITY: Final = frozenset({2, 18, 19, 20, 21})
_EXPIRED: Final = frozenset({9, 10})
_DEADLINE: Final = "context deadline exceeded"


class CallFailed(Exception):
    """There is no answer; the message is that of the API server."""


def post(
    client: Body,
    review: Body,
    *,
    timeout: float,
    named_timeout: int,
    agent: str,
    cluster_id: int,
    find_service: FindService,
) -> Any:
    """The answer of a webhook to a review, which is JSON; raises CallFailed.

    `client` is a `clientConfig`. The call ends after `timeout` seconds; `named_timeout` are those
    that the webhook is told. Redirects are not followed.
    """
    deadline = time.monotonic() + timeout
    url, refusal = _address(client, find_service)
    if named_timeout:
        url += f"?timeout={named_timeout}s"
    try:
        if refusal:
            raise _ExchangeFailed(refusal)
        body = json.dumps(review, separators=(",", ":"), ensure_ascii=False).encode()
        with _one_of_few(cluster_id, deadline):
            status, content_type, answer = _exchange(url, client, body, agent, deadline)
    except _ExchangeFailed as failure:
        raise CallFailed(f'Post "{url}": {failure}') from failure
    except (OSError, http.client.HTTPException, ValueError) as failure:
        raise CallFailed(f'Post "{url}": {_describe(failure)}') from failure
    return _read(status, content_type, answer)


class _ExchangeFailed(Exception):
    """No connection; the message says why."""


def _address(client: Body, find_service: FindService) -> tuple[str, str]:
    """The URL, and why it cannot be reached: no pod of a mock cluster answers for a Service."""
    if client.get("url") is not None:
        url = urlsplit(client["url"])
        return f"https://{url.netloc}{url.path or '/'}", ""
    service = client["service"]
    namespace, name, port = service["namespace"], service["name"], service.get("port", 443)
    path = (service.get("path") or "/").lstrip("/")
    url_text = f"https://{name}.{namespace}.svc:{port}/{path}"
    stored = find_service(namespace, name)
    if stored is None:
        return url_text, f'service "{name}" not found'
    spec = stored.get("spec") or {}
    if all(each.get("port") != port for each in spec.get("ports") or ()):
        return url_text, f'no service port {port} found for service "{name}"'
    host = spec.get("externalName") if spec.get("type") == "ExternalName" else spec.get("clusterIP")
    return url_text, f"dial tcp {host}:{port}: connect: connection refused"


_slots: Final[WeakValueDictionary[int, threading.BoundedSemaphore]] = WeakValueDictionary()
_slots_lock: Final = threading.Lock()


@contextmanager
def _one_of_few(cluster_id: int, deadline: float) -> Iterator[None]:
    """Wait until few enough calls of the cluster are under way; TimeoutError."""
    with _slots_lock:
        slots = _slots.get(cluster_id)
        if slots is None:
            slots = _slots[cluster_id] = threading.BoundedSemaphore(CALLS_AT_A_TIME)
    if not slots.acquire(timeout=seconds_until(deadline)):
        raise TimeoutError
    try:
        yield
    finally:
        slots.release()


def _exchange(
    url: str, client: Body, body: bytes, agent: str, deadline: float
) -> tuple[int, str, bytes]:
    """Status, content type and body of the answer."""
    address = urlsplit(url)
    host, port = address.hostname or "", address.port or 443
    context = _context(client.get("caBundle") or "")
    connection = http.client.HTTPConnection(host, port)
    connection.sock = secured(_dial(host, port, deadline), context, host, deadline)
    try:
        target = f"{address.path or '/'}{f'?{address.query}' if address.query else ''}"
        connection.request("POST", target, body, {**_HEADERS, "User-Agent": agent})
        with connection.getresponse() as response:
            answer = response.read(LARGEST_ANSWER + 1)
            if len(answer) > LARGEST_ANSWER:
                raise ValueError(f"the answer is longer than {LARGEST_ANSWER} bytes")
            return response.status, response.headers.get("Content-Type", ""), answer
    finally:
        connection.close()


def _dial(host: str, port: int, deadline: float) -> socket.socket:
    try:
        return connect(host, port, rules=settings.OUTGOING, deadline=deadline)
    except DestinationRefused as refusal:
        raise _ExchangeFailed(f"dial tcp: {refusal}") from refusal
    except socket.gaierror as failure:
        raise _ExchangeFailed(f"dial tcp: lookup {host}: no such host") from failure
    except TimeoutError:
        raise
    except OSError as failure:
        why = (failure.strerror or str(failure)).lower()
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        raise _ExchangeFailed(f"dial tcp {shown}: connect: {why}") from failure


@lru_cache(maxsize=64)
def _context(bundle: str) -> ssl.SSLContext:
    """Trusts the certificates of a `caBundle`; without one, those of the machine."""
    if not bundle:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cadata=base64.b64decode(bundle).decode("ascii"))
    except (ssl.SSLError, binascii.Error, UnicodeDecodeError, ValueError) as failure:
        raise _ExchangeFailed(
            "unable to load root certificates: unable to parse bytes as PEM block"
        ) from failure


def _describe(failure: Exception) -> str:
    match failure:
        case TimeoutError():
            return _DEADLINE
        case ssl.SSLCertVerificationError():
            return f"tls: failed to verify certificate: x509: {_certificate_fault(failure)}"
        case ssl.SSLEOFError() | http.client.RemoteDisconnected() | ConnectionResetError():
            return "EOF"
        case http.client.IncompleteRead():
            return "unexpected EOF"
        case ssl.SSLError():
            return f"tls: {failure.reason or failure}"
        case http.client.BadStatusLine():
            return f"malformed HTTP response {str(failure)!r}"
        case OSError():
            return (failure.strerror or str(failure)).lower()
    return str(failure) or type(failure).__name__


def _certificate_fault(failure: ssl.SSLCertVerificationError) -> str:
    if failure.verify_code in _UNKNOWN_AUTHORITY:
        return "certificate signed by unknown authority"
    if failure.verify_code in _EXPIRED:
        return "certificate has expired or is not yet valid"
    return failure.verify_message


def _read(status: int, content_type: str, answer: bytes) -> Any:
    """The answer as JSON; a status that is no success is described as by client-go."""
    if not 200 <= status <= http.client.PARTIAL_CONTENT:
        raise CallFailed(_status_text(status, answer))
    if not answer:
        raise CallFailed(
            f"0-length response with status code: {status} and content type: "
            f"{content_type or 'application/json'}"
        )
    with suppress(ValueError, RecursionError):
        review = json.loads(answer)
        if isinstance(review, dict):
            return review
        raise CallFailed(_not_an_object(_go_name(review)))
    # kube-apiserver decodes answers as YAML, to which such a text is a string
    raise CallFailed(_not_an_object("string"))


def _go_name(value: Any) -> str:
    names = {list: "array", str: "string", bool: "bool", type(None): "null"}
    return names.get(type(value), "number")


def _not_an_object(name: str) -> str:
    fields = r'APIVersion string "json:\"apiVersion,omitempty\""; Kind string '
    return (
        f"couldn't get version/kind; json parse error: json: cannot unmarshal {name} into Go value "
        f'of type struct {{ {fields}"json:\\"kind,omitempty\\"" }}'
    )


def _status_text(status: int, answer: bytes) -> str:
    """The message of a Status, or what client-go says of a code without one."""
    with suppress(ValueError, RecursionError):
        answered = json.loads(answer)
        if (
            isinstance(answered, dict)
            and answered.get("kind") == "Status"
            and answered.get("message")
        ):
            return str(answered["message"])
    known = _TEXTS.get(status)
    if known is not None:
        return known
    if status >= http.client.INTERNAL_SERVER_ERROR:
        return 'an error on the server ("unknown") has prevented the request from succeeding'
    return f"the server responded with the status code {status} but did not return more information"


_TEXTS: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    403: "forbidden: unknown",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    410: "the requested resource has been removed and is no longer available",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be "
    "processing the request",
}
