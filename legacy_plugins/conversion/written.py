"""The fields of configurations of earlier versions, typed, and how to read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from apps.scheduler.config.decoding import decode, field_names
from apps.scheduler.config.errors import Problems
from apps.scheduler.config.resource_args import ResourceSpec, UtilizationShapePoint
from apps.scheduler.config.types import (
    ExtenderManagedResource,
    ExtenderTLSConfig,
    PluginConfig,
    PluginSet,
)
from apps.scheduler.objects.meta import Int32, Int64

T = TypeVar("T")
Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OldProfile:
    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Any = None
    plugins: Mapping[str, PluginSet] = field(default_factory=dict)
    plugin_config: tuple[PluginConfig, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyConfigMap:
    namespace: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySource:
    file: PolicyFile | None = None
    config_map: PolicyConfigMap | None = None

    def __str__(self) -> str:
        if self.config_map is not None:
            return f"config map {self.config_map.namespace}/{self.config_map.name}"
        return f"file {self.file.path}" if self.file else "no source"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmSource:
    policy: PolicySource | None = None
    provider: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OldConfiguration:
    """KubeSchedulerConfiguration v1alpha1 to v1beta3, all their fields in one.

    Fields of type Any are copied unchanged, and checked with the v1 configuration.
    """

    api_version: str = ""
    kind: str = ""
    parallelism: Any = None
    percentage_of_nodes_to_score: Any = None
    pod_initial_backoff_seconds: Any = None
    pod_max_backoff_seconds: Any = None
    extenders: Any = None
    client_connection: Any = None
    leader_election: Mapping[str, Any] = field(default_factory=dict)
    enable_profiling: Any = None
    enable_contention_profiling: Any = None
    delay_cache_until_active: Any = None
    #: kube-scheduler took these as its flag --feature-gates
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    disable_preemption: bool = False
    profiles: tuple[OldProfile, ...] = ()
    # v1alpha1
    scheduler_name: str | None = None
    algorithm_source: AlgorithmSource = AlgorithmSource()
    hard_pod_affinity_symmetric_weight: Int32 | None = None
    bind_timeout_seconds: Int64 | None = None
    plugins: Mapping[str, PluginSet] = field(default_factory=dict)
    plugin_config: tuple[PluginConfig, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsPresence:
    labels: tuple[str, ...] = ()
    presence: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAffinity:
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAntiAffinity:
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPreference:
    label: str = ""
    presence: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioArguments:
    """Copied to the arguments of RequestedToCapacityRatio."""

    shape: Any = None
    resources: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateArgument:
    service_affinity: ServiceAffinity | None = None
    labels_presence: LabelsPresence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityArgument:
    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio_arguments: RatioArguments | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    name: str = ""
    argument: PredicateArgument = PredicateArgument()


@dataclass(frozen=True, slots=True, kw_only=True)
class Priority:
    name: str = ""
    weight: Int64 = 0
    argument: PriorityArgument = PriorityArgument()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyExtender:
    """An extender's fields by their names in a Policy; `http_timeout` is in nanoseconds."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = False
    tls_config: Mapping[str, Any] | None = None
    http_timeout: Int64 = 0
    node_cache_capable: bool = False
    managed_resources: tuple[Mapping[str, Any], ...] = ()
    ignorable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Policy v1. None for predicates or priorities means the default ones, () means none."""

    api_version: str = ""
    kind: str = ""
    predicates: tuple[Predicate, ...] | None = None
    priorities: tuple[Priority, ...] | None = None
    extenders: tuple[PolicyExtender, ...] = ()
    hard_pod_affinity_symmetric_weight: Int32 = 0
    always_check_all_predicates: bool = False
    feature_gates: Mapping[str, bool] = field(default_factory=dict)


class _Notes(Problems):
    """Collects faults; an unknown field results only in a note."""

    def __init__(self, note: Note) -> None:
        super().__init__()
        self._note = note

    def unknown_field(self, field: str, name: str) -> None:
        self._note(f"{field} does not exist in v1 and is left out")


def read_as(cls: type[T], body: Mapping[str, Any], note: Note, path: str = "") -> T:
    """`body` as a value of `cls`; raises ConfigError for values of the wrong type."""
    problems = _Notes(note)
    value = decode(cls, body, path, problems)
    problems.raise_if_any()
    return value


#: Policy's field names in lower case → in their original case.
_POLICY_FIELDS: Final = {
    name.lower(): name
    for cls in (
        Policy,
        Predicate,
        PredicateArgument,
        LabelsPresence,
        ServiceAffinity,
        ServiceAntiAffinity,
        LabelPreference,
        Priority,
        PriorityArgument,
        RatioArguments,
        UtilizationShapePoint,
        ResourceSpec,
        PolicyExtender,
        ExtenderTLSConfig,
        ExtenderManagedResource,
    )
    for name in field_names(cls)
}


def read_policy(body: Mapping[str, Any], note: Note) -> Policy:
    """Read a Policy, whose field names are case-insensitive."""
    return read_as(Policy, _fold_case(body), note)


def _fold_case(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_POLICY_FIELDS.get(str(k).lower(), str(k)): _fold_case(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_fold_case(item) for item in value]
    return value
