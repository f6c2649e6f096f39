"""A site with everything that the examples of the API's documentation name."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster, delete_cluster
from apps.administration.operations import previewing, replays, running, service
from apps.administration.shadows.creating import create_shadow
from apps.administration.webhooks import service as service_of_webhooks
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.roles import Role
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.engine.ledger import saved_views
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.engine.profiles import drafts, revisions
from apps.engine.series import sampling
from apps.people import accounts, members, sessions
from apps.people.tokens import create_token
from apps.studies.replay.span import ReplayRequest
from tests.engine.driving import pod
from tests.studies.classes.a_class import create_class

ACTOR = Actor("alice", "d550dd9be1634a03ba89449d5c75b217")
PACKING = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
"""


def furnish(user: User) -> dict[str, Any]:
    """Create the clusters and their furniture; the values of the examples' placeholders."""
    people = _add_people(user)
    bare = create_cluster("bare", user=user.username)
    old = create_cluster("old", user=user.username, nodes=1)
    _schedule(old, pod("web-0"))
    values = {"past_cluster": old.pk, "past_decision": _find_decisions(old)["scheduled"]}
    delete_cluster(old, user=user.username)
    lab = create_cluster("lab", user=user.username, nodes=3, zones=3, tie_break="first-name")
    _schedule(lab, pod("web-0"), pod("huge", cpu="64"))
    sampling.sample_all()
    revisions.add_revision(
        lab, PACKING, user=user.username, name="packing", note="full nodes first", active=False
    )
    drafts.save_draft(lab, "spread", PACKING.replace("Most", "Least"), user=user.username)
    shadow = create_shadow("prod", "https://10.0.0.1:6443", user=user.username, context="prod")
    shadow.faults = {"ResourceSlice": "resourceslices.resource.k8s.io is forbidden"}
    shadow.save()
    draining = create_cluster("draining", user=user.username, nodes=2)
    _create_group(draining)
    service.start("drain", "Drain node-0", actor=ACTOR, cluster=draining)
    create_class("spring", user=user.username)
    webhook = service_of_webhooks.add_webhook(
        lab, "https://hooks.example.com/pods", ["pod.unschedulable"], user=user.username
    )
    service_of_webhooks.send_test(webhook)
    User.objects.create_user("bob")
    Group.objects.create(name="sre")
    member = members.add_member(lab, user="bob", role=Role.VIEWER, actor=user.username)
    values |= (
        {"webhook": webhook.pk, "member": member.pk, "bound_pod": _find_bound_pod(lab)}
        | _find_decisions(lab)
        | _save_views(lab)
        | _start_operations(lab, bare)
        | people
    )
    return values


def _add_people(user: User) -> dict[str, Any]:
    """A session of the user, and another user with a token."""
    Client().force_login(user)
    carol = accounts.create_user("carol", "a password of hers", email="carol@example.com")
    return {
        "session": sessions.list_sessions(user)[0].public_id,
        "token": create_token(user, "laptop").token.pk,
        "carols_token": create_token(carol, "ci", read_only=True).token.pk,
    }


def _create_group(cluster: Cluster) -> None:
    """A gang of two pods, of which one exists."""
    policy = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    group = Create(
        kinds.by_name("PodGroup"), {"metadata": {"name": "train"}, "spec": policy}, "default"
    )
    member = pod("train-0", schedulingGroup={"podGroupName": "train"})
    store.write(cluster, [group, Create(kinds.POD, member, "default")], actor=ACTOR)


def _schedule(cluster: Cluster, *pods: dict[str, Any]) -> None:
    store.write(cluster, [Create(kinds.POD, each, "default") for each in pods], actor=ACTOR)
    Engines().run(cluster.pk)


def _find_bound_pod(cluster: Cluster) -> str:
    """The uid of web-0."""
    return str(SchedulingDecision.objects.get(cluster_id=cluster.pk, name="web-0").pod_uid)


def _find_decisions(cluster: Cluster) -> dict[str, int]:
    results = SchedulingDecision.Result
    ids = dict(SchedulingDecision.objects.filter(cluster_id=cluster.pk).values_list("result", "id"))
    names = {"scheduled": results.SCHEDULED, "unschedulable": results.UNSCHEDULABLE}
    return {name: ids[result] for name, result in names.items() if result in ids}


def _save_views(cluster: Cluster) -> dict[str, int]:
    def save(user: str, name: str, **query: str) -> int:
        return saved_views.create_view(cluster, user, name=name, query=query, shared=True).pk

    save("alice", "retries", sort="-max_attempt", group="pod")
    own = save("alice", "failures", result="unschedulable", group="reason")
    return {"view": own, "foreign_view": save("bob", "slow", sort="-p99_us", group="plugin")}


def _start_operations(lab: Cluster, bare: Cluster) -> dict[str, int]:
    export = service.start("export", "Export cluster bare as YAML", actor=ACTOR, cluster=bare)
    preview = previewing.start_preview(lab, PACKING, subject="revision 2", actor=ACTOR)
    lab.refresh_from_db()
    replay = replays.start_replay(lab, ReplayRequest(configuration=PACKING), actor=ACTOR)
    for each in (export, preview, replay):
        running.run(each.pk)
    waiting = service.start("export", "Export cluster lab as YAML", actor=ACTOR, cluster=lab)
    return {"export": export.pk, "preview": preview.pk, "waiting": waiting.pk, "replay": replay.pk}
