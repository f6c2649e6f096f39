"""docker-compose.yml, which tests cannot run: valid, and the same site as with make up."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from schedweb import alive, config, supervisor

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def compose() -> Any:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def test_it_follows_the_schema_of_the_compose_specification(compose: Any) -> None:
    schema = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    jsonschema.validate(compose, json.loads(schema.read_text()))


def test_every_process_of_the_site_is_a_service(compose: Any) -> None:
    assert set(compose["services"]) == {"postgres", "valkey", "prepare", "web", "worker", "beat"}
    ours = [compose["services"][name] for name in ("prepare", "web", "worker", "beat")]
    assert {service["image"] for service in ours} == {"schedweb"}


def test_services_name_only_services_and_volumes_that_exist(compose: Any) -> None:
    for service in compose["services"].values():
        assert set(service.get("depends_on", ())) <= set(compose["services"])
        volumes = {fill(volume, {}).partition(":")[0] for volume in service.get("volumes", ())}
        assert volumes <= set(compose["volumes"])


@pytest.mark.parametrize(
    ("service", "module"),
    [("web", "schedweb.front"), ("worker", "schedweb.worker"), ("beat", "schedweb.beat")],
)
def test_each_part_runs_the_module_that_make_up_runs(
    compose: Any, service: str, module: str
) -> None:
    assert compose["services"][service]["command"] == ["python", "-m", module]
    assert f'"{module}"' in Path(supervisor.__file__).read_text()


def test_workers_can_be_scaled(compose: Any) -> None:
    assert not {"container_name", "ports"} & set(compose["services"]["worker"])


#: Of the processes and the database that `make up` starts.
NOT_OF_COMPOSE = {"SCHEDWEB_WEB_PROCESSES", "SCHEDWEB_MIN_FREE_MEGABYTES"}


def test_every_setting_of_the_documents_reaches_the_containers(compose: Any) -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    table = text.partition("\n## ")[0]
    documented = set(re.findall(r"`(SCHEDWEB_[A-Z_]+)`", table)) - NOT_OF_COMPOSE
    passed = set(re.findall(r"\$\{(SCHEDWEB_[A-Z_]+)", json.dumps(compose)))
    passed |= {secret["environment"] for secret in compose["secrets"].values()}
    assert passed == documented


def test_the_environment_is_one_that_the_settings_read(compose: Any, tmp_path: Path) -> None:
    given = dict(compose["x-schedweb"]["environment"])
    assert given.pop("PYTHONPATH") == "/plugins"
    names = {name.removesuffix("_FILE") for name in given}
    assert names <= set(re.findall(r"SCHEDWEB_[A-Z_]+", Path(config.__file__).read_text()))
    (tmp_path / "database-password").write_text("s@cret\n")
    secret = given["SCHEDWEB_DATABASE_PASSWORD_FILE"]
    assert secret == "/run/secrets/database-password"
    given["SCHEDWEB_DATABASE_PASSWORD_FILE"] = str(tmp_path / "database-password")
    chosen: dict[str, str] = {}
    plain = config.load({name: fill(value, chosen) for name, value in given.items()})
    assert plain.broker_url == "redis://valkey:6379/0"
    assert plain.database_url == "postgresql://schedweb:s%40cret@postgres:5432/schedweb"
    assert plain.https_url() == "https://localhost:8443"
    assert plain.changelog_covers_ledger and plain.ledger_max_days == 90
    chosen |= {"SCHEDWEB_TLS_PORT": "9443", "SCHEDWEB_VERBOSITY": "5"}
    changed = config.load({name: fill(value, chosen) for name, value in given.items()})
    assert (changed.https_url(), changed.verbosity) == ("https://localhost:9443", 5)


def test_ports_and_the_folder_of_plugins_follow_the_settings(compose: Any) -> None:
    chosen = {"SCHEDWEB_TLS_PORT": "9443", "SCHEDWEB_PLUGINS_PATH": "/opt/plugins"}
    ports = [fill(port, chosen) for port in compose["services"]["web"]["ports"]]
    assert ports == ["0.0.0.0:8000:8000", "0.0.0.0:9443:8443"]
    for name in ("prepare", "web", "worker", "beat"):
        volumes = compose["services"][name]["volumes"]
        assert "/opt/plugins:/plugins:ro" in [fill(volume, chosen) for volume in volumes]


def fill(text: str, chosen: Mapping[str, str]) -> str:
    """A value of the file as compose reads it, with these variables set."""

    def value(match: re.Match[str]) -> str:
        given, default = chosen.get(match[1], ""), match[3] or ""
        assert given or match[2] == "-", f"{match[1]} is required"
        return given or default

    while (filled := re.sub(r"\$\{(\w+):([-?])([^${}]*)\}", value, text)) != text:
        text = filled
    return text


def test_no_container_has_privileges_or_may_change_its_files(compose: Any) -> None:
    for name, service in compose["services"].items():
        assert service["read_only"] and "/tmp" in service["tmpfs"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        if service["image"] == "schedweb":
            assert "cap_add" not in service and "privileged" not in service
    users = re.findall(r"^USER (.*)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert users == ["10001:10001"]


def test_every_lasting_service_has_a_health_check(compose: Any) -> None:
    lasting = {name for name, each in compose["services"].items() if name != "prepare"}
    assert {name for name, each in compose["services"].items() if "healthcheck" in each} == lasting
    for name in ("worker", "beat"):
        test = compose["services"][name]["healthcheck"]["test"]
        assert test == ["CMD", "python", "-m", alive.__name__]


def test_no_password_is_in_the_environment_of_a_container(compose: Any) -> None:
    for name, service in compose["services"].items():
        given = service.get("environment", {})
        assert not any(key.endswith("PASSWORD") and "DATABASE" in key for key in given), name
        assert "DATABASE_PASSWORD}" not in json.dumps(service), name


def test_the_image_copies_what_the_repository_has() -> None:
    for source in re.findall(r"^COPY (\S+) ", (ROOT / "Dockerfile").read_text(), re.MULTILINE):
        assert (ROOT / source).exists(), source
