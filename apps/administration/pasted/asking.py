"""What is asked about a pasted cluster: what never fits, what is spare, what a profile saves.

The objects are imported like any others, into a cluster that exists in one transaction only. The
answers are those of the lab and of the pages about pending pods.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import transaction

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.clusters.manifests import import_texts
from apps.cluster.errors import BadRequest
from apps.cluster.manifests.text_files import Text
from apps.cluster.models import Cluster, Node, Pod
from apps.cluster.writes import Actor
from apps.engine.profiles.revisions import ALL_NODES
from apps.scheduler.config import ConfigError
from apps.studies.explanations.pending_pods import find_unblocking_changes
from apps.studies.explanations.prospects import PodProspect, Prospect, list_prospects
from apps.studies.lab.emptying import EmptiedNode, find_emptiable_nodes
from apps.studies.lab.simulation import SimulationRequest, simulate

#: Groups of pods of which it is computed what would help.
_MOST_EXPLAINED: Final = 20
#: Names that an answer lists of a group.
_MOST_NAMES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckPods:
    """Pods of a namespace that wait for the same reason."""

    namespace: str
    prospect: Prospect
    #: the proof, and the dominant reason
    sentence: str
    pods: int
    #: of the first pods
    names: Sequence[str]
    #: the plugins without which most nodes would pass the first pod; one: the sole obstacle
    obstacle: Sequence[str] = ()
    #: the number of those nodes
    obstacle_nodes: int = 0
    #: the smallest change that would help; empty if none was found
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class ProfileOutcome:
    """What a configuration would do with the cluster."""

    #: `kube-scheduler's defaults` or `the given configuration`
    configuration: str
    #: pending pods that it would place
    placed: int
    #: pending pods that it would not place
    not_placed: int
    #: nodes that could be emptied at the same time
    spare: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastedCluster:
    """The answers about one cluster; nothing is stored."""

    nodes: int
    pods: int
    pending: int
    #: what was left out or added when the objects were read
    notes: Sequence[str]
    #: pods that wait, the hopeless first
    stuck: Sequence[StuckPods]
    #: those with the fewest pods first, under the last one of `profiles`
    emptiable: Sequence[EmptiedNode]
    #: the defaults, then the given configuration if there is one
    profiles: Sequence[ProfileOutcome]


def ask(texts: Sequence[Text], configuration: str, *, user: str) -> PastedCluster:
    """The answers about the objects of these texts; what is written is rolled back.

    Raises the ApiError of the import, and BadRequest that names the field of a configuration.
    """
    with transaction.atomic():
        try:
            return _ask(texts, configuration, user)
        finally:
            transaction.set_rollback(True)


def _ask(texts: Sequence[Text], configuration: str, user: str) -> PastedCluster:
    cluster = create_cluster(
        f"pasted-{secrets.token_hex(8)}",
        user=user,
        paused=True,
        percentage_of_nodes_to_score=ALL_NODES,
    )
    imported = import_texts(cluster, texts, actor=Actor(user))
    cluster.refresh_from_db()
    nodes = Node.objects.filter(cluster=cluster).count()
    if not nodes:
        raise BadRequest("manifest: there is no node; kubectl get nodes,pods -A -o yaml has them")
    requests = [("kube-scheduler's defaults", SimulationRequest())]
    if configuration.strip():
        given = SimulationRequest(configuration=configuration)
        requests.append(("the given configuration", given))
    try:
        tried = [_try(cluster, name, request, user) for name, request in requests]
    except ConfigError as error:
        causes = "; ".join(f"{cause.field}: {cause.message}" for cause in error.causes)
        raise BadRequest(f"configuration: {causes}") from error
    waiting = list_prospects(cluster)
    return PastedCluster(
        nodes=nodes,
        pods=Pod.objects.filter(cluster=cluster).count(),
        pending=waiting.total,
        notes=[note for note in (imported.added, imported.skipped) if note],
        stuck=list(_group(cluster, waiting.pods)),
        emptiable=tried[-1][1],
        profiles=[outcome for outcome, _ in tried],
    )


def _try(
    cluster: Cluster, name: str, request: SimulationRequest, user: str
) -> tuple[ProfileOutcome, Sequence[EmptiedNode]]:
    emptying = find_emptiable_nodes(cluster, request, user=user)
    run = simulate(cluster, request, user=user)
    outcome = ProfileOutcome(name, len(run.placed), len(run.not_placed), emptying.together)
    return outcome, emptying.nodes


def _group(cluster: Cluster, pods: Sequence[PodProspect]) -> Iterator[StuckPods]:
    groups: dict[tuple[Prospect, str, str], list[PodProspect]] = {}
    for pod in sorted(pods, key=lambda each: list(Prospect).index(each.prospect)):
        if pod.prospect is not Prospect.WAITS_ITS_TURN:
            groups.setdefault((pod.prospect, pod.namespace, pod.sentence), []).append(pod)
    for number, ((prospect, namespace, sentence), alike) in enumerate(groups.items()):
        obstacle: Sequence[str] = ()
        obstacle_nodes, remedy = 0, ""
        if number < _MOST_EXPLAINED:
            first = Pod.objects.get(cluster=cluster, namespace=namespace, name=alike[0].name)
            found = find_unblocking_changes(cluster, first)
            if found is not None and found.obstacles:
                most = max(found.obstacles, key=lambda each: (-len(each.plugins), each.nodes))
                obstacle, obstacle_nodes = most.plugins, most.nodes
            if found is not None and found.suggestions:
                remedy = found.suggestions[0].sentence
        yield StuckPods(
            namespace=namespace,
            prospect=prospect,
            sentence=sentence,
            pods=len(alike),
            names=[pod.name for pod in alike[:_MOST_NAMES]],
            obstacle=obstacle,
            obstacle_nodes=obstacle_nodes,
            remedy=remedy,
        )
