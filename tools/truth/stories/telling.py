"""Tells stories to a cluster, all of them at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from apps.cluster import kinds
from tools.truth.stories import kubelet
from tools.truth.stories.appearance import Appearance, Looks
from tools.truth.stories.plots.manifests import SHARED, node
from tools.truth.stories.story import (
    Act,
    Create,
    Delete,
    EachPod,
    NextMinute,
    Patch,
    Play,
    Story,
    Wait,
)
from tools.truth.stories.worlds import World, list_all, path_of

Body = dict[str, Any]

#: Compared, if they are in the namespace of a story or have its label.
KINDS = (
    "Namespace",
    "Node",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ControllerRevision",
    "Job",
    "CronJob",
    "HorizontalPodAutoscaler",
    "PodDisruptionBudget",
    "Service",
    "Endpoints",
    "EndpointSlice",
    "ServiceAccount",
    "ConfigMap",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "ResourceQuota",
)
#: Of the distribution from which the real one was built, not of Kubernetes.
_FOREIGN = ("openshift-service-ca.crt",)
#: The label of objects without a namespace: the name of the story.
LABEL = "story"
#: How long each step lasts at least.
_STEP_SECONDS = 4
#: How long the real controllers may take to remove the taints of new nodes.
_REGISTERING = timedelta(seconds=8)
#: Kubelets and controllers that still act after so many rounds would never stop.
_MOST_ROUNDS = 400
#: Real nodes without a heartbeat for 40 s are lost.
_BEAT_EVERY = timedelta(seconds=10)


class Telling:
    """Stories that are told to one cluster.

    ``took``: how long each step took in another cluster, which it lasts here, too: what happens
    after a while has happened in both, or in none.
    """

    def __init__(
        self, world: World, stories: Sequence[Story], took: Sequence[timedelta] = ()
    ) -> None:
        self._world = world
        self._stories = stories
        self._least = took
        self.began = world.now()
        #: how long the preparation and each step took
        self.took: list[timedelta] = []
        self._fates = {story.name: story.fate for story in stories}
        self._looks = {story.name: Looks() for story in stories}
        self._told: dict[str, list[Appearance]] = {story.name: [] for story in stories}
        self._beat_at = self.began

    def tell(self) -> dict[str, list[Appearance]]:
        """What each story looks like after each of its steps."""
        self._prepare()
        for number in range(max(len(story.steps) for story in self._stories)):
            going = [story for story in self._stories if number < len(story.steps)]
            began = self._world.now()
            ends = [self._end_of_step(began, timedelta(seconds=_STEP_SECONDS))]
            for story in going:
                self._beat()
                for act in story.steps[number]:
                    ends.append(_end(act, began))
                    self._perform(story.name, act)
            self._rest(max(ends))
            objects, events = self._objects(), self._events()
            for story in going:
                look = self._looks[story.name].appearance(objects[story.name], events[story.name])
                self._told[story.name].append(look)
            self.took.append(self._world.now() - began)
        return self._told

    def _end_of_step(self, began: datetime, least: timedelta) -> datetime:
        number = len(self.took)
        return began + max([least, *self._least[number : number + 1]])

    def _prepare(self) -> None:
        """Create the nodes, which are Ready after a while, and the namespaces."""
        began = self._world.now()
        self._world.settle()
        shared = node("shared", "")
        self._create({**shared, "metadata": {"name": "shared", "labels": SHARED}}, "")
        for story in self._stories:
            for name in story.nodes:
                self._create(node(name, story.name), story.name)
            metadata = {"name": story.name, "labels": {LABEL: story.name}}
            self._create({"kind": "Namespace", "metadata": metadata}, "")
        self._rest(self._end_of_step(began, self._world.now() - began + _REGISTERING))
        self.took.append(self._world.now() - began)

    def _rest(self, end: datetime) -> None:
        """Let time pass until then, and until all controllers and kubelets are at rest."""
        seen = ""
        for _ in range(_MOST_ROUNDS):
            self._beat()
            version = self._world.settle()
            if version != seen:
                seen = version
                for name, events in self._events().items():
                    self._looks[name].notice(events)
                if kubelet.act(self._world, self._fates):
                    continue
            if self._world.now() >= end:
                return
            self._world.pass_time(1)
        raise RuntimeError("the cluster does not come to rest")

    def _beat(self) -> None:
        """Renew the heartbeats, if it is time."""
        if self._world.now() - self._beat_at > _BEAT_EVERY:
            self._beat_at = self._world.now()
            kubelet.beat(self._world)

    def _objects(self) -> dict[str, list[Body]]:
        listed = (each for kind in KINDS for each in list_all(self._world, kind))
        return self._by_story(each for each in listed if each["metadata"]["name"] not in _FOREIGN)

    def _events(self) -> dict[str, list[Body]]:
        return self._by_story(list_all(self._world, "Event"))

    def _by_story(self, bodies: Iterable[Body]) -> dict[str, list[Body]]:
        by_story: dict[str, list[Body]] = {story.name: [] for story in self._stories}
        for body in bodies:
            metadata = body["metadata"]
            story = metadata.get("namespace") or (metadata.get("labels") or {}).get(LABEL, "")
            if about := body.get("involvedObject"):
                story = story if about.get("namespace") else about["name"].partition(".")[2]
            if story in by_story:
                by_story[story].append(body)
        return by_story

    def _perform(self, story: str, act: Act) -> None:
        match act:
            case Create(body):
                self._create(body, story)
            case Patch(kind, name, patch, part):
                path = path_of(kinds.by_name(kind), story, name, part)
                self._request("PATCH", path, patch, "merge-patch+json")
            case Delete(kind, name, options):
                self._request("DELETE", path_of(kinds.by_name(kind), story, name or story), options)
            case EachPod():
                self._each_pod(story, act)
            case Play(fate):
                self._fates[story] = fate

    def _each_pod(self, story: str, act: EachPod) -> None:
        names = [
            pod["metadata"]["name"]
            for pod in list_all(self._world, "Pod")
            if pod["metadata"]["namespace"] == story
            and act.labels.items() <= (pod["metadata"].get("labels") or {}).items()
        ]
        for name in sorted(names)[: act.count]:
            path = path_of(kinds.POD, story, name, act.part)
            if act.patch is None:
                self._request("DELETE", path, act.options)
            else:
                self._request("PATCH", path, act.patch, "merge-patch+json")

    def _create(self, body: Body, story: str) -> None:
        kind = kinds.by_name(body["kind"])
        body = {"apiVersion": kind.api_version, **body}
        if not kind.namespaced and story:
            labels = {LABEL: story, **(body["metadata"].get("labels") or {})}
            body = {**body, "metadata": {**body["metadata"], "labels": labels}}
        self._request("POST", path_of(kind, story), body)

    def _request(self, method: str, path: str, body: Body, form: str = "json") -> None:
        status, answer = self._world.request(method, path, body, form)
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {answer.get('message')}")


def _end(act: Act, began: datetime) -> datetime:
    """When the step may end, for the sake of this act."""
    if isinstance(act, NextMinute):
        return began.replace(second=30, microsecond=0) + timedelta(minutes=1)
    return began + timedelta(seconds=act.seconds if isinstance(act, Wait) else 0)
