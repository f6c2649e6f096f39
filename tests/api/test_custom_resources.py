"""CustomResourceDefinitions, and the kinds that are only data."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apps.cluster.models import Cluster, DataObject
from apps.engine.loop.engines import Engines
from tests.api.conftest import Kube

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#: Of the shape of Kueue's and Volcano's: two versions, subresources, a built-in kind's name.
JOBS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "jobs.batch.volcano.sh"},
    "spec": {
        "group": "batch.volcano.sh",
        "names": {"plural": "jobs", "kind": "Job", "shortNames": ["vcjob"], "categories": ["all"]},
        "scope": "Namespaced",
        "versions": [
            {
                "name": name,
                "served": True,
                "storage": name == "v1",
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
                "additionalPrinterColumns": [
                    {"name": "Queue", "type": "string", "jsonPath": ".spec.queue"},
                    {
                        "name": "Ready",
                        "type": "string",
                        "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
                    },
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["queue"],
                                "properties": {
                                    "queue": {"type": "string", "pattern": "^[a-z]+$"},
                                    "policy": {"type": "string", "enum": ["Fifo", "Lifo"]},
                                    "replicas": {"type": "integer", "minimum": 1, "default": 2},
                                    "size": {"x-kubernetes-int-or-string": True},
                                    "free": {
                                        "type": "object",
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                    "tasks": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["name"],
                                        "items": {
                                            "type": "object",
                                            "required": ["name"],
                                            "properties": {
                                                "name": {"type": "string"},
                                                "count": {"type": "integer", "default": 1},
                                            },
                                        },
                                    },
                                },
                            },
                            "status": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            },
                        },
                    }
                },
            }
            for name in ("v1beta1", "v1")
        ],
    },
}
OBJECTS = "/apis/batch.volcano.sh/v1/namespaces/default/jobs"


def job(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch.volcano.sh/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": spec,
    }


def test_a_definition_serves_its_kind(kube: Kube, cluster: Cluster) -> None:
    created = kube.post(CRDS, JOBS)
    assert created.status_code == 201, created.json()
    # its names are accepted after the answer
    assert created.json()["status"]["conditions"] is None
    status = kube.get(f"{CRDS}/{JOBS['metadata']['name']}").json()["status"]
    assert {c["type"]: c["status"] for c in status["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert status["storedVersions"] == ["v1"]
    listed = kube.get("/apis/batch.volcano.sh").json()
    assert [each["version"] for each in listed["versions"]] == ["v1", "v1beta1"]
    rows = {row["name"]: row for row in kube.get("/apis/batch.volcano.sh/v1").json()["resources"]}
    assert rows.keys() == {"jobs", "jobs/scale", "jobs/status"}
    assert rows["jobs"]["shortNames"] == ["vcjob"]
    document = kube.get("/openapi/v3/apis/batch.volcano.sh/v1").json()
    (shown,) = (
        each
        for each in document["components"]["schemas"].values()
        if {"group": "batch.volcano.sh", "version": "v1", "kind": "Job"}
        in each.get("x-kubernetes-group-version-kind", ())
    )
    tasks = shown["properties"]["spec"]["properties"]["tasks"]
    assert tasks["items"]["properties"]["count"] == {"type": "integer", "default": 1}
    assert "ObjectMeta" in shown["properties"]["metadata"]["allOf"][0]["$ref"]
    assert shown["properties"]["kind"]["description"].startswith("Kind is a string value")
    assert document["components"]["schemas"]["sh.volcano.batch.v1.Job"] == shown
    assert document["components"]["schemas"]["sh.volcano.batch.v1.JobList"]["required"] == ["items"]
    # v2 has no defaults
    old = kube.get("/openapi/v2").json()["definitions"]["sh.volcano.batch.v1.Job"]
    tasks = old["properties"]["spec"]["properties"]["tasks"]
    assert tasks["items"]["properties"]["count"] == {"type": "integer"}

    stored = kube.post(OBJECTS, job(queue="a", unknown=1, tasks=[{"name": "x"}], free={"any": 1}))
    assert stored.status_code == 201, stored.json()
    assert 'unknown field \\"spec.unknown\\"' in stored.headers["Warning"]
    spec = {"queue": "a", "replicas": 2, "tasks": [{"name": "x", "count": 1}], "free": {"any": 1}}
    assert stored.json()["spec"] == spec
    assert stored.json()["metadata"]["generation"] == 1
    # the built-in kind of the same name is another
    assert kube.get("/apis/batch/v1/jobs").json()["items"] == []
    older = kube.get("/apis/batch.volcano.sh/v1beta1/namespaces/default/jobs/train").json()
    assert older["apiVersion"] == "batch.volcano.sh/v1beta1" and older["spec"] == spec

    patched = kube.request(
        "PATCH",
        f"{OBJECTS}/train/status",
        {"status": {"conditions": [{"type": "Ready", "status": "True"}], "replicas": 1}},
        content_type="application/merge-patch+json",
    )
    assert patched.json()["metadata"]["generation"] == 1
    table = kube.get(OBJECTS, headers={"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
    assert [c["name"] for c in table.json()["columnDefinitions"]] == [
        *("Name", "Queue", "Ready", "Age")
    ]
    assert table.json()["rows"][0]["cells"][:3] == ["train", "a", "True"]
    scaled = kube.request(
        "PATCH",
        f"{OBJECTS}/train/scale",
        {"spec": {"replicas": 5}},
        content_type="application/merge-patch+json",
    )
    assert scaled.json()["spec"] == {"replicas": 5} and scaled.json()["status"]["replicas"] == 1
    applied = kube.request(
        "PATCH",
        f"{OBJECTS}/train?fieldManager=me&force=true",
        job(queue="b", tasks=[{"name": "y"}]),
        content_type="application/apply-patch+yaml",
    )
    assert applied.status_code == 200, applied.json()
    assert [task["name"] for task in applied.json()["spec"]["tasks"]] == ["x", "y"]
    strategic = kube.request(
        "PATCH",
        f"{OBJECTS}/train",
        {},
        content_type="application/strategic-merge-patch+json",
    )
    assert strategic.status_code == 415

    assert kube.delete(f"{CRDS}/jobs.batch.volcano.sh").status_code == 200
    assert kube.get(OBJECTS).status_code == 404
    assert not DataObject.objects.filter(kind="jobs.batch.volcano.sh").exists()


def test_a_custom_resource_is_validated_by_its_schema(kube: Kube) -> None:
    kube.post(CRDS, JOBS)
    refused = kube.post(
        OBJECTS,
        job(policy="Best", replicas=0, size=1.5, tasks=[{"name": "x"}, {"name": "x"}, {"name": 1}]),
    )
    assert refused.status_code == 422
    causes = {(c["field"], c["message"]) for c in refused.json()["details"]["causes"]}
    assert causes == {
        ("spec.queue", "Required value"),
        ("spec.policy", 'Unsupported value: "Best": supported values: "Fifo", "Lifo"'),
        (
            "spec.replicas",
            "Invalid value: 0: spec.replicas in body should be greater than or equal to 1",
        ),
        (
            "spec.size",
            'Invalid value: "number": spec.size in body must be of type integer,string: "number"',
        ),
        ("spec.tasks[1]", 'Duplicate value: {"name":"x"}'),
        (
            "spec.tasks[2].name",
            'Invalid value: "integer": spec.tasks[2].name in body must be of type string: '
            '"integer"',
        ),
    }
    misnamed = kube.post(CRDS, {**JOBS, "metadata": {"name": "other.batch.volcano.sh"}})
    assert misnamed.status_code == 422
    assert 'must be spec.names.plural+"."+spec.group' in misnamed.json()["message"]


#: A value of each format that is checked, and one that is not.
FORMATS = {
    "byte": ("YQ==", "a!"),
    "cidr": ("10.0.0.0/8", "10.0.0.0"),
    "date": ("2026-01-02", "2026-13-02"),
    "date-time": ("2026-01-02T03:04:05.5+01:00", "2026-01-02T25:00:00Z"),
    "duration": ("1h30m", "soon"),
    "email": ("a@example.com", "example.com"),
    "hostname": ("a-1.example.com", "a_1"),
    "ipv4": ("10.0.0.1", "::1"),
    "ipv6": ("::1", "10.0.0.1"),
    "mac": ("00:1b:2c:3d:4e:5f", "00:1b"),
    "uri": ("https://example.com/a", "example"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "123"),
}


def test_strings_have_the_format_of_their_schema(kube: Kube) -> None:
    definition = copy.deepcopy(JOBS)
    for version in definition["spec"]["versions"]:
        fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        fields |= {name: {"type": "string", "format": name} for name in [*FORMATS, "password"]}
    assert kube.post(CRDS, definition).status_code == 201
    bad = {name: wrong for name, (_, wrong) in FORMATS.items()}
    refused = kube.post(OBJECTS, job(queue="a", password="", **bad))
    causes = {each["field"]: each for each in refused.json()["details"]["causes"]}
    assert causes.keys() == {f"spec.{name}" for name in FORMATS}
    assert causes["spec.ipv4"] == {
        "reason": "FieldValueTypeInvalid",
        "message": 'Invalid value: "::1": spec.ipv4 in body must be of type ipv4: "::1"',
        "field": "spec.ipv4",
    }
    good = {name: right for name, (right, _) in FORMATS.items()}
    assert kube.post(OBJECTS, job(queue="a", **good)).status_code == 201


def with_field(schema: dict[str, object]) -> dict[str, object]:
    definition = copy.deepcopy(JOBS)
    for version in definition["spec"]["versions"]:
        fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        fields["field"] = schema
    return definition


def test_a_pattern_that_backtracking_is_slow_for_is_answered_at_once(kube: Kube) -> None:
    assert kube.post(CRDS, with_field({"type": "string", "pattern": "^(a+)+$"})).status_code == 201
    refused = kube.post(OBJECTS, job(queue="a", field="a" * 100_000 + "b"))
    assert [each["field"] for each in refused.json()["details"]["causes"]] == ["spec.field"]
    assert kube.post(OBJECTS, job(queue="a", field="a" * 100_000)).status_code == 201


def test_an_object_that_takes_too_long_to_validate_is_refused(kube: Kube) -> None:
    schema = {"type": "string", "pattern": "([ab]?){900}[cd]"}
    assert kube.post(CRDS, with_field(schema)).status_code == 201
    refused = kube.post(OBJECTS, job(queue="a", field="ab" * 20_000))
    assert refused.status_code == 422
    assert "validating the object by its schema takes too long" in refused.json()["message"]


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "missing closing ): `(`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        (r"\C", r"invalid escape sequence: `\C`"),
    ],
)
def test_a_pattern_is_a_regular_expression_of_go(kube: Kube, pattern: str, problem: str) -> None:
    refused = kube.post(CRDS, with_field({"type": "string", "anyOf": [{"pattern": pattern}]}))
    reason = f"must be a valid regular expression, but isn't: error parsing regexp: {problem}"
    causes = refused.json()["details"]["causes"]
    assert {each["message"].partition(": must")[2] for each in causes} == {
        reason.removeprefix("must")
    }


def test_protected_groups_need_an_approval(kube: Kube) -> None:
    definition = copy.deepcopy(JOBS)
    definition["spec"]["group"] = "sigs.k8s.io"
    definition["spec"]["preserveUnknownFields"] = True
    definition["metadata"] = {"name": "jobs.sigs.k8s.io"}
    name = "api-approved.kubernetes.io"
    refused = kube.post(CRDS, definition).json()["details"]["causes"]
    assert [(each["field"], each["message"]) for each in refused] == [
        (
            "spec.preserveUnknownFields",
            "Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields "
            "to true in spec.versions[*].schema instead",
        ),
        (
            "spec.preserveUnknownFields",
            "Invalid value: true: must be false in order to use defaults in the schema",
        ),
        (
            f"metadata.annotations[{name}]",
            f'Required value: protected groups must have approval annotation "{name}", '
            "see https://github.com/kubernetes/enhancements/pull/1111",
        ),
    ]
    definition["spec"]["preserveUnknownFields"] = False
    definition["metadata"]["annotations"] = {name: "yes"}
    assert "either a URL or a reason" in kube.post(CRDS, definition).json()["message"]
    definition["metadata"]["annotations"] = {name: "unapproved, for tests"}
    assert kube.post(CRDS, definition).status_code == 201


def test_immutable_data_cannot_change(kube: Kube) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    kube.post(maps, {"metadata": {"name": "m"}, "data": {"a": "1"}, "immutable": True})
    refused = kube.patch(f"{maps}/m", {"data": {"a": "2"}})
    assert refused.status_code == 422
    assert refused.json()["details"]["causes"][0]["message"] == (
        "Forbidden: field is immutable when `immutable` is set"
    )
    secrets = "/api/v1/namespaces/default/secrets"
    made = kube.post(secrets, {"metadata": {"name": "s"}, "stringData": {"a": "x"}}).json()
    assert (made["type"], made["data"]) == ("Opaque", {"a": "eA=="}) and "stringData" not in made
    found = kube.get(f"{secrets}?fieldSelector=type=Opaque").json()["items"]
    assert [each["metadata"]["name"] for each in found] == ["s"]


def test_a_limit_range_sets_defaults_and_refuses_what_is_outside(kube: Kube) -> None:
    limits = {
        "type": "Container",
        "default": {"cpu": "500m"},
        "defaultRequest": {"cpu": "250m"},
        "max": {"cpu": "1", "memory": "1Gi"},
        "maxLimitRequestRatio": {"cpu": "3"},
    }
    ranges = "/api/v1/namespaces/default/limitranges"
    made = kube.post(ranges, {"metadata": {"name": "l"}, "spec": {"limits": [limits]}})
    assert made.status_code == 201, made.json()
    pods = "/api/v1/namespaces/default/pods"

    def pod(name: str, **resources: Any) -> dict[str, Any]:
        container = {"name": "c", "image": "i", "resources": resources}
        return {"metadata": {"name": name}, "spec": {"containers": [container]}}

    created = kube.post(pods, pod("p")).json()
    assert created["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "250m", "memory": "1Gi"},
        "limits": {"cpu": "500m", "memory": "1Gi"},
    }
    assert created["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu, memory request for container c; "
        "cpu, memory limit for container c"
    )
    assert created["status"]["qosClass"] == "Burstable"
    refused = kube.post(pods, pod("q", limits={"cpu": "2", "memory": "1Gi"}))
    assert (refused.status_code, refused.json()["message"]) == (
        403,
        'pods "q" is forbidden: maximum cpu usage per Container is 1, but limit is 2',
    )
    both = kube.post(pods, pod("r", requests={"cpu": "100m"}, limits={"memory": "2Gi"})).json()
    assert both["message"] == (
        'pods "r" is forbidden: [maximum memory usage per Container is 1Gi, but limit is 2Gi, '
        "cpu max limit to request ratio per Container is 3, but provided ratio is 5.000000]"
    )


def owned(name: str, owner: dict[str, Any], *, blocks: bool = False) -> dict[str, Any]:
    """The metadata of a dependant of an object as the API returned it."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": blocks,
    }
    return {"name": name, "ownerReferences": [reference]}


@pytest.mark.django_db(transaction=True)
def test_dependants_of_and_among_custom_resources_are_collected(
    kube: Kube, cluster: Cluster
) -> None:
    """An owner, a ConfigMap, a Secret and a custom resource of it, which owns another Secret."""
    kube.post(CRDS, JOBS)
    engines, core = Engines(), "/api/v1/namespaces/default"
    engines.run(cluster.pk)

    def create_family(name: str) -> None:
        owner = kube.post(OBJECTS, {**job(queue="a"), "metadata": {"name": name}}).json()
        kube.post(f"{core}/configmaps", {"metadata": owned(f"{name}-map", owner)})
        kube.post(f"{core}/secrets", {"metadata": owned(f"{name}-secret", owner, blocks=True)})
        child = {**job(queue="a"), "metadata": owned(f"{name}-child", owner, blocks=True)}
        child = kube.post(OBJECTS, child).json()
        kube.post(f"{core}/secrets", {"metadata": owned(f"{name}-grandchild", child)})

    def names() -> set[str]:
        paths = (OBJECTS, f"{core}/configmaps", f"{core}/secrets")
        found = [
            item["metadata"]["name"] for path in paths for item in kube.get(path).json()["items"]
        ]
        return {name for name in found if "-" in name} - {"kube-root-ca.crt"}

    for policy in ("Background", "Foreground", "Orphan"):
        create_family(policy.lower())
    engines.run(cluster.pk)
    assert len(names()) == 12
    kube.delete(f"{OBJECTS}/background")
    engines.run(cluster.pk)
    assert len(names()) == 8
    kube.delete(f"{OBJECTS}/foreground", {"propagationPolicy": "Foreground"})
    waiting = kube.get(f"{OBJECTS}/foreground").json()["metadata"]
    assert waiting["finalizers"] == ["foregroundDeletion"]
    engines.run(cluster.pk)
    assert len(names()) == 4 and kube.get(f"{OBJECTS}/foreground").status_code == 404
    # another worker, which has to read what it has not seen
    kube.delete(f"{OBJECTS}/orphan", {"propagationPolicy": "Orphan"})
    engines = Engines()
    engines.run(cluster.pk)
    assert kube.get(f"{OBJECTS}/orphan").status_code == 404 and len(names()) == 4
    child = kube.get(f"{OBJECTS}/orphan-child").json()
    assert "ownerReferences" not in child["metadata"]
    kube.delete(f"{OBJECTS}/orphan-child")
    engines.run(cluster.pk)
    assert names() == {"orphan-map", "orphan-secret"}


GAUGES = "/apis/example.com/v1/namespaces/default/gauges"


def gauges(*rules: dict[str, Any], **properties: Any) -> dict[str, Any]:
    """A definition whose spec has these rules and properties."""
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": list(rules)}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "gauges", "singular": "gauge", "kind": "Gauge", "listKind": "GaugeList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gauges.example.com"},
        "spec": {
            "group": "example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def gauge(**spec: Any) -> dict[str, Any]:
    body = {"apiVersion": "example.com/v1", "kind": "Gauge", "metadata": {"name": "g"}}
    return {**body, "spec": spec}


def causes_of(response: Any) -> list[tuple[str, str]]:
    assert response.status_code == 422, response.json()
    return [(each["field"], each["message"]) for each in response.json()["details"]["causes"]]


def test_rules_of_a_definition_are_compiled(kube: Kube) -> None:
    rules = (
        {"rule": "self.low <= self.height"},
        {"rule": "self.low +"},
        {"rule": "self.low"},
        {"rule": "true", "messageExpression": "self.low"},
    )
    number = {"type": "integer"}
    found = causes_of(kube.post(CRDS, gauges(*rules, low=number, high=number)))
    place = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations"
    assert [field.removeprefix(place) for field, _ in found] == [
        "[0].rule",
        "[1].rule",
        "[2].rule",
        "[3].messageExpression",
    ]
    texts = [text for _, text in found]
    assert texts[0].startswith(r'Invalid value: {"Rule":"self.low \u003c= self.height",')
    assert "compilation failed" in texts[0]
    assert "undefined field 'height'" in texts[0] and "Syntax error" in texts[1]
    assert texts[2].endswith("cel expression must evaluate to a bool")
    assert texts[3].endswith("messageExpression must evaluate to a string")
    # what is wrong otherwise comes before expressions
    rules = (*rules, {"rule": " "}, {"rule": "true", "message": "a\nb", "fieldPath": ".lows"})
    found = causes_of(kube.post(CRDS, gauges(*rules, low=number, high=number)))
    assert [(field.removeprefix(place), text) for field, text in found] == [
        ("[4].rule", "Required value: rule is not specified"),
        ("[5].message", r'Invalid value: "a\nb": must not contain line breaks'),
        ("[5].fieldPath", 'Invalid value: ".lows": must be a valid path'),
    ]


def test_schemas_of_a_definition_are_structural(kube: Kube) -> None:
    """Each case is what the real API server answers."""
    text, free = {"type": "string"}, "x-kubernetes-preserve-unknown-fields"
    embedded, list_type = "x-kubernetes-embedded-resource", "x-kubernetes-list-type"
    empty = "must not be empty if x-kubernetes-embedded-resource is true without"
    cases = (
        ({"type": "array", "items": [text]}, "items", "Forbidden: items must be a schema object"),
        ({**text, "$ref": "#/x"}, "$ref", "Forbidden: $ref is not supported"),
        ({**text, "not": text}, "not.type", "Forbidden: must be empty to be structural"),
        ({"type": "object", free: False}, free, "Invalid value: false: must be true or undefined"),
        ({"type": "object", embedded: True}, "properties", f"Required value: {empty}"),
        ({**text, list_type: "set"}, "type", 'Invalid value: "string": must be array if'),
        ({**text, "default": 1}, "default", 'Invalid value: "integer":  in body must be of type'),
        (
            {"type": "object", "properties": {"a": text}, "default": {"b": 1}},
            "default",
            'Invalid value: {"b":1}: must not have unknown fields',
        ),
    )
    for schema, place, message in cases:
        ((field, said),) = causes_of(kube.post(CRDS, gauges(field=schema)))
        assert (
            field == f"spec.validation.openAPIV3Schema.properties[spec].properties[field].{place}"
        )
        assert said.startswith(message)


def test_rules_check_objects_and_transitions(kube: Kube) -> None:
    number, text = {"type": "integer"}, {"type": "string"}
    item = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": text, "size": number},
        "x-kubernetes-validations": [
            {"rule": "self.size >= oldSelf.size", "message": "must not shrink"}
        ],
    }
    unit = {
        **text,
        "x-kubernetes-validations": [{"rule": "self == oldSelf", "reason": "FieldValueForbidden"}],
    }
    first = [{"rule": "!oldSelf.hasValue() || oldSelf.value() < self", "optionalOldSelf": True}]
    rules = (
        {
            "rule": "self.low <= self.high",
            "messageExpression": "'%d > %d'.format([self.low, self.high])",
        },
        {
            "rule": "!has(self.unit) || self.unit != 'K'",
            "reason": "FieldValueRequired",
            "fieldPath": ".unit",
            "message": "no kelvin",
        },
        {"rule": "!has(self.parts) || self.parts.all(p, p.size < self.__namespace__)"},
        {"rule": "self.ratio < 0.5 && self.every > duration('1s')"},
        {"rule": "self.any > 5"},
    )
    listed = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": item,
    }
    definition = gauges(
        *rules,
        low=number,
        high=number,
        unit=unit,
        namespace=number,
        ratio={"type": "number"},
        every={"type": "string", "format": "duration"},
        any={"x-kubernetes-int-or-string": True},
        parts=listed,
        count={**number, "x-kubernetes-validations": first},
    )
    created = kube.post(CRDS, definition)
    assert created.status_code == 201, created.json()
    good = {"low": 1, "high": 2, "unit": "C", "namespace": 9, "ratio": 0, "every": "2s", "any": 6}
    good |= {"count": 1, "parts": [{"name": "a", "size": 2}]}

    assert causes_of(kube.post(GAUGES, gauge(**{**good, "low": 3, "unit": "K", "any": "six"}))) == [
        ("spec", "Invalid value: 3 > 2"),
        ("spec.unit", "Required value: no kelvin"),
        (
            "spec",
            "Invalid value: \"object\": 'no such overload': call arguments did not match a "
            "supported operator, function or macro signature for rule: self.any > 5",
        ),
    ]
    without = {name: value for name, value in good.items() if name != "high"}
    (missing,) = causes_of(kube.post(GAUGES, gauge(**without)))
    assert missing[1] == (
        'Invalid value: "object": no such key: high evaluating rule: self.low <= self.high'
    )
    blocked = causes_of(kube.post(GAUGES, gauge(**{**good, "low": "x"})))
    assert len(blocked) == 2 and "some validation rules were not checked" in blocked[1][1]
    assert kube.post(GAUGES, gauge(**good)).status_code == 201

    path = f"{GAUGES}/g"
    changed = {
        "unit": "F",
        "count": 1,
        "parts": [{"name": "b", "size": 1}, {"name": "a", "size": 1}],
    }
    # in no order, as in the API server
    assert sorted(causes_of(kube.patch(path, {"spec": changed}))) == [
        ("spec.parts[1]", "Invalid value: must not shrink"),
        ("spec.unit", "Forbidden: failed rule: self == oldSelf"),
    ]
    assert causes_of(kube.patch(path, {"spec": {"count": 0}}))[0][0] == "spec.count"
    assert kube.patch(path, {"spec": {"count": 5}}).status_code == 200
    # a value that an earlier definition admitted can stay
    definition = kube.get(f"{CRDS}/gauges.example.com").json()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["x-kubernetes-validations"].append({"rule": "self.high > 100"})
    assert kube.put(f"{CRDS}/gauges.example.com", definition).status_code == 200
    labelled = kube.patch(path, {"metadata": {"labels": {"a": "b"}}})
    assert labelled.status_code == 200
    assert causes_of(kube.patch(path, {"spec": {"low": 0}})) == [
        ("spec", "Invalid value: failed rule: self.high > 100")
    ]


@pytest.mark.parametrize(
    ("conversion", "message"),
    [
        (
            {"strategy": "Other"},
            'strategy: Unsupported value: "Other": supported values: "None", "Webhook"',
        ),
        (
            {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}},
            "conversionReviewVersions: Forbidden: should not be set when strategy is not set to "
            "Webhook",
        ),
        (
            {
                "strategy": "Webhook",
                "webhook": {
                    "conversionReviewVersions": ["v3"],
                    "clientConfig": {"url": "https://a/"},
                },
            },
            'conversionReviewVersions: Invalid value: ["v3"]: must include at least one of v1, '
            "v1beta1",
        ),
        (
            {
                "strategy": "Webhook",
                "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": {"url": "http://a/"},
                },
            },
            "webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL "
            "scheme; desired format: https://host[/path]",
        ),
    ],
)
def test_a_conversion_is_validated(kube: Kube, conversion: Any, message: str) -> None:
    definition = copy.deepcopy(JOBS)
    definition["spec"]["conversion"] = conversion
    answer = kube.post(CRDS, definition)
    about = 'CustomResourceDefinition.apiextensions.k8s.io "jobs.batch.volcano.sh" is invalid: '
    assert answer.json()["message"] == f"{about}spec.conversion.{message}"


def test_a_finalizer_without_a_domain_is_warned_of(kube: Kube) -> None:
    kube.post(CRDS, JOBS)
    body = job(queue="a")
    body["metadata"]["finalizers"] = ["resources-finalizer.example.com"]
    path = "/apis/batch.volcano.sh/v1/namespaces/default/jobs"
    made = kube.post(path, body)
    assert made.status_code == 201, made.json()
    assert made.headers["Warning"] == (
        '299 - "metadata.finalizers: \\"resources-finalizer.example.com\\": prefer a '
        "domain-qualified finalizer name including a path (/) to avoid accidental conflicts with "
        'other finalizer writers"'
    )
    changed = kube.patch(f"{path}/{made.json()['metadata']['name']}", {"spec": {"queue": "b"}})
    assert changed.status_code == 200


def test_a_new_object_has_the_defaults_of_its_status(kube: Kube) -> None:
    definition = copy.deepcopy(JOBS)
    for version in definition["spec"]["versions"]:
        fields = version["schema"]["openAPIV3Schema"]["properties"]
        fields["status"] = {
            "type": "object",
            "properties": {"phase": {"type": "string"}},
            "default": {"phase": "Waiting"},
        }
    kube.post(CRDS, definition)
    body = {**job(queue="a"), "status": {"phase": "Mine"}}
    made = kube.post("/apis/batch.volcano.sh/v1/namespaces/default/jobs", body)
    assert made.json()["status"] == {"phase": "Waiting"}


def test_fields_are_owned_in_the_version_of_the_request(kube: Kube) -> None:
    kube.post(CRDS, JOBS)
    other = next(v["name"] for v in JOBS["spec"]["versions"] if not v["storage"])
    body = {**job(queue="a"), "apiVersion": f"batch.volcano.sh/{other}"}
    made = kube.post(f"/apis/batch.volcano.sh/{other}/namespaces/default/jobs", body).json()
    (entry,) = made["metadata"]["managedFields"]
    assert entry["apiVersion"] == f"batch.volcano.sh/{other}"


def test_a_refusal_has_the_warnings_about_unknown_fields(kube: Kube) -> None:
    kube.post(CRDS, JOBS)
    path = "/apis/batch.volcano.sh/v1/namespaces/default/jobs"
    refused = kube.post(path, job(queue="A", surprise=1))
    assert refused.status_code == 422
    assert refused.headers["Warning"] == '299 - "unknown field \\"spec.surprise\\""'


def test_an_apply_that_changes_no_field_has_no_time(kube: Kube) -> None:
    kube.post(CRDS, JOBS)
    path = "/apis/batch.volcano.sh/v1/namespaces/default/jobs"
    made = kube.post(path, job(queue="a")).json()
    name = made["metadata"]["name"]
    applied = {**job(queue="a"), "metadata": {"name": name}}
    again = kube.request(
        "PATCH",
        f"{path}/{name}?fieldManager=x",
        applied,
        content_type="application/apply-patch+yaml",
    ).json()
    times = {each["manager"]: each.get("time") for each in again["metadata"]["managedFields"]}
    assert times["x"] is None


def test_columns_of_lists_and_warnings_of_deprecated_versions(kube: Kube) -> None:
    """As HTTPRoutes of the Gateway API show host names, and Kueue retires versions."""
    definition = copy.deepcopy(JOBS)
    old, new = definition["spec"]["versions"]
    old |= {"deprecated": True, "deprecationWarning": "Use v1 instead."}
    values = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    columns = [
        {"name": name, "type": "string", "jsonPath": f".spec.{path}"}
        for name, path in (("Hosts", "free.hosts"), ("First", "free.hosts[*]"), ("On", "free.on"))
    ]
    new["additionalPrinterColumns"] = columns
    new["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["free"] = values
    assert kube.post(CRDS, definition).status_code == 201
    body = job(queue="a", free={"hosts": ["a.example", "b.example"], "on": True})
    created = kube.post(OBJECTS, body)
    assert created.status_code == 201 and "Warning" not in created.headers
    table = kube.get(OBJECTS, headers={"accept": "application/json;as=Table;g=meta.k8s.io;v=v1"})
    cells = ["train", '["a.example","b.example"]', "a.example", "true"]
    assert table.json()["rows"][0]["cells"] == cells

    deprecated = OBJECTS.replace("/v1/", "/v1beta1/")
    for response in (
        kube.get(deprecated),
        kube.get(f"{deprecated}/train"),
        kube.get(f"{deprecated}/none"),
        kube.patch(f"{deprecated}/train", {"spec": {"queue": "b"}}),
        kube.delete(f"{deprecated}/train"),
    ):
        assert response.headers["Warning"] == '299 - "Use v1 instead."'
    unknown = {**job(queue="a", colour="red"), "apiVersion": "batch.volcano.sh/v1beta1"}
    both = kube.post(f"{deprecated}?fieldValidation=Warn", unknown).headers["Warning"]
    assert both == '299 - "Use v1 instead.", 299 - "unknown field \\"spec.colour\\""'


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"queue": None}, 'spec.queue in body must be of type string: "null"'),
        ({"queue": "a", "free": None}, 'spec.free in body must be of type object: "null"'),
        (None, 'spec in body must be of type object: "null"'),
        # it has a default
        ({"queue": "a", "replicas": None}, ""),
    ],
)
def test_an_apply_sets_no_field_to_null(kube: Kube, spec: Any, message: str) -> None:
    kube.post(CRDS, JOBS)
    path = "/apis/batch.volcano.sh/v1/namespaces/default/jobs"
    body = {"apiVersion": "batch.volcano.sh/v1", "kind": "Job", "metadata": {"name": "j"}}
    answer = kube.request(
        "PATCH",
        f"{path}/j?fieldManager=m",
        {**body, "spec": spec},
        content_type="application/apply-patch+yaml",
    )
    assert answer.status_code == (422 if message else 201)
    causes = (answer.json().get("details") or {}).get("causes") or []
    expected = [f'Invalid value: "null": {message}'] if message else []
    assert [each["message"] for each in causes] == expected


def test_documents_say_by_which_fields_objects_are_selected(kube: Kube) -> None:
    definition = copy.deepcopy(JOBS)
    definition["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": ".spec.queue"}]
    kube.post(CRDS, definition)
    name = definition["spec"]["versions"][0]["name"]
    schemas = kube.get(f"/openapi/v3/apis/batch.volcano.sh/{name}").json()["components"]["schemas"]
    for kind in ("Job", "JobList"):
        schema = schemas[f"sh.volcano.batch.{name}.{kind}"]
        assert schema["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.queue"}]


def test_a_value_that_is_neither_an_int_nor_a_text_fits_none_of_its_schemas(kube: Kube) -> None:
    definition = copy.deepcopy(JOBS)
    for version in definition["spec"]["versions"]:
        fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        fields["size"]["anyOf"] = [{"type": "integer"}, {"type": "string"}]
        fields["queue"] = {"type": "string", "minLength": 1}
    kube.post(CRDS, definition)
    refused = kube.post(
        "/apis/batch.volcano.sh/v1/namespaces/default/jobs",
        {
            "apiVersion": "batch.volcano.sh/v1",
            "kind": "Job",
            "metadata": {"name": "j"},
            "spec": {"queue": "", "size": True},
        },
    )
    assert [each["message"] for each in refused.json()["details"]["causes"]] == [
        'Invalid value: "": spec.queue in body should be at least 1 chars long',
        'Invalid value: "boolean": spec.size in body must be of type integer,string: "boolean"',
        'Invalid value: "": "spec.size" must validate at least one schema (anyOf)',
        'Invalid value: "boolean": spec.size in body must be of type integer: "boolean"',
    ]
