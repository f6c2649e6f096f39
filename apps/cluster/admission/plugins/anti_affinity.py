"""Plugin LimitPodHardAntiAffinityTopology: no pod can reserve a whole zone."""

from __future__ import annotations

from typing import Final

from apps.cluster.admission.draft import Body, forbidden
from apps.cluster.admission.plugins.plugin import AdmissionPlugin, Attributes, Parameters

_HOSTNAME: Final = "kubernetes.io/hostname"


def _limit(pod: Body, request: Attributes, parameters: Parameters) -> None:
    rules = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    for term in rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        key = term.get("topologyKey", "")
        if key != _HOSTNAME:
            why = (
                f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only "
                f"key {_HOSTNAME} is allowed"
            )
            raise forbidden("pods", pod["metadata"].get("name", ""), why)


LIMIT_POD_HARD_ANTI_AFFINITY_TOPOLOGY: Final = AdmissionPlugin(
    name="LimitPodHardAntiAffinityTopology",
    about="Required pod anti-affinity may only use the topology key kubernetes.io/hostname.",
    kind="Pod",
    validate=_limit,
)
