"""No body, path or parameter causes a server error."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.api.conftest import Kube
from tests.api.objects import PODS, node, pod

pytestmark = pytest.mark.django_db

QUIET = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(["", "a", "100m", "1e400", "\x00", "é", "$patch", "x" * 300, "9" * 400]),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=12,
)
RICH_POD = {
    **pod("p1"),
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                "ports": [{"containerPort": 80, "hostPort": 80}],
            }
        ],
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "z", "operator": "In", "values": ["a"]}]}
                    ]
                }
            }
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"a": "b"}},
            }
        ],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
        "schedulingGates": [{"name": "x.io/a"}],
        "priorityClassName": "system-node-critical",
    },
}


def places(body: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a body where a value can be inserted."""
    found = [path] if path else []
    items: Any = ()
    if isinstance(body, dict):
        items = body.items()
    elif isinstance(body, list):
        items = enumerate(body)
    for key, item in items:
        found += places(item, (*path, key))
    return found


def put(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(body)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return changed


def fine(answer: Any) -> None:
    assert answer.status_code < 500, answer.content
    if answer.status_code == 404 and answer.headers["Content-Type"].startswith("text/plain"):
        assert answer.content == b"404 page not found\n"
    elif answer.status_code >= 400:
        assert answer.json()["kind"] == "Status"
        assert answer.json()["message"]


@QUIET
@given(place=st.sampled_from(places(RICH_POD)), value=JSON)
@example(place=("metadata", "name"), value="a\ud800")
@example(place=("spec", "containers"), value=[None])
@example(place=("metadata", "resourceVersion"), value="1")
@example(place=("metadata", "creationTimestamp"), value="9999-99-99T00:00:00Z")
def test_a_pod_with_anything_anywhere(kube: Kube, place: tuple[Any, ...], value: Any) -> None:
    body = put(RICH_POD, place, value)
    try:
        fine(kube.post(f"{PODS}?dryRun=All", body))
    except UnicodeEncodeError:
        # no client can send a lone surrogate
        return


@QUIET
@given(place=st.sampled_from(places(node("n1", zone="a"))), value=JSON)
def test_a_node_with_anything_anywhere(kube: Kube, place: tuple[Any, ...], value: Any) -> None:
    fine(kube.post("/api/v1/nodes?dryRun=All", put(node("n1", zone="a"), place, value)))


@QUIET
@given(
    patch=st.one_of(
        JSON,
        st.lists(
            st.fixed_dictionaries(
                {
                    "op": st.sampled_from(["add", "remove", "replace", "test", "copy", "move"]),
                    "path": st.sampled_from(["", "/spec", "/spec/containers/0", "/metadata/x"]),
                    "from": st.sampled_from(["", "/spec", "/metadata/labels"]),
                    "value": JSON,
                }
            ),
            max_size=3,
        ),
    ),
    kind=st.sampled_from(["merge-patch", "json-patch", "strategic-merge-patch"]),
)
@example(patch={"spec": None}, kind="merge-patch")
@example(patch={"metadata": None}, kind="merge-patch")
@example(patch={"metadata": {"labels": {"a": "\x00"}}}, kind="merge-patch")
@example(patch={"$setElementOrder/spec": 3}, kind="strategic-merge-patch")
def test_any_patch(kube: Kube, patch: Any, kind: str) -> None:
    kube.post(PODS, pod("p1"))
    fine(kube.patch(f"{PODS}/p1?dryRun=All", patch, kind))
    fine(kube.patch(f"{PODS}/p1/status?dryRun=All", patch, kind))


@QUIET
@given(raw=st.one_of(st.binary(max_size=200), st.text(max_size=50).map(str.encode)))
@example(raw=b"[" * 100_000)
@example(raw=b'{"metadata":{"name":"\xff"}}')
def test_any_bytes(kube: Kube, raw: bytes) -> None:
    for content_type in ("application/json", "application/yaml"):
        fine(kube.post(f"{PODS}?dryRun=All", raw, content_type=content_type))
    fine(kube.delete(f"{PODS}/none", raw))
    fine(kube.post(f"{PODS}/none/binding", raw))


@QUIET
@given(
    name=st.sampled_from(
        [
            "labelSelector",
            "fieldSelector",
            "limit",
            "continue",
            "resourceVersion",
            "resourceVersionMatch",
            "dryRun",
            "fieldValidation",
            "gracePeriodSeconds",
            "propagationPolicy",
            "includeObject",
        ]
    ),
    value=st.text(max_size=30),
)
@example(name="labelSelector", value="a>" + "9" * 30)
@example(name="fieldSelector", value="metadata.name=\x00")
@example(name="continue", value="WzEsImEiLCJiIl0=")
@example(name="continue", value="WzEsIlx1MDAwMCIsImIiXQ==")
@example(name="resourceVersion", value="9" * 30)
def test_any_parameter(kube: Kube, name: str, value: str) -> None:
    from urllib.parse import urlencode

    try:
        query = urlencode({name: value})
    except UnicodeEncodeError:
        return
    table = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    fine(kube.get(f"{PODS}?{query}", headers=table))
    fine(kube.post(f"{PODS}?dryRun=All&{query}", pod("p1")))
    fine(kube.delete(f"{PODS}?{query}&labelSelector=none%3Dnone"))


@QUIET
@given(path=st.lists(st.text(max_size=10), max_size=6).map("/".join))
@example(path="api/v1/namespaces/\x00/pods")
@example(path="api/v1/namespaces/default/pods/\x00")
@example(path="apis//v1/pods")
def test_any_path(kube: Kube, path: str) -> None:
    from urllib.parse import quote

    try:
        address = quote(path)
    except UnicodeEncodeError:
        return
    fine(kube.get(f"/{address}"))
    fine(kube.delete(f"/{address}"))
