"""The site's own certificate authority, so that Kubernetes clients can use https.

Created at the first start and stored in the data folder. The authority is valid for ten years; the
server's certificate is renewed when it is about to expire or lacks a name, also while it is served.
"""

from __future__ import annotations

import datetime
import fcntl
import ipaddress
import os
import socket
import ssl
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from schedweb.datafolder import TLS_AUTHORITY, write_private

AUTHORITY_DAYS = 3650
SERVER_DAYS = 365
#: What is valid for no longer than this is renewed; an authority outlives what it signs.
RENEW_DAYS = 30
RENEW_AUTHORITY_DAYS = SERVER_DAYS + RENEW_DAYS
#: How often a web process looks whether its certificate has to be renewed.
LOOK_SECONDS = 3600.0

Key = ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True)
class Files:
    """The paths of the certificates in a data folder."""

    authority: Path
    authority_key: Path
    server: Path
    server_key: Path


def files(data: Path) -> Files:
    authority = data / TLS_AUTHORITY
    folder = authority.parent
    return Files(authority, folder / "ca.key", folder / "server.crt", folder / "server.key")


def server_names(more: Iterable[str] = ()) -> list[str]:
    """The names of the server: those of this machine, and *more* (no wildcards)."""
    names = ["localhost", "127.0.0.1", "::1", socket.gethostname(), *more]
    return list(dict.fromkeys(name.strip("[]") for name in names if name and "*" not in name))


def ensure(data: Path, names: list[str]) -> Files:
    """Create missing or expired certificates in the folder *data*; returns all paths."""
    paths = files(data)
    with _locked(data):
        if not (paths.authority.exists() and paths.authority_key.exists()):
            _create_authority(paths)
        elif _days_left(_read(paths.authority)) < RENEW_AUTHORITY_DAYS:
            _renew_authority(paths)
        if not _is_server_certificate_valid(paths, names):
            _create_server_certificate(paths, names)
    return paths


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time: several web processes start at once."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class NamedContext(ssl.SSLContext):
    """A server's TLS context, which knows the name that the client asked for."""

    #: "" for the names of the site itself.
    server_name: str = ""


class Certificates:
    """The certificates of a data folder as they are served, and renewed meanwhile."""

    def __init__(
        self, data: Path, names: list[str], is_cluster_name: Callable[[str], bool]
    ) -> None:
        self._data, self._names = data, names
        self._paths = ensure(data, names)
        self._served = self._paths.server.read_bytes()
        #: of the https port
        self.context = server_context(self._paths, is_cluster_name)

    def renew(self) -> None:
        """Renew what is about to expire; new connections get what is in the folder.

        Another process may have renewed it.
        """
        ensure(self._data, self._names)
        present = self._paths.server.read_bytes()
        if present != self._served:
            self.context.load_cert_chain(self._paths.server, self._paths.server_key)
            self._served = present


def server_context(
    paths: Files, is_cluster_name: Callable[[str], bool] = lambda name: False
) -> ssl.SSLContext:
    """The TLS context of the https port.

    A client that asks for a name of which `is_cluster_name` is true gets a certificate for just
    this name: a wildcard below `localhost` is refused by many clients.
    """
    context = NamedContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(paths.server, paths.server_key)
    named = _NamedContexts(paths)

    def choose(connection: Any, name: str | None, _: ssl.SSLContext) -> None:
        if name and is_cluster_name(name):
            connection.context = named.get(name.lower())

    context.sni_callback = choose
    return context


class _NamedContexts:
    """The contexts of names that clients asked for, in memory; the latest `MOST_NAMES` of them."""

    MOST_NAMES = 256

    def __init__(self, paths: Files) -> None:
        self._paths = paths
        self._contexts: OrderedDict[str, tuple[datetime.datetime, NamedContext]] = OrderedDict()

    def get(self, name: str) -> NamedContext:
        now = datetime.datetime.now(datetime.UTC)
        issued, context = self._contexts.pop(name, (None, None))
        if issued is None or now - issued > datetime.timedelta(days=SERVER_DAYS - RENEW_DAYS):
            issued, context = now, self._issue(name)
        assert context is not None
        self._contexts[name] = issued, context
        if len(self._contexts) > self.MOST_NAMES:
            self._contexts.popitem(last=False)
        return context

    def _issue(self, name: str) -> NamedContext:
        context = NamedContext(ssl.PROTOCOL_TLS_SERVER)
        context.server_name = name
        key, certificate = _sign(self._paths, [name])
        # ssl reads certificates from files only
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:
            file.write(_private_pem(key) + certificate.public_bytes(serialization.Encoding.PEM))
            file.flush()
            context.load_cert_chain(file.name)
        return context


def _create_authority(paths: Files) -> None:
    # A unique name per data folder: programs choose an authority by its name.
    name = _name(f"schedweb authority {x509.random_serial_number():x}"[:40])
    _write_authority(paths, ec.generate_private_key(ec.SECP256R1()), name)


def _renew_authority(paths: Files) -> None:
    """With its key and its name: what it has signed stays valid."""
    _write_authority(paths, _read_key(paths.authority_key), _read(paths.authority).subject)


def _write_authority(paths: Files, key: Key, name: x509.Name) -> None:
    certificate = (
        _builder(subject=name, issuer=name, key=key, days=AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    _write(paths.authority_key, paths.authority, key, certificate)


def _create_server_certificate(paths: Files, names: list[str]) -> None:
    key, certificate = _sign(paths, names)
    _write(paths.server_key, paths.server, key, certificate)


def _sign(paths: Files, names: list[str]) -> tuple[Key, x509.Certificate]:
    """A new key, and the authority's certificate of it for a server with these *names*."""
    authority, signer = _read(paths.authority), _read_key(paths.authority_key)
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    certificate = (
        _builder(subject=_name("schedweb"), issuer=authority.subject, key=key, days=SERVER_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([_general_name(n) for n in names]), critical=False
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
            critical=False,
        )
        .sign(signer, hashes.SHA256())
    )
    return key, certificate


def _is_server_certificate_valid(paths: Files, names: list[str]) -> bool:
    if not (paths.server.exists() and paths.server_key.exists()):
        return False
    certificate = _read(paths.server)
    known = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return (
        certificate.issuer == _read(paths.authority).subject
        and _days_left(certificate) > RENEW_DAYS
        and {_general_name(name) for name in names} <= set(known)
    )


def _read(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def _read_key(path: Path) -> Key:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey), "the key has an unexpected type"
    return key


def _days_left(certificate: x509.Certificate) -> float:
    left = certificate.not_valid_after_utc - datetime.datetime.now(datetime.UTC)
    return left / datetime.timedelta(days=1)


def _builder(
    *, subject: x509.Name, issuer: x509.Name, key: Key, days: int
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # Allow for clock skew.
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _write(key_path: Path, path: Path, key: Key, certificate: x509.Certificate) -> None:
    write_private(key_path, _private_pem(key).decode())
    write_private(path, certificate.public_bytes(serialization.Encoding.PEM).decode())
    path.chmod(0o644)


def _private_pem(key: Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
