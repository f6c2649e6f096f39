"""The defaults that the reference of the Kubernetes API documents, kind by kind."""

from __future__ import annotations

import pytest

from tests.cluster.recorded import Cluster, admit

BY_15_SECONDS = {"type": "Percent", "value": 100, "periodSeconds": 15}
EVERYTHING = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
RBAC = "rbac.authorization.k8s.io"


def body(kind, group="", **fields):
    metadata = {"name": "x", "creationTimestamp": "2026-01-02T03:04:05Z"}
    return {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": kind,
        "metadata": metadata,
        **fields,
    }


#: kind, group, what is given, and what these fields are after admission
DEFAULTS = [
    (
        "Node",
        "",
        {
            "spec": {
                "unschedulable": False,
                "taints": [],
                "providerID": "",
                "podCIDRs": ["10.0.0.0/24"],
            }
        },
        {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}},
    ),
    ("Node", "", {"spec": {"podCIDR": "", "podCIDRs": []}}, {"spec": {}}),
    ("Event", "", {}, {"involvedObject": {}, "source": {}}),
    (
        "LimitRange",
        "",
        {"spec": {"limits": [{"type": "Pod", "max": {"cpu": 1.5, "memory": None, "a/b": "1e30"}}]}},
        {
            "spec": {
                "limits": [{"type": "Pod", "max": {"cpu": "1500m", "memory": "0", "a/b": "1e30"}}]
            }
        },
    ),
    (
        "ResourceSlice",
        "resource.k8s.io",
        {
            "spec": {
                "devices": [{"name": "d", "capacity": {"a": None, "b": {"value": "0.0000001"}}}]
            }
        },
        {
            "spec": {
                "devices": [
                    {"name": "d", "capacity": {"a": {"value": "0"}, "b": {"value": "100n"}}}
                ]
            }
        },
    ),
    (
        "EndpointSlice",
        "discovery.k8s.io",
        {"addressType": "IPv4", "endpoints": [{"addresses": [], "deprecatedTopology": {"a": "b"}}]},
        {"endpoints": [{"addresses": [], "conditions": {}}], "ports": None},
    ),
    ("Ingress", "networking.k8s.io", {}, {"spec": {}, "status": {"loadBalancer": {}}}),
    ("Ingress", "networking.k8s.io", {"spec": {"rules": [], "tls": []}}, {"spec": {}}),
    (
        "HorizontalPodAutoscaler",
        "autoscaling",
        {
            "apiVersion": "autoscaling/v2",
            "spec": {"maxReplicas": 3, "behavior": {"scaleUp": {"selectPolicy": "Min"}}},
        },
        {
            "spec": {
                "minReplicas": 1,
                "maxReplicas": 3,
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {
                            "name": "cpu",
                            "target": {"type": "Utilization", "averageUtilization": 80},
                        },
                    }
                ],
                "behavior": {
                    "scaleUp": {
                        "stabilizationWindowSeconds": 0,
                        "selectPolicy": "Min",
                        "policies": [
                            {"type": "Pods", "value": 4, "periodSeconds": 15},
                            BY_15_SECONDS,
                        ],
                    },
                    "scaleDown": {"selectPolicy": "Max", "policies": [BY_15_SECONDS]},
                },
            },
            "status": {"desiredReplicas": 0, "currentMetrics": None},
        },
    ),
    (
        "CustomResourceDefinition",
        "apiextensions.k8s.io",
        {"spec": {"names": {"kind": "CronTab", "plural": "crontabs"}}},
        {
            "spec": {
                "names": {
                    "kind": "CronTab",
                    "plural": "crontabs",
                    "singular": "crontab",
                    "listKind": "CronTabList",
                },
                "conversion": {"strategy": "None"},
            }
        },
    ),
    (
        "Secret",
        "",
        {"data": {"a": "b2xk"}, "stringData": {"a": "new", "b": "text"}},
        {"type": "Opaque", "data": {"a": "bmV3", "b": "dGV4dA=="}},
    ),
    ("Secret", "", {"data": {}, "type": "example.com/x"}, {"type": "example.com/x"}),
    (
        "Endpoints",
        "",
        {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]},
        {
            "subsets": [
                {"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80, "protocol": "TCP"}]}
            ]
        },
    ),
    (
        "EndpointSlice",
        "discovery.k8s.io",
        {"addressType": "IPv4", "ports": [{"port": 80}]},
        {"endpoints": None, "ports": [{"port": 80, "name": "", "protocol": "TCP"}]},
    ),
    (
        "NetworkPolicy",
        "networking.k8s.io",
        {"spec": {"egress": [{"ports": [{"port": 53}]}], "ingress": [{"ports": [{"port": 80}]}]}},
        {
            "spec": {
                "podSelector": {},
                "policyTypes": ["Ingress", "Egress"],
                "egress": [{"ports": [{"port": 53, "protocol": "TCP"}]}],
                "ingress": [{"ports": [{"port": 80, "protocol": "TCP"}]}],
            }
        },
    ),
    (
        "NetworkPolicy",
        "networking.k8s.io",
        {},
        {"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}},
    ),
    (
        "LimitRange",
        "",
        {
            "spec": {
                "limits": [
                    {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}},
                    {"type": "Pod", "max": {"cpu": "2"}},
                ]
            }
        },
        {
            "spec": {
                "limits": [
                    {
                        "type": "Container",
                        "max": {"cpu": "2"},
                        "min": {"memory": "1Mi"},
                        "default": {"cpu": "2"},
                        "defaultRequest": {"cpu": "2", "memory": "1Mi"},
                    },
                    {"type": "Pod", "max": {"cpu": "2"}},
                ]
            }
        },
    ),
    (
        "RoleBinding",
        RBAC,
        {
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [
                {"kind": "User", "name": "alice"},
                {"kind": "Group", "name": "sre"},
                {"kind": "ServiceAccount", "name": "bot", "apiGroup": ""},
            ],
        },
        {
            "roleRef": {"kind": "Role", "name": "r", "apiGroup": RBAC},
            "subjects": [
                {"kind": "User", "name": "alice", "apiGroup": RBAC},
                {"kind": "Group", "name": "sre", "apiGroup": RBAC},
                {"kind": "ServiceAccount", "name": "bot"},
            ],
        },
    ),
    ("ClusterRole", RBAC, {}, {"rules": None}),
    (
        "ValidatingWebhookConfiguration",
        "admissionregistration.k8s.io",
        {
            "webhooks": [
                {
                    "name": "a.example.com",
                    "rules": [RULE],
                    "clientConfig": {"service": {"name": "s", "namespace": "n"}},
                }
            ]
        },
        {
            "webhooks": [
                {
                    "name": "a.example.com",
                    "failurePolicy": "Fail",
                    "timeoutSeconds": 10,
                    **EVERYTHING,
                    "rules": [{**RULE, "scope": "*"}],
                    "clientConfig": {"service": {"name": "s", "namespace": "n", "port": 443}},
                }
            ]
        },
    ),
    (
        "MutatingWebhookConfiguration",
        "admissionregistration.k8s.io",
        {"webhooks": [{"name": "a.example.com", "clientConfig": {"url": "https://x"}}]},
        {
            "webhooks": [
                {
                    "name": "a.example.com",
                    "failurePolicy": "Fail",
                    "timeoutSeconds": 10,
                    **EVERYTHING,
                    "reinvocationPolicy": "Never",
                    "clientConfig": {"url": "https://x"},
                }
            ]
        },
    ),
    (
        "ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io",
        {"spec": {"matchConstraints": {"resourceRules": [RULE]}}},
        {
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {**EVERYTHING, "resourceRules": [{**RULE, "scope": "*"}]},
            }
        },
    ),
    (
        "ValidatingAdmissionPolicyBinding",
        "admissionregistration.k8s.io",
        {"spec": {"policyName": "p", "matchResources": {}}},
        {"spec": {"policyName": "p", "matchResources": EVERYTHING}},
    ),
    (
        "APIService",
        "apiregistration.k8s.io",
        {"spec": {"service": {"name": "s", "namespace": "n"}}},
        {"spec": {"service": {"name": "s", "namespace": "n", "port": 443}}},
    ),
    (
        "ResourceClaim",
        "resource.k8s.io",
        {
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "a",
                            "exactly": {
                                "deviceClassName": "c",
                                "tolerations": [{"key": "k", "operator": ""}],
                            },
                        },
                        {
                            "name": "b",
                            "firstAvailable": [
                                {"name": "s", "deviceClassName": "c", "allocationMode": "All"}
                            ],
                        },
                    ]
                }
            }
        },
        {
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "a",
                            "exactly": {
                                "deviceClassName": "c",
                                "allocationMode": "ExactCount",
                                "count": 1,
                                "tolerations": [{"key": "k", "operator": "Equal"}],
                            },
                        },
                        {
                            "name": "b",
                            "firstAvailable": [
                                {"name": "s", "deviceClassName": "c", "allocationMode": "All"}
                            ],
                        },
                    ]
                }
            },
            "status": {},
        },
    ),
    (
        "PriorityClass",
        "scheduling.k8s.io",
        {"globalDefault": False, "description": ""},
        {"value": 0, "preemptionPolicy": "PreemptLowerPriority"},
    ),
    (
        "CSIDriver",
        "storage.k8s.io",
        {},
        {
            "spec": {
                "attachRequired": True,
                "podInfoOnMount": False,
                "storageCapacity": False,
                "fsGroupPolicy": "ReadWriteOnceWithFSType",
                "requiresRepublish": False,
                "seLinuxMount": False,
                "volumeLifecycleModes": ["Persistent"],
            }
        },
    ),
    (
        "ResourceQuota",
        "",
        {"spec": {"hard": {"cpu": "1000m"}, "scopes": []}},
        {"spec": {"hard": {"cpu": "1"}}},
    ),
    (
        "CronJob",
        "batch",
        {"spec": {"schedule": "* * * * *"}},
        {"status": {}},
    ),
]


@pytest.mark.parametrize(
    ("kind", "group", "given", "expected"),
    DEFAULTS,
    ids=[f"{kind}-{number}" for number, (kind, *_) in enumerate(DEFAULTS)],
)
def test_what_is_not_given_has_its_documented_default(kind, group, given, expected):
    admitted = admit(kind, body(kind, group, **given), Cluster())
    assert {name: admitted.get(name) for name in expected} == expected
    dropped = set(given) - set(expected)
    assert not any(admitted.get(name) for name in dropped & {"stringData", "description"})


def test_a_job_selects_its_own_pods():
    job = body("Job", "batch", spec={"template": {"spec": {"containers": []}}})
    job["metadata"]["uid"] = "4a3c"
    spec = admit("Job", job, Cluster())["spec"]
    assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "4a3c"}}
    assert spec["template"]["metadata"]["labels"] == {
        "controller-uid": "4a3c",
        "job-name": "x",
        "batch.kubernetes.io/controller-uid": "4a3c",
        "batch.kubernetes.io/job-name": "x",
    }


def test_a_cron_job_keeps_three_successful_and_one_failed_job():
    spec = admit("CronJob", body("CronJob", "batch", spec={"schedule": "* * * * *"}), Cluster())[
        "spec"
    ]
    limits = [spec[f"{which}JobsHistoryLimit"] for which in ("successful", "failed")]
    assert (spec["concurrencyPolicy"], spec["suspend"], *limits) == ("Allow", False, 3, 1)
    template = spec["jobTemplate"]["spec"]["template"]["spec"]
    assert template["schedulerName"] == "default-scheduler"


#: a volume of a pod, and its source after admission
VOLUMES = [
    ({}, {"emptyDir": {}}),
    ({"secret": {"secretName": "s"}}, {"secret": {"secretName": "s", "defaultMode": 0o644}}),
    ({"configMap": {"name": "c"}}, {"configMap": {"name": "c", "defaultMode": 0o644}}),
    ({"hostPath": {"path": "/x"}}, {"hostPath": {"path": "/x", "type": ""}}),
    (
        {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {
            "downwardAPI": {
                "defaultMode": 0o644,
                "items": [
                    {
                        "path": "p",
                        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"},
                    }
                ],
            }
        },
    ),
    (
        {
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"path": "token"}},
                    {"serviceAccountToken": {"path": "short", "expirationSeconds": 600}},
                    {
                        "downwardAPI": {
                            "items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]
                        }
                    },
                ]
            }
        },
        {
            "projected": {
                "defaultMode": 0o644,
                "sources": [
                    {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
                    {"serviceAccountToken": {"path": "short", "expirationSeconds": 600}},
                    {
                        "downwardAPI": {
                            "items": [
                                {
                                    "path": "p",
                                    "fieldRef": {
                                        "apiVersion": "v1",
                                        "fieldPath": "metadata.name",
                                    },
                                }
                            ]
                        }
                    },
                ],
            }
        },
    ),
    (
        {"image": {"reference": "registry.example/data:1"}},
        {"image": {"reference": "registry.example/data:1", "pullPolicy": "IfNotPresent"}},
    ),
    ({"image": {}}, {"image": {"pullPolicy": "IfNotPresent"}}),
    (
        {"rbd": {"monitors": ["m"], "image": "i"}},
        {
            "rbd": {
                "monitors": ["m"],
                "image": "i",
                "pool": "rbd",
                "user": "admin",
                "keyring": "/etc/ceph/keyring",
            }
        },
    ),
]


@pytest.mark.parametrize(("volume", "expected"), VOLUMES)
def test_a_volume_has_its_documented_defaults(volume, expected):
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", **volume}],
    }
    admitted = admit("Pod", {**body("Pod"), "spec": spec}, Cluster())
    assert admitted["spec"]["volumes"][0] == {"name": "v", **expected}


@pytest.mark.parametrize("generated", ["job-", "x" * 70])
def test_a_generated_name_is_its_prefix_and_five_characters_of_upstreams_alphabet(generated):
    metadata = {"generateName": generated, "creationTimestamp": "2026-01-02T03:04:05Z"}
    names = {
        admit("ConfigMap", {**body("ConfigMap"), "metadata": metadata}, Cluster())["metadata"][
            "name"
        ]
        for _ in range(3)
    }
    assert len(names) == 3
    for name in names:
        prefix, suffix = name[:-5], name[-5:]
        assert prefix == generated[:58] and set(suffix) <= set("bcdfghjklmnpqrstvwxz2456789")
