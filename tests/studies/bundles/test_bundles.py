"""One file with a decision and its state: small, and equal when it is decided again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from django.core.management import CommandError, call_command
from django.test import Client

from apps.cluster import kinds
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.engine.profiles.private_keys import without_private_keys
from apps.studies.bundles import contents
from apps.studies.bundles.building import bundle_of
from apps.studies.bundles.opening import open_bundle
from apps.studies.bundles.tables import build_table, read_table
from apps.studies.explanations.explained_decisions import explain_decision
from apps.studies.rebuilding import compare
from tests.engine.driving import ACTOR, pod

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def decisions(cluster: Cluster, schedule: Callable[..., None]) -> dict[str, SchedulingDecision]:
    """By pod: one that was placed among others, one that fits nowhere, one that preempts."""
    write = {"metadata": {"name": "high"}, "value": 1000}
    store.write(cluster, [Create(kinds.PRIORITY_CLASS, write)], actor=ACTOR)
    schedule(*(pod(f"web-{number}", cpu="7") for number in range(3)))
    schedule(pod("small", cpu="500m"))
    schedule(pod("huge", cpu="64"), pod("vip", cpu="4", priorityClassName="high"))
    rows = SchedulingDecision.objects.filter(cluster=cluster).order_by("-id")
    return {row.name: row for row in rows}


def test_a_bundle_is_decided_again_as_recorded_and_explained_like_the_decision(
    decisions: dict[str, SchedulingDecision],
) -> None:
    for row in decisions.values():
        opened = open_bundle(bundle_of(row).data)
        assert opened.verify() == [], row.name
        assert opened.bundle.is_pruned and opened.bundle.has_names
        assert compare(read(row).decision, opened.decision) == []
        here = explain_decision(row, node="node-1")
        there = explain_decision(opened.row, node="node-1", decision=opened.decision, source=opened)
        assert there == here
    assert decisions["vip"].victims and decisions["huge"].result == "unschedulable"


def test_a_bundle_of_5000_nodes_is_small(cluster: Cluster, schedule: Callable[..., None]) -> None:
    nodes = [
        Create(
            kinds.NODE,
            generate_node(f"node-{number:04}", f"zone-{number % 3}", cpu="8", memory="32Gi"),
        )
        for number in range(5000)
    ]
    store.write(cluster, nodes, actor=ACTOR)
    schedule(*(pod(f"web-{number * 7919 % 99991:05}", cpu="100m") for number in range(300)))
    row = SchedulingDecision.objects.filter(cluster=cluster).latest("id")
    built = bundle_of(row)
    assert len(built.data) <= 100_000 and built.differences == []


def test_a_file_that_was_changed_is_refused_with_the_reason(
    decisions: dict[str, SchedulingDecision],
) -> None:
    data = bundle_of(decisions["small"]).data
    with pytest.raises(BadRequest, match="not a bundle of a decision"):
        open_bundle(b"PK")
    with pytest.raises(BadRequest, match="newer release"):
        open_bundle(b"schedweb bundle 9\n")
    for changed in (data[:-1], data[:200] + bytes([data[200] ^ 1]) + data[201:]):
        with pytest.raises(BadRequest, match="its checksum does not match"):
            open_bundle(changed)
    junk = b"nothing"
    with pytest.raises(BadRequest, match="cannot be read"):
        open_bundle(b"schedweb bundle 1\n" + hashlib.sha256(junk).digest() + junk)
    with pytest.raises(BadRequest, match="nowhere, which is none of its nodes"):
        open_bundle(alter(data, node="nowhere"))
    with pytest.raises(BadRequest, match="does not have the pod"):
        open_bundle(alter(data, pod_uid="00000000-0000-0000-0000-000000000000"))
    assert open_bundle(alter(data, message="another")).verify() == [
        "message: ('', 'another') -> ('', '')"
    ]
    free = contents.decode(data)
    for node in free.state.nodes.values:
        node.clear()
    with pytest.raises(BadRequest, match="values that it does not have"):
        open_bundle(contents.encode(free))
    other = contents.decode(data)
    other.configuration = other.configuration.replace("NodeResourcesFit", "Absent") + (
        "\nprofiles: [{plugins: {multiPoint: {enabled: [{name: OfAnotherInstall}]}}}]\n"
    )
    with pytest.raises(BadRequest, match="does not work in this installation"):
        open_bundle(contents.encode(other))


def alter(data: bytes, **fields: Any) -> bytes:
    """The bundle with another row, and a checksum that matches."""
    bundle = contents.decode(data)
    bundle.decision = msgspec.structs.replace(bundle.decision, **fields)
    return contents.encode(bundle)


def test_private_keys_of_extenders_are_left_out() -> None:
    tls = "{serverName: extend.example, keyData: c2VjcmV0, certData: Y2VydA==}"
    text = f"extenders: [{{urlPrefix: https://extend.example, tlsConfig: {tls}}}]\n"
    assert yaml.safe_load(without_private_keys(text)) == {
        "extenders": [
            {"urlPrefix": "https://extend.example", "tlsConfig": {"serverName": "extend.example"}}
        ]
    }
    assert without_private_keys("# nothing\nprofiles: []\n") == "# nothing\nprofiles: []\n"


def test_the_command_verifies_files_without_a_database(
    decisions: dict[str, SchedulingDecision],
    tmp_path: Path,
    django_assert_num_queries: Callable[..., Any],
) -> None:
    out, row = StringIO(), decisions["vip"]
    good, bad = tmp_path / "good.bundle", tmp_path / "bad.bundle"
    call_command("bundle", "write", "lab", str(row.pk), output=good, stdout=out)
    bad.write_bytes(alter(good.read_bytes(), message="another"))
    with django_assert_num_queries(0):
        call_command("bundle", "verify", str(good), stdout=out)
        call_command("bundle", "show", str(good), node="node-1", stdout=out)
        with pytest.raises(CommandError, match="1 of 2 bundles differ"):
            call_command("bundle", "verify", str(good), str(bad), stdout=out)
        with pytest.raises(CommandError, match="No such file"):
            call_command("bundle", "verify", str(tmp_path / "none"), stdout=out)
    printed = out.getvalue()
    assert f"decision {row.pk} of cluster lab, attempt 1 of default/vip, unschedulable" in printed
    assert ": equal" in printed and ": differs\n  message: " in printed
    assert "Insufficient cpu" in printed


def test_a_page_and_the_api_open_a_file_and_store_nothing(
    decisions: dict[str, SchedulingDecision],
    client: Client,
    admin_user: Any,
    row_counts: Callable[[], dict[str, int]],
    tmp_path: Path,
) -> None:
    client.force_login(admin_user)
    row = decisions["small"]
    file = client.get(f"/api/v1/clusters/lab/decisions/{row.pk}/bundle")
    assert file.headers["Content-Disposition"].endswith(f'lab-decision-{row.pk}.bundle"')
    assert client.get("/api/v1/clusters/lab/decisions/1/bundle").status_code == 404
    assert (
        f"/decisions/{row.pk}/bundle"
        in client.get(f"/clusters/lab/decisions/{row.pk}").content.decode()
    )
    path = tmp_path / "a.bundle"
    path.write_bytes(file.content)
    before = row_counts()
    with path.open("rb") as upload:
        page = client.post("/bundles", {"file": upload}).content.decode()
    assert "Verified." in page and "is from a file" in page and "default/small" in page
    kept = page.partition('aria-label="The bundle">')[2].partition("<")[0]
    asked = client.post("/bundles", {"kept": kept, "node": "node-2"}).content.decode()
    assert "Link to this answer" not in asked and 'class="answer"' in asked
    path.write_bytes(file.content[:-3])
    with path.open("rb") as upload:
        refused = client.post("/bundles", {"file": upload})
    assert refused.status_code == 422 and "checksum does not match" in refused.content.decode()
    assert client.post("/bundles", {"kept": "%"}).status_code == 422
    assert client.post("/bundles").status_code == 422

    def post(data: bytes, query: str = "") -> Any:
        return client.post(f"/api/v1/bundles{query}", data, content_type=contents.MEDIA_TYPE)

    answer = post(file.content, "?node=node-2").json()
    assert answer["is_equal"] and answer["decision"]["node"] == row.node
    assert answer["explanation"]["nodes"][0]["node"] == "node-2"
    changed = post(alter(file.content, message="another")).json()
    assert not changed["is_equal"] and changed["differences"][0].startswith("message: ")
    assert "checksum" in post(file.content[:-3]).json()["message"]
    assert post(file.content, "?against=node-2").status_code == 400
    empty = post(b"")
    assert empty.status_code == 400 and "is not a bundle" in empty.json()["message"]
    assert row_counts() == before


def test_columns_return_the_documents_that_they_were_built_from() -> None:
    documents: list[dict[str, Any]] = [
        {"metadata": {"name": "a", "labels": {"host": "a", "disk": "ssd"}}, "spec": {}},
        {"metadata": {"name": "b", "labels": {"host": "b"}}, "spec": {"taints": [{"key": "x"}]}},
        {"metadata": {"name": "c", "labels": {}}},
        {"metadata": {"name": "c"}, "other": {"x": None}},
    ]
    assert read_table(build_table(documents)) == documents
    assert read_table(build_table([])) == []
