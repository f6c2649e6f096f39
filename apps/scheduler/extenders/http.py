"""An extender that is called over HTTP: an entry of the configuration's ``extenders``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from time import perf_counter_ns
from typing import TypeVar

from apps.scheduler.config.types import Extender as ExtenderConfig
from apps.scheduler.extenders import wire
from apps.scheduler.extenders.bodies import ObjectBodies
from apps.scheduler.extenders.transport import Transport
from apps.scheduler.framework.extender import ExtenderError, ExtenderVerdict
from apps.scheduler.framework.extender_calls import ExtenderCall, ExtenderVerb, record_call
from apps.scheduler.framework.interface import Victims
from apps.scheduler.framework.node_columns import NodeColumns
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.objects import Container, Node
from apps.scheduler.outgoing.rules import OutgoingRules

T = TypeVar("T")


class ExtenderConfigError(ValueError):
    """An entry of ``extenders`` cannot be used; ``field`` is its path."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class HttpExtender:
    """See framework.extender for the contract of its methods.

    ``nodes`` is the table in which node names are looked up; ``bodies`` supplies the objects for an
    extender that is not nodeCacheCapable; ``rules`` say which addresses it may have. Raises
    ValueError for an invalid address or invalid TLS settings.
    """

    def __init__(
        self,
        config: ExtenderConfig,
        nodes: NodeColumns,
        bodies: ObjectBodies,
        *,
        rules: OutgoingRules,
        name: str = "",
    ) -> None:
        self.name = name or config.url_prefix
        self.is_ignorable = config.ignorable
        self.is_filter = bool(config.filter_verb)
        self.is_prioritizer = bool(config.prioritize_verb)
        self.is_binder = bool(config.bind_verb)
        self.supports_preemption = bool(config.preempt_verb)
        self.weight = config.weight
        self._config = config
        self._nodes = nodes
        self._bodies = bodies
        self._managed = frozenset(resource.name for resource in config.managed_resources)
        self._transport = Transport(
            config.url_prefix,
            timeout=config.http_timeout,
            enable_https=config.enable_https,
            tls=config.tls_config,
            rules=rules,
        )
        self._paths = {
            ExtenderVerb.FILTER: config.filter_verb,
            ExtenderVerb.PRIORITIZE: config.prioritize_verb,
            ExtenderVerb.PREEMPT: config.preempt_verb,
            ExtenderVerb.BIND: config.bind_verb,
        }

    def is_interested(self, pod: PodInfo) -> bool:
        """Whether a container requests one of managedResources; True if there are none."""
        spec = pod.pod.spec
        return (
            not self._managed
            or self._manages(spec.containers)
            or self._manages(spec.init_containers)
        )

    def _manages(self, containers: Iterable[Container]) -> bool:
        return any(
            not self._managed.isdisjoint(listed)
            for container in containers
            for listed in (container.resources.requests, container.resources.limits)
        )

    def filter(self, pod: PodInfo, nodes: Sequence[str]) -> ExtenderVerdict:
        def read(answer: bytes) -> ExtenderVerdict:
            result = wire.decode_filter(answer)
            if result.error:
                raise ExtenderError(result.error)
            return self._verdict(result, nodes)

        args = self._args(pod, nodes)
        return self._call(ExtenderVerb.FILTER, args, len(nodes), read, lambda v: v.feasible)

    def prioritize(self, pod: PodInfo, nodes: Sequence[str]) -> Mapping[str, int]:
        args = self._args(pod, nodes)
        return self._call(
            ExtenderVerb.PRIORITIZE, args, len(nodes), wire.decode_priorities, lambda scores: scores
        )

    def process_preemption(
        self, pod: PodInfo, candidates: Mapping[str, Victims]
    ) -> Mapping[str, Victims]:
        def read(answer: bytes) -> Mapping[str, Victims]:
            answered = wire.decode_preemption(answer)
            return {node: self._victims(node, victims) for node, victims in answered.items()}

        args = self._preemption_args(pod, candidates)
        return self._call(ExtenderVerb.PREEMPT, args, len(candidates), read, lambda left: left)

    def bind(self, pod: PodInfo, node: str) -> Status | None:
        """None if the extender has bound the pod."""

        def read(answer: bytes) -> tuple[str, ...]:
            if said := wire.decode_binding(answer):
                raise ExtenderError(said)
            return (node,)

        args = wire.encode_binding(name=pod.name, namespace=pod.namespace, uid=pod.uid, node=node)
        self._call(ExtenderVerb.BIND, args, 1, read, lambda bound: bound)
        return None

    def close(self) -> None:
        self._transport.close()

    # -- requests ------------------------------------------------------------------------------

    def _args(self, pod: PodInfo, nodes: Sequence[str]) -> bytes:
        (body,) = self._bodies("Pod", [pod.pod])
        if self._config.node_cache_capable:
            return wire.encode_args(body, names=nodes)
        known = [self._node(name) for name in nodes]
        return wire.encode_args(body, nodes=self._bodies("Node", known))

    def _preemption_args(self, pod: PodInfo, candidates: Mapping[str, Victims]) -> bytes:
        (body,) = self._bodies("Pod", [pod.pod])
        if self._config.node_cache_capable:
            by_uid = {
                node: wire.MetaVictims(
                    tuple(victim.uid for victim in victims.pods), victims.pdb_violations
                )
                for node, victims in candidates.items()
            }
            return wire.encode_preemption(body, meta_victims=by_uid)
        whole = {
            node: (
                self._bodies("Pod", [victim.pod for victim in victims.pods]),
                victims.pdb_violations,
            )
            for node, victims in candidates.items()
        }
        return wire.encode_preemption(body, victims=whole)

    def _call(
        self,
        verb: ExtenderVerb,
        args: bytes,
        nodes_in: int,
        read: Callable[[bytes], T],
        left: Callable[[T], Collection[str]],
    ) -> T:
        """Call the extender, read its answer, and record the call."""
        path = self._paths[verb]
        start = perf_counter_ns()
        nodes_out, error, has_objects = 0, "", False
        try:
            answer = read(self._transport.post(path, args))
            has_objects = isinstance(answer, ExtenderVerdict) and answer.has_objects
            nodes_out = len(left(answer))
        except wire.WireError as failure:
            error = str(failure)
            raise ExtenderError(error) from failure
        except ExtenderError as failure:
            error = str(failure)
            raise
        finally:
            took = perf_counter_ns() - start
            ignored = bool(error) and (self.is_ignorable or verb is ExtenderVerb.PRIORITIZE)
            url = self._transport.url(path)
            record_call(
                ExtenderCall(
                    self.name, url, verb, nodes_in, nodes_out, took, error, ignored, has_objects
                )
            )
        return answer

    # -- answers -------------------------------------------------------------------------------

    def _verdict(self, result: wire.FilterResult, asked: Sequence[str]) -> ExtenderVerdict:
        has_names = self._config.node_cache_capable and result.node_names is not None
        feasible = result.node_names if has_names else result.nodes
        known = frozenset(asked)
        for node in feasible or ():
            if node not in known:
                raise ExtenderError(
                    f'extender "{self._config.url_prefix}" claims a filtered node "{node}" which '
                    "is not found in the input node list"
                )
        return ExtenderVerdict(
            frozenset(feasible or ()),
            result.failed,
            result.failed_and_unresolvable,
            has_objects=not has_names,
        )

    def _victims(self, node: str, chosen: wire.MetaVictims) -> Victims:
        pods = {pod.uid: pod for pod in self._node_info(node).pods.values()}
        for uid in chosen.uids:
            if uid not in pods:
                # upstream prints a pointer to the pod's reference in place of its uid
                raise ExtenderError(
                    f"extender: {self._config.url_prefix} claims to preempt pod (UID: &{{{uid}}}) "
                    f"on node: {node}, but the pod is not found on that node"
                )
        return Victims(tuple(pods[uid] for uid in chosen.uids), chosen.pdb_violations)

    def _node(self, name: str) -> Node:
        node = self._node_info(name).node
        assert node is not None
        return node

    def _node_info(self, name: str) -> NodeInfo:
        row = self._nodes.row_of(name)
        if row < 0:
            raise ExtenderError(f'nodeinfo not found for node name "{name}"')
        return self._nodes.info(row)


def http_extenders(
    configs: Iterable[ExtenderConfig],
    nodes: NodeColumns,
    bodies: ObjectBodies,
    rules: OutgoingRules,
) -> list[HttpExtender]:
    """One for each entry, in order; entries of the same address are numbered.

    Raises ExtenderConfigError.
    """
    extenders: list[HttpExtender] = []
    names: set[str] = set()
    for index, config in enumerate(configs):
        name, number = config.url_prefix, 1
        while name in names:
            number += 1
            name = f"{config.url_prefix} ({number})"
        names.add(name)
        try:
            extenders.append(HttpExtender(config, nodes, bodies, rules=rules, name=name))
        except ValueError as problem:
            raise ExtenderConfigError(f"extenders[{index}]", str(problem)) from problem
    return extenders
