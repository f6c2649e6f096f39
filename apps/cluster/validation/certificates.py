"""CertificateSigningRequests."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from cryptography import x509

from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, all_invalid, invalid, required

Body = Mapping[str, Any]

_SHORTEST: Final = 600
_NOT_PEM: Final = "PEM block type must be CERTIFICATE REQUEST"
_NOT_SIGNER: Final = (
    "must be a fully qualified domain and path of the form 'example.com/signer-name'"
)
_FEW_SEGMENTS: Final = "should be a domain with at least two segments separated by dots"


def validate_signing_request(request: Body) -> Causes:
    """A CertificateSigningRequest, whose request is PEM text in base64."""
    spec = request.get("spec") or {}
    given = spec.get("request", "")
    problem = _problem(given)
    if problem:
        yield invalid("spec.request", given or None, problem)
    if not spec.get("usages"):
        yield required("spec.usages")
    yield from _signer(spec.get("signerName", ""))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST:
        detail = "may not specify a duration less than 600 seconds (10 minutes)"
        yield invalid("spec.expirationSeconds", seconds, detail)


def _problem(given: str) -> str:
    """What is wrong with a request; empty if it can be read and its signature is valid."""
    try:
        text = base64.b64decode(given)
    except (binascii.Error, ValueError):
        return _NOT_PEM
    if b"-----BEGIN CERTIFICATE REQUEST-----" not in text:
        return _NOT_PEM
    try:
        valid = x509.load_pem_x509_csr(text).is_signature_valid
    except ValueError:
        return "asn1: structure error: malformed certificate request"
    return "" if valid else "x509: signature is not valid"


def _signer(name: str) -> Causes:
    if not name:
        yield required("spec.signerName")
        return
    domain, slash, path = name.partition("/")
    if not slash or "/" in path or not path:
        yield invalid("spec.signerName", name, _NOT_SIGNER)
        return
    yield from all_invalid("spec.signerName", domain, names.dns_subdomain(domain))
    if "." not in domain:
        yield invalid("spec.signerName", domain, _FEW_SEGMENTS)
