"""Let the real kube-scheduler schedule clusters of a site, and judge its agreement report.

    python -m tools.truth.guest [--pods 500 1500 5000] [--seed 1] [--show 20]

The folder named by REAL_KUBERNETES, or ../shared/real beside the checkout, has the unmodified
kube-scheduler; without it nothing is compared, and the output says so. A site of its own gets a
cluster for each number of pods, with scheduling by a client: pods with affinities, constraints,
volumes, devices and priorities, groups of pods, and pods that are deleted meanwhile. Each binding
of the guest has a second opinion of ours. What another order of decisions or an earlier state
explains counts as listed, a disagreement as differing, and what is not sampled as unanswered. A
deadlock of the database differs, too.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from bench.house.site import Cluster, OwnSite, own_site
from tools.truth.table import OUTPUT, Row, heading, real_folder

Body = dict[str, Any]

_GATES = {"GenericWorkload": True, "GangScheduling": True}
_PRIORITY = 1000
#: Members of a group.
_GANG = 4
#: Pods that are created with one request.
_CHUNK = 50
#: The guest is at rest when nothing has been bound for so long.
_QUIET_SECONDS = 20.0
_MOST_SECONDS = 1800.0
_POLL_SECONDS = 2.0
_EXPLAINED = ("order", "moved-on")
_AGREED = ("same-node", "tie", *_EXPLAINED)


class Story:
    """The objects of a cluster, from a seed."""

    def __init__(self, pods: int, seed: int) -> None:
        self._dice = random.Random(f"{seed}-{pods}")
        self._pods = pods

    def first(self) -> Iterator[Body]:
        """What exists before the guest starts."""
        for number in range(max(20, self._pods // 25)):
            yield self._node(number)
        yield _object("PriorityClass", "high", "scheduling.k8s.io/v1", value=_PRIORITY)
        for name, mode in (("late", "WaitForFirstConsumer"), ("early", "Immediate")):
            yield _object(
                "StorageClass",
                name,
                "storage.k8s.io/v1",
                provisioner="mock.example.com",
                volumeBindingMode=mode,
            )
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
        spec = {"spec": {"devices": {"requests": [request]}}}
        yield _object("ResourceClaimTemplate", "gpu", "resource.k8s.io/v1", spec=spec)

    def later(self) -> Iterator[list[Body]]:
        """What is created while it schedules, each as a unit."""
        for number in range(self._pods):
            draw, name = self._dice.random(), f"p{number}"
            if draw < 0.1:
                yield [*self._with_volume(name)]
            elif draw < 0.15:
                claims = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
                pod = self._pod(name, resourceClaims=claims)
                pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
                yield [pod]
            elif draw < 0.17:
                yield [*self._group(name)]
            elif draw < 0.3:
                # the nodes of this rack are too small for all of them
                urgent = {"priorityClassName": "high"} if self._dice.random() < 0.4 else {}
                yield [self._pod(name, "2", nodeSelector={"rack": "r0"}, **urgent)]
            else:
                yield [self._pod(name, **self._wishes())]

    def _node(self, number: int) -> Body:
        name, rack = f"n{number}", number % 10
        cpu = "4" if not rack else self._dice.choice(("16", "32", "64"))
        resources = {"cpu": cpu, "memory": f"{int(cpu) * 4}Gi", "pods": "110"}
        labels = {
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": f"z{number % 3}",
            "rack": f"r{rack}",
        }
        node = _object("Node", name, "v1", spec={}, labels=labels)
        if rack == 1:
            node["metadata"]["annotations"] = {"devices.schedweb.dev/templates": "8-a100"}
        if rack == 2:
            effect = self._dice.choice(("NoSchedule", "PreferNoSchedule"))
            node["spec"]["taints"] = [{"key": "special", "effect": effect}]
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        node["status"] = {"capacity": resources, "allocatable": resources, "conditions": [ready]}
        return node

    def _pod(self, name: str, cpu: str = "", **spec: Any) -> Body:
        requests = {
            "cpu": cpu or self._dice.choice(("50m", "100m", "250m", "500m", "1")),
            "memory": self._dice.choice(("64Mi", "256Mi", "1Gi")),
        }
        container = {"name": "c", "image": "i", "resources": {"requests": requests}}
        labels = {"app": self._dice.choice("abcdef")}
        return _object("Pod", name, "v1", spec={"containers": [container], **spec}, labels=labels)

    def _wishes(self) -> Body:
        """What a pod wants of its node."""
        selector = {"matchLabels": {"app": self._dice.choice("abcdef")}}
        zone = "topology.kubernetes.io/zone"
        spread = {"topologyKey": zone, "labelSelector": selector, "maxSkew": 5}
        term = {"topologyKey": self._dice.choice((zone, "rack")), "labelSelector": selector}
        weighted = [{"weight": self._dice.randint(1, 100), "podAffinityTerm": term}]
        preferred = "preferredDuringSchedulingIgnoredDuringExecution"
        wishes: tuple[Body, ...] = (
            {},
            {},
            {"tolerations": [{"key": "special", "operator": "Exists"}]},
            {"topologySpreadConstraints": [{**spread, "whenUnsatisfiable": "DoNotSchedule"}]},
            {"topologySpreadConstraints": [{**spread, "whenUnsatisfiable": "ScheduleAnyway"}]},
            {"affinity": {"podAffinity": {preferred: weighted}}},
            {"affinity": {"podAntiAffinity": {preferred: weighted}}},
            {"nodeSelector": {"rack": f"r{self._dice.randint(3, 9)}"}},
        )
        return self._dice.choice(wishes)

    def _with_volume(self, name: str) -> Iterator[Body]:
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": self._dice.choice(("late", "early")),
        }
        yield _object("PersistentVolumeClaim", name, "v1", spec=spec)
        yield self._pod(name, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}])

    def _group(self, name: str) -> Iterator[Body]:
        policy = {"schedulingPolicy": {"gang": {"minCount": _GANG}}}
        yield _object("PodGroup", name, "scheduling.k8s.io/v1alpha2", spec=policy)
        for member in range(_GANG):
            yield self._pod(f"{name}-{member}", schedulingGroup={"podGroupName": name})


def _object(
    kind: str, name: str, version: str, *, labels: dict[str, str] | None = None, **fields: Any
) -> Body:
    spaced = kind in ("Pod", "PodGroup", "PersistentVolumeClaim", "ResourceClaimTemplate")
    metadata: Body = {"name": name, **({"labels": labels} if labels else {})}
    metadata |= {"namespace": "default"} if spaced else {}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def main() -> int:
    options = _parser().parse_args()
    packed = real_folder() / "kube-scheduler.xz"
    if not packed.exists():
        print(f"NOTHING WAS COMPARED: {packed} does not exist (set REAL_KUBERNETES)")
        return 0
    program = _unpack(packed)
    with own_site("https") as site:
        rows = [_judge(site, program, pods, options) for pods in options.pods]
        rows[-1].differing += [f"deadlock: {line}" for line in _deadlocks(site)]
    print(heading("pods that the guest binds"))
    total = Row.of_all("total", rows)
    print(*rows, total, sep="\n")
    return total.save("guest")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.truth.guest")
    parser.add_argument("--pods", type=int, nargs="+", default=[500, 1500, 5000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20, help="opinions that do not agree at once")
    return parser


def _unpack(packed: Path) -> Path:
    program = OUTPUT / "guest" / "kube-scheduler"
    program.parent.mkdir(parents=True, exist_ok=True)
    if not program.exists():
        partial = program.with_suffix(".part")
        with lzma.open(packed) as source:
            partial.write_bytes(source.read())
        partial.chmod(0o755)
        partial.rename(program)
    return program


def _judge(site: OwnSite, program: Path, pods: int, options: argparse.Namespace) -> Row:
    """Let the guest schedule so many pods, and read the opinions about its bindings."""
    story, cluster = Story(pods, options.seed), site.create_cluster()
    root = f"/api/v1/clusters/{cluster.name}"
    site.address.call("PATCH", root, {"scheduling": "external"})
    gates = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "featureGates": _GATES,
    }
    text = {"configuration": json.dumps(gates), "activate": True}
    site.address.call("POST", f"{root}/profiles", text)
    cluster.import_objects([*story.first()])
    with _guest(site, cluster, program):
        units = story.later()
        while chunk := [body for unit in islice(units, _CHUNK) for body in unit]:
            cluster.import_objects(chunk)
        _wait(site, cluster, root)
    counts = site.address.call("GET", f"{root}/opinions/agreement")["counts"]
    compared = sum(counts.values()) - counts["not-sampled"]
    row = Row(f"{pods} pods", compared=compared, unanswered=counts["not-sampled"])
    row.listed = sum(counts[each] for each in _EXPLAINED)
    print(f"{pods} pods: {counts}")
    for verdict in counts.keys() - {*_AGREED, "not-sampled"}:
        if counts[verdict]:
            page = site.address.call("GET", f"{root}/opinions?verdict={verdict}&page_size=1000")
            for each in page["results"]:
                row.differing.append(f"{verdict}: {each['name']} on {each['guest_node']}")
                if len(row.differing) <= options.show:
                    print(f"  {row.differing[-1]}: {each['message']}")
    return row


@contextmanager
def _guest(site: OwnSite, cluster: Cluster, program: Path) -> Iterator[None]:
    """The scheduler as a client of the cluster, which elects itself as the leader."""
    folder = program.parent
    access = folder / "kubeconfig"
    access.write_text(site.running.manage("kubeconfig", cluster.name, "--user", "admin"))
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(access), "qps": 5000, "burst": 5000},
        # as the clusters of a site, so that both look at the same nodes
        "percentageOfNodesToScore": 100,
    }
    (folder / "scheduler.yaml").write_text(json.dumps(configuration))
    gates = ",".join(f"{name}=true" for name in _GATES)
    command = [program, "--config", folder / "scheduler.yaml", "--secure-port=0"]
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    with (folder / "log").open("wb") as log:
        guest = subprocess.Popen(
            [*command, f"--feature-gates={gates}"], stdout=log, stderr=log, env=kept
        )
        try:
            yield
            if guest.poll() is not None:
                raise RuntimeError(f"the guest has ended: {folder / 'log'}")
        finally:
            guest.terminate()
            guest.wait()


def _wait(site: OwnSite, cluster: Cluster, root: str) -> None:
    """Wait until the guest has tried all pods, and nothing more is bound and judged."""
    ends, before, since = time.monotonic() + _MOST_SECONDS, None, time.monotonic()
    while time.monotonic() < ends:
        pods = site.address.call("GET", f"{cluster.pods}?fieldSelector=spec.nodeName%3D")["items"]
        untried = sum("conditions" not in each["status"] for each in pods)
        counts = site.address.call("GET", f"{root}/opinions/agreement")["counts"]
        state = untried, len(pods), sum(counts.values())
        if state != before:
            before, since = state, time.monotonic()
        elif not untried and time.monotonic() - since > _QUIET_SECONDS:
            return
        time.sleep(_POLL_SECONDS)
    raise RuntimeError(f"the guest does not come to rest: {before}")


def _deadlocks(site: OwnSite) -> Iterator[str]:
    for log in (site.running.data / "log").glob("*"):
        for line in log.read_text(errors="replace").splitlines():
            if "deadlock detected" in line:
                yield line


if __name__ == "__main__":
    sys.exit(main())
