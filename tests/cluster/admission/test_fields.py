"""What a person wrote has no field that would be dropped without a word."""

from __future__ import annotations

import pytest

from apps.cluster import kinds
from apps.cluster.admission.fields import check_fields
from apps.cluster.errors import Invalid


def test_every_unknown_field_is_named_and_the_object_too() -> None:
    pod = {"metadata": {"name": "web", "lables": {}}, "spec": {"nodeSelectr": {}, "containers": []}}
    with pytest.raises(Invalid) as refusal:
        check_fields(kinds.POD, pod)
    assert [(c.reason, c.field, c.message) for c in refusal.value.causes] == [
        ("FieldValueInvalid", "metadata.lables", "unknown field"),
        ("FieldValueInvalid", "spec.nodeSelectr", "unknown field"),
    ]
    assert refusal.value.message.startswith('Pod "web" is invalid')


def test_a_value_of_a_wrong_type_is_named_without_repeating_its_field() -> None:
    with pytest.raises(Invalid) as refusal:
        check_fields(kinds.NODE, {"metadata": [], "spec": {}})
    (cause,) = refusal.value.causes
    assert (cause.reason, cause.field) == ("FieldValueTypeInvalid", "metadata")
    assert not cause.message.startswith("metadata: ")
    assert refusal.value.message.startswith('Node "" is invalid')


def test_what_has_only_known_fields_passes() -> None:
    check_fields(kinds.POD, {"metadata": {"name": "web"}, "spec": {"containers": []}})
