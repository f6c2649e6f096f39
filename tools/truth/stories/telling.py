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
    Evict,
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
    "ClusterRole",
    "ResourceClaim",
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
_TICK = timedelta(seconds=1)
#: Real nodes without a heartbeat for 40 s are lost.
_BEAT_EVERY = timedelta(seconds=10)


class Telling:
    """Stories that are told to one cluster.

    ``moments``: when something was done or looked at in another cluster. It is here at the same
    time: what happens after a while, or each minute, has happened in both, or in none.
    """

    def __init__(
        self, world: World, stories: Sequence[Story], moments: Sequence[timedelta] = ()
    ) -> None:
        self._world = world
        self._stories = stories
        self._given = moments
        self.began = world.now()
        #: since then, of each story in each step, and at last of the step
        self.moments: list[timedelta] = []
        self._fates = {story.name: story.fate for story in stories}
        self._looks = {story.name: Looks() for story in stories}
        self._told: dict[str, list[Appearance]] = {story.name: [] for story in stories}
        self._crowds = {story.name for story in stories if story.crowd}
        #: of the evictions of a step, by story
        self._answers: dict[str, list[Body]] = {}
        self._beat_at = self.began

    def tell(self) -> dict[str, list[Appearance]]:
        """What each story looks like after each of its steps."""
        self._prepare()
        for number in range(max(len(story.steps) for story in self._stories)):
            going = [story for story in self._stories if number < len(story.steps)]
            began = self._world.now()
            ends = [began + timedelta(seconds=_STEP_SECONDS)]
            for story in going:
                self._beat()
                self._wait()
                self._note()
                for act in story.steps[number]:
                    ends.append(_end(act, began))
                    self._perform(story.name, act)
            self._rest(max(*ends, self._moment()))
            self._note()
            objects, events = self._objects(), self._events()
            for story in going:
                look = self._looks[story.name].appearance(objects[story.name], events[story.name])
                if answers := self._answers.pop(story.name, None):
                    # of pods with random names
                    look["answers of evictions"] = sorted(answers, key=str)
                self._told[story.name].append(look)
        return self._told

    def _moment(self) -> datetime:
        """When it is time for what comes next; in the first cluster at once."""
        number = len(self.moments)
        return self.began + max([timedelta(), *self._given[number : number + 1]])

    def _wait(self) -> None:
        while self._moment() - self._world.now() > _TICK:
            self._world.pass_time(_TICK.total_seconds())

    def _note(self) -> None:
        self.moments.append(self._world.now() - self.began)

    def _prepare(self) -> None:
        """Create the nodes, which are Ready after a while, and the namespaces."""
        self._world.settle()
        shared = node("shared", "")
        self._create({**shared, "metadata": {"name": "shared", "labels": SHARED}}, "")
        for story in self._stories:
            for name in story.nodes:
                self._create(node(name, story.name), story.name)
            metadata = {"name": story.name, "labels": {LABEL: story.name}}
            self._create({"kind": "Namespace", "metadata": metadata}, "")
        self._rest(max(self._world.now() + _REGISTERING, self._moment()))
        self._note()

    def _rest(self, end: datetime) -> None:
        """Let time pass until then, and until all controllers and kubelets are at rest."""
        seen = ""
        for _ in range(_MOST_ROUNDS):
            self._beat()
            version = self._world.settle(self._beat)
            if version != seen:
                seen = version
                for name, events in self._events().items():
                    self._looks[name].notice(events)
                if kubelet.act(self._world, self._fates, self._crowds):
                    continue
            missing = end - self._world.now()
            if missing <= timedelta():
                return
            self._world.pass_time(min(missing, _TICK).total_seconds())
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
            case Evict():
                self._evict(story, act)
            case Play(fate):
                self._fates[story] = fate

    def _evict(self, story: str, act: Evict) -> None:
        for name in self._pods(story, act):
            # the budget knows of the one before
            self._world.settle(self._beat)
            path = path_of(kinds.POD, story, name, "eviction")
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
            status, answer = self._world.request("POST", path, body)
            told = {name: answer.get(name) for name in ("message", "reason", "details")}
            self._answers.setdefault(story, []).append({"status": status, **told})

    def _pods(self, story: str, act: EachPod | Evict) -> list[str]:
        names = [
            pod["metadata"]["name"]
            for pod in list_all(self._world, "Pod")
            if pod["metadata"]["namespace"] == story
            and act.labels.items() <= (pod["metadata"].get("labels") or {}).items()
        ]
        return sorted(names)[: act.count]

    def _each_pod(self, story: str, act: EachPod) -> None:
        for name in self._pods(story, act):
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
