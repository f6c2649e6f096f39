"""KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1), typed: as written and as in effect.

Field defaults are upstream's defaults for an absent field. The classes named `Written…` hold the
values in the file; `Configuration` and `Profile` hold those in effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.scheduler.config.fields import Duration, described
from apps.scheduler.features import FeatureGates
from apps.scheduler.objects.meta import Int32, Int64

API_VERSION = "kubescheduler.config.k8s.io/v1"
KIND = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER_NAME = "default-scheduler"

#: The extension points of a profile in cycle order, under their names in the configuration.
EXTENSION_POINTS: tuple[str, ...] = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElection:
    """Validated, but without effect: the lease of a cluster selects the worker that schedules."""

    leader_elect: bool = True
    lease_duration: Duration = 15.0
    renew_deadline: Duration = 10.0
    retry_period: Duration = 2.0
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConnection:
    """Validated, but without effect: there is no remote API server."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: Int32 = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderTLSConfig:
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderManagedResource:
    name: str = described("", "An extended resource, such as example.com/gpu.")
    ignored_by_scheduler: bool = described(
        False, "NodeResourcesFit ignores this resource, in all profiles."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Extender:
    """An HTTP extender; an empty verb means that it does not provide that call."""

    url_prefix: str = described("", "Address to which the verbs are appended; http or https.")
    filter_verb: str = described(
        "", "Path of the filter call, which rejects nodes. Empty: the extender does not filter."
    )
    preempt_verb: str = described(
        "", "Path of the preempt call, which may remove candidates and change victims."
    )
    prioritize_verb: str = described(
        "", "Path of the prioritize call, which scores nodes from 0 to 10."
    )
    weight: Int64 = described(
        0, "Multiplies the scores of prioritize; greater than 0 if there is a prioritize verb."
    )
    bind_verb: str = described(
        "", "Path of the bind call, which replaces the Bind plugins; at most one extender binds."
    )
    enable_https: bool = described(
        False, "Connect with TLS even if the address begins with http.", json="enableHTTPS"
    )
    tls_config: ExtenderTLSConfig | None = described(None, "The TLS connection to the extender.")
    #: Upstream's extender client replaces an unset timeout by 5 s.
    http_timeout: Duration = described(
        5.0, "The longest duration of a call, from connecting to the last byte, such as 5s."
    )
    node_cache_capable: bool = described(
        False, "Send and expect the names of nodes instead of whole nodes."
    )
    managed_resources: tuple[ExtenderManagedResource, ...] = described(
        (), "Call the extender only for pods that request one of these extended resources."
    )
    ignorable: bool = described(
        False, "If a call fails, the attempt continues; such extenders are called last."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plugin named in a set; a weight of None or 0 means 1 wherever the plugin scores."""

    name: str = ""
    weight: Int32 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSet:
    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugins:
    """The plugin sets of a profile as written."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginConfig:
    """The arguments of one plugin as written; decoded by the plugin's name."""

    name: str = ""
    args: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenProfile:
    scheduler_name: str | None = described(
        None, "The profile schedules the pods whose spec.schedulerName is this name."
    )
    percentage_of_nodes_to_score: Int32 | None = described(
        None, "0 to 100, for this profile only. Empty: the value of the configuration."
    )
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenConfiguration:
    """A KubeSchedulerConfiguration document, decoded and with absent fields defaulted."""

    api_version: str = ""
    kind: str = ""
    parallelism: Int32 = described(
        16, "No effect here: scheduling uses columns over the nodes, not threads."
    )
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 | None = described(
        None,
        "0 to 100. Filtering stops when this share of the nodes is feasible. Empty or 0: adaptive, "
        "from 50 % down to 5 % in large clusters.",
    )
    pod_initial_backoff_seconds: Int64 = described(
        1, "How long a pod waits after its first failed attempt; doubled with each attempt."
    )
    pod_max_backoff_seconds: Int64 = described(10, "The longest time a pod waits in backoffQ.")
    profiles: tuple[WrittenProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
    #: kube-scheduler takes these as its flag --feature-gates
    feature_gates: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One scheduling profile with its plugins in effect.

    `plugins` maps each of EXTENSION_POINTS to plugin names in calling order; `score_weights` has
    the weight (≥ 1, or negative as written) of each plugin of `plugins["score"]`; `args` has the
    typed arguments of the plugins that take any, and the mapping as written of
    out-of-tree plugins.
    """

    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    #: Percent of the nodes; 0 = adaptive; None = the configuration's value applies.
    percentage_of_nodes_to_score: int | None = None
    plugins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    score_weights: Mapping[str, int] = field(default_factory=dict)
    args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def plugin_names(self) -> tuple[str, ...]:
        """Every plugin in effect at some extension point, once, in order of first appearance."""
        return tuple(dict.fromkeys(name for names in self.plugins.values() for name in names))

    def extension_points(self) -> dict[str, list[Any]]:
        """The plugins in effect as plain lists; the entries of ``score`` are [name, weight]."""
        table: dict[str, list[Any]] = {point: list(names) for point, names in self.plugins.items()}
        table["score"] = [[name, self.score_weights[name]] for name in self.plugins["score"]]
        return table


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What the scheduler runs with: validated, defaulted, profiles expanded."""

    profiles: tuple[Profile, ...]
    parallelism: int = 16
    #: Percent of the nodes to find feasible before scoring starts; None or 0 = adaptive.
    percentage_of_nodes_to_score: int | None = None
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    extenders: tuple[Extender, ...] = ()
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    delay_cache_until_active: bool = False
    #: the feature gates that are set, by name
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    #: True when plugins and arguments of earlier releases were allowed.
    legacy: bool = False

    @property
    def gates(self) -> FeatureGates:
        """The feature gates in effect."""
        return FeatureGates(self.feature_gates)

    def profile(self, scheduler_name: str) -> Profile | None:
        """The profile that schedules pods of this `spec.schedulerName`, None if there is none."""
        return next((p for p in self.profiles if p.scheduler_name == scheduler_name), None)
