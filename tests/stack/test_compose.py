"""docker-compose.yml, which tests cannot run: valid, and the same site as with make up."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from schedweb import config, supervisor

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
        volumes = {volume.partition(":")[0] for volume in service.get("volumes", ())}
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


def test_the_environment_is_one_that_the_settings_read(compose: Any) -> None:
    given = compose["x-schedweb"]["environment"]
    assert set(given) <= set(re.findall(r"SCHEDWEB_[A-Z_]+", Path(config.__file__).read_text()))
    filled = {name: re.sub(r"\$\{[^}]*\}", "", value) for name, value in given.items()}
    assert config.load(filled).broker_url == "redis://valkey:6379/0"


def test_the_image_copies_what_the_repository_has() -> None:
    for source in re.findall(r"^COPY (\S+) ", (ROOT / "Dockerfile").read_text(), re.MULTILINE):
        assert (ROOT / source).exists(), source
