"""Rules for containers and volumes that the recorded exchanges do not cover."""

from __future__ import annotations

import pytest

from tests.cluster.recorded import Cluster, admit, validate
from tests.cluster.validation.test_pods import complaints, container, pod

MODE = "must be a number between 0 and 0777 (octal), both inclusive"
ONE_SOURCE = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
    "`fileKeyRef`"
)
USER = "must be between 0 and 2147483647, inclusive"
FILES = (
    '"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", '
    '"metadata.uid"'
)


def probe(**fields):
    return container(livenessProbe=fields)


def variable(**fields):
    return container(env=[{"name": "A", **fields}])


def mount(**fields):
    mounts = [{"name": "v", "mountPath": "/v", **fields}]
    return {"volumes": [{"name": "v", "emptyDir": {}}], **container(volumeMounts=mounts)}


def volume(**source):
    return {"volumes": [{"name": "v", **source}]}


RESTARTED = {"resourceName": "cpu", "restartPolicy": "RestartContainer"}


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        (probe(), "livenessProbe: Required value: must specify a handler type"),
        (
            probe(httpGet={"port": 80}, tcpSocket={"port": 80}),
            "livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
        ),
        (
            probe(httpGet={"port": 80, "scheme": "FTP"}),
            'livenessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", '
            '"HTTPS"',
        ),
        (
            probe(tcpSocket={"port": "a_b"}),
            'livenessProbe.tcpSocket.port: Invalid value: "a_b": must contain only alpha-numeric '
            "characters (a-z, 0-9), and hyphens (-)",
        ),
        (probe(exec={}), "livenessProbe.exec.command: Required value"),
        (
            probe(exec={"command": ["a"]}, successThreshold=2),
            "livenessProbe.successThreshold: Invalid value: 2: must be 1",
        ),
        (
            probe(exec={"command": ["a"]}, timeoutSeconds=-1),
            "livenessProbe.timeoutSeconds: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            container(lifecycle={"preStop": {"sleep": {"seconds": 31}}}),
            "lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than "
            "terminationGracePeriodSeconds (30)",
        ),
        (variable(valueFrom={}), f'env[0].valueFrom: Invalid value: "": {ONE_SOURCE}'),
        (
            variable(valueFrom={"fieldRef": {"fieldPath": "metadata.foo"}}),
            'env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.foo": error converting '
            "fieldPath: field label not supported: metadata.foo",
        ),
        (
            variable(valueFrom={"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}),
            'env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only '
            "divisor's values 1m and 1 are supported with the cpu resource",
        ),
        (
            variable(valueFrom={"secretKeyRef": {"name": "s"}}),
            "env[0].valueFrom.secretKeyRef.key: Required value",
        ),
        (
            container(envFrom=[{}]),
            'envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
        ),
        (
            mount(subPath="a/../b"),
            "volumeMounts.subPath: Invalid value: \"a/../b\": must not contain '..'",
        ),
        (
            mount(mountPropagation="Bidirectional"),
            "volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is "
            "available only to privileged containers",
        ),
        (
            {**volume(emptyDir={}), **container(volumeDevices=[{"name": "v", "devicePath": "/d"}])},
            'volumeDevices[0].name: Invalid value: "v": can only use volume source type of '
            "PersistentVolumeClaim or Ephemeral for block mode",
        ),
        (
            container(resources={"claims": [{"name": "gpu"}]}),
            'resources.claims[0]: Not found: "gpu": must be one of the names in '
            "pod.spec.resourceClaims which is empty",
        ),
        (
            container(resizePolicy=[{"resourceName": "memory", "restartPolicy": "Bad"}]),
            'resizePolicy: Unsupported value: "Bad": supported values: "NotRequired", '
            '"RestartContainer"',
        ),
        (
            container(restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In"}}]),
            "restartPolicy: Required value: must specify restartPolicy when restart rules are used",
        ),
        (
            container(securityContext={"runAsUser": -1}),
            f"securityContext.runAsUser: Invalid value: -1: {USER}",
        ),
        (
            container(securityContext={"privileged": True, "allowPrivilegeEscalation": False}),
            'securityContext: Invalid value: {"Capabilities":null,"Privileged":true,'
            '"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,'
            '"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,'
            '"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set '
            "`allowPrivilegeEscalation` to false and `privileged` to true",
        ),
    ],
)
def test_an_invalid_container_is_refused(fields, complaint):
    assert complaints(pod(**fields)) == [f"spec.containers[0].{complaint}"]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        (
            volume(configMap={"name": "c", "defaultMode": 512}),
            f"volumes[0].configMap.defaultMode: Invalid value: 512: {MODE}",
        ),
        (
            volume(secret={"secretName": "s", "items": [{"key": "a", "path": "/a"}]}),
            'volumes[0].secret.items[0].path: Invalid value: "/a": must be a relative path',
        ),
        (
            volume(emptyDir={"sizeLimit": "-1"}),
            "volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource "
            "quantity",
        ),
        (
            volume(
                downwardAPI={"items": [{"path": "a", "fieldRef": {"fieldPath": "status.podIP"}}]}
            ),
            'volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP": '
            f"supported values: {FILES}",
        ),
        (
            volume(
                projected={
                    "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 9}}]
                }
            ),
            "volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: "
            "9: may not specify a duration less than 10 minutes",
        ),
        (
            {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
            "securityContext.seccompProfile.localhostProfile: Required value: must be set when "
            "seccomp type is Localhost",
        ),
        (
            {"shareProcessNamespace": True, "hostPID": True},
            "securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and "
            "HostPID cannot both be enabled",
        ),
        (
            {
                "securityContext": {"sysctls": [{"name": "net.a", "value": "1"}]},
                "hostNetwork": True,
            },
            'securityContext.sysctls[0].name: Invalid value: "net.a": may not be specified when '
            "'hostNetwork' is true",
        ),
        (
            {"hostUsers": False, "hostNetwork": True},
            "hostNetwork: Forbidden: when `hostUsers` is false",
        ),
        (
            {"os": {"name": "windows"}, "securityContext": {"runAsUser": 1}},
            "securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
        ),
        (
            {"dnsPolicy": "None"},
            "dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
        ),
        (
            {"dnsConfig": {"nameservers": ["x"]}},
            'dnsConfig.nameservers[0]: Invalid value: "x": must be a valid IP address, (e.g. '
            "10.9.8.7 or 2001:db8::ffff)",
        ),
        (
            {"hostAliases": [{"ip": "x"}]},
            'hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or '
            "2001:db8::ffff)",
        ),
        (
            {"resourceClaims": [{"name": "a", "resourceClaimName": "x"}] * 2},
            'resourceClaims[1].name: Duplicate value: "a"',
        ),
        (
            {"resourceClaims": [{"name": "a"}, {"name": "b", "resourceClaimName": "x"}]},
            'resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,'
            '"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, '
            "`resourceClaimTemplateName`",
        ),
    ],
)
def test_an_invalid_field_of_the_pod_is_refused(fields, complaint):
    assert complaints(pod(**fields)) == [f"spec.{complaint}"]


def test_a_resize_may_restart_sidecars_but_no_other_init_container_and_no_pod_that_never_restarts():
    init = {"name": "i", "image": "pause:1", "resizePolicy": [RESTARTED]}
    where = "spec.initContainers[0].resizePolicy"
    assert complaints(pod(initContainers=[init])) == [
        f'{where}[0].restartPolicy: Invalid value: "RestartContainer": '
        "must not be set to 'RestartContainer' for non-sidecar initContainers"
    ]
    sidecar = {**init, "restartPolicy": "Always"}
    assert complaints(pod(initContainers=[sidecar])) == []
    assert complaints(pod(restartPolicy="Never", initContainers=[sidecar])) == [
        f'{where}: Invalid value: "RestartContainer": '
        "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
    ]


def test_a_template_on_the_network_of_the_host_may_leave_host_ports_out():
    template = pod(hostNetwork=True, **container(ports=[{"containerPort": 80}]))["spec"]
    labels = {"app": "a"}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template},
        },
    }
    assert [*validate("Deployment", admit("Deployment", body, Cluster()))] == []


@pytest.mark.parametrize(("keys", "complains"), [(["app"], True), (["version"], False)])
def test_a_key_of_match_label_keys_is_not_in_the_selector_as_well(keys, complains):
    selector = {"labelSelector": {"matchLabels": {"app": "a"}}, "matchLabelKeys": keys}
    spread = {"topologyKey": "z", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **selector}
    terms = [{"topologyKey": "z", **selector}]
    body = pod(
        topologySpreadConstraints=[spread],
        affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
    )
    body["metadata"]["labels"] = {"app": "a", "version": "1"}
    said = 'Invalid value: "app": exists in both matchLabelKeys and labelSelector'
    places = (
        "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][0]",
        "topologySpreadConstraints[0][0]",
    )
    assert complaints(body) == [f"spec.{place}: {said}" for place in places if complains]


def test_an_invalid_volume_cannot_be_mounted():
    disk = volume(azureDisk={"diskName": "d", "diskURI": "/subscriptions/s"})
    body = pod(**disk, **container(volumeMounts=[{"name": "v", "mountPath": "/v"}]))
    assert complaints(body) == [
        'spec.volumes[0].azureDisk.diskURI: Unsupported value: "/subscriptions/s": supported '
        'values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"',
        'spec.containers[0].volumeMounts[0].name: Not found: "v"',
    ]
    disk["volumes"][0]["azureDisk"]["kind"] = "Managed"
    body = pod(**disk, **container(volumeMounts=[{"name": "v", "mountPath": "/v"}]))
    assert complaints(body) == []


def test_what_charts_use_is_accepted():
    body = pod(
        **container(
            livenessProbe={"httpGet": {"port": "http", "path": "/healthz"}},
            startupProbe={"grpc": {"port": 9000}},
            lifecycle={"preStop": {"exec": {"command": ["sleep", "5"]}}},
            env=[
                {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                {
                    "name": "ZONE",
                    "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a.b/zone']"}},
                },
                {
                    "name": "LIMIT",
                    "valueFrom": {
                        "resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}
                    },
                },
            ],
            envFrom=[{"prefix": "APP_", "configMapRef": {"name": "app", "optional": True}}],
            volumeMounts=[{"name": "v", "mountPath": "/v", "subPath": "a/b"}],
            volumeDevices=[{"name": "block", "devicePath": "/dev/x"}],
            securityContext={"capabilities": {"drop": ["ALL"]}, "runAsUser": 1000},
        ),
        volumes=[
            {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
            {"name": "block", "persistentVolumeClaim": {"claimName": "c"}},
        ],
        securityContext={"fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        dnsConfig={"searches": ["_tcp.example.com."], "options": [{"name": "ndots", "value": "2"}]},
    )
    assert complaints(body) == []
