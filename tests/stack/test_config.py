"""Environment variables, and errors about invalid values."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

import pytest

from schedweb.config import InvalidEnvironment, load


def test_an_empty_environment_is_enough() -> None:
    config = load({})
    assert (config.port, config.tls_port, config.workers) == (8000, 8443, 1)
    assert config.data.name == "var"
    assert config.embedded_database
    assert not config.debug


def test_any_variable_may_be_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the house\n")
    assert load({"SCHEDWEB_SECRET_KEY_FILE": str(secret)}).secret_key == "of the house"
    both = {"SCHEDWEB_ADMIN_PASSWORD_FILE": str(secret), "SCHEDWEB_ADMIN_PASSWORD": "given"}
    assert load(both).admin_password == "given"
    url = {"SCHEDWEB_DATABASE_URL": "postgresql://me@db/x"}
    url["SCHEDWEB_DATABASE_PASSWORD_FILE"] = str(secret)
    assert load(url).database_url == "postgresql://me:of%20the%20house@db/x"
    with pytest.raises(InvalidEnvironment, match="SCHEDWEB_SECRET_KEY_FILE cannot be read"):
        load({"SCHEDWEB_SECRET_KEY_FILE": str(tmp_path / "missing")})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SCHEDWEB_PORT", "http"),
        ("SCHEDWEB_OUTGOING_NETWORKS", "intranet"),
        ("SCHEDWEB_TLS_FOLDERS", "certificates"),
        ("SCHEDWEB_TLS_PORT", "65536"),
        ("SCHEDWEB_WORKERS", "0"),
        ("SCHEDWEB_WEB_PROCESSES", "5"),
        ("SCHEDWEB_DEBUG", "maybe"),
        ("SCHEDWEB_LOG_FORMAT", "xml"),
        ("SCHEDWEB_VERBOSITY", "11"),
        ("SCHEDWEB_MAX_REQUESTS_INFLIGHT", "0"),
        ("SCHEDWEB_MAX_BODY_MEGABYTES", "63"),
        ("SCHEDWEB_DATABASE_URL", "mysql://localhost/x"),
        ("SCHEDWEB_DATABASE_URL", "postgresql://[db/x"),
        ("SCHEDWEB_BIND", "my host"),
        ("SCHEDWEB_BIND", "http://127.0.0.1"),
        ("SCHEDWEB_BROKER_URL", "amqp://"),
        ("SCHEDWEB_BROKER_URL", "redis://"),
        ("SCHEDWEB_BROKER_URL", "redis://host:port"),
        ("SCHEDWEB_ALLOWED_HOSTS", "http://a b"),
        ("SCHEDWEB_ALLOWED_HOSTS", "a.example:8443"),
        ("SCHEDWEB_ALLOWED_HOSTS", "a.example *.b.example"),
        ("SCHEDWEB_PUBLIC_URL", "foo"),
        ("SCHEDWEB_PUBLIC_URL", "https://"),
        ("SCHEDWEB_PUBLIC_URL", "https://a b"),
        ("SCHEDWEB_PUBLIC_URL", "https://a.example:70000"),
        ("SCHEDWEB_PUBLIC_URL", "ftp://a.example"),
        ("SCHEDWEB_SMTP_URL", "smtp://"),
        ("SCHEDWEB_SERIES_RETENTION", "10s"),
        ("SCHEDWEB_SERIES_RETENTION", "ten:6h"),
        ("SCHEDWEB_SERIES_RETENTION", "10s:6h 25s:3d"),
        ("SCHEDWEB_SERIES_RETENTION", "10s:6h 1m:3h"),
    ],
)
def test_a_wrong_value_is_refused_by_the_variables_name(name: str, value: str) -> None:
    with pytest.raises(InvalidEnvironment, match=name):
        load({name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SCHEDWEB_BIND", "::"),
        ("SCHEDWEB_BROKER_URL", "redis://:secret@valkey:6379/0"),
        ("SCHEDWEB_BROKER_URL", "rediss://valkey.example"),
        ("SCHEDWEB_ALLOWED_HOSTS", "*"),
        ("SCHEDWEB_ALLOWED_HOSTS", ".a.example, web_1 10.0.0.1 [fd00::1]"),
        ("SCHEDWEB_PUBLIC_URL", "https://a.example:8443/"),
        ("SCHEDWEB_PUBLIC_URL", "https://[::1]"),
        ("SCHEDWEB_SMTP_URL", "smtps://user:secret@mail.example:465"),
    ],
)
def test_addresses_are_accepted_in_every_form(name: str, value: str) -> None:
    load({name: value})


def test_the_retention_of_series_is_a_list_of_widths_and_spans() -> None:
    config = load({"SCHEDWEB_SERIES_RETENTION": "30s:1d, 5m:30d"})
    assert config.series_retention == ((30, 86_400), (300, 2_592_000))


def test_the_running_database_is_found_in_the_data_folder(tmp_path: Path) -> None:
    config = load({"SCHEDWEB_DATA": str(tmp_path)})
    assert config.running_database_url() == ""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "database").write_text("postgresql://here\n")
    assert config.running_database_url() == "postgresql://here"


def test_another_database_comes_before_the_embedded_one(tmp_path: Path) -> None:
    url = "postgresql://schedweb@db.example/schedweb"
    config = load({"SCHEDWEB_DATA": str(tmp_path), "SCHEDWEB_DATABASE_URL": url})
    assert config.running_database_url() == url
    assert not config.embedded_database


def test_the_public_address_comes_before_the_local_one() -> None:
    assert load({"SCHEDWEB_TLS_PORT": "9443"}).https_url().startswith("https://localhost:")
    public = load({"SCHEDWEB_PUBLIC_URL": "https://web.example/"})
    assert public.https_url() == "https://web.example"


@pytest.mark.parametrize(
    ("environ", "personal"),
    [
        ({}, True),
        ({"SCHEDWEB_BIND": "::1"}, True),
        ({"SCHEDWEB_BIND": "localhost"}, True),
        ({"SCHEDWEB_BIND": "0.0.0.0"}, False),
        ({"SCHEDWEB_BIND": "lab.example"}, False),
        ({"SCHEDWEB_PUBLIC_URL": "https://lab.example"}, False),
        ({"SCHEDWEB_ALLOWED_HOSTS": "lab.example"}, False),
    ],
)
def test_a_site_that_others_can_reach_is_shared(environ: dict[str, str], personal: bool) -> None:
    assert load(environ).is_personal is personal


def test_the_rules_for_other_services_are_networks_and_folders() -> None:
    config = load(
        {"SCHEDWEB_OUTGOING_NETWORKS": "10.0.0.0/8, ::1", "SCHEDWEB_TLS_FOLDERS": "/etc/a,/etc/b"}
    )
    assert config.outgoing_networks == (ip_network("10.0.0.0/8"), ip_network("::1/128"))
    assert config.tls_folders == (Path("/etc/a"), Path("/etc/b"))
    assert load({}).outgoing_networks is None and load({}).tls_folders is None
    assert not config.outgoing_public
    both = load({"SCHEDWEB_OUTGOING_NETWORKS": "global,10.0.0.0/8"})
    assert both.outgoing_networks == (ip_network("10.0.0.0/8"),) and both.outgoing_public
    assert load({"SCHEDWEB_OUTGOING_NETWORKS": "global"}).outgoing_networks == ()
