"""Compare groups of pods with those of a real control plane, with the alpha gates of 1.36 on.

    python -m tools.truth.groups [--sequences 10] [--seed 1] [--without GATE ...]

The folder named by REAL_KUBERNETES, or ../shared/real beside the checkout, starts the real one with
its scheduler and its controllers; without it nothing is compared, and the output says so. Both get
the same nodes, running pods, groups, claims and deletions step by step, and come to rest after each
step. Then the pods of each group by node and message, the victims, the conditions of the groups and
the claims are compared: members of a group are alike, so that their names do not matter.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()

# ruff: noqa: E402
from apps.cluster.writes import Create, Delete
from apps.scheduler.config.loading import load
from apps.scheduler.decision import Decision
from apps.scheduler.plugins.registry import TABLE
from apps.studies.scenarios.memory.cluster import MemoryCluster
from apps.studies.scenarios.memory.memory_objects import object_kind
from tools.truth.servers import RealServer, control_plane
from tools.truth.table import OUTPUT, Row, heading, real_folder

Body = dict[str, Any]

GATES = (
    "GenericWorkload",
    "GangScheduling",
    "TopologyAwareWorkloadScheduling",
    "WorkloadAwarePreemption",
    "DRAWorkloadResourceClaims",
    "DRANodeAllocatableResources",
)
VERSIONS = {
    "Pod": "v1",
    "Node": "v1",
    "Namespace": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "PodGroup": "scheduling.k8s.io/v1alpha2",
    "ResourceClaim": "resource.k8s.io/v1",
    "ResourceSlice": "resource.k8s.io/v1",
    "DeviceClass": "resource.k8s.io/v1",
}
#: deleted in this order between two sequences
DELETED = ("Pod", "PodGroup", "ResourceClaim", "ResourceSlice", "Node")
PRIORITIES = {"p10": 10, "p50": 50, "p100": 100, "p1000": 1000}
_CLAIM = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
_STARTED = 1_700_000_000
#: A sequence differs if it differs in so many plays: the real scheduler draws among placements with
#: equal scores, and may overwrite a condition that it has just set.
_PLAYS = 3
#: The real ones are at rest when nothing has changed for so long.
_QUIET_SECONDS = 2.5
_MOST_SECONDS = 40.0
_BEAT_SECONDS = 10.0
READY = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
#: Ours complete the backoffs that kube-scheduler passes over.
_OUR_SECONDS = 300.0


class Sequence:
    """Steps of creations and deletions, from a seed."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.nodes = [f"n{number}" for number in range(self.dice.randint(5, 9))]
        # no two nodes are equally good
        weights = self.dice.sample(range(1, 101), len(self.nodes))
        self._preferred = [
            {"weight": weight, "preference": {"matchExpressions": [_is_named(name)]}}
            for name, weight in zip(self.nodes, weights, strict=True)
        ]
        self._running = 0

    def steps(self) -> Iterator[list[Body]]:
        """A body with `deleted` is the name of a pod to delete."""
        yield [*self._first()]
        for number in range(self.dice.randint(1, 3)):
            draw = self.dice.random() if number else 1.0
            if draw < 0.25:
                yield [self._node(f"new{number}", 8)]
            elif draw < 0.45 and self._running:
                yield [{"deleted": f"run{self.dice.randint(1, self._running)}"}]
            else:
                yield [*self._group(f"g{number}")]

    def _first(self) -> Iterator[Body]:
        for name, value in PRIORITIES.items():
            yield build("PriorityClass", name, value=value)
        yield build("DeviceClass", "gpu", spec={})
        # of no node: where members go that share devices of a node is a race (docs/differences.md)
        pool = {"name": "net", "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": f"gpu-{number}"} for number in range(2)]
        spec = {"driver": "gpu.example.com", "allNodes": True, "pool": pool, "devices": devices}
        yield build("ResourceSlice", "net", spec=spec)
        sizes = {name: self.dice.choice((2, 4, 6, 8)) for name in self.nodes}
        for name, size in sizes.items():
            yield self._node(name, size)
        if self.dice.random() < 0.3:
            return
        former = [f"low{number}" for number in range(self.dice.randint(0, 2))]
        for name in former:
            policy = self.dice.choice(({"basic": {}}, {"gang": {"minCount": 1}}))
            mode = self.dice.choice(("Pod", "PodGroup"))
            yield self._pod_group(name, self._priority(), policy, disruptionMode=mode)
        for name, size in sizes.items():
            free = size
            while free > 1 and self.dice.random() < 0.85:
                cpu = self.dice.choice((1, 2))
                free -= cpu
                self._running += 1
                group = self.dice.choice(["", *former])
                spec = {"nodeName": name, **_in_group(group)}
                yield _pod(f"run{self._running}", str(cpu), self._priority(), spec)

    def _group(self, name: str) -> Iterator[Body]:
        """The pods first: the group is tried when all of them are there."""
        dice = self.dice
        size, cpu = dice.randint(2, 6), dice.choice(("1", "1500m", "2", "3"))
        claims: Body = {}
        if dice.random() < 0.25:
            yield build("ResourceClaim", name, spec=_CLAIM)
            claims = {"resourceClaims": [{"name": "gpu", "resourceClaimName": name}]}
        priority = dice.choice(("p50", "p100", "p1000"))
        gang = {"gang": {"minCount": dice.randint(max(1, size - 2), size)}}
        spec: Body = {}
        if dice.random() < 0.4:
            spec["schedulingConstraints"] = {"topology": [{"key": "rack"}]}
        mode = dice.choice(("Pod", "PodGroup", ""))
        if mode:
            spec["disruptionMode"] = mode
        preferred = {"preferredDuringSchedulingIgnoredDuringExecution": self._preferred}
        affinity = {"affinity": {"nodeAffinity": preferred}}
        for number in range(size):
            more = {**_in_group(name), **affinity, **claims}
            yield _pod(f"{name}-{number}", cpu, priority, more)
        policy = gang if dice.random() < 0.8 else {"basic": {}}
        yield self._pod_group(name, priority, policy, **spec, **claims)

    def _priority(self) -> str:
        return self.dice.choice(("p10", "p50", "p100"))

    def _node(self, name: str, cpu: int) -> Body:
        capacity = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
        labels = {"kubernetes.io/hostname": name, "rack": f"r{self.dice.randint(0, 2)}"}
        status = {"capacity": capacity, "allocatable": capacity, "conditions": [READY]}
        return build("Node", name, labels=labels, spec={}, status=status)

    def _pod_group(self, name: str, priority: str, policy: Body, **spec: Any) -> Body:
        spec = {"schedulingPolicy": policy, "priorityClassName": priority, **spec}
        return build("PodGroup", name, spec=spec)


class Real:
    """The real control plane."""

    def __init__(self, server: RealServer) -> None:
        self._server = server
        self._created, self._beaten = 0, 0.0

    def play(self, steps: Iterable[list[Body]]) -> list[Body]:
        self._clean()
        return [self._step(step) for step in steps]

    def _step(self, step: list[Body]) -> Body:
        for body in step:
            if "deleted" in body:
                self._request("DELETE", "Pod", body["deleted"], {"gracePeriodSeconds": 0})
            else:
                self._request("POST", body["kind"], "", body)
                if body.get("spec", {}).get("nodeName") and body["kind"] == "Pod":
                    self._run(body["metadata"]["name"])
        return self._rest()

    def _rest(self) -> Body:
        """Wait until all nodes are Ready and nothing changes; pods with a node then run."""
        ends, before, since = time.monotonic() + _MOST_SECONDS, None, 0.0
        while time.monotonic() < ends:
            self._beat()
            state = describe({kind: self._list(kind) for kind in DELETED[:3]})
            if state != before:
                before, since = state, time.monotonic()
            elif any(map(_is_tainted_by_controllers, self._list("Node"))):
                since = time.monotonic()
            elif time.monotonic() - since > _QUIET_SECONDS:
                break
            time.sleep(0.2)
        for pod in self._list("Pod"):
            if pod["spec"].get("nodeName") and pod["status"].get("phase") == "Pending":
                self._run(pod["metadata"]["name"])
        assert before is not None
        return before

    def _beat(self) -> None:
        """Keep the nodes Ready, as their kubelets would."""
        if time.monotonic() - self._beaten < _BEAT_SECONDS:
            return
        self._beaten = time.monotonic()
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        for node in self._list("Node"):
            ready = [{**READY, "lastHeartbeatTime": now}]
            path = f"{node['metadata']['name']}/status"
            self._request("PATCH", "Node", path, {"status": {"conditions": ready}})

    def _run(self, name: str) -> None:
        self._created += 1
        started = datetime.fromtimestamp(_STARTED + self._created, UTC).isoformat()
        status = {"phase": "Running", "startTime": started.replace("+00:00", "Z")}
        self._request("PATCH", "Pod", f"{name}/status", {"status": status})

    def _list(self, kind: str) -> list[Body]:
        return list(self._request("GET", kind).get("items", ()))

    def _clean(self) -> None:
        while left := [(kind, each) for kind in DELETED for each in self._list(kind)]:
            for kind, body in left:
                name = body["metadata"]["name"]
                if body["metadata"].get("finalizers"):
                    self._request("PATCH", kind, name, {"metadata": {"finalizers": None}})
                self._request("DELETE", kind, name, {"gracePeriodSeconds": 0})

    def _request(self, method: str, kind: str, name: str = "", body: Body | None = None) -> Body:
        known_kind = object_kind(VERSIONS[kind], kind)
        root = "/apis" if known_kind.group else "/api"
        place = "/namespaces/default" if known_kind.namespaced else ""
        path = (
            f"{root}/{known_kind.api_version}{place}/{known_kind.plural}{'/' if name else ''}{name}"
        )
        form = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": "Bearer real", "Content-Type": form}
        data = json.dumps(body).encode() if body is not None else b""
        status, _, raw = self._server.request(method, path, data, headers, streamed=False)
        if status >= 300 and status not in (404, 409):
            raise RuntimeError(f"{method} {path}: {status} {raw.decode()}")
        return dict(json.loads(raw))


def play_ours(
    seed: int,
    config: Body,
    steps: Iterable[list[Body]],
    on_decision: Callable[[Decision], None] = lambda decision: None,
) -> list[Body]:
    """The states after the steps; ``config`` is what a configuration says beside its kind."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **config,
    }
    start = datetime.fromtimestamp(_STARTED, UTC)
    cluster = MemoryCluster(load(config, TABLE), start=start, seed=seed, tie_break="first-name")
    cluster.on_decision = on_decision
    _create(cluster, build("Namespace", "default"))
    states = []
    for step in steps:
        for body in step:
            if "deleted" in body:
                kind, options = object_kind("v1", "Pod"), {"gracePeriodSeconds": 0}
                cluster.write_if_present(Delete(kind, "default", body["deleted"], options))
            else:
                _create(cluster, body)
        _advance(cluster, _OUR_SECONDS)
        lists = {kind: cluster.objects.list_all(_kind(kind)) for kind in DELETED[:3]}
        states.append(describe(lists))
    cluster.close()
    return states


def _create(cluster: MemoryCluster, body: Body) -> None:
    if body["kind"] == "Pod":
        # each starts, or waits, from a time of its own
        _advance(cluster, 1 if "nodeName" in body["spec"] else 0.001)
    kind = _kind(body["kind"])
    namespace = "default" if kind.namespaced else ""
    # the world keeps the body
    cluster.write([Create(kind, json.loads(json.dumps(body)), namespace)])


def _advance(cluster: MemoryCluster, seconds: float) -> None:
    until = cluster.elapsed + seconds
    cluster.settle()
    while (at := cluster.next_time()) is not None and at <= until:
        cluster.jump(at)
        cluster.settle()
    cluster.jump(until)


def _kind(name: str) -> Any:
    return object_kind(VERSIONS[name], name)


def describe(lists: dict[str, list[Body]]) -> Body:
    """What is compared, by the names of groups, and of pods without one."""
    placed = {
        group["metadata"]["name"]
        for group in lists["PodGroup"]
        if group["spec"].get("schedulingConstraints")
    }
    state: dict[str, list[Any]] = {}
    for pod in lists["Pod"]:
        name = pod["metadata"]["name"]
        group = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName", "")
        node = pod["spec"].get("nodeName", "")
        status = pod.get("status") or {}
        said = None if node else _condition(status, "PodScheduled")
        # which placement comes first is random in reality
        entry = [node, group in placed or said, not node and status.get("nominatedNodeName", "")]
        is_alone = name.startswith("run") or not group
        state.setdefault(f"pods {name if is_alone else group}", []).append(entry)
    for group in lists["PodGroup"]:
        condition = _condition(group.get("status") or {}, "PodGroupScheduled")
        state[f"group {group['metadata']['name']}"] = [condition]
    for claim in lists["ResourceClaim"]:
        status = claim.get("status") or {}
        devices = (status.get("allocation") or {}).get("devices") or {}
        results = [[each["pool"], each["device"]] for each in devices.get("results") or ()]
        owners = [owner["kind"] for owner in claim["metadata"].get("ownerReferences") or ()]
        users = sorted(each["resource"] for each in status.get("reservedFor") or ())
        state.setdefault("claims", []).append([owners, users, results])
    return {name: sorted(entries, key=json.dumps) for name, entries in sorted(state.items())}


def _condition(status: Body, type_: str) -> list[str] | None:
    for condition in status.get("conditions") or ():
        if condition["type"] == type_:
            return [condition.get(name, "") for name in ("status", "reason", "message")]
    return None


def build(kind: str, name: str, labels: dict[str, str] | None = None, **fields: Any) -> Body:
    metadata = {"name": name, "labels": labels or {}}
    return {"apiVersion": VERSIONS[kind], "kind": kind, "metadata": metadata, **fields}


def _pod(name: str, cpu: str, priority: str, spec: Body) -> Body:
    container: Body = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    if claims := spec.get("resourceClaims"):
        container["resources"]["claims"] = [{"name": claims[0]["name"]}]
    own = {"containers": [container], "priorityClassName": priority}
    return build("Pod", name, spec={**own, "terminationGracePeriodSeconds": 0, **spec})


def _is_tainted_by_controllers(node: Body) -> bool:
    return any("node.kubernetes.io/" in each["key"] for each in node["spec"].get("taints", ()))


def _in_group(group: str) -> Body:
    return {"schedulingGroup": {"podGroupName": group}} if group else {}


def _is_named(name: str) -> Body:
    return {"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}


def main() -> int:
    options = _parser().parse_args()
    scripts = real_folder()
    if not (scripts / "start").exists():
        print(f"NOTHING WAS COMPARED: {scripts / 'start'} does not exist (set REAL_KUBERNETES)")
        return 0
    gates = [gate for gate in GATES if gate not in options.without]
    on = ",".join(f"{gate}=true" for gate in gates)
    flags = ("--scheduler", "--controllers", "--gates", on)
    row = Row("groups of pods, in steps")
    with control_plane(
        scripts, OUTPUT / "groups", *flags, "--api-flags", "--runtime-config=api/all=true"
    ) as server:
        for seed in range(options.seed, options.seed + options.sequences):
            steps = [*Sequence(seed).steps()]
            ours = play_ours(seed, {"featureGates": dict.fromkeys(gates, True)}, steps)
            for _ in range(_PLAYS):
                real = Real(server).play(steps)
                if real == ours:
                    break
            row.compared += len(steps)
            if real != ours:
                row.differing += [
                    f"sequence {seed}, step {number}"
                    for number, (theirs, mine) in enumerate(zip(real, ours, strict=True))
                    if theirs != mine
                ]
                print_difference(seed, real, ours)
            print(f"sequence {seed}: {len(steps)} steps", flush=True)
    print(heading("what"))
    print(row)
    return row.save("groups")


def print_difference(seed: int, real: list[Body], ours: list[Body]) -> None:
    pairs = enumerate(zip(real, ours, strict=True))
    step, (expected, actual) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
    for name in sorted(expected.keys() | actual.keys()):
        if expected.get(name) != actual.get(name):
            print(f"sequence {seed}, step {step}, {name}:")
            print(f"  real {json.dumps(expected.get(name))}")
            print(f"  ours {json.dumps(actual.get(name))}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.truth.groups")
    parser.add_argument("--sequences", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without", nargs="*", choices=GATES, default=[], metavar="GATE")
    return parser


if __name__ == "__main__":
    sys.exit(main())
