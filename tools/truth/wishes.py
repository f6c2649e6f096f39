"""What else the nodes and pods of a random cluster have, by feature.

A feature is the name of a method: of `NodeWishes`, of `PodWishes`, or of both.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final

Body = dict[str, Any]

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REGION, HASH = "topology.kubernetes.io/region", "hash"
#: Namespaces by name, with their labels.
NAMESPACES: Final[dict[str, dict[str, str]]] = {
    "default": {"team": "a"},
    "red": {"team": "a", "tier": "front"},
    "blue": {"team": "b"},
    "plain": {},
}
_APPS = ("web", "db", "batch")
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


class _Wishes:
    """Applies what the features of a cluster say, each drawn with its dice."""

    def __init__(self, dice: random.Random, features: frozenset[str]) -> None:
        self.dice = dice
        self._chosen: list[Callable[[Body, bool], None]] = [
            getattr(self, name) for name in sorted(features) if hasattr(self, name)
        ]

    def apply(self, body: Body, *, running: bool = False) -> None:
        for wish in self._chosen:
            wish(body, running)

    def _odds(self, share: float) -> bool:
        return self.dice.random() < share

    def _some(self, choices: Sequence[Any], least: int = 1) -> list[Any]:
        return self.dice.sample(choices, self.dice.randint(least, len(choices)))


class NodeWishes(_Wishes):
    def manyimages(self, node: Body, running: bool) -> None:
        images = []
        for number in range(60):
            if self._odds(0.3):
                name, size = f"reg.io/app{number}", 15_000_000 * (number * 7 % 90 + 1)
                names = [f"{name}:v1", f"{name}@sha256:{number:064x}"]
                names += [f"{name}:latest"] if number % 3 == 0 else []
                images.append({"names": names, "sizeBytes": size})
        node["status"]["images"] = images

    def declared(self, node: Body, running: bool) -> None:
        known = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport")
        node["status"]["declaredFeatures"] = sorted(self._some(known, 0))

    def terms(self, node: Body, running: bool) -> None:
        labels = node["metadata"]["labels"]
        labels["size"] = self.dice.choice(("1", "5", "10", "-3", "big", "9223372036854775807"))
        if self._odds(0.5):
            labels[REGION] = self.dice.choice(("r0", "r1"))

    def scalars(self, node: Body, running: bool) -> None:
        allocatable = node["status"]["allocatable"]
        allocatable["hugepages-2Mi"] = self.dice.choice(("0", "64Mi", "256Mi"))
        allocatable["ephemeral-storage"] = self.dice.choice(("1Gi", "20Gi"))
        if self._odds(0.6):
            allocatable["example.com/card"] = self.dice.choice(("1", "4", "16"))
        if self._odds(0.6):
            allocatable["other.io/bits"] = self.dice.choice(("3", "100"))

    def spreadwide(self, node: Body, running: bool) -> None:
        if self._odds(0.6):
            node["metadata"]["labels"]["row"] = f"w{self.dice.randint(0, 2)}"


class PodWishes(_Wishes):
    def gates(self, pod: Body, running: bool) -> None:
        if not running and self._odds(0.3):
            names = self._some(("example.com/a", "example.com/b"))
            pod["spec"]["schedulingGates"] = [{"name": each} for each in names]

    def overhead(self, pod: Body, running: bool) -> None:
        if self._odds(0.6):
            amounts = {"cpu": self.dice.choice(("10m", "500m", "1")), "memory": "120Mi"}
            pod["spec"]["overhead"] = {name: amounts[name] for name in self._some([*amounts])}

    def hostips(self, pod: Body, running: bool) -> None:
        ports = [
            {
                "containerPort": 80,
                "hostPort": 8000 + self.dice.randint(0, 1),
                "protocol": self.dice.choice(("TCP", "UDP", "SCTP")),
                **self.dice.choice(
                    (
                        {},
                        {"hostIP": "0.0.0.0"},  # noqa: S104
                        {"hostIP": "127.0.0.1"},
                        {"hostIP": "10.0.0.1"},
                        {"hostIP": "::"},
                    )
                ),
            }
            for _ in range(self.dice.randint(0, 2))
        ]
        pod["spec"]["containers"][0]["ports"] = ports
        if self._odds(0.3):
            port = {"containerPort": 8001, "hostPort": 8001, "protocol": "TCP"}
            sidecar = {"restartPolicy": "Always"} if self._odds(0.5) else {}
            first = {"name": "i", "image": "i", **sidecar, "ports": [port], "resources": {}}
            pod["spec"]["initContainers"] = [first]

    def manyimages(self, pod: Body, running: bool) -> None:
        def image() -> str:
            number = self.dice.randint(0, 63)
            name = f"reg.io/app{number}"
            tails = (":v1", "", ":latest", f"@sha256:{number:064x}", ":v2")
            return name + self.dice.choice(tails)

        spec = pod["spec"]
        spec["containers"] = [
            {"name": f"c{number}", "image": image(), "resources": {}}
            for number in range(self.dice.randint(1, 5))
        ]
        if self._odds(0.4):
            spec["initContainers"] = [{"name": "i", "image": image(), "resources": {}}]
        if self._odds(0.3):
            spec["volumes"] = [{"name": "v", "image": {"reference": image()}}]

    def spreadwide(self, pod: Body, running: bool) -> None:
        pod["metadata"]["labels"][HASH] = self.dice.choice(("1", "2"))
        selectors = (
            {},
            {"matchLabels": {"app": self.dice.choice(_APPS)}},
            {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]},
            {"matchExpressions": [{"key": "hash", "operator": "Exists"}]},
            {"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]},
        )
        constraints: list[Body] = []
        for key in self.dice.sample((ZONE, HOSTNAME, "row", "rack", "no.such/key"), 3):
            if not self._odds(0.6):
                continue
            action = self.dice.choice(("DoNotSchedule", "ScheduleAnyway"))
            constraint: Body = {
                "maxSkew": self.dice.randint(1, 4),
                "topologyKey": key,
                "whenUnsatisfiable": action,
            }
            if action == "DoNotSchedule" and self._odds(0.4):
                constraint["minDomains"] = self.dice.randint(1, 6)
            for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
                if self._odds(0.5):
                    constraint[policy] = self.dice.choice(("Honor", "Ignore"))
            selector: Body = dict(self.dice.choice(selectors))
            if self._odds(0.9):
                constraint["labelSelector"] = selector
                if self._odds(0.3):
                    constraint["matchLabelKeys"] = [HASH]
                    chosen = [pod["metadata"]["labels"][HASH]]
                    match = {"key": HASH, "operator": "In", "values": chosen}
                    selector["matchExpressions"] = [*selector.get("matchExpressions", ()), match]
            constraints.append(constraint)
        if constraints:
            pod["spec"]["topologySpreadConstraints"] = constraints

    def namespaces(self, pod: Body, running: bool) -> None:
        metadata = pod["metadata"]
        metadata["namespace"] = self.dice.choice((*NAMESPACES, "unknown"))
        metadata["uid"] = f"{metadata['namespace']}/{metadata['name']}"
        metadata["labels"][HASH] = self.dice.choice(("1", "2"))
        affinity: Body = {}
        for kind in ("podAffinity", "podAntiAffinity"):
            if self._odds(0.5):
                affinity.setdefault(kind, {})[_PREFERRED] = [
                    {"weight": self.dice.randint(1, 100), "podAffinityTerm": self._term(metadata)}
                    for _ in range(self.dice.randint(1, 3))
                ]
            if self._odds(0.25):
                affinity.setdefault(kind, {})[_REQUIRED] = [
                    self._term(metadata) for _ in range(self.dice.randint(1, 2))
                ]
        if affinity:
            pod["spec"]["affinity"] = {**pod["spec"].get("affinity", {}), **affinity}

    def _term(self, metadata: Body) -> Body:
        dice = self.dice
        selector: Body = {"matchLabels": {"app": dice.choice(_APPS)}}
        term: Body = {"topologyKey": dice.choice((ZONE, HOSTNAME, "rack", "no.such/key"))}
        if self._odds(0.9):
            term["labelSelector"] = selector
            for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
                if self._odds(0.25) and "matchExpressions" not in selector:
                    term[field] = [HASH]
                    match = {"key": HASH, "operator": operator}
                    match["values"] = [metadata["labels"][HASH]]
                    selector["matchExpressions"] = [match]
        if self._odds(0.4):
            term["namespaces"] = self._some([*NAMESPACES])
        if self._odds(0.4):
            term["namespaceSelector"] = dice.choice(
                (
                    {},
                    {"matchLabels": {"team": "a"}},
                    {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]},
                )
            )
        return term

    def terms(self, pod: Body, running: bool) -> None:
        affinity: Body = {}
        if self._odds(0.5):
            terms = [self._node_term() for _ in range(self.dice.randint(1, 3))]
            affinity[_REQUIRED] = {"nodeSelectorTerms": terms}
        if self._odds(0.6):
            affinity[_PREFERRED] = [
                {"weight": self.dice.randint(1, 100), "preference": self._node_term()}
                for _ in range(self.dice.randint(1, 3))
            ]
        if affinity:
            pod["spec"]["affinity"] = {"nodeAffinity": affinity}
        if self._odds(0.2):
            pod["spec"]["nodeSelector"] = {"rack": f"r{self.dice.randint(0, 5)}"}

    def _node_term(self) -> Body:
        dice = self.dice
        expressions = (
            {"key": "size", "operator": dice.choice(("Gt", "Lt")), "values": ["4"]},
            {"key": "rack", "operator": "NotIn", "values": ["r1", "r2"]},
            {"key": REGION, "operator": dice.choice(("Exists", "DoesNotExist"))},
            {"key": ZONE, "operator": "In", "values": ["z0", "z1"]},
        )
        names = [f"n{dice.randint(0, 40):03}"]
        operator = dice.choice(("In", "In", "NotIn"))
        fields = [{"key": "metadata.name", "operator": operator, "values": names}]
        term: Body = {"matchExpressions": self._some(expressions, 0)}
        if self._odds(0.25):
            term["matchFields"] = fields
        return {name: value for name, value in term.items() if value}

    def scalars(self, pod: Body, running: bool) -> None:
        amounts = {
            "cpu": ("0", "1m", "1500m"),
            "memory": ("0", "1", "900M"),
            "ephemeral-storage": ("1Mi", "700Mi"),
            "hugepages-2Mi": ("2Mi", "32Mi"),
            "example.com/card": ("0", "1", "2"),
            "other.io/bits": ("1", "30"),
        }
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
            drawn = {name: self.dice.choice(amounts[name]) for name in self._some([*amounts], 0)}
            limits = {name: each for name, each in drawn.items() if "/" in name or "huge" in name}
            container["resources"] = {"requests": drawn, "limits": limits}

    def manysidecars(self, pod: Body, running: bool) -> None:
        pod["spec"]["initContainers"] = [
            {
                "name": f"i{number}",
                "image": "i",
                "resources": {
                    "requests": {
                        name: self.dice.choice(amounts)
                        for name, amounts in (
                            ("cpu", ("100m", "700m", "2")),
                            ("memory", ("50Mi", "2Gi")),
                        )
                        if self._odds(0.7)
                    }
                },
                **({"restartPolicy": "Always"} if self._odds(0.5) else {}),
            }
            for number in range(self.dice.randint(0, 4))
        ]

    def podlevelmore(self, pod: Body, running: bool) -> None:
        if self._odds(0.7):
            amounts = {"cpu": "2500m", "memory": "3Gi"}
            chosen = {name: amounts[name] for name in self._some([*amounts])}
            limits = {"limits": {name: chosen[name] for name in self._some([*chosen])}}
            # the API server completes requests from limits
            pod["spec"]["resources"] = {"requests": chosen, **(limits if self._odds(0.3) else {})}

    def declared(self, pod: Body, running: bool) -> None:
        spec = pod["spec"]
        if self._odds(0.3):
            spec["hostNetwork"], spec["hostUsers"] = True, self.dice.choice((True, False))
        if self._odds(0.3):
            rule = {
                "action": self.dice.choice(("Restart", "RestartAllContainers")),
                "exitCodes": {"operator": "In", "values": [3]},
            }
            container = spec["containers"][0]
            container["restartPolicy"], container["restartPolicyRules"] = "Never", [rule]

    def resizing(self, pod: Body, running: bool) -> None:
        """A pod whose resources differ from those that its node has given it."""
        if not running or self._odds(0.3):
            return
        given = {"cpu": self.dice.choice(("200m", "3")), "memory": "700Mi"}
        statuses = [
            {
                "name": each["name"],
                "ready": True,
                "restartCount": 0,
                "image": "x",
                "imageID": "x",
                **({"allocatedResources": given} if self._odds(0.6) else {}),
                **({"resources": {"requests": given}} if self._odds(0.7) else {}),
            }
            for each in pod["spec"]["containers"]
        ]
        pod["status"] = {**pod.get("status", {}), "phase": "Running", "containerStatuses": statuses}
        if self._odds(0.7):
            kind, reason = self.dice.choice(
                (
                    ("PodResizePending", "Deferred"),
                    ("PodResizePending", "Infeasible"),
                    ("PodResizeInProgress", ""),
                )
            )
            said = {"type": kind, "status": "True", **({"reason": reason} if reason else {})}
            pod["status"]["conditions"] = [said]
        if "resources" in pod["spec"] and self._odds(0.6):
            pod["status"]["allocatedResources"] = given
            pod["status"]["resources"] = {"requests": given}

    def stubborn(self, pod: Body, running: bool) -> None:
        """Pods that may not preempt, that end already, and that are below all others."""
        if not running:
            if self._odds(0.2):
                pod["spec"]["preemptionPolicy"] = "Never"
            return
        if self._odds(0.15):
            pod["metadata"]["deletionTimestamp"] = "2026-02-01T00:00:00Z"
            pod["metadata"]["deletionGracePeriodSeconds"] = 30
            if self._odds(0.5):
                reason = self.dice.choice(("PreemptionByScheduler", "EvictionByEvictionAPI"))
                said = {"type": "DisruptionTarget", "status": "True", "reason": reason}
                pod["status"] = {**pod.get("status", {}), "conditions": [said]}
        if self._odds(0.1):
            pod["spec"]["priority"] = -(2**31)

    def nominated(self, pod: Body, running: bool) -> None:
        if not running and self._odds(0.5):
            pod["status"] = {"nominatedNodeName": f"n{self.dice.randint(0, 31):03}"}

    def disks(self, pod: Body, running: bool) -> None:
        """Disks of which some may be used by one pod at a time."""
        number, reads = self.dice.randint(0, 7), {"readOnly": True} if self._odds(0.5) else {}
        target = {"targetPortal": "10.0.0.1:3260", "iqn": f"iqn.2001-04.com.example:{number}"}
        sources: tuple[Body, ...] = (
            {"gcePersistentDisk": {"pdName": f"pd{number}", **reads}},
            {"awsElasticBlockStore": {"volumeID": f"vol{number}", **reads}},
            {"iscsi": {**target, "lun": 0, **reads}},
            {"rbd": {"monitors": ["a", "b"], "image": f"i{number}", "pool": "rbd", **reads}},
            {"azureDisk": {"diskName": f"d{number}", "diskURI": "https://a"}},
            {"cinder": {"volumeID": f"c{number}"}},
            {"emptyDir": {}},
        )
        chosen = self.dice.sample(sources, self.dice.randint(0, 2))
        pod["spec"]["volumes"] = [{"name": f"d{n}", **each} for n, each in enumerate(chosen)]
