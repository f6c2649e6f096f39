"""The areas of the API: the groups of operations in its documentation, in reading order."""

from __future__ import annotations

from enum import Enum


class Area(Enum):
    """An area with its description. A view names its area in its attribute `area`."""

    CLUSTERS = (
        "Clusters",
        "Create, configure, pause and delete mock clusters. The objects in a cluster are served by "
        "its Kubernetes API, below `/k8s/{cluster}`.",
    )
    MEMBERS = (
        "Members",
        "Who sees a cluster, and the roles of users and groups in it: viewer, operator, admin.",
    )
    OBJECTS = ("Objects", "Import and export the objects of a cluster as YAML.")
    NODES = ("Nodes", "Work on nodes that takes more than one write.")
    QUEUE = (
        "Queue",
        "The pods that wait in the scheduling queue, how they moved in it, and their activation.",
    )
    DECISIONS = (
        "Decisions",
        "Every attempt to schedule a pod: the ledger, its groups, and its export. Decisions are "
        "retained after their pod is deleted.",
    )
    EXPLANATIONS = (
        "Explanations",
        "Why a pod was scheduled to a node, why not to another one, and why a pod is pending.",
    )
    LAB = (
        "Lab",
        "What would happen if: simulations, and questions about capacity. Nothing is written.",
    )
    PAST = (
        "Past",
        "The nodes, pods, usage and queue of a cluster at any version or time, and what differs "
        "between two moments.",
    )
    CHANGES = ("Changes", "The change log: who changed which object, with every version of it.")
    EVENTS = ("Events", "The events of a cluster, those that have expired as well.")
    PROFILES = (
        "Profiles",
        "The revisions of a cluster's KubeSchedulerConfiguration, drafts of new ones, and previews "
        "of what a configuration would decide.",
    )
    SERIES = ("Series", "Figures over time: pods, queue, attempts, utilization, durations.")
    OPERATIONS = (
        "Operations",
        "Long-running work: imports, exports, copies, drains and previews. The request that starts "
        "an operation is answered with 202; the operation reports its progress.",
    )
    HISTORY = (
        "History",
        "Deleted clusters whose decisions, changes and events are retained. Their lists are those "
        "of a present cluster, below the id of the deleted one.",
    )
    SAVED_VIEWS = ("Saved views", "Named filters, grouping and sorting of decisions.")
    WEBHOOKS = ("Webhooks", "Addresses that receive the events of a cluster.")
    USERS = (
        "Users",
        "Invite, deactivate and reset users; groups of users. For site admins.",
    )
    AUDIT = ("Audit", "Who did what, when, from where and with which token. For site admins.")
    ACCOUNT = ("Account", "The access tokens and the sessions of the user who sends the request.")

    def __init__(self, title: str, description: str) -> None:
        self.title = title
        self.description = description
