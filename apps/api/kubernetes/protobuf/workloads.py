"""The messages of `kubectl create deployment`, `create job` and `create quota`.

Of a pod's spec they contain the fields that these commands can set. Fields that only manifests set
(volumes, affinity, probes) are sent as JSON, and are rejected here like all unknown fields.
"""

from __future__ import annotations

from collections.abc import Mapping

WORKLOADS: Mapping[str, Mapping[int, tuple[str, str]]] = {
    "ResourceQuota": {1: ("metadata", "ObjectMeta"), 2: ("spec", "QuotaSpec"), 3: ("", "")},
    "QuotaSpec": {1: ("hard", "quantities"), 2: ("scopes", "[]str")},
    "Deployment": {1: ("metadata", "ObjectMeta"), 2: ("spec", "DeploymentSpec"), 3: ("", "")},
    "DeploymentSpec": {
        1: ("replicas", "int?"),
        2: ("selector", "LabelSelector"),
        3: ("template", "PodTemplate"),
        4: ("strategy", "DeploymentStrategy"),
        5: ("minReadySeconds", "int"),
        6: ("revisionHistoryLimit", "int?"),
        7: ("paused", "bool"),
        9: ("progressDeadlineSeconds", "int?"),
    },
    "DeploymentStrategy": {1: ("type", "str"), 2: ("rollingUpdate", "RollingUpdate")},
    "RollingUpdate": {1: ("maxUnavailable", "int-or-str"), 2: ("maxSurge", "int-or-str")},
    "Job": {1: ("metadata", "ObjectMeta"), 2: ("spec", "JobSpec"), 3: ("", "")},
    "JobSpec": {
        1: ("parallelism", "int?"),
        2: ("completions", "int?"),
        3: ("activeDeadlineSeconds", "int?"),
        4: ("selector", "LabelSelector"),
        5: ("manualSelector", "bool?"),
        6: ("template", "PodTemplate"),
        7: ("backoffLimit", "int?"),
        8: ("ttlSecondsAfterFinished", "int?"),
        9: ("completionMode", "str"),
        10: ("suspend", "bool?"),
    },
    "PodTemplate": {1: ("metadata", "ObjectMeta"), 2: ("spec", "PodSpec")},
    "PodSpec": {
        2: ("containers", "[]Container"),
        3: ("restartPolicy", "str"),
        4: ("terminationGracePeriodSeconds", "int?"),
        5: ("activeDeadlineSeconds", "int?"),
        6: ("dnsPolicy", "str"),
        7: ("nodeSelector", "map"),
        8: ("serviceAccountName", "str"),
        9: ("serviceAccount", "str"),
        10: ("nodeName", "str"),
        11: ("hostNetwork", "bool"),
        12: ("hostPID", "bool"),
        13: ("hostIPC", "bool"),
        16: ("hostname", "str"),
        17: ("subdomain", "str"),
        19: ("schedulerName", "str"),
        20: ("initContainers", "[]Container"),
        24: ("priorityClassName", "str"),
        25: ("priority", "int?"),
        29: ("runtimeClassName", "str"),
    },
    "Container": {
        1: ("name", "str"),
        2: ("image", "str"),
        3: ("command", "[]str"),
        4: ("args", "[]str"),
        5: ("workingDir", "str"),
        6: ("ports", "[]ContainerPort"),
        8: ("resources", "Resources"),
        13: ("terminationMessagePath", "str"),
        14: ("imagePullPolicy", "str"),
        16: ("stdin", "bool"),
        17: ("stdinOnce", "bool"),
        18: ("tty", "bool"),
        20: ("terminationMessagePolicy", "str"),
    },
    "ContainerPort": {
        1: ("name", "str"),
        2: ("hostPort", "int"),
        3: ("containerPort", "int"),
        4: ("protocol", "str"),
        5: ("hostIP", "str"),
    },
    "Resources": {1: ("limits", "quantities"), 2: ("requests", "quantities")},
    "Quantity": {1: ("string", "str")},
}
