"""What the mock driver publishes for a node: devices, counters, classes, by the template's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Body = dict[str, Any]

#: On a node: the templates of its devices, separated by commas.
ANNOTATION: Final = "devices.schedweb.dev/templates"
GPU: Final = "gpu.example.com"
NIC: Final = "nic.example.com"
FPGA: Final = "fpga.example.com"
DRIVERS: Final = (GPU, NIC, FPGA)
ATTACHED: Final = "fpga.example.com/attached"
ATTACH_FAILED: Final = "fpga.example.com/attach-failed"
#: The sizes of an A100: memory, multiprocessors, and the parts of memory that MIG divides it into.
_MEMORY, _PROCESSORS, _PARTS = 80, 98, 8


@dataclass(frozen=True, slots=True)
class Profile:
    """A MIG profile: its size, and at which parts of the memory it can start."""

    name: str
    parts: int
    processors: int
    starts: Sequence[int]

    @property
    def memory(self) -> int:
        return self.parts * _MEMORY // _PARTS


_PROFILES: Final = (
    Profile("1g.10gb", 1, 14, range(7)),
    Profile("2g.20gb", 2, 28, (0, 2, 4)),
    Profile("3g.40gb", 4, 42, (0, 4)),
)


@dataclass(frozen=True, slots=True)
class SliceContents:
    """One ResourceSlice: its name after that of the node, and its devices or counters."""

    suffix: str
    part: Body


@dataclass(frozen=True, slots=True)
class DeviceTemplate:
    """The devices of one driver for a node."""

    name: str
    label: str
    driver: str
    #: class -> the CEL expression that selects its devices
    classes: Mapping[str, str]
    slices: Callable[[], Sequence[SliceContents]]
    #: seconds from the allocation until the binding conditions are true; None without conditions
    attach_seconds: float | None = None


def _gpus() -> list[SliceContents]:
    return [SliceContents("gpu", {"devices": [_gpu(index) for index in range(8)]})]


def _gpu(index: int, **parts: Any) -> Body:
    attributes = {
        "type": {"string": "gpu"},
        "model": {"string": "A100-SXM4-80GB"},
        "index": {"int": index},
        "numa": {"int": index // 4},
        "driverVersion": {"version": "570.86.15"},
    }
    capacity = {
        "memory": {"value": f"{_MEMORY}Gi"},
        "multiprocessors": {"value": str(_PROCESSORS)},
    }
    return {"name": f"gpu-{index}", "attributes": attributes, "capacity": capacity, **parts}


def _partitionable_gpus() -> list[SliceContents]:
    """Eight GPUs with all partitions; the counters are listed in a slice of their own."""
    counters = [{"name": f"gpu-{index}", "counters": _counters(0, _PARTS)} for index in range(8)]
    halves = [
        [device for index in half for device in _partitions(index)]
        for half in (range(4), range(4, 8))
    ]
    return [
        SliceContents("gpu-counters", {"sharedCounters": counters}),
        *(
            SliceContents(f"gpu-{number}", {"devices": devices})
            for number, devices in enumerate(halves)
        ),
    ]


def _counters(start: int, parts: int, processors: int = _PROCESSORS) -> Body:
    memory = {f"memory-part-{part}": {"value": "1"} for part in range(start, start + parts)}
    return {"multiprocessors": {"value": str(processors)}, **memory}


def _partitions(index: int) -> list[Body]:
    """A GPU as a whole, and each profile at each place."""
    gpu = f"gpu-{index}"
    whole = [{"counterSet": gpu, "counters": _counters(0, _PARTS)}]
    return [
        _gpu(index, consumesCounters=whole),
        *(
            {
                "name": f"{gpu}-mig-{profile.name.replace('.', '-')}-{start}",
                "attributes": {
                    "type": {"string": "mig"},
                    "model": {"string": "A100-SXM4-80GB"},
                    "profile": {"string": profile.name},
                    "parent": {"string": gpu},
                    "index": {"int": index},
                },
                "capacity": {
                    "memory": {"value": f"{profile.memory}Gi"},
                    "multiprocessors": {"value": str(profile.processors)},
                },
                "consumesCounters": [
                    {
                        "counterSet": gpu,
                        "counters": _counters(start, profile.parts, profile.processors),
                    }
                ],
            }
            for profile in _PROFILES
            for start in profile.starts
        ),
    ]


def _nics() -> list[SliceContents]:
    policy = {"default": "1G", "validRange": {"min": "1G", "step": "1G"}}
    devices = [
        {
            "name": f"nic-{index}",
            "allowMultipleAllocations": True,
            "attributes": {"numa": {"int": index // 2}, "rdma": {"bool": True}},
            "capacity": {"bandwidth": {"value": "100G", "requestPolicy": policy}},
        }
        for index in range(4)
    ]
    return [SliceContents("nic", {"devices": devices})]


def _fpgas() -> list[SliceContents]:
    devices = [
        {
            "name": f"fpga-{index}",
            "attributes": {"model": {"string": "U250"}},
            "bindsToNode": True,
            "bindingConditions": [ATTACHED],
            "bindingFailureConditions": [ATTACH_FAILED],
        }
        for index in range(2)
    ]
    return [SliceContents("fpga", {"devices": devices})]


_WHOLE: Final = f'device.driver == "{GPU}" && device.attributes["{GPU}"].type == "gpu"'
_MIG: Final = f'device.driver == "{GPU}" && device.attributes["{GPU}"].type == "mig"'

TEMPLATES: Final[Mapping[str, DeviceTemplate]] = {
    template.name: template
    for template in (
        DeviceTemplate("8-a100", "8 × A100", GPU, {GPU: _WHOLE}, _gpus),
        DeviceTemplate(
            "8-a100-mig",
            "8 × A100 with MIG profiles",
            GPU,
            {GPU: _WHOLE, "mig.example.com": _MIG},
            _partitionable_gpus,
        ),
        DeviceTemplate("4-nics", "4 NICs", NIC, {NIC: f'device.driver == "{NIC}"'}, _nics),
        DeviceTemplate(
            "2-fpgas",
            "2 FPGAs, attached after 10 s",
            FPGA,
            {FPGA: f'device.driver == "{FPGA}"'},
            _fpgas,
            attach_seconds=10,
        ),
    )
}
#: driver -> seconds from the allocation until its binding conditions are true
ATTACH_SECONDS: Final[Mapping[str, float]] = {
    template.driver: template.attach_seconds
    for template in TEMPLATES.values()
    if template.attach_seconds is not None
}


def names_in(value: str) -> list[str]:
    """The templates that an annotation names; unknown names are left out."""
    names = dict.fromkeys(part.strip() for part in value.split(","))
    return [name for name in names if name in TEMPLATES]


def find_fault(names: Sequence[str]) -> str:
    """What is wrong with a choice of templates; "" for nothing."""
    unknown = [name for name in names if name not in TEMPLATES]
    if unknown:
        known = ", ".join(TEMPLATES)
        return f"{unknown[0]} is not a template of devices; there are {known}"
    drivers = [TEMPLATES[name].driver for name in names]
    if len(set(drivers)) < len(drivers):
        return "two templates have the same driver"
    return ""
