"""Decoding bodies into objects."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from apps.scheduler import objects
from apps.scheduler.objects import DecodeError, decode, decode_json

RECORDED = Path(__file__).parents[1] / "conformance" / "data"


def test_an_absent_field_has_the_default_of_the_api():
    pod = decode("Pod", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}})
    assert pod.spec.scheduler_name == "default-scheduler"
    assert pod.spec.preemption_policy == "PreemptLowerPriority"
    assert pod.spec.priority == 0
    assert pod.spec.affinity is None
    assert pod.spec.containers[0].resources.requests == {}
    assert decode("StorageClass", {}).volume_binding_mode == "Immediate"


def test_fields_are_read_by_their_json_names():
    pod = decode(
        "Pod",
        {
            "metadata": {"name": "p", "namespace": "ns", "resourceVersion": "7"},
            "spec": {
                "initContainers": [{"name": "s", "restartPolicy": "Always"}],
                "containers": [
                    {"name": "c", "ports": [{"containerPort": 80, "hostIP": "1.2.3.4"}]}
                ],
                "volumes": [
                    {"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}},
                    {"name": "w", "azureDisk": {"diskURI": "uri"}},
                ],
                "topologySpreadConstraints": [{"maxSkew": 2, "matchLabelKeys": ["rev"]}],
            },
            "status": {"containerStatuses": [{"allocatedResources": {"cpu": "1"}}]},
        },
    )
    assert pod.key == "ns/p"
    assert pod.spec.init_containers[0].restart_policy == "Always"
    assert pod.spec.containers[0].ports[0].host_ip == "1.2.3.4"
    assert pod.spec.volumes[0].aws_elastic_block_store.volume_id == "vol-1"
    assert pod.spec.volumes[1].azure_disk.disk_uri == "uri"
    assert pod.spec.topology_spread_constraints[0].match_label_keys == ("rev",)
    assert pod.status.container_statuses[0].allocated_resources == {"cpu": "1"}


def test_null_counts_as_absent():
    pod = decode("Pod", {"metadata": {"labels": None}, "spec": {"containers": None}})
    assert pod.metadata.labels == {}
    assert pod.spec.containers == ()


def test_unknown_fields_are_passed_over():
    assert decode("Node", {"spec": {"configSource": {}}, "extra": 1}).spec.taints == ()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"spec": {"containers": [{"name": 1}]}}, "spec.containers[0].name"),
        ({"spec": {"tolerations": "x"}}, "spec.tolerations"),
        ({"spec": {"priority": 2**31}}, "spec.priority"),
        ({"spec": {"overhead": {"cpu": []}}}, "spec.overhead[...]"),
        ({"spec": []}, "spec"),
        ([], ""),
    ],
)
def test_a_wrong_type_is_refused_by_the_path_of_its_field(body, field):
    with pytest.raises(DecodeError) as refused:
        decode("Pod", body)
    assert refused.value.field == field
    assert str(refused.value).startswith(field)


def test_objects_cannot_be_changed():
    node = decode("Node", {"metadata": {"name": "n"}})
    with pytest.raises(AttributeError):
        node.metadata = objects.ObjectMeta()


@pytest.mark.parametrize("family", ["mixed", "volumes", "resize", "preemptioncluster"])
def test_every_recorded_object_can_be_read(family):
    with gzip.open(RECORDED / f"{family}.jsonl.gz", "rt") as lines:
        for line in lines:
            case = json.loads(line)["case"]
            for body in [*(case["objects"] or ()), *(case["pods"] or ())]:
                read = decode(body["kind"], body)
                assert read.metadata.name == body["metadata"]["name"]


def test_text_reads_as_plain_data_does():
    body = {
        "metadata": {"name": "p", "labels": None},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": 1}}}]},
    }
    assert decode_json("Pod", json.dumps(body)) == decode("Pod", body)
    with pytest.raises(DecodeError) as wrong:
        decode_json("Pod", '{"spec": {"containers": [{"name": 7}]}}')
    assert wrong.value.field == "spec.containers[0].name"
