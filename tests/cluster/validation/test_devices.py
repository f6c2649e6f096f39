"""Selectors of devices are compiled, and their cost is estimated, when objects are written."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.recorded import validate

#: the defaults of requests
_ONE: dict[str, Any] = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
_DEEP = "{0}.all(a, {0}.all(b, {0}.all(c, {0}.all(d, a + b + c + d != ''))))".format(
    "device.attributes['gpu.example.com']"
)


def _selectors(expression: str) -> list[dict[str, Any]]:
    return [{"cel": {"expression": expression}}]


def _claim(expression: str) -> dict[str, Any]:
    request = {**_ONE, "selectors": _selectors(expression)}
    return {"devices": {"requests": [{"name": "r", "exactly": request}]}}


def _alternatives(expression: str) -> dict[str, Any]:
    request = {**_ONE, "name": "a", "selectors": _selectors(expression)}
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


def _requested(**devices: Any) -> dict[str, Any]:
    return {"devices": {"requests": [{"name": "r", "exactly": _ONE}], **devices}}


def _exactly(**fields: Any) -> dict[str, Any]:
    return _requested(requests=[{"name": "r", "exactly": {**_ONE, **fields}}])


def _slice(**fields: Any) -> dict[str, Any]:
    pool = {"name": "p", "resourceSliceCount": 1}
    return {"driver": "gpu.example.com", "pool": pool, "nodeName": "n", **fields}


def _device(**fields: Any) -> dict[str, Any]:
    return _slice(devices=[{"name": "d", **fields}])


def _shared(policy: dict[str, Any]) -> dict[str, Any]:
    capacity = {"memory": {"value": "8Gi", "requestPolicy": policy}}
    return _device(allowMultipleAllocations=True, capacity=capacity)


_REQUEST = "spec.devices.requests[0]"
_DEVICE = "spec.devices[0]"
_POLICY = f"{_DEVICE}.capacity[memory].requestPolicy"
_OPAQUE = {"opaque": {"driver": "gpu.example.com", "parameters": {"a": 1}}}


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("ResourceClaim", {}),
        ("ResourceClaim", _exactly(allocationMode="All", count=0)),
        (
            "ResourceClaim",
            _requested(
                constraints=[{"requests": ["r"], "matchAttribute": "gpu.example.com/numa"}],
                config=[{"requests": ["r"], **_OPAQUE}],
            ),
        ),
        ("DeviceClass", {"extendedResourceName": "example.com/gpu", "config": [_OPAQUE]}),
        ("ResourceSlice", _device(attributes={"v": {"version": "1.0.0-rc.1+b"}, "n": {"int": 0}})),
        ("ResourceSlice", _shared({"default": "1Gi", "validValues": ["1Gi", "2Gi"]})),
        (
            "ResourceSlice",
            _shared({"default": "1Gi", "validRange": {"min": "1Gi", "max": "5Gi", "step": "2Gi"}}),
        ),
        ("ResourceSlice", _device(bindingConditions=["a"], bindingFailureConditions=["b"])),
    ],
)
def test_devices_and_requests_as_documented_are_accepted(kind: str, spec: dict[str, Any]) -> None:
    assert _causes(kind, spec) == []


@pytest.mark.parametrize(
    ("kind", "spec", "field", "message"),
    [
        (
            "ResourceClaim",
            _requested(requests=[{"name": "r", "exactly": _ONE, "firstAvailable": [_ONE]}]),
            _REQUEST,
            "Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but "
            "multiple fields are set",
        ),
        (
            "ResourceClaim",
            _exactly(allocationMode="All"),
            f"{_REQUEST}.exactly.count",
            "Invalid value: 1: must not be specified when allocationMode is 'All'",
        ),
        (
            "ResourceClaim",
            _exactly(count=-1),
            f"{_REQUEST}.exactly.count",
            "Invalid value: -1: must be greater than zero",
        ),
        (
            "ResourceClaim",
            _exactly(allocationMode="Most"),
            f"{_REQUEST}.exactly.allocationMode",
            'Unsupported value: "Most": supported values: "All", "ExactCount"',
        ),
        (
            "ResourceClaim",
            _exactly(tolerations=[{"operator": "Exists", "value": "x"}]),
            f"{_REQUEST}.exactly.tolerations[0].value",
            'Invalid value: "x": must be empty for operator `Exists`',
        ),
        (
            "ResourceClaim",
            _requested(requests=[{"name": "r", "exactly": _ONE}] * 2),
            "spec.devices.requests[1]",
            'Duplicate value: "r"',
        ),
        (
            "ResourceClaim",
            _requested(constraints=[{"requests": ["x"], "distinctAttribute": "a.b/c"}]),
            "spec.devices.constraints[0].requests[0]",
            'Invalid value: "x": must be the name of a request in the claim or the name of a '
            "request and a subrequest separated by '/'",
        ),
        (
            "ResourceClaim",
            _requested(constraints=[{"matchAttribute": "numa"}]),
            "spec.devices.constraints[0].matchAttribute",
            'Invalid value: "numa": a fully qualified name must be a domain and a name separated '
            "by a slash",
        ),
        (
            "ResourceClaim",
            _requested(constraints=[{}]),
            "spec.devices.constraints[0]",
            'Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, '
            "but multiple fields are set",
        ),
        (
            "ResourceClaim",
            _requested(config=[{"opaque": {"driver": "a.b", "parameters": 3}}]),
            "spec.devices.config[0].opaque.parameters",
            'Invalid value: "<value omitted>": must be a valid JSON object',
        ),
        (
            "DeviceClass",
            {"extendedResourceName": "cpu"},
            "spec.extendedResourceName",
            'Invalid value: "cpu": must be a valid extended resource name',
        ),
        (
            "ResourceSlice",
            _slice(allNodes=True),
            "spec",
            'Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, `nodeSelector`, '
            "`allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set",
        ),
        (
            "ResourceSlice",
            _slice(pool={"name": "p"}),
            "spec.pool.resourceSliceCount",
            "Invalid value: 0: must be greater than zero",
        ),
        (
            "ResourceSlice",
            _slice(devices=[{"name": "d"}] * 2),
            "spec.devices[1]",
            'Duplicate value: "d"',
        ),
        (
            "ResourceSlice",
            _slice(devices=[{"name": f"d{n}", "taints": []} for n in range(129)]),
            "spec.devices",
            "Too many: 129: must have at most 128 items",
        ),
        (
            "ResourceSlice",
            _slice(
                devices=[
                    {"name": f"d{n}", "taints": [{"key": "k", "effect": "None"}]} for n in range(65)
                ]
            ),
            "spec.devices",
            "Too many: 65: must have at most 64 items",
        ),
        (
            "ResourceSlice",
            _slice(devices=[], sharedCounters=[]),
            "spec",
            'Invalid value: "": only one of `sharedCounters` or `devices` is allowed',
        ),
        (
            "ResourceSlice",
            _device(attributes={"a": {"int": 1, "string": "x"}}),
            f"{_DEVICE}.attributes[a]",
            'Invalid value: {"int":1,"string":"x"}: exactly one value must be specified',
        ),
        (
            "ResourceSlice",
            _device(attributes={"a": {"version": "1.0"}}),
            f"{_DEVICE}.attributes[a].version",
            'Invalid value: "1.0": must be a string compatible with semver.org spec 2.0.0',
        ),
        (
            "ResourceSlice",
            _device(attributes={f"a{n}": {"int": n} for n in range(33)}),
            _DEVICE,
            "Invalid value: 33: the total number of attributes and capacities must not exceed 32",
        ),
        (
            "ResourceSlice",
            _device(taints=[{"key": "k", "effect": "Sometimes"}]),
            f"{_DEVICE}.taints[0].effect",
            'Unsupported value: "Sometimes": supported values: "NoExecute", "NoSchedule", "None"',
        ),
        (
            "ResourceSlice",
            _device(consumesCounters=[{"counterSet": "s", "counters": {}}]),
            f"{_DEVICE}.consumesCounters[0].counters",
            "Required value",
        ),
        (
            "ResourceSlice",
            _device(bindingConditions=["a"]),
            f"{_DEVICE}.bindingFailureConditions",
            "Invalid value: null: bindingFailureConditions are required to use bindingConditions",
        ),
        (
            "ResourceSlice",
            _device(allNodes=True),
            _DEVICE,
            "Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if "
            "`perDeviceNodeSelection` is set to true in the ResourceSlice spec",
        ),
        (
            "ResourceSlice",
            _device(capacity={"memory": {"value": "1", "requestPolicy": {"default": "1"}}}),
            _POLICY,
            "Forbidden: allowMultipleAllocations must be true",
        ),
        (
            "ResourceSlice",
            _shared({"default": "3Gi", "validValues": ["1Gi", "2Gi"]}),
            f"{_POLICY}.validValues",
            'Invalid value: "3Gi": default value is not valid according to the requestPolicy',
        ),
        (
            "ResourceSlice",
            _shared({"default": "2Gi", "validRange": {"min": "1Gi", "step": "2Gi"}}),
            f"{_POLICY}.validRange.step",
            'Invalid value: "2Gi": value is not a multiple of a given step (2Gi) from (1Gi)',
        ),
        (
            "ResourceSlice",
            _shared({"default": "1Gi", "validRange": {"min": "2Gi", "max": "9Gi"}}),
            f"{_POLICY}.validRange.min",
            'Invalid value: "1Gi": default is less than min: 2Gi',
        ),
    ],
)
def test_wrong_devices_and_requests_are_rejected_with_their_field(
    kind: str, spec: dict[str, Any], field: str, message: str
) -> None:
    assert (field, message) in [cause[1:] for cause in _causes(kind, spec)]


def test_attributes_are_lists_only_if_the_gate_is_on() -> None:
    def causes(attributes: Any, *gates: str, old: Any = None) -> list[tuple[str, str]]:
        body = {"kind": "ResourceSlice", "metadata": {"name": "a"}}
        new = {**body, "spec": _device(attributes=attributes)}
        before = None if old is None else {**body, "spec": _device(attributes=old)}
        found = validate("ResourceSlice", new, before, gates=gates)
        return [(cause.field.removeprefix(f"{_DEVICE}."), cause.message) for cause in found]

    gate, one = "DRAListTypeAttributes", "exactly one value must be specified"
    lists = {"a": {"ints": [1, 2]}, "b": {"strings": ["x"]}, "c": {"versions": ["1.0.0"]}}
    assert causes({**lists, "d": {"bools": [True]}}, gate) == []
    assert causes({"a": {"ints": [1]}}) == [("attributes[a]", f'Invalid value: "": {one}')]
    # an update keeps using what the slice uses already
    assert causes({"a": {"ints": [1, 3]}}, old={"a": {"ints": [1]}}) == []
    assert causes({"a": {"ints": [1], "int": 1}}, gate) == [
        ("attributes[a]", f'Invalid value: {{"ints":[1],"int":1}}: {one}')
    ]
    wrong = {"a": {"ints": []}, "b": {"strings": ["x" * 65]}, "c": {"versions": ["1.0.0", "1"]}}
    assert [message for _, message in causes(wrong, gate)] == [
        "Invalid value: []: must not be empty if specified",
        "Too long: may not be more than 64 bytes",
        'Invalid value: "1": must be a string compatible with semver.org spec 2.0.0',
    ]
    assert causes({"a": {"ints": list(range(48))}, "b": {"int": 1}}, gate) == [
        (_DEVICE, "Invalid value: 49: the total number of attribute values must not exceed 48")
    ]


def test_selectors_of_lists_are_accepted_only_if_the_gate_is_on() -> None:
    attribute = "device.attributes['d.example'].a"
    for expression, problem in (
        (f"{attribute}.includes(1)", "undeclared reference to 'includes'"),
        (f"{attribute}.exists(x, x == 1)", "expression of type 'any' cannot be range"),
    ):
        body = {
            "kind": "DeviceClass",
            "metadata": {"name": "a"},
            "spec": {"selectors": _selectors(expression)},
        }
        (cause,) = validate("DeviceClass", body)
        assert problem in cause.message
        assert validate("DeviceClass", body, gates=["DRAListTypeAttributes"]) == []


def test_slices_keep_their_driver_pool_and_node() -> None:
    meta = {"kind": "ResourceSlice", "metadata": {"name": "a"}}
    old = {**meta, "spec": _slice()}
    pool = {"name": "q", "resourceSliceCount": 1, "generation": 2}
    new = {**meta, "spec": _slice(driver="nic.example.com", pool=pool, nodeName="m")}
    assert [(cause.field, cause.message) for cause in validate("ResourceSlice", new, old)] == [
        ("spec.pool.name", 'Invalid value: "q": field is immutable'),
        ("spec.driver", 'Invalid value: "nic.example.com": field is immutable'),
        ("spec.nodeName", 'Invalid value: "m": field is immutable'),
    ]


def test_the_status_of_a_claim_fits_its_spec() -> None:
    consumer = {"resource": "pods", "name": "p", "uid": "1"}
    result = {"request": "r", "driver": "gpu.example.com", "pool": "p", "device": "d"}
    claim = {"kind": "ResourceClaim", "metadata": {"name": "a", "namespace": "default"}}
    claim["spec"] = _requested()

    def causes(status: dict[str, Any], before: dict[str, Any]) -> list[tuple[str, str]]:
        found = validate(
            "ResourceClaim",
            {**claim, "status": status},
            {**claim, "status": before},
            subresource="status",
        )
        return [(cause.field, cause.message) for cause in found]

    allocated = {"allocation": {"devices": {"results": [result]}}}
    assert causes({**allocated, "reservedFor": [consumer]}, {}) == []
    assert causes({"reservedFor": [consumer]}, {}) == [
        ("status.reservedFor", "Forbidden: may not be specified when `allocated` is not set")
    ]
    many = [{**consumer, "uid": str(number)} for number in range(257)]
    assert causes({**allocated, "reservedFor": many}, allocated) == [
        ("status.reservedFor", "Too many: 257: must have at most 256 items")
    ]
    other = {"allocation": {"devices": {"results": [{**result, "device": "e"}]}}}
    ((field, message),) = causes(other, allocated)
    assert (field, message[-18:]) == ("status.allocation", "field is immutable")
    wrong = {"allocation": {"devices": {"results": [{**result, "request": "x"}]}}}
    assert [field for field, _ in causes(wrong, {})] == [
        "status.allocation.devices.results[0].request"
    ]
    device = {"driver": "gpu.example.com", "pool": "p", "device": "e"}
    assert causes({**allocated, "devices": [device]}, allocated) == [
        (
            "status.devices[0]",
            'Invalid value: {"Driver":"gpu.example.com","Pool":"p","Device":"e","ShareID":""}: '
            "must be an allocated device in the claim",
        )
    ]


def test_pods_name_each_claim_once_and_containers_only_those() -> None:
    def causes(claims: list[Any], used: list[Any]) -> list[tuple[str, str]]:
        container = {"name": "m", "image": "x", "resources": {"claims": used}}
        spec = {"containers": [container], "resourceClaims": claims}
        body = {"kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}
        found = [(cause.field, cause.message) for cause in validate("Pod", body)]
        return [each for each in found if "laims" in each[0]]

    claim = {"name": "c", "resourceClaimName": "a"}
    at = "spec.containers[0].resources.claims"
    assert causes([claim], [{"name": "c", "request": "x"}, {"name": "c", "request": "y"}]) == []
    assert causes([claim, claim], [{"name": "c"}, {"name": "c"}, {"name": "z"}]) == [
        ("spec.resourceClaims[1].name", 'Duplicate value: "c"'),
        (f"{at}[1]", 'Duplicate value: "c"'),
        (f"{at}[2]", 'Not found: "z": must be one of the names in pod.spec.resourceClaims: c'),
    ]
    ((field, message),) = causes([{"name": "c", "resourceClaimTemplateName": "T"}], [])
    assert field == "spec.resourceClaims[0].resourceClaimTemplateName"
    assert "RFC 1123 subdomain" in message


def _mapped(**mapping: Any) -> list[tuple[str, str, str]]:
    """The causes for a device that takes CPU of its node."""
    capacity = {"cores": {"value": "4"}}
    device = {"name": "d", "capacity": capacity, "nodeAllocatableResourceMappings": mapping}
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.example", "nodeName": "n", "pool": pool, "devices": [device]}
    body = {"kind": "ResourceSlice", "metadata": {"name": "a"}, "spec": spec}
    return [(each.reason, each.field, each.message) for each in validate("ResourceSlice", body)]


@pytest.mark.parametrize(
    ("mapping", "field", "message"),
    [
        ({"cpu": {}}, "[cpu]", "Required value: one of `capacityKey`, `allocationMultiplier`"),
        ({"cpu": {"capacityKey": "x"}}, "[cpu].capacityKey", 'Not found: "x": must be a capacity'),
        (
            {"cpu": {"allocationMultiplier": "0"}},
            "[cpu].allocationMultiplier",
            'Invalid value: "0": must be greater than zero',
        ),
        (
            {"example.com/gpu": {"allocationMultiplier": "1"}},
            "[example.com/gpu]",
            'Invalid value: "example.com/gpu": must be a resource of nodes',
        ),
    ],
)
def test_what_devices_take_of_their_node_is_checked(
    mapping: dict[str, Any], field: str, message: str
) -> None:
    ((_, at, text),) = _mapped(**mapping)
    assert at == f"spec.devices[0].nodeAllocatableResourceMappings{field}"
    assert text.startswith(message)


def test_good_mappings_are_accepted() -> None:
    both = {"capacityKey": "cores", "allocationMultiplier": "500m"}
    assert _mapped(cpu=both, memory={"allocationMultiplier": "2Gi"}) == []


def test_claims_of_groups_are_checked_like_those_of_pods() -> None:
    def found(*claims: dict[str, Any]) -> list[str]:
        spec = {"schedulingPolicy": {"basic": {}}, "resourceClaims": list(claims)}
        meta = {"name": "g", "namespace": "default"}
        body = {"kind": "PodGroup", "metadata": meta, "spec": spec}
        return [each.field for each in validate("PodGroup", body)]

    good = [{"name": f"c{number}", "resourceClaimName": "x"} for number in range(5)]
    assert found(*good[:4]) == []
    assert found(*good) == ["spec.resourceClaims"]
    assert found(good[0], good[0]) == ["spec.resourceClaims[1].name"]
    assert found({"name": "c"}) == ["spec.resourceClaims[0]"]
