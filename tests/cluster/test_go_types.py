"""The types of the API server, as its messages and responses show them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apps.cluster.schema import ShapeError, convert, decode, definition_of
from apps.cluster.schema.go_types import internal, print_value

SECRET = definition_of("", "v1", "Secret")
POD = "io.k8s.api.core.v1.Pod"
SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
POD = definition_of("", "v1", "Pod")


def test_a_value_is_printed_with_every_field_of_its_internal_type() -> None:
    claim = {"name": "a", "resourceClaimName": "b"}
    assert json.dumps(internal("core.PodResourceClaim", claim)) == (
        '{"Name": "a", "ResourceClaimName": "b", "ResourceClaimTemplateName": null}'
    )


def test_host_fields_and_metadata_are_where_the_internal_type_has_them() -> None:
    template = {"metadata": {"labels": {"b": "1", "a": "2"}}, "spec": {"hostPID": True}}
    shown = internal("core.PodTemplateSpec", template)
    assert list(shown) == ["labels", "Spec"]
    assert list(shown["labels"]) == ["a", "b"]
    assert shown["Spec"]["SecurityContext"]["HostPID"] is True
    assert shown["Spec"]["Containers"] is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": [1, None], "a": True}, "map[a:true b:[1 <nil>]]"),
        ({"a": {}, "b": 1.5, "c": 2.0}, "map[a:map[] b:1.5 c:2]"),
    ],
)
def test_a_value_of_a_patch_is_printed_as_go_prints_it(value: Any, text: str) -> None:
    assert print_value(value) == text


def test_empty_fields_are_left_out_where_the_server_leaves_them_out() -> None:
    spec = {"nodeName": "", "tolerations": [], "hostNetwork": False, "containers": []}
    assert decode(POD, {"spec": spec}).body == {"spec": {"containers": []}}
    # those that may be set to nothing are kept
    assert decode(POD, {"spec": {"priority": 0}}).body == {"spec": {"priority": 0}}


def test_a_null_item_is_an_empty_object() -> None:
    assert decode(POD, {"spec": {"containers": [None]}}).body["spec"] == {"containers": [{}]}


@pytest.mark.parametrize(
    ("text", "place"), [("!!!", 0), ("YQ=", 0), ("YWJjYQ==YQ==", 6), ("YWJj!", 4)]
)
def test_bytes_that_are_not_base64_are_refused(text: str, place: int) -> None:
    with pytest.raises(ShapeError) as refused:
        decode(SECRET, {"data": {"a": text}})
    assert refused.value.message == f"illegal base64 data at input byte {place}"
    assert decode(SECRET, {"data": {"a": "YW\nJj"}}).body


@pytest.mark.parametrize(
    ("body", "message", "conversion"),
    [
        (
            {"type": -1},
            "json: cannot unmarshal number into Go struct field Secret.type of type v1.SecretType",
            "cannot convert int64 to v1.SecretType",
        ),
        (
            {"type": []},
            "json: cannot unmarshal array into Go struct field Secret.type of type v1.SecretType",
            "unrecognized type: string",
        ),
        (
            {"metadata": "x"},
            "json: cannot unmarshal string into Go struct field Secret.metadata of type "
            "v1.ObjectMeta",
            "cannot restore struct from: string",
        ),
    ],
)
def test_a_value_of_a_wrong_type_names_the_type(
    body: dict[str, Any], message: str, conversion: str
) -> None:
    with pytest.raises(ShapeError) as refused:
        decode(SECRET, body)
    assert refused.value.message == message
    with pytest.raises(ShapeError) as refused:
        convert(SECRET, body)
    assert refused.value.message == conversion


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            # of an embedded type
            {"spec": {"volumes": [{"name": "v", "hostPath": 5}]}},
            "json: cannot unmarshal number into Go struct field "
            "Volume.spec.volumes.VolumeSource.hostPath of type v1.HostPathVolumeSource",
        ),
        (
            # a quantity reads its text itself
            {"metadata": 5, "spec": {"overhead": {"cpu": "x"}}},
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            {"spec": 5, "metadata": {"name": 6, "creationTimestamp": 7}},
            "json: cannot unmarshal number into Go struct field "
            "ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            {"spec": {"containers": [{"image": 1}, {"name": 2}]}, "metadata": []},
            "json: cannot unmarshal number into Go struct field "
            "Container.spec.containers.image of type string",
        ),
    ],
)
def test_the_first_wrong_value_is_reported_unless_a_type_reads_itself(
    body: dict[str, Any], message: str
) -> None:
    with pytest.raises(ShapeError) as refused:
        decode(POD, body)
    assert refused.value.message == message


def test_bytes_may_be_a_list_of_numbers() -> None:
    body = {"data": {"a": [1, 2, 3], "b": [], "c": [None]}}
    assert decode(SECRET, body).body["data"] == {"a": "AQID", "b": "", "c": "AA=="}
    with pytest.raises(ShapeError) as refused:
        decode(SECRET, {"data": {"a": [1, -2]}})
    assert refused.value.message == (
        "json: cannot unmarshal number -2 into Go struct field Secret.data of type uint8"
    )


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            {"maximum": [None]},
            "json: cannot unmarshal array into Go struct field "
            "JSONSchemaProps.properties.maximum of type float64",
        ),
        ({"additionalProperties": "x"}, "boolean or JSON schema expected"),
    ],
)
def test_the_schema_of_a_definition_has_types(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(ShapeError) as refused:
        decode(SCHEMA, {"properties": {"a": schema}})
    assert refused.value.message == message


def test_a_conversion_reads_fields_as_their_type_declares_them() -> None:
    with pytest.raises(ShapeError) as refused:
        convert(POD, {"spec": 1.5, "metadata": [], "kind": "Pod"})
    assert refused.value.message == "cannot restore struct from: slice"
    with pytest.raises(ShapeError) as refused:
        convert(POD, {"spec": {"containers": [{"ports": [{"hostIP": 5, "name": {}}]}]}})
    assert refused.value.message == "unrecognized type: string"
    assert convert(POD, {"z": 1, "a": 2, "metadata": {"y": 1}}).unknown == ["a", "metadata.y", "z"]
