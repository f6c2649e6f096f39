"""Selectors of devices are compiled, and their cost is estimated, when objects are written."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster.validation import validate

_DEEP = "{0}.all(a, {0}.all(b, {0}.all(c, {0}.all(d, a + b + c + d != ''))))".format(
    "device.attributes['gpu.example.com']"
)


def _selectors(expression: str) -> list[dict[str, Any]]:
    return [{"cel": {"expression": expression}}]


def _claim(expression: str) -> dict[str, Any]:
    request = {"deviceClassName": "gpu", "selectors": _selectors(expression)}
    return {"devices": {"requests": [{"name": "r", "exactly": request}]}}


def _alternatives(expression: str) -> dict[str, Any]:
    request = {"name": "a", "deviceClassName": "gpu", "selectors": _selectors(expression)}
    return {"devices": {"requests": [{"name": "r", "firstAvailable": [request]}]}}


def _causes(kind: str, spec: dict[str, Any]) -> list[tuple[str, str, str]]:
    metadata: dict[str, Any] = {"name": "a"}
    if kind != "DeviceClass":
        metadata["namespace"] = "default"
    found = validate(kind, {"kind": kind, "metadata": metadata, "spec": spec})
    return [(cause.reason, cause.field, cause.message) for cause in found]


@pytest.mark.parametrize(
    ("kind", "path", "build"),
    [
        ("DeviceClass", "spec.selectors[0]", lambda text: {"selectors": _selectors(text)}),
        ("ResourceClaim", "spec.devices.requests[0].exactly.selectors[0]", _claim),
        (
            "ResourceClaim",
            "spec.devices.requests[0].firstAvailable[0].selectors[0]",
            _alternatives,
        ),
        (
            "ResourceClaimTemplate",
            "spec.spec.devices.requests[0].exactly.selectors[0]",
            lambda text: {"spec": _claim(text)},
        ),
    ],
)
def test_wrong_selectors_are_rejected_with_their_field(kind: str, path: str, build: Any) -> None:
    field = f"{path}.cel.expression"
    assert _causes(kind, build("device.driver == 'gpu.example.com'")) == []
    assert _causes(kind, build("device.nosuch")) == [
        (
            "FieldValueInvalid",
            field,
            'Invalid value: "device.nosuch": compilation failed: ERROR: <input>:1:7: undefined '
            "field 'nosuch'\n | device.nosuch\n | ......^",
        )
    ]
    assert _causes(kind, build(_DEEP)) == [
        ("FieldValueForbidden", field, "Forbidden: too complex, exceeds cost limit")
    ]


def test_other_limits_of_selectors() -> None:
    def causes(*selectors: dict[str, Any]) -> list[tuple[str, str, str]]:
        return _causes("DeviceClass", {"selectors": list(selectors)})

    assert causes({}) == [("FieldValueRequired", "spec.selectors[0].cel", "Required value")]
    long = causes(*_selectors("true || " * 1_281 + "true"))
    assert [cause[0] for cause in long] == ["FieldValueTooLong"]
    many = causes(*_selectors("true") * 33)
    assert many == [
        ("FieldValueTooMany", "spec.selectors", "Too many: 33: must have at most 32 items")
    ]
    internal = "program instantiation failed: type conversion error from 'string' to 'bool'"
    assert causes(*_selectors("bool('x')")) == [
        (
            "InternalError",
            "spec.selectors[0].cel.expression",
            f"Internal error: {internal}",
        )
    ]


def test_an_update_keeps_expressions_that_are_stored() -> None:
    """An expression that an older version has accepted does not block other changes."""
    stored = "device.nosuch"
    body = {"kind": "DeviceClass", "metadata": {"name": "a", "labels": {"x": "y"}}}
    old = {**body, "metadata": {"name": "a"}, "spec": {"selectors": _selectors(stored)}}
    more = [*_selectors(stored), *_selectors("device.unknown")]
    assert validate("DeviceClass", {**body, "spec": old["spec"]}, old) == []
    (cause,) = validate("DeviceClass", {**body, "spec": {"selectors": more}}, old)
    assert cause.field == "spec.selectors[1].cel.expression"
    claim = {"kind": "ResourceClaim", "metadata": {"name": "a", "namespace": "default"}}
    same = {**claim, "spec": _claim(stored)}
    assert validate("ResourceClaim", same, same) == []
    (cause,) = validate("ResourceClaim", {**claim, "spec": _claim("device.driver == ''")}, same)
    assert "field is immutable" in cause.message
