"""Kinds that are only data: every fault with the field and the words of the API server."""

from __future__ import annotations

import base64

import pytest

from tests.cluster.validation.test_other_kinds import body, complaints

NETWORKING, RBAC = "networking.k8s.io", "rbac.authorization.k8s.io"
CONTAINERS = [{"name": "c", "image": "i"}]
SELECTED = {
    "selector": {"matchLabels": {"a": "b"}},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS}},
}


def service(**spec):
    return body("Service", spec={"ports": [{"port": 80}], **spec})


def workload(kind, **spec):
    return body(kind, "apps", spec={**SELECTED, **spec})


def job(policy="Never", **spec):
    template = {"spec": {"containers": CONTAINERS, "restartPolicy": policy}}
    metadata = {"name": "x", "uid": "1"}
    return body("Job", "batch", metadata=metadata, spec={"template": template, **spec})


def cron_job(**spec):
    template = {"spec": {"template": job()["spec"]["template"]}}
    return body("CronJob", "batch", spec={"schedule": "@daily", "jobTemplate": template, **spec})


def autoscaler(**spec):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    given = {"scaleTargetRef": target, "maxReplicas": 3, **spec}
    return {**body("HorizontalPodAutoscaler", spec=given), "apiVersion": "autoscaling/v2"}


def ingress(path=None, **spec):
    given = {"path": "/", "pathType": "Prefix", "backend": backend(number=80), **(path or {})}
    return body(
        "Ingress",
        NETWORKING,
        spec={"rules": [{"host": "a.example", "http": {"paths": [given]}}], **spec},
    )


def backend(**port):
    return {"service": {"name": "web", "port": port}}


def policy(port):
    spec = {"podSelector": {}, "ingress": [port]}
    return body("NetworkPolicy", NETWORKING, spec=spec)


def endpoint_slice(*addresses, kind="IPv4", **fields):
    endpoints = [{"addresses": list(addresses)}]
    return body(
        "EndpointSlice", "discovery.k8s.io", addressType=kind, endpoints=endpoints, **fields
    )


def binding(**fields):
    role = {"kind": "Role", "name": "reader"}
    return body("RoleBinding", RBAC, **{"roleRef": role, **fields})


def secret(kind, **data):
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return body("Secret", type=f"kubernetes.io/{kind}", data=encoded)


def webhook(**fields):
    given = {
        "name": "a.b.c",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://a.example"},
        **fields,
    }
    return body("ValidatingWebhookConfiguration", "admissionregistration.k8s.io", webhooks=[given])


FAULTS = [
    (
        service(type="NodePort", ports=[{"port": 80, "nodePort": 80}]),
        "spec.ports[0].nodePort: "
        "Invalid value: 80: provided port is not in the valid range. The range of valid ports is "
        "30000-32767",
    ),
    (
        service(ports=[{"port": 80, "nodePort": 30080}]),
        "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ),
    (
        service(ports=[{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]),
        'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,'
        '"TargetPort":0,"NodePort":0}',
    ),
    (
        service(type="ExternalName", externalName="-"),
        'spec.externalName: Invalid value: "-": a lowercase',
    ),
    (
        service(type="LoadBalancer", clusterIP="None"),
        "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for LoadBalancer "
        "services",
    ),
    (
        service(externalIPs=["127.0.0.1"]),
        'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in '
        "the loopback range (127.0.0.0/8, ::1/128)",
    ),
    (
        service(externalTrafficPolicy="Local"),
        'spec.externalTrafficPolicy: Invalid value: "Local": may only '
        "be set for externally-accessible services",
    ),
    (
        service(internalTrafficPolicy="Near"),
        'spec.internalTrafficPolicy: Unsupported value: "Near": '
        'supported values: "Cluster", "Local"',
    ),
    (
        service(loadBalancerSourceRanges=["10.0.0.0"], type="LoadBalancer"),
        "spec.LoadBalancerSourceRanges[0]: "
        'Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or '
        "2001:db8::/64)",
    ),
    (
        workload("Deployment", strategy={"type": "Slow"}),
        "spec.strategy: Unsupported value: "
        '{"Type":"Slow","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
    ),
    (
        workload("Deployment", progressDeadlineSeconds=5, minReadySeconds=5),
        "spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds",
    ),
    (
        workload("Deployment", strategy={"rollingUpdate": {"maxUnavailable": "101%"}}),
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater '
        "than 100%",
    ),
    (
        workload("DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": 1}}),
        "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when "
        "maxUnavailable is non-zero",
    ),
    (
        workload("DaemonSet", updateStrategy={"rollingUpdate": {"maxUnavailable": 0}}),
        "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when "
        "maxSurge is 0",
    ),
    (
        job("Always"),
        'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ),
    (
        job(completionMode="Indexed", parallelism=2),
        "spec.completions: Required value: when completion mode is Indexed",
    ),
    (
        job(backoffLimitPerIndex=1),
        "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
    ),
    (
        job(managedBy="me"),
        'spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as '
        '"acme.io/foo")',
    ),
    (
        cron_job(schedule="61 * * * *"),
        'spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61',
    ),
    (
        cron_job(schedule="a * * * *"),
        'spec.schedule: Invalid value: "a * * * *": failed to parse int from a: '
        'strconv.Atoi: parsing "a": invalid syntax',
    ),
    (
        cron_job(schedule="@often"),
        'spec.schedule: Invalid value: "@often": unrecognized descriptor: @often',
    ),
    (
        cron_job(timeZone="Mars/One"),
        'spec.timeZone: Invalid value: "Mars/One": unknown time zone Mars/One',
    ),
    (
        cron_job(concurrencyPolicy="Queue"),
        'spec.concurrencyPolicy: Unsupported value: "Queue": supported values: '
        '"Allow", "Forbid", "Replace"',
    ),
    (
        autoscaler(minReplicas=4),
        "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`",
    ),
    (
        autoscaler(metrics=[{"type": "Pods"}]),
        "spec.metrics[0].pods: Required value: must populate information for the given metric "
        "source",
    ),
    (
        autoscaler(
            metrics=[
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}
            ]
        ),
        "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a "
        "target raw value or a "
        "target utilization",
    ),
    (
        autoscaler(behavior={"scaleDown": {"stabilizationWindowSeconds": 3601}}),
        "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less "
        "than or equal to 3600",
    ),
    (
        ingress(rules=[]),
        "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified",
    ),
    (
        ingress({"path": "a"}),
        'spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path',
    ),
    (
        ingress({"backend": backend()}),
        "spec.rules[0].http.paths[0].backend: Required value: port name or number is required",
    ),
    (
        ingress({"pathType": None}),
        "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified",
    ),
    (
        ingress(rules=[{"host": "10.0.0.1"}]),
        'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
    ),
    (
        body("IngressClass", NETWORKING, spec={"controller": "nginx"}),
        'spec.controller: Invalid value: "nginx": must be a domain-prefixed path (such as '
        '"acme.io/foo")',
    ),
    (policy({"from": [{}]}), "spec.ingress[0].from[0]: Required value: must specify a peer"),
    (
        policy({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/24"]}}]}),
        'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/24": must be a '
        "strict subset of `cidr`",
    ),
    (
        policy({"ports": [{"port": 9, "endPort": 8}]}),
        "spec.ingress[0].ports[0].endPort: Invalid value: 8: must be greater than or equal to "
        "`port`",
    ),
    (
        endpoint_slice("::1"),
        'endpoints[0].addresses[0]: Invalid value: "::1": must be an IPv4 address',
    ),
    (
        endpoint_slice("a", kind="FQDN"),
        'endpoints[0].addresses[0]: Invalid value: "a": should be a domain with at least two '
        "segments separated by dots",
    ),
    (
        body("Endpoints", subsets=[{}]),
        "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
    ),
    (
        binding(roleRef={"kind": "Cluster", "name": "x"}),
        'roleRef.kind: Unsupported value: "Cluster": supported values: "Role", "ClusterRole"',
    ),
    (
        binding(subjects=[{"kind": "Robot", "name": "x"}]),
        'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", '
        '"User", "Group"',
    ),
    (
        body("ClusterRole", RBAC, aggregationRule={}),
        "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector "
        "required if "
        "aggregationRule is non-nil",
    ),
    (
        secret("dockerconfigjson", **{".dockerconfigjson": "x"}),
        'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid '
        "character 'x' looking for "
        "beginning of value",
    ),
    (
        secret("service-account-token"),
        "metadata.annotations[kubernetes.io/service-account.name]: Required value",
    ),
    (
        webhook(clientConfig={}),
        "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
    ),
    (
        webhook(timeoutSeconds=31),
        "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and "
        "30 seconds",
    ),
    (
        webhook(
            rules=[
                {
                    "operations": ["*", "CREATE"],
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "resources": ["pods"],
                }
            ]
        ),
        'webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if \'*\' is present, '
        "must not specify other operations",
    ),
    (
        body(
            "CertificateSigningRequest",
            "certificates.k8s.io",
            spec={"request": "eA==", "signerName": "example.com/x", "usages": ["client auth"]},
        ),
        'spec.request: Invalid value: "eA==": PEM block type must be CERTIFICATE REQUEST',
    ),
]


@pytest.mark.parametrize(("given", "complaint"), FAULTS)
def test_an_error_names_its_field(given, complaint):
    found = complaints(given)
    assert any(each.startswith(complaint) for each in found), found


@pytest.mark.parametrize(
    "given",
    [
        service(type="NodePort"),
        service(type="LoadBalancer", loadBalancerSourceRanges=["10.0.0.0/8"]),
        service(type="ExternalName", externalName="db.example.", ports=[]),
        service(clusterIP="None", sessionAffinity="ClientIP"),
        workload("Deployment", strategy={"rollingUpdate": {"maxSurge": "200%"}}),
        workload(
            "DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        ),
        workload("DaemonSet", updateStrategy={"type": "OnDelete"}),
        job("OnFailure", completionMode="Indexed", completions=2, backoffLimitPerIndex=1),
        cron_job(schedule="*/5 8-17 1,15 jan-jun mon", timeZone="Europe/Berlin"),
        cron_job(schedule="@every 1h30m"),
        autoscaler(behavior={"scaleUp": {"selectPolicy": "Disabled"}}),
        ingress(),
        ingress({"pathType": "ImplementationSpecific", "path": ""}),
        policy(
            {"ports": [{"port": "http"}], "from": [{"podSelector": {}, "namespaceSelector": {}}]}
        ),
        endpoint_slice("10.0.0.1", ports=[{"port": 80}]),
        binding(subjects=[{"kind": "User", "name": "bob"}]),
        webhook(),
    ],
)
def test_a_valid_object_has_no_errors(given):
    assert complaints(given) == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            service(clusterIP="10.96.0.7"),
            service(clusterIP="10.96.0.8", clusterIPs=["10.96.0.8"]),
            'spec.clusterIPs[0]: Invalid value: ["10.96.0.8"]: may not change once set',
        ),
        (
            job(completions=1),
            job(completions=2),
            "spec.completions: Invalid value: 2: field is immutable",
        ),
        (
            binding(),
            binding(roleRef={"kind": "ClusterRole", "name": "view"}),
            'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole",'
            '"Name":"view"}: cannot change roleRef',
        ),
    ],
)
def test_immutable_fields_cannot_be_changed(old, new, complaint):
    assert complaint in complaints(new, old)
