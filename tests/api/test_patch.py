"""PATCH with the three kinds of patches."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster import json_patch, merge_patch, strategic_merge_patch
from apps.cluster.errors import BadRequest
from apps.cluster.schema import definition_of
from tests.api.conftest import Kube
from tests.api.objects import PODS, pod

POD = definition_of("", "v1", "Pod")


@pytest.mark.django_db
def test_each_kind_of_patch_changes_the_object(kube: Kube) -> None:
    kube.post(PODS, pod("p1", labels={"a": "1", "b": "2"}))
    kube.patch(f"{PODS}/p1", {"metadata": {"labels": {"a": None, "c": "3"}}})
    kube.patch(
        f"{PODS}/p1", [{"op": "replace", "path": "/metadata/labels/b", "value": "4"}], "json-patch"
    )
    answer = kube.patch(
        f"{PODS}/p1",
        {"spec": {"containers": [{"name": "c", "image": "other"}]}},
        "strategic-merge-patch",
    )
    assert answer.status_code == 200
    body = kube.get(f"{PODS}/p1").json()
    assert body["metadata"]["labels"] == {"b": "4", "c": "3"}
    assert body["metadata"]["generation"] == 2
    assert [c["image"] for c in body["spec"]["containers"]] == ["other"]


@pytest.mark.django_db
def test_a_patch_from_an_older_version_conflicts(kube: Kube) -> None:
    version = kube.post(PODS, pod("p1")).json()["metadata"]["resourceVersion"]
    kube.patch(f"{PODS}/p1", {"metadata": {"labels": {"a": "1"}}})
    late = {"metadata": {"resourceVersion": version, "labels": {"a": "2"}}}
    assert kube.patch(f"{PODS}/p1", late).status_code == 409


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "body", "status", "told"),
    [
        ("merge-patch", "{", 400, "error decoding patch: unexpected end of JSON input"),
        ("merge-patch", "[]", 400, "cannot unmarshal array"),
        ("merge-patch", {"metadata": {"name": "q"}}, 400, "does not match the name on the URL"),
        ("merge-patch", {"metadata": {"labels": "x"}}, 422, "metadata.labels"),
        ("merge-patch", {"spec": {"nodeName": "n"}}, 422, "spec: Forbidden"),
        ("merge-patch", {"kind": "Foo"}, 422, 'no kind "Foo" is registered for version "v1"'),
        ("merge-patch", {"kind": "Node"}, 422, "converting (v1.Node) to (core.Pod)"),
        ("json-patch", [{"op": "add", "path": "/apiVersion", "value": "v2"}], 422, "patch: Inv"),
        (
            "merge-patch",
            {"metadata": {"deletionGracePeriodSeconds": 4}},
            422,
            "metadata.deletionGracePeriodSeconds: Invalid value: 4: field is immutable",
        ),
        (
            "merge-patch",
            {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}},
            422,
            "metadata.deletionTimestamp: Invalid value",
        ),
        ("json-patch", {"op": "add"}, 400, "error decoding patch"),
        ("json-patch", [{"op": "remove", "path": "/x/y"}], 422, "the server rejected our request"),
        ("json-patch", [{"op": "fly", "path": "/x"}], 422, "rejected"),
        ("json-patch", [{"op": "replace", "path": "", "value": 3}], 422, "rejected"),
        ("strategic-merge-patch", {"spec": {"containers": [{"image": "x"}]}}, 400, "merge key"),
        ("strategic-merge-patch", {"metadata": {"$patch": "nope"}}, 400, "unknown patch type"),
        ("apply-patch", {}, 415, "415: Unsupported Media Type"),
    ],
)
def test_a_wrong_patch_is_refused(
    kube: Kube, kind: str, body: object, status: int, told: str
) -> None:
    before = kube.post(PODS, pod("p1")).json()
    answer = kube.patch(f"{PODS}/p1", body, kind)
    assert answer.status_code == status
    assert told in answer.json()["message"]
    assert kube.get(f"{PODS}/p1").json() == before


@pytest.mark.django_db
def test_a_json_patch_takes_missing_members_as_null(kube: Kube) -> None:
    kube.post(PODS, pod("p1", labels={"a": "1"}))
    steps = [
        {"op": "test", "path": "/metadata/labels/b", "value": None},
        {"op": "replace", "path": "/metadata/labels/b", "value": "2"},
        {"op": "copy", "from": "/metadata/labels/b", "path": "/metadata/labels/c"},
    ]
    patched = kube.patch(f"{PODS}/p1", steps, "json-patch").json()
    assert patched["metadata"]["labels"] == {"a": "1", "b": "2", "c": "2"}
    for wrong in ({"op": "remove", "path": "/spec/none"}, {"op": "move", "path": "/spec/x"}):
        assert kube.patch(f"{PODS}/p1", [wrong], "json-patch").status_code == 422


@pytest.mark.django_db
def test_missing_objects_and_anonymous_requests(kube: Kube, anonymous: Kube) -> None:
    assert kube.patch(f"{PODS}/none", {}).status_code == 404
    assert anonymous.patch(f"{PODS}/none", {}).status_code == 401
    assert kube.patch(PODS, {}).status_code == 405


@pytest.mark.django_db
def test_copies_of_copies_do_not_fill_the_memory(kube: Kube) -> None:
    before = kube.post(PODS, pod("p1")).json()
    copies = [
        {"op": "copy", "from": "/metadata", "path": f"/metadata/{number}"} for number in range(40)
    ]
    assert kube.patch(f"{PODS}/p1", copies, "json-patch").status_code == 422
    assert kube.get(f"{PODS}/p1").json() == before


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
        ({"a": 1}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
    ],
)
def test_merge_patch_is_rfc_7386(target: Any, patch: Any, merged: Any) -> None:
    assert merge_patch.merge(target, patch) == merged


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ([{"op": "add", "path": "/list/1", "value": 9}], {"list": [1, 9, 2], "map": {"a/b": 1}}),
        ([{"op": "add", "path": "/list/-", "value": 9}], {"list": [1, 2, 9], "map": {"a/b": 1}}),
        ([{"op": "remove", "path": "/map/a~1b"}], {"list": [1, 2], "map": {}}),
        (
            [{"op": "move", "from": "/list/0", "path": "/x"}],
            {"list": [2], "map": {"a/b": 1}, "x": 1},
        ),
        ([{"op": "copy", "from": "/list", "path": "/map"}], {"list": [1, 2], "map": [1, 2]}),
        ([{"op": "test", "path": "/list/0", "value": 1}], {"list": [1, 2], "map": {"a/b": 1}}),
    ],
)
def test_json_patch_is_rfc_6902(patch: Any, result: Any) -> None:
    body = {"list": [1, 2], "map": {"a/b": 1}}
    assert json_patch.apply(body, json_patch.read(patch)) == result
    assert body == {"list": [1, 2], "map": {"a/b": 1}}


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "test", "path": "/list/0", "value": 7}],
        [{"op": "add", "path": "/list/5", "value": 7}],
        [{"op": "add", "path": "/list/0/x", "value": 7}],
        [{"op": "remove", "path": "/list/01"}],
        [{"op": "move", "from": "/map", "path": "/map/x"}],
    ],
)
def test_a_json_patch_that_does_not_apply_is_refused(patch: Any) -> None:
    with pytest.raises(json_patch.PatchProblem):
        json_patch.apply({"list": [1], "map": {}}, json_patch.read(patch))


@pytest.mark.parametrize(
    ("old", "patch", "merged"),
    [
        pytest.param(
            {"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]}},
            {"spec": {"containers": [{"name": "a", "image": "2"}]}},
            {"spec": {"containers": [{"name": "a", "image": "2"}, {"name": "b"}]}},
            id="items are matched by their key",
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "a"}]}},
            {"spec": {"containers": [{"name": "b"}]}},
            {"spec": {"containers": [{"name": "b"}, {"name": "a"}]}},
            id="new items come first",
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}},
            {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}},
            {"spec": {"containers": [{"name": "b"}]}},
            id="an item is deleted",
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}},
            {"spec": {"containers": [{"$patch": "replace"}, {"name": "c"}]}},
            {"spec": {"containers": [{"name": "c"}]}},
            id="a list is replaced",
        ),
        pytest.param(
            {"spec": {"tolerations": [{"key": "a"}]}},
            {"spec": {"tolerations": [{"key": "b"}]}},
            {"spec": {"tolerations": [{"key": "b"}]}},
            id="lists without a key are replaced",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"finalizers": ["c"]}},
            {"metadata": {"finalizers": ["c", "a", "b"]}},
            id="lists of values are united",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}},
            {"metadata": {"finalizers": ["b"]}},
            id="a value is deleted from a list",
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}},
            {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}},
            {"spec": {"containers": [{"name": "b"}, {"name": "a"}]}},
            id="items are put in order",
        ),
        pytest.param(
            {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/a"}}]}},
            {
                "spec": {
                    "volumes": [{"name": "v", "$retainKeys": ["name", "emptyDir"], "emptyDir": {}}]
                }
            },
            {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
            id="other keys of a union go",
        ),
        pytest.param(
            {"spec": {"nodeSelector": {"a": "1"}}},
            {"spec": {"nodeSelector": {"$patch": "replace", "b": "2"}}},
            {"spec": {"nodeSelector": {"b": "2"}}},
            id="a map is replaced",
        ),
    ],
)
def test_strategic_merge_follows_the_definitions(old: Any, patch: Any, merged: Any) -> None:
    assert strategic_merge_patch.merge(old, patch, POD) == merged


def test_an_unknown_directive_is_refused() -> None:
    with pytest.raises(BadRequest, match=r"unknown directive \$nope"):
        strategic_merge_patch.merge({}, {"$nope/x": []}, POD)
