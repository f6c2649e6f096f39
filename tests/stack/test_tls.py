"""The certificate authority of a data folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography import x509

from schedweb import tls


def test_keys_are_private_and_the_authority_is_public(tmp_path: Path) -> None:
    made = tls.ensure(tmp_path, ["localhost"])
    assert made.authority_key.stat().st_mode & 0o777 == 0o600
    assert made.server_key.stat().st_mode & 0o777 == 0o600
    assert made.authority.stat().st_mode & 0o777 == 0o644


def test_valid_certificates_are_kept(tmp_path: Path) -> None:
    made = tls.ensure(tmp_path, ["localhost"])
    before = made.server.read_bytes()
    assert tls.ensure(tmp_path, ["localhost"]).server.read_bytes() == before


def test_a_new_name_gets_a_new_server_certificate_from_the_same_authority(tmp_path: Path) -> None:
    made = tls.ensure(tmp_path, ["localhost"])
    authority = made.authority.read_bytes()
    tls.ensure(tmp_path, ["localhost", "127.0.0.1", "cluster.example"])
    certificate = x509.load_pem_x509_certificate(made.server.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "cluster.example"]
    assert made.authority.read_bytes() == authority
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))


def test_a_lost_authority_is_replaced_together_with_what_it_signed(tmp_path: Path) -> None:
    made = tls.ensure(tmp_path, ["localhost"])
    made.authority.unlink()
    tls.ensure(tmp_path, ["localhost"])
    certificate = x509.load_pem_x509_certificate(made.server.read_bytes())
    authority = x509.load_pem_x509_certificate(made.authority.read_bytes())
    certificate.verify_directly_issued_by(authority)


def test_an_authority_is_renewed_with_its_key_before_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "AUTHORITY_DAYS", 390)
    made = tls.ensure(tmp_path, ["localhost"])
    before = made.authority.read_bytes()
    monkeypatch.undo()
    tls.ensure(tmp_path, ["localhost"])
    authority = x509.load_pem_x509_certificate(made.authority.read_bytes())
    assert made.authority.read_bytes() != before
    # what it has signed stays valid, and so does what it signs now for who knows the old one
    certificate = x509.load_pem_x509_certificate(made.server.read_bytes())
    certificate.verify_directly_issued_by(authority)
    authority.verify_directly_issued_by(x509.load_pem_x509_certificate(before))


def test_wildcards_are_not_names_of_a_server() -> None:
    assert "*" not in tls.server_names(["*", "web.example"])
    assert "web.example" in tls.server_names(["*", "web.example"])
