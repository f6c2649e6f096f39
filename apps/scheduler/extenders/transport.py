"""POST to an extender: a connection pool, TLS, and one deadline for the whole exchange."""

from __future__ import annotations

import http.client
import select
import socket
import ssl
import tempfile
import time
from collections import deque
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from apps.scheduler.config.types import ExtenderTLSConfig
from apps.scheduler.framework.extender import ExtenderError
from apps.scheduler.outgoing.deadline import DeadlineSocket, connect, secured
from apps.scheduler.outgoing.rules import DestinationRefused, FileRefused, OutgoingRules

#: an answer may list thousands of complete nodes, but must not exhaust the memory
LARGEST_ANSWER = 256 * 1024 * 1024


class Transport:
    """The connections to one extender; thread-safe.

    ``timeout``: seconds from connecting to the last byte of the answer. ``rules``: the addresses
    that the site allows, and the files. Raises ValueError when the address or the TLS files are
    invalid.
    """

    def __init__(
        self,
        url_prefix: str,
        *,
        timeout: float,
        enable_https: bool = False,
        tls: ExtenderTLSConfig | None = None,
        rules: OutgoingRules,
    ) -> None:
        self._rules = rules
        self._prefix = url_prefix.rstrip("/")
        self._address = _address(self._prefix)
        self._timeout = timeout
        self._server_name = tls.server_name if tls is not None else ""
        self._context: ssl.SSLContext | None = None
        if self._address.scheme == "https":
            self._context = tls_context(
                tls or ExtenderTLSConfig(), enable_https=enable_https, rules=rules
            )
        self._idle: deque[_Connection] = deque()

    def url(self, path: str) -> str:
        return f"{self._prefix}/{path}"

    def post(self, path: str, body: bytes) -> bytes:
        """The body of the answer. Raises ExtenderError with kube-scheduler's messages."""
        deadline = time.monotonic() + self._timeout
        connection = self._take()
        try:
            status, answer = connection.exchange(self._target(path), body, deadline)
        except (OSError, http.client.HTTPException, ValueError, _DialError) as failure:
            connection.close()
            raise ExtenderError(
                f'Post "{self.url(path)}": {_describe_failure(failure)}'
            ) from failure
        if connection.is_open:
            self._idle.append(connection)
        if status != http.client.OK:
            said = f"failed {path} with extender at URL {self.url(path)}, code {status}"
            raise ExtenderError(said)
        return answer

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            self._idle.pop().close()

    def _target(self, path: str) -> str:
        return f"{self._address.path}/{path}"

    def _take(self) -> _Connection:
        """An idle connection that the other side has not closed, else a new one."""
        while self._idle:
            with suppress(IndexError):
                connection = self._idle.pop()
                if connection.is_quiet():
                    return connection
                connection.close()
        host, port = self._address.hostname or "", self._address.port
        if port is None:
            port = 443 if self._context is not None else 80
        return _Connection(host, port, self._context, self._server_name or host, self._rules)


class _Connection:
    """One connection, opened at its first exchange."""

    def __init__(
        self,
        host: str,
        port: int,
        context: ssl.SSLContext | None,
        server_name: str,
        rules: OutgoingRules,
    ) -> None:
        self._rules = rules
        self._host, self._port = host, port
        self._context, self._server_name = context, server_name
        self._http = http.client.HTTPConnection(host, port)

    @property
    def is_open(self) -> bool:
        return self._http.sock is not None

    def is_quiet(self) -> bool:
        """Whether it can be used again: data to read now is its end, or was not requested."""
        sock = self._http.sock
        return sock is not None and not select.select([sock], [], [], 0)[0]

    def exchange(self, target: str, body: bytes, deadline: float) -> tuple[int, bytes]:
        """(status, body) of the answer; raises TimeoutError after the deadline."""
        if not self.is_open:
            self._connect(deadline)
        assert isinstance(self._http.sock, DeadlineSocket)
        self._http.sock.deadline = deadline
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        self._http.request("POST", target, body, headers)
        response = self._http.getresponse()
        answer = response.read(LARGEST_ANSWER + 1)
        if len(answer) > LARGEST_ANSWER:
            raise ValueError(f"the answer is longer than {LARGEST_ANSWER} bytes")
        if response.will_close:
            self.close()
        return response.status, answer

    def close(self) -> None:
        self._http.close()

    def _connect(self, deadline: float) -> None:
        sock = self._dial(deadline)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._http.sock = secured(sock, self._context, self._server_name, deadline)

    def _dial(self, deadline: float) -> socket.socket:
        """Connect; failures have kube-scheduler's messages."""
        address = (self._host, self._port)
        try:
            return connect(*address, rules=self._rules, deadline=deadline)
        except DestinationRefused as refusal:
            raise _DialError(f"dial tcp: {refusal}") from refusal
        except socket.gaierror as failure:
            raise _DialError(f"dial tcp: lookup {self._host}: no such host") from failure
        except TimeoutError:
            raise
        except OSError as failure:
            why = (failure.strerror or str(failure)).lower()
            raise _DialError(f"dial tcp {_format_address(address)}: connect: {why}") from failure


class _DialError(Exception):
    """The connection failed; the message is that of kube-scheduler."""


def tls_context(
    tls: ExtenderTLSConfig, *, enable_https: bool, rules: OutgoingRules
) -> ssl.SSLContext:
    """The client's TLS settings; ``enableHTTPS`` without a CA verifies nothing, as upstream.

    Raises ValueError for settings that are contradictory or cannot be read.
    """
    _check_files(tls, rules)
    has_ca = bool(tls.ca_file or tls.ca_data)
    if tls.insecure and has_ca:
        raise ValueError(
            "specifying a root certificates file with the insecure flag is not allowed"
        )
    try:
        context = ssl.create_default_context(
            cafile=tls.ca_file or None, cadata=tls.ca_data.decode("ascii") or None
        )
        if tls.insecure or (enable_https and not has_ca):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        _load_certificate(context, tls)
    except (OSError, UnicodeDecodeError) as failure:
        raise ValueError(f"tlsConfig: {failure}") from failure
    return context


def _check_files(tls: ExtenderTLSConfig, rules: OutgoingRules) -> None:
    """Reject files that the site does not allow, before an error shows whether they exist.

    Those that cannot be read are named.
    """
    named = {"caFile": tls.ca_file, "certFile": tls.cert_file, "keyFile": tls.key_file}
    for field, name in named.items():
        try:
            if name:
                rules.check_file(name)
                # OpenSSL's error does not say which file it is.
                open(name, "rb").close()
        except FileRefused as refusal:
            raise ValueError(f"tlsConfig.{field}: {refusal}") from refusal
        except OSError as failure:
            why = failure.strerror
            raise ValueError(f"tlsConfig.{field}: cannot read {name}: {why}") from failure


def _load_certificate(context: ssl.SSLContext, tls: ExtenderTLSConfig) -> None:
    """Load the client's certificate; data takes precedence over files, as upstream."""
    if not (tls.cert_data or tls.cert_file):
        return
    # OpenSSL reads certificates from files only.
    with tempfile.NamedTemporaryFile() as certificate, tempfile.NamedTemporaryFile() as key:
        certificate.write(tls.cert_data)
        key.write(tls.key_data)
        certificate.flush()
        key.flush()
        context.load_cert_chain(
            certificate.name if tls.cert_data else tls.cert_file,
            key.name if tls.key_data else tls.key_file,
        )


def _address(prefix: str) -> SplitResult:
    address = urlsplit(prefix)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ValueError(f"urlPrefix {prefix!r} is not an http or https address")
    _ = address.port  # raises ValueError for an invalid port
    return address


def _describe_failure(failure: Exception) -> str:
    match failure:
        case TimeoutError():
            return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        case http.client.RemoteDisconnected() | http.client.IncompleteRead():
            return (
                "EOF" if isinstance(failure, http.client.RemoteDisconnected) else "unexpected EOF"
            )
        case ssl.SSLError():
            return f"tls: {failure.reason or failure}"
        case http.client.BadStatusLine():
            return f"malformed HTTP response {str(failure)!r}"
        case OSError():
            return (failure.strerror or str(failure)).lower()
    return str(failure) or type(failure).__name__


def _format_address(address: tuple[str, int]) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
