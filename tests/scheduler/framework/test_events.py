from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.framework.events import (
    EVENT_ASSIGNED_POD_ADD,
    EVENT_NODE_ADD,
    EVENT_UNSCHEDULABLE_TIMEOUT,
    EVENT_UNSCHEDULED_POD_UPDATE,
    WILDCARD_EVENT,
    ActionType,
    ClusterEvent,
    Resource,
    action_name,
    node_update_events,
    pod_update_events,
)
from apps.scheduler.objects import Node, Pod, decode_as

UPDATE_LABEL = ClusterEvent(Resource.NODE, ActionType.UPDATE_NODE_LABEL)
UPDATE = ClusterEvent(Resource.NODE, ActionType.UPDATE)


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (EVENT_NODE_ADD, "NodeAdd"),
        (EVENT_ASSIGNED_POD_ADD, "AssignedPodAdd"),
        (EVENT_UNSCHEDULED_POD_UPDATE, "UnschedulablePodUpdate"),
        (UPDATE_LABEL, "NodeUpdateNodeLabel"),
        (WILDCARD_EVENT, "*All"),
        (EVENT_UNSCHEDULABLE_TIMEOUT, "UnschedulableTimeout"),
    ],
)
def test_labels_are_those_of_kube_scheduler(event, label):
    assert event.label == label


def test_a_mixture_of_actions_names_its_parts():
    assert action_name(ActionType.ADD | ActionType.UPDATE_NODE_TAINT) == "Add|UpdateNodeTaint"
    assert action_name(ActionType.ADD | ActionType.UPDATE) == "Add|Update"


@pytest.mark.parametrize(
    ("registered", "incoming", "heard"),
    [
        (UPDATE, UPDATE_LABEL, True),
        (UPDATE_LABEL, UPDATE, False),
        (UPDATE_LABEL, UPDATE_LABEL, True),
        (EVENT_NODE_ADD, UPDATE_LABEL, False),
        (ClusterEvent(Resource.POD, ActionType.ADD), EVENT_ASSIGNED_POD_ADD, True),
        (ClusterEvent(Resource.POD, ActionType.UPDATE), EVENT_UNSCHEDULED_POD_UPDATE, True),
        (ClusterEvent(Resource.POD, ActionType.ADD), EVENT_NODE_ADD, False),
        (WILDCARD_EVENT, EVENT_NODE_ADD, True),
        (EVENT_NODE_ADD, WILDCARD_EVENT, False),
    ],
)
def test_a_registration_hears_what_is_as_specific_or_more(registered, incoming, heard):
    assert registered.matches(incoming) is heard


def node(**changes: Any) -> Node:
    body: dict[str, Any] = {"metadata": {"name": "n"}, "spec": {}, "status": {}}
    for part, content in changes.items():
        body[part] = {**body[part], **content}
    return decode_as(Node, body)


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        (node(), node(), []),
        (node(spec={"unschedulable": True}), node(), ["NodeUpdateNodeTaint"]),
        (node(), node(spec={"unschedulable": True}), []),
        (node(), node(spec={"taints": [{"key": "k"}]}), ["NodeUpdateNodeTaint"]),
        (
            node(status={"allocatable": {"cpu": "1"}}),
            node(status={"allocatable": {"cpu": "1000m"}}),
            [],
        ),
        (
            node(status={"allocatable": {"cpu": "1"}}),
            node(status={"allocatable": {"cpu": "2"}}, metadata={"labels": {"a": "b"}}),
            ["NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel"],
        ),
        (
            node(status={"conditions": [{"type": "Ready", "status": "False"}]}),
            node(status={"conditions": [{"type": "Ready", "status": "True"}]}),
            ["NodeUpdateNodeCondition"],
        ),
        (
            node(status={"conditions": [{"type": "Ready", "reason": "a"}]}),
            node(status={"conditions": [{"type": "Ready", "reason": "b"}]}),
            [],
        ),
        (node(), node(metadata={"annotations": {"a": "b"}}), ["NodeUpdateNodeAnnotation"]),
        (node(), node(status={"declaredFeatures": ["X"]}), ["NodeUpdateNodeDeclaredFeature"]),
    ],
)
def test_a_node_update_is_told_property_by_property(old, new, labels):
    assert [event.label for event in node_update_events(old, new)] == labels


def pod(labels: dict[str, str] | None = None, cpu: str = "1", **spec: Any) -> Pod:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    body = {
        "metadata": {"name": "p", "labels": labels or {}},
        "spec": {"containers": [container], **spec},
    }
    return decode_as(Pod, body)


GATED = {"schedulingGates": [{"name": "g"}]}
TOLERANT = {"tolerations": [{"key": "k"}]}


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        (pod(), pod(), ["UnschedulablePodUpdate"]),
        (pod(), pod({"a": "b"}), ["UnschedulablePodUpdatePodLabel"]),
        (pod(cpu="1"), pod(cpu="500m"), ["UnschedulablePodUpdatePodScaleDown"]),
        (pod(cpu="1"), pod(cpu="2"), ["UnschedulablePodUpdate"]),
        (
            pod(resources={"requests": {"cpu": "4"}}),
            pod(resources={"requests": {"cpu": "3"}}),
            ["UnschedulablePodUpdatePodScaleDown"],
        ),
        (pod(**GATED), pod(), ["UnschedulablePodUpdatePodSchedulingGatesEliminated"]),
        (pod(), pod(**TOLERANT), ["UnschedulablePodUpdatePodToleration"]),
        (
            pod(nodeName="n"),
            pod({"a": "b"}, cpu="1m", nodeName="n"),
            ["AssignedPodUpdatePodLabel", "AssignedPodUpdatePodScaleDown"],
        ),
    ],
)
def test_a_pod_update_is_told_property_by_property(old, new, labels):
    assert [event.label for event in pod_update_events(old, new)] == labels
