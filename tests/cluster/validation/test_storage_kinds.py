"""Storage kinds and workloads: complaints of the API server about new objects and updates."""

from __future__ import annotations

import pytest

from tests.cluster.recorded import Cluster, admit, validate


def body(kind, group="", **fields):
    return {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": kind,
        "metadata": {"name": "x"},
        **fields,
    }


def complaints(new, old=None):
    admitted_old = admit(old["kind"], old, Cluster()) if old else None
    admitted = admit(new["kind"], new, Cluster(), old=admitted_old)
    found = validate(new["kind"], admitted, admitted_old)
    # the hint about names is long
    return [f"{each.field}: {each.message}".partition("(e.g.")[0].strip() for each in found]


def claim(**spec):
    size = {"requests": {"storage": "1Gi"}}
    return body(
        "PersistentVolumeClaim", spec={"accessModes": ["ReadWriteOnce"], "resources": size, **spec}
    )


def storage_class(**fields):
    return body("StorageClass", "storage.k8s.io", provisioner="p", **fields)


def volume(**spec):
    given = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    return body("PersistentVolume", spec={**given, **spec})


def csi_node(**driver):
    drivers = [{"name": "d", "nodeID": "n", **driver}]
    return body("CSINode", "storage.k8s.io", spec={"drivers": drivers})


def attachment(node="n", **source):
    spec = {"attacher": "a", "nodeName": node, "source": source}
    return body("VolumeAttachment", "storage.k8s.io", spec=spec)


def stateful_set(*, template=None, **spec):
    pod = {"containers": [{"name": "c", "image": "i"}]}
    given = {"metadata": {"labels": {"app": "x"}}, "spec": pod, **(template or {})}
    return body(
        "StatefulSet",
        "apps",
        spec={"selector": {"matchLabels": {"app": "x"}}, "template": given, **spec},
    )


def attributes_class(**fields):
    return body("VolumeAttributesClass", "storage.k8s.io", **fields)


NO_PARAMETERS = "parameters: Required value: must contain at least one key/value pair"
OPTIONS = {"volume.beta.kubernetes.io/mount-options": "ro"}
WITH_OPTIONS = {"metadata": {"name": "v", "annotations": OPTIONS}}
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character"
)
QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character"
)
TERM = {"matchLabelExpressions": [{"key": "a", "values": ["b"]}]}
EXACTLY_ONE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            storage_class(allowedTopologies=[TERM, TERM]),
            ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'],
        ),
        (
            storage_class(allowedTopologies=[{}]),
            ['allowedTopologies[0].matchLabelExpressions: Duplicate value: ""'],
        ),
        (
            storage_class(parameters={"": "x"}),
            ['parameters: Invalid value: "": field can not be empty.'],
        ),
        (csi_node(topologyKeys=["k", "k"]), ['spec.drivers[0]: Duplicate value: "k"']),
        (
            csi_node(topologyKeys=["a b"]),
            [f'spec.drivers[0]: Invalid value: "a b": {QUALIFIED}'],
        ),
        (attachment(), [f"spec.source: Required value: {EXACTLY_ONE}"]),
        (
            attachment(persistentVolumeName="v", inlineVolumeSpec={}),
            [f"spec.source: Forbidden: {EXACTLY_ONE}"],
        ),
        (
            attachment(node="", persistentVolumeName="v"),
            [f'spec.nodeName: Invalid value: "": {SUBDOMAIN}'],
        ),
        (
            volume(csi={"driver": "A_", "volumeHandle": "h"}),
            [f'spec.csi.driver: Invalid value: "A_": {SUBDOMAIN}'],
        ),
        (
            volume(csi={"driver": "d", "volumeHandle": "h", "nodePublishSecretRef": {"name": "s"}}),
            ["spec.csi.nodePublishSecretRef.namespace: Required value"],
        ),
        (
            volume(hostPath={"path": "/x"}, volumeAttributesClassName=""),
            [
                "spec.volumeAttributesClassName: Required value: an empty string is disallowed",
                "spec.csi: Required value: has to be specified when using "
                "volumeAttributesClassName",
            ],
        ),
        (volume(flexVolume={}), ["spec.flexVolume.driver: Required value"]),
        (
            claim(resources={"requests": {"storage": "-1"}}),
            ['spec.resources[storage]: Invalid value: "-1": must be greater than zero'],
        ),
        (
            claim(dataSourceRef={"kind": "Foo", "name": ""}),
            [
                text
                for field in ("dataSource", "dataSourceRef")
                for text in (
                    f"spec.{field}.name: Required value",
                    f"spec.{field}: Invalid value: \"Foo\": must be 'PersistentVolumeClaim' when "
                    "referencing the default apiGroup",
                )
            ],
        ),
        (
            claim(
                dataSource={"kind": "PersistentVolumeClaim", "name": "a"},
                dataSourceRef={"kind": "PersistentVolumeClaim", "name": "b"},
            ),
            ["spec: Invalid value: {}: must match dataSourceRef"],
        ),
        (
            claim(volumeAttributesClassName="A_"),
            [f'spec.volumeAttributesClassName: Invalid value: "A_": {SUBDOMAIN}'],
        ),
        (
            stateful_set(updateStrategy={"type": "OnDelete", "rollingUpdate": {"partition": 1}}),
            [
                'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,'
                "\"MaxUnavailable\":null}: only allowed for updateStrategy 'RollingUpdate'"
            ],
        ),
        (
            stateful_set(serviceName="A_"),
            [f'spec.serviceName: Invalid value: "A_": {LABEL}'],
        ),
        (
            stateful_set() | {"metadata": {"name": "a.b"}},
            ['metadata.name: Invalid value: "a.b": must not contain dots'],
        ),
        (
            stateful_set(template={"metadata": {"labels": {"app": "x", "b c": "d"}}}),
            [f'spec.template.labels: Invalid value: "b c": {QUALIFIED}'],
        ),
        (
            body(
                "Service",
                spec={"type": "ExternalName", "externalName": "a.b", "clusterIP": "10.0.0.9"},
            ),
            ["spec.clusterIPs: Forbidden: may not be set for ExternalName services"],
        ),
        (
            attributes_class(driverName="Bad!"),
            [f'driverName: Invalid value: "bad!": {QUALIFIED}', NO_PARAMETERS],
        ),
        (attributes_class(parameters={}), ["driverName: Required value", NO_PARAMETERS]),
        (
            attributes_class(driverName="d", parameters={"": "x", "b": "x" * 262_144}),
            [
                'parameters: Invalid value: "": field can not be empty.',
                "parameters: Too long: may not be more than 262144 bytes",
            ],
        ),
        (
            storage_class(parameters={str(n): "" for n in range(513)}),
            ["parameters: Too long: may not be more than 512 bytes"],
        ),
        (volume(nfs={"server": "s", "path": "/"}) | WITH_OPTIONS, []),
        (
            volume(csi={"driver": "d", "volumeHandle": "h"}) | WITH_OPTIONS,
            [
                "metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not "
                "specify mount options for this volume type"
            ],
        ),
        (
            volume(flocker={}),
            ["spec.flocker: Required value: one of datasetName and datasetUUID is required"],
        ),
        (volume(photonPersistentDisk={"pdID": "p"}), []),
    ],
)
def test_new_objects(given, expected):
    assert complaints(given) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (
            csi_node(nodeID="m"),
            csi_node(),
            'spec.drivers: Invalid value: {"Name":"d","NodeID":"m","TopologyKeys":null,'
            '"Allocatable":null}: field is immutable',
        ),
        (
            attachment("m", persistentVolumeName="v"),
            attachment("n", persistentVolumeName="v"),
            'spec: Invalid value: {"Attacher":"a","Source":{"PersistentVolumeName":"v",'
            '"InlineVolumeSpec":null},"NodeName":"m"}: field is immutable',
        ),
        (
            body("VolumeAttributesClass", "storage.k8s.io", driverName="b", parameters={"a": "b"}),
            body("VolumeAttributesClass", "storage.k8s.io", driverName="a", parameters={"a": "b"}),
            "driverName: Forbidden: updates to driverName are forbidden.",
        ),
        (
            claim(volumeMode="Block"),
            claim(),
            'volumeMode: Invalid value: "Block": field is immutable',
        ),
        (
            claim(),
            claim(volumeAttributesClassName="a"),
            "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is "
            "forbidden",
        ),
    ],
)
def test_updates(new, old, expected):
    assert complaints(new, old)[-1] == expected


def test_an_updated_volume_is_checked_twice():
    source = {"hostPath": {"path": "/"}}
    assert complaints(volume(**source, accessModes=["x"]), volume(**source)) == 2 * [
        'spec.accessModes: Unsupported value: "x": supported values: "ReadOnlyMany", '
        '"ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
    ]


def test_a_class_of_attributes_is_compared_before_it_is_checked():
    old = attributes_class(driverName="a", parameters={"a": "b"})
    assert complaints(attributes_class(driverName="a"), old) == [
        "parameters: Forbidden: updates to parameters are forbidden.",
        NO_PARAMETERS,
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["10.9.0.0/24"], ["10.9.0.0/24", "fd00::/64"], []),
        (["10.9.0.0/24"], ["fd00::/64", "10.9.0.0/24"], ['[0]: Invalid value: "fd00::/64": F']),
        (["10.9.0.0/24"], ["x"], ['[0]: Invalid value: "x": F']),
        (["10.9.0.0/24"], None, [": Invalid value: null: F"]),
        (["10.9.0.0/24", "fd00::/64"], ["10.9.0.0/24"], [': Invalid value: ["10.9.0.0/24"]: F']),
        (
            ["10.9.0.0/24"],
            ["x", "10.8.0.0/24"],
            [
                '[0]: Invalid value: "x": F',
                '[0]: Invalid value: "x": must be a valid CIDR value,',
            ],
        ),
    ],
)
def test_a_service_cidr_gets_a_second_network(old, new, expected):
    given = [
        body("ServiceCIDR", "networking.k8s.io", spec={"cidrs": cidrs}) for cidrs in (new, old)
    ]
    found = complaints(*given)
    said = [each.replace("F", "field is immutable") for each in expected]
    assert found == [f"spec.cidrs{each}" for each in said]


def test_a_service_cidr_with_three_networks_is_not_read_further():
    given = body("ServiceCIDR", "networking.k8s.io", spec={"cidrs": ["10.9.0.0/24", "x", "y"]})
    assert complaints(given) == [
        'spec.cidrs: Invalid value: {"CIDRs":["10.9.0.0/24","x","y"]}: may only hold up to 2 values'
    ]


def test_a_bound_claim_shrinks_to_more_than_its_capacity():
    def refused(size):
        asked = admit("PersistentVolumeClaim", claim(resources=request(size)), Cluster())
        return [each.message for each in validate("PersistentVolumeClaim", asked | status, bound)]

    def request(size):
        return {"requests": {"storage": size}}

    status = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    bound = admit("PersistentVolumeClaim", claim(resources=request("3Gi")), Cluster()) | status
    assert refused("2Gi") == refused("4Gi") == []
    assert refused("1Gi") == ["Forbidden: field can not be less than status.capacity"]


def test_templates_have_no_ephemeral_containers():
    pod = {"containers": [{"name": "c", "image": "i"}]}
    pod["ephemeralContainers"] = [{"name": "e", "image": "i"}]
    assert complaints(stateful_set(template={"spec": pod})) == [
        "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in "
        "pod template"
    ]


def test_data_sources_of_a_claim_are_the_same():
    named = {"kind": "PersistentVolumeClaim", "name": "a"}
    for field in ("dataSource", "dataSourceRef"):
        spec = admit("PersistentVolumeClaim", claim(**{field: named}), Cluster())["spec"]
        assert spec["dataSource"] == spec["dataSourceRef"] == named
    unknown = admit(
        "PersistentVolumeClaim", claim(dataSource={"kind": "Foo", "name": "a"}), Cluster()
    )
    assert "dataSource" not in unknown["spec"]


def test_a_version_without_a_name_is_refused():
    version = {"served": True, "storage": True}
    names = {"plural": "as", "kind": "A"}
    definition = {"group": "x.io", "names": names, "scope": "Cluster", "versions": [version]}
    kind = "CustomResourceDefinition"
    assert complaints(body(kind, "apiextensions.k8s.io", spec=definition))


def test_a_capacity_that_is_not_given_is_zero():
    capacity = {"memory": {"requestPolicy": {"default": "1"}}}
    pool = {"name": "p", "resourceSliceCount": 1}
    devices = [{"name": "a", "allowMultipleAllocations": True, "capacity": capacity}]
    spec = {"driver": "d", "nodeName": "n", "pool": pool, "devices": devices}
    assert complaints(body("ResourceSlice", "resource.k8s.io", spec=spec)) == []
