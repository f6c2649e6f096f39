"""A kind is complete: what its declaration cannot say is there, too.

A kind that a place does without is named here with the reason; what is missing is reported as one
list, so that it can be worked off.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from django.db.migrations.loader import MigrationLoader

from apps.api.kubernetes import discovery, resources
from apps.api.kubernetes.protobuf import envelopes
from apps.cluster import kinds, schema
from apps.cluster.kinds import Kind
from apps.cluster.usage import countable, covered_resources
from apps.dashboard.forms.manifest import load_example

ROOT = Path(__file__).parents[2]

#: Their messages are not in the programs that scripts/extract_protobuf.py reads.
WITHOUT_MESSAGE = {"APIService", "Workload", "PodGroup"}
#: What quotas also count by the plural alone, without `count/`.
COUNTED_BY_PLURAL = {
    *("pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"),
    "persistentvolumeclaims",
}


def extracted() -> dict[str, str]:
    """Package of OpenAPI definitions -> the kinds that the script cuts out."""
    file = ROOT / "scripts/extract_openapi.py"
    spec = importlib.util.spec_from_file_location("extract_openapi", file)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return dict(script.ROOTS)


MIGRATED = MigrationLoader(None).project_state().models
EXTRACTED = {name for names in extracted().values() for name in names.split()}
DOCUMENTED = (ROOT / "docs/api/kubernetes.md").read_text()


def places_without(kind: Kind) -> Iterator[str]:
    """The places that do not know a kind, each as the file to change."""
    yield from _in_the_cluster(kind)
    yield from _at_the_edges(kind)


def _in_the_cluster(kind: Kind) -> Iterator[str]:
    if ("cluster", kind.model.__name__.lower()) not in MIGRATED:
        yield "apps/cluster/migrations: no table (manage.py makemigrations cluster)"
    if not kind.feature_gate and kind.name not in EXTRACTED:
        yield "scripts/extract_openapi.py: not in ROOTS"
    try:
        schema.definition_of(kind.group, kind.version, kind.name)
    except KeyError:
        yield f"apps/cluster/schema: no definition of {kind.api_version} {kind.name}"
    by_plural = kind.group == "" and kind.plural in COUNTED_BY_PLURAL
    if countable(kind) and by_plural and not covered_resources(kind, [kind.plural]):
        yield "apps/cluster/kinds: quotas do not count it by its plural"


def _at_the_edges(kind: Kind) -> Iterator[str]:
    gated: tuple[resources.Resource, ...] = ()
    if envelopes.has_message(kind.api_version, kind.name) == (kind.name in WITHOUT_MESSAGE):
        yield "apps/api/kubernetes/protobuf: no message, or WITHOUT_MESSAGE here is wrong"
    if kind.feature_gate:
        gated = resources.GATED
    elif resources.find(kind.group, kind.version, kind.plural) is None:
        yield "apps/api/kubernetes/resources.py: not served"
    listed = discovery.resource_list(kind.group, kind.version, gated) or {"resources": []}
    rows = {row["name"] for row in listed["resources"]}
    expected = {kind.plural, *([f"{kind.plural}/status"] if kind.has_status else [])}
    yield from (f"apps/api/kubernetes/discovery.py: no {name}" for name in sorted(expected - rows))
    if kind.name not in DOCUMENTED:
        yield "docs/api/kubernetes.md: not in the table of kinds"
    yield from _examples(kind)


def _examples(kind: Kind) -> Iterator[str]:
    example = load_example(kind.name.lower())
    if not example:
        yield "apps/dashboard/forms/examples: no manifest to start from"
        return
    body = yaml.safe_load(example)
    if (body["apiVersion"], body["kind"]) != (kind.api_version, kind.name):
        yield "apps/dashboard/forms/examples: is of another kind"


@pytest.mark.parametrize("kind", kinds.ALL, ids=lambda kind: kind.name)
def test_every_place_knows_the_kind(kind: Kind) -> None:
    assert list(places_without(kind)) == []


def test_a_kind_that_only_has_a_row_is_missing_everywhere_else() -> None:
    class Gadget:
        pass

    kind = Kind("Gadget", "secrets", Gadget)  # type: ignore[arg-type]
    files = [place.partition(":")[0] for place in places_without(kind)]
    assert files == [
        "apps/cluster/migrations",
        "scripts/extract_openapi.py",
        "apps/cluster/schema",
        "apps/cluster/kinds",
        "apps/api/kubernetes/protobuf",
        "docs/api/kubernetes.md",
        "apps/dashboard/forms/examples",
    ]


def test_exceptions_name_kinds_that_exist() -> None:
    names = {kind.name for kind in kinds.ALL}
    assert names >= WITHOUT_MESSAGE
