"""The role of a shadow allows what it reads, and nothing else."""

from __future__ import annotations

from pathlib import Path

import yaml

from apps.administration.shadows.following import FOLLOWED

ROLE = Path(__file__).parents[3] / "deploy" / "shadow" / "role.yaml"


def test_the_role_has_the_kinds_that_are_followed() -> None:
    role = next(iter(yaml.safe_load_all(ROLE.read_text())))
    allowed = {
        (group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert allowed == {(kind.group, kind.plural) for kind in FOLLOWED}
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
