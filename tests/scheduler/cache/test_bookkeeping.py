"""What the cache knows besides nodes: devices, groups, owners of pods, and columns of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from apps.scheduler.cache import pod_index
from apps.scheduler.cache.change_log import ChangeLog, LogReader
from apps.scheduler.cache.devices_in_use import DevicesInUse
from apps.scheduler.cache.listers import Listers
from apps.scheduler.cache.pod_groups import PodGroups
from apps.scheduler.cache.pod_index import Name, PodClass, PodIndex
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import AllocationResult, ReplicaSet, StatefulSet
from apps.scheduler.plugins.helper.default_selector import default_selector
from apps.scheduler.testing.builders import make_pod

GPU = ("gpu.example.com", "pool-1", "gpu-0")
OTHER = ("gpu.example.com", "pool-2", "gpu-1")
GIB = 1024**3 * 10**9


def allocation(*results: dict[str, Any], device: tuple[str, str, str] = GPU) -> AllocationResult:
    driver, pool, name = device
    place = {"driver": driver, "pool": pool, "device": name}
    return msgspec.convert(
        {"devices": {"results": [{**place, **each} for each in results]}}, AllocationResult
    )


def share(memory: str, number: str) -> dict[str, Any]:
    return {"shareID": number, "consumedCapacity": {"memory": memory}}


def test_shares_of_a_device_add_up_and_end_one_by_one() -> None:
    used = DevicesInUse()
    used.replace("a", allocation(share("2Gi", "1"), share("1Gi", "2")))
    used.replace("b", allocation(share("4Gi", "3")))
    assert used.allocated().capacity == {GPU: {"memory": 7 * GIB}}
    assert used.allocated().shared == {GPU: 3}
    assert used.allocated().devices == {} and used.allocated().uses(GPU)
    used.replace("a", None)
    assert used.allocated().capacity == {GPU: {"memory": 4 * GIB}}
    assert used.allocated().shared == {GPU: 1}
    used.replace("b", None)
    assert used.allocated().capacity == used.allocated().shared == {}
    assert not used.allocated().uses(GPU)


def test_a_device_that_two_claims_have_is_in_use_until_both_release_it() -> None:
    used = DevicesInUse()
    used.replace("a", allocation({}))
    used.replace("b", allocation({}))
    used.replace("admin", allocation({"adminAccess": True}, device=OTHER))
    assert used.allocated().devices == {GPU: 2} and not used.allocated().uses(OTHER)
    used.replace("a", None)
    assert used.allocated().devices == {GPU: 1} and used.allocated().uses(GPU)
    used.keep_only(["admin"])
    assert used.allocated().devices == {}


def test_the_pools_whose_devices_changed_are_told() -> None:
    used = DevicesInUse()
    reader = LogReader(used.log)
    assert reader.news() is None
    first = allocation({})
    used.replace("a", first)
    used.replace("a", first)
    assert reader.news() == [GPU[:2]] and reader.news() == []
    used.replace("a", allocation({}, device=OTHER))
    assert reader.news() == [GPU[:2], OTHER[:2]]


def test_a_reader_starts_again_after_everything_may_have_changed() -> None:
    log: ChangeLog[str] = ChangeLog()
    early, late = LogReader(log), LogReader(log)
    log.append("a")
    assert early.news() is None and late.news() is None
    log.forget()
    assert early.news() is None, "any key may have changed"
    assert early.news() == []
    log.append("b")
    assert early.news() == ["b"]
    assert late.news() is None, "also for a reader that looks after the next change"
    assert late.news() == []


def member(name: str, group: str = "train") -> Any:
    return make_pod(name).spec(schedulingGroup={"podGroupName": group}).obj()


def test_a_group_has_its_pending_and_placed_pods() -> None:
    groups = PodGroups()
    first, second, alone = member("b"), member("a"), make_pod("alone").obj()
    for pod in (first, second, alone):
        groups.add_pending(pod)
    assert groups.of(first).count == 2 and groups.of(alone).count == 0
    assert [pod.metadata.name for pod in groups.of(first).unscheduled()] == ["a", "b"]
    groups.place(first)
    assert [pod.metadata.name for pod in groups.of(first).unscheduled()] == ["a"]
    # bound: no longer pending, still a member
    groups.remove_pending(first)
    groups.remove_pending(alone)
    assert groups.of(second).count == 2
    groups.remove_pending(second)
    assert groups.of(first).count == 1 and groups.of(first).unscheduled() == []
    groups.remove_pending(second)
    groups.displace(first)
    assert groups.of(first).count == 0 and groups._members == {}, "nothing is kept of it"


@pytest.mark.parametrize(
    ("kind", "decoded"), [("StatefulSet", StatefulSet), ("ReplicaSet", ReplicaSet)]
)
def test_the_selector_of_the_controller_counts_for_spreading_by_default(
    kind: str, decoded: Any
) -> None:
    listers = Listers()
    body = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "db", "namespace": "default", "uid": "u"},
        "spec": {"selector": {"matchLabels": {"app": "db"}}},
    }
    listers.by_kind[kind].put(msgspec.convert(body, decoded))
    pod = make_pod("db-0").label("app", "db")
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "db", "uid": "u", "controller": True}
    pod.body["metadata"]["ownerReferences"] = [owner]
    selector = default_selector(pod.info(), listers)
    assert selector.matches({"app": "db"}) and not selector.matches({"app": "web"})


@dataclass(frozen=True)
class Labelled:
    """Counts pods with a label; with "*" all."""

    value: str

    @property
    def name(self) -> Name:
        return Name("labelled", self.value)

    @property
    def tags(self) -> list[str]:
        return [*"abc"] if self.value == "*" else [self.value]

    def weigh(self, known: PodClass[str]) -> int:
        return int(self.value in ("*", known.key))


def test_columns_that_are_dropped_are_counted_anew_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pod_index, "_MIN_COLUMNS", 2)
    monkeypatch.setattr(pod_index, "_MAX_BYTES", 0)

    def app_of(pod: PodInfo) -> list[str]:
        return [pod.labels["app"]]

    index: PodIndex[str] = PodIndex(app_of, lambda key: ["a", "b", "c"])
    index.resize(3)
    pods = {app: make_pod(app).label("app", app).info() for app in "abc"}
    for row, pod in enumerate(pods.values()):
        index.change(pod, row, +1)
    every, b, c = (Labelled(app) for app in "*bc")
    assert index.counts(every).values.tolist() == [1, 1, 1]
    assert index.counts(b).values.tolist() == [0, 1, 0]
    kept = index.counts(b)
    # the third column takes the place of the first
    assert index.counts(c).values.tolist() == [0, 0, 1]
    for pod in pods.values():
        index.change(pod, 0, +1)
    assert kept.values.tolist() == [1, 1, 0]
    assert index.counts(c).values.tolist() == [1, 0, 1]
    assert index.counts(every).values.tolist() == [4, 1, 1]
