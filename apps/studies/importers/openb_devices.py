"""The GPUs of the openb trace as devices: each GPU can be shared, by thousandths.

A node publishes one device for each GPU, with its model as an attribute and a capacity of 1000
milli. Pods use ResourceClaimTemplates: as many GPUs as `num_gpu`, of each `gpu_milli`, and only of
the models in `gpu_spec`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

Body = dict[str, Any]

DRIVER: Final = "gpu.alibabacloud.com"
CAPACITY: Final = "milli"
CLAIM: Final = "gpu"


class GpuRequest(NamedTuple):
    """The GPUs that a pod requests."""

    gpus: int
    #: of each GPU, in thousandths
    milli: int
    #: the card models that it may have; empty for any
    models: Sequence[str] = ()

    @property
    def template(self) -> str:
        """The name of the template that all pods with this request share."""
        models = "".join(f"-{model.lower().replace('_', '-')}" for model in sorted(self.models))
        return f"gpu-{self.gpus}x{self.milli}{models}"


def build_class() -> Body:
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    return {"metadata": {"name": DRIVER}, "spec": {"selectors": [selector]}}


def build_slice(node: str, gpus: int, model: str) -> Body:
    """The devices of a node."""
    device: Body = {
        "allowMultipleAllocations": True,
        "attributes": {"model": {"string": model}} if model else {},
        "capacity": {CAPACITY: {"value": "1000"}},
    }
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"gpu-{index}", **device} for index in range(gpus)]
    return {
        "metadata": {"name": f"{node}-gpu"},
        "spec": {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices},
    }


def build_template(request: GpuRequest) -> Body:
    exactly: Body = {
        "deviceClassName": DRIVER,
        "count": request.gpus,
        "capacity": {"requests": {CAPACITY: str(request.milli)}},
    }
    if request.models:
        listed = ", ".join(f'"{model}"' for model in request.models)
        model = f'device.attributes["{DRIVER}"].model'
        exactly["selectors"] = [{"cel": {"expression": f"{model} in [{listed}]"}}]
    spec = {"devices": {"requests": [{"name": CLAIM, "exactly": exactly}]}}
    return {"metadata": {"name": request.template}, "spec": {"spec": spec}}


def use_devices(pod: Body, request: GpuRequest) -> None:
    """Let the pod's container use a claim of the template."""
    pod["spec"]["resourceClaims"] = [{"name": CLAIM, "resourceClaimTemplateName": request.template}]
    pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": CLAIM}]
