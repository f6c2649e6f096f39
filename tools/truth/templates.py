"""Random pods and workloads as users write them, with most fields left out."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

Body = dict[str, Any]

_REQUESTS: Final = {
    "cpu": ("100m", "0.5", "1", "1500m", "2000m"),
    "memory": ("64Mi", "1G", "1.5Gi", "128974848"),
    "ephemeral-storage": ("1Gi",),
    "example.com/gpu": ("1", "2"),
    "hugepages-2Mi": ("2Mi", "4Mi"),
}
_SELECTOR: Final = {"matchLabels": {"app": "a"}}


class Templates:
    """Draws pods and workloads from a seed."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self._number = 0

    def pod(self) -> Body:
        return {"apiVersion": "v1", "kind": "Pod", **self._template()}

    def workload(self) -> Body:
        return self.dice.choice(
            (self._deployment, self._stateful_set, self._daemon_set, self._job, self._cron_job)
        )()

    def _odds(self, share: float) -> bool:
        return self.dice.random() < share

    def _some(self, share: float, **fields: Callable[[], Any]) -> Body:
        return {name: draw() for name, draw in fields.items() if self._odds(share)}

    def _metadata(self) -> Body:
        self._number += 1
        return {"name": f"w{self._number}", "namespace": "default", "labels": {"app": "a"}}

    # -- workloads -----------------------------------------------------------------------------

    def _workload(self, version: str, kind: str, spec: Body) -> Body:
        return {"apiVersion": version, "kind": kind, "metadata": self._metadata(), "spec": spec}

    def _always(self) -> Body:
        template = self._template()
        for name in ("restartPolicy", "activeDeadlineSeconds"):
            template["spec"].pop(name, None)
        return {"selector": _SELECTOR, "template": template}

    def _deployment(self) -> Body:
        dice = self.dice
        rolling = self._some(0.5, maxSurge=lambda: "30%", maxUnavailable=lambda: 1)
        strategies = ({"type": "Recreate"}, {"rollingUpdate": rolling}, {"type": "RollingUpdate"})
        more = self._some(
            0.3,
            replicas=lambda: dice.randint(0, 3),
            strategy=lambda: dice.choice(strategies),
            revisionHistoryLimit=lambda: 3,
            progressDeadlineSeconds=lambda: 60,
            paused=lambda: True,
        )
        return self._workload("apps/v1", "Deployment", {**self._always(), **more})

    def _stateful_set(self) -> Body:
        claim = {
            "metadata": {"name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
        retention = self._some(0.5, whenDeleted=lambda: "Delete", whenScaled=lambda: "Delete")
        updates: tuple[Body, ...] = (
            {"type": "OnDelete"},
            {"rollingUpdate": {}},
            {"rollingUpdate": {"partition": 1}},
        )
        more = self._some(
            0.4,
            serviceName=lambda: "s",
            podManagementPolicy=lambda: "Parallel",
            updateStrategy=lambda: self.dice.choice(updates),
            volumeClaimTemplates=lambda: [claim],
            persistentVolumeClaimRetentionPolicy=lambda: retention,
            ordinals=lambda: {"start": 1},
        )
        return self._workload("apps/v1", "StatefulSet", {**self._always(), **more})

    def _daemon_set(self) -> Body:
        updates: tuple[Body, ...] = ({"type": "OnDelete"}, {"rollingUpdate": {"maxSurge": 1}}, {})
        more = self._some(
            0.4, updateStrategy=lambda: self.dice.choice(updates), minReadySeconds=lambda: 5
        )
        return self._workload("apps/v1", "DaemonSet", {**self._always(), **more})

    def _job_spec(self) -> Body:
        template = self._template()
        template["spec"]["restartPolicy"] = self.dice.choice(("Never", "OnFailure"))
        indexed = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}
        spec = self._some(
            0.3,
            backoffLimit=lambda: 2,
            suspend=lambda: True,
            ttlSecondsAfterFinished=lambda: 10,
            activeDeadlineSeconds=lambda: 100,
            parallelism=lambda: 2,
            podReplacementPolicy=lambda: "Failed",
        )
        return {**spec, **(indexed if self._odds(0.3) else {}), "template": template}

    def _job(self) -> Body:
        return self._workload("batch/v1", "Job", self._job_spec())

    def _cron_job(self) -> Body:
        more = self._some(
            0.3,
            timeZone=lambda: "Etc/UTC",
            concurrencyPolicy=lambda: "Forbid",
            suspend=lambda: True,
            successfulJobsHistoryLimit=lambda: 1,
        )
        spec = {"schedule": "*/5 * * * *", "jobTemplate": {"spec": self._job_spec()}, **more}
        return self._workload("batch/v1", "CronJob", spec)

    # -- pods ----------------------------------------------------------------------------------

    def _template(self) -> Body:
        dice = self.dice
        volumes = [
            {"name": f"v{number}", **dice.choice(_VOLUMES)} for number in range(dice.randint(0, 3))
        ]
        mounts = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in volumes]
        containers = [self._container(f"c{n}", mounts) for n in range(dice.randint(1, 3))]
        spec: Body = {"containers": containers, **({"volumes": volumes} if volumes else {})}
        spec |= self._some(
            0.2,
            initContainers=self._init_containers,
            tolerations=lambda: [dice.choice(_TOLERATIONS)],
            topologySpreadConstraints=lambda: [self._spread()],
            affinity=self._affinity,
            securityContext=lambda: dice.choice(({}, {"runAsUser": 1}, {"fsGroup": 2})),
            priorityClassName=lambda: dice.choice(
                ("system-node-critical", "system-cluster-critical")
            ),
            restartPolicy=lambda: dice.choice(("Always", "Never", "OnFailure")),
            terminationGracePeriodSeconds=lambda: dice.choice((0, 5)),
            activeDeadlineSeconds=lambda: 100,
            nodeSelector=lambda: {"disk": "ssd"},
            serviceAccountName=lambda: "default",
            automountServiceAccountToken=lambda: False,
            shareProcessNamespace=lambda: dice.choice((True, False)),
            enableServiceLinks=lambda: False,
            dnsPolicy=lambda: dice.choice(("Default", "ClusterFirstWithHostNet")),
            dnsConfig=lambda: {"options": [{"name": "ndots", "value": "2"}]},
            hostAliases=lambda: [{"ip": "10.0.0.1", "hostnames": ["a"]}],
            schedulingGates=lambda: [{"name": "example.com/gate"}],
            readinessGates=lambda: [{"conditionType": "example.com/ready"}],
            preemptionPolicy=lambda: "PreemptLowerPriority",
            setHostnameAsFQDN=lambda: True,
            hostname=lambda: "h",
            hostPID=lambda: True,
            hostUsers=lambda: dice.choice((True, False)),
            hostNetwork=lambda: True,
            os=lambda: {"name": "linux"},
            imagePullSecrets=lambda: [{"name": "s"}],
            resourceClaims=lambda: [{"name": "r", "resourceClaimName": "rc"}],
            resources=lambda: {"requests": {"cpu": "8", "memory": "16Gi"}},
        )
        if spec.get("hostPID"):
            spec.pop("shareProcessNamespace", None)
        if spec.get("hostNetwork") or spec.get("hostPID"):
            spec.pop("hostUsers", None)
        return {"metadata": self._metadata(), "spec": spec}

    def _init_containers(self) -> list[Body]:
        sidecar = {"restartPolicy": "Always"} if self._odds(0.5) else {}
        first = self._container("i", [])
        if not sidecar:
            for name in ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"):
                first.pop(name, None)
        return [{**first, **sidecar}]

    def _container(self, name: str, mounts: list[Body]) -> Body:
        dice = self.dice
        images = ("a", "a:v1", "a:latest", "r.io/a@sha256:" + "0" * 64, "r.io:5000/a")
        container: Body = {"name": name, "image": dice.choice(images)}
        if mounts:
            container["volumeMounts"] = [
                {**each, **self._some(0.2, readOnly=lambda: True)} for each in mounts
            ]
        container |= self._some(
            0.25,
            resources=self._resources,
            ports=lambda: [self._port()],
            livenessProbe=lambda: self._probe(once=True),
            readinessProbe=lambda: self._probe(once=False),
            startupProbe=lambda: self._probe(once=True),
            lifecycle=lambda: {"preStop": {"httpGet": {"port": 80}}},
            imagePullPolicy=lambda: dice.choice(("Always", "Never", "IfNotPresent")),
            env=self._environment,
            envFrom=lambda: [{"configMapRef": {"name": "c"}}],
            securityContext=lambda: dice.choice(
                ({"runAsNonRoot": True}, {"procMount": "Default"}, {})
            ),
            terminationMessagePolicy=lambda: "FallbackToLogsOnError",
            workingDir=lambda: "/w",
            command=lambda: ["sleep"],
            tty=lambda: True,
            resizePolicy=lambda: [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
        )
        return container

    def _resources(self) -> Body:
        dice = self.dice
        names = dice.sample([*_REQUESTS], dice.randint(1, 3))
        if "hugepages-2Mi" in names and "cpu" not in names:
            names.append("cpu")
        limits = {name: dice.choice(_REQUESTS[name]) for name in names}
        lower = {n: v for n, v in limits.items() if self._odds(0.5)}
        both = {"limits": limits, "requests": lower}
        whole = all("/" not in name and "huge" not in name for name in names)
        return dice.choice((both, {"limits": limits}, {"requests": limits} if whole else both))

    def _port(self) -> Body:
        number = self.dice.randint(80, 90)
        return {"containerPort": number} | self._some(
            0.3,
            name=lambda: f"p{number}",
            protocol=lambda: self.dice.choice(("TCP", "UDP")),
            hostIP=lambda: "127.0.0.1",
        )

    def _probe(self, *, once: bool) -> Body:
        probes: tuple[Body, ...] = (
            {"httpGet": {"port": 80}},
            {"httpGet": {"port": "http", "path": "/x", "scheme": "HTTPS"}},
            {"tcpSocket": {"port": 80}},
            {"exec": {"command": ["x"]}},
            {"grpc": {"port": 80}},
        )
        more = self._some(0.3, periodSeconds=lambda: 3, failureThreshold=lambda: 2)
        if not once:
            more |= self._some(0.3, successThreshold=lambda: 2)
        return {**self.dice.choice(probes), **more}

    def _environment(self) -> list[Body]:
        sources: tuple[Body, ...] = (
            {"fieldRef": {"fieldPath": "metadata.name"}},
            {"resourceFieldRef": {"resource": "limits.cpu"}},
            {"secretKeyRef": {"name": "s", "key": "k"}},
        )
        return [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": self.dice.choice(sources)}]

    def _spread(self) -> Body:
        return {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": self.dice.choice(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": _SELECTOR,
        } | self._some(
            0.4,
            matchLabelKeys=lambda: ["hash"],
            nodeTaintsPolicy=lambda: "Honor",
            nodeAffinityPolicy=lambda: "Ignore",
        )

    def _affinity(self) -> Body:
        term: Body = {"topologyKey": "zone", "labelSelector": _SELECTOR}
        if self._odds(0.4):
            term |= {"matchLabelKeys": ["app"]}
        key = {"key": "disk", "operator": "Exists"}
        preferred = [{"weight": 3, "preference": {"matchExpressions": [key]}}]
        return self.dice.choice(
            (
                {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
                {
                    "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 5, "podAffinityTerm": term}
                        ]
                    }
                },
                {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
            )
        )


_TOLERATIONS: Final[tuple[Body, ...]] = (
    {"operator": "Exists"},
    {"key": "k", "value": "v"},
    {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
)
_VOLUMES: Final[tuple[Body, ...]] = (
    {},
    {"emptyDir": {}},
    {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
    {"hostPath": {"path": "/x"}},
    {"secret": {"secretName": "s"}},
    {"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
    {"configMap": {"name": "c", "defaultMode": 256, "optional": True}},
    {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    {"persistentVolumeClaim": {"claimName": "c"}},
    {"csi": {"driver": "csi.example.com"}},
    {"nfs": {"server": "s", "path": "/p"}},
    {"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:a", "lun": 0}},
    {"azureDisk": {"diskName": "d", "diskURI": "https://a"}},
    {"image": {"reference": "r.io/a:v1"}},
    {
        "ephemeral": {
            "volumeClaimTemplate": {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                }
            }
        }
    },
)
