"""Jobs that run as a gang: a Workload and a PodGroup for each, with the gate WorkloadWithJob.

Only a new Job whose pods all run at once, each with an index of its own: parallelism greater than
one and equal to completions, completionMode Indexed, and no scheduling group in its template.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.admission.names import ALPHABET
from apps.cluster.writes import Create, Delete
from apps.controllers.cache import ControllerCache, Ref, controller_refs, owner_reference, ref_of
from apps.controllers.controller import ReportedWrite, Step
from apps.controllers.events.writer import PendingEvent
from apps.controllers.writes import object_reference
from apps.scheduler.objects import Job, Pod, PodGroup

Body = dict[str, Any]
GATE: Final = "WorkloadWithJob"
_NEEDS: Final = "GenericWorkload"
_API: Final = "scheduling.k8s.io/v1alpha2"
_LONGEST: Final = 253


@dataclass(frozen=True, slots=True)
class JobGroup:
    """The group of a Job's pods: what has to be created before them, or its name."""

    #: of the PodGroup; "" for a Job without one
    name: str = ""
    steps: Sequence[Step] = ()


def refs_for_group(_: ControllerCache, old: PodGroup | None, new: PodGroup | None) -> Iterable[Ref]:
    """The Job that owns the group."""
    group = new or old
    assert group is not None
    return controller_refs(group, ("Job",))


def refs_for_job(cache: ControllerCache, old: Job | None, new: Job | None) -> Iterable[Ref]:
    """The Job; of one that was deleted, its groups and pods."""
    if new is not None:
        return [ref_of("Job", new)]
    assert old is not None
    return [ref for ref in cache.owned_by(old.metadata.uid) if ref[0] in ("Pod", "PodGroup")]


def remove_group(cache: ControllerCache, ref: Ref) -> Iterator[Step]:
    """Delete a group whose Job is deleted, with its Workload, which no cache has."""
    group = cache.get(ref, PodGroup)
    if group is None or any(cache.get(each, Job) for each in refs_for_group(cache, None, group)):
        return
    for owner in group.metadata.owner_references:
        if owner.kind == "Workload":
            options = {"preconditions": {"uid": owner.uid}}
            yield Delete(kinds.by_name("Workload"), ref[1], owner.name, options)
    if not group.metadata.deletion_timestamp:
        options = {"preconditions": {"uid": group.metadata.uid}}
        yield Delete(kinds.by_name("PodGroup"), ref[1], ref[2], options)


def find_group(cache: ControllerCache, job: Body, pods: Sequence[Pod], reporter: str) -> JobGroup:
    """The group of the Job; its pods are created when there are no steps left."""
    known = _known(cache, job)
    if known is not None:
        return JobGroup(known)
    if not _is_eligible(job) or pods or _has_started(job):
        return JobGroup()
    gates = cache.gates()
    if not (gates.enabled(GATE) and gates.enabled(_NEEDS)):
        return JobGroup()
    return JobGroup(steps=[_create(cache, job, reporter)])


def _known(cache: ControllerCache, job: Body) -> str | None:
    for ref in cache.owned_by(job["metadata"]["uid"]):
        if ref[0] == "PodGroup":
            return ref[2]
    return None


def _is_eligible(job: Body) -> bool:
    spec = job["spec"]
    count = spec.get("parallelism", 1)
    return (
        count > 1
        and spec.get("completions") == count
        and spec.get("completionMode") == "Indexed"
        and not spec["template"]["spec"].get("schedulingGroup")
    )


def _has_started(job: Body) -> bool:
    status = job.get("status") or {}
    conditions = {each["type"] for each in status.get("conditions") or ()}
    counts = any(status.get(name) for name in ("active", "succeeded", "failed"))
    return bool(status.get("startTime")) or counts or "Suspended" in conditions


def _create(cache: ControllerCache, job: Body, reporter: str) -> Step:
    """The Workload; once it exists, the PodGroup."""
    metadata = job["metadata"]
    name = _join(metadata["name"], _hash(metadata["uid"]))
    stored = cache.find_stored(kinds.by_name("Workload"), metadata["namespace"], name)
    if stored is None:
        return _reported(job, _workload(job, name), "WorkloadCreated", "Workload {}", reporter)
    return _reported(job, _pod_group(job, stored), "PodGroupCreated", "PodGroup {}", reporter)


def _reported(job: Body, create: Create, reason: str, what: str, reporter: str) -> ReportedWrite:
    def on_success(body: Body) -> PendingEvent:
        named = what.format(body["metadata"]["name"])
        note = f"Created {named} for Job {job['metadata']['name']}"
        return PendingEvent(object_reference(job), reason, note, reporter)

    return ReportedWrite(create, on_success)


def _workload(job: Body, name: str) -> Create:
    metadata = job["metadata"]
    policy = {"gang": {"minCount": job["spec"]["parallelism"]}}
    template = {"name": f"{metadata['name'][:57]}-pgt-0", "schedulingPolicy": policy}
    body = {
        "apiVersion": _API,
        "kind": "Workload",
        "metadata": {"name": name, "ownerReferences": [owner_reference(job)]},
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": metadata["name"]},
            "podGroupTemplates": [template],
        },
    }
    return Create(kinds.by_name("Workload"), body, metadata["namespace"])


def _pod_group(job: Body, workload: Body) -> Create:
    template, metadata = workload["spec"]["podGroupTemplates"][0], workload["metadata"]
    hashed = _hash(metadata["name"] + template["name"])
    name = _join(f"{metadata['name']}-{template['name']}", hashed)
    owner = {"apiVersion": _API, "kind": "Workload", "name": metadata["name"]}
    reference = {"workloadName": metadata["name"], "podGroupTemplateName": template["name"]}
    body = {
        "apiVersion": _API,
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "ownerReferences": [owner_reference(job), {**owner, "uid": metadata["uid"]}],
        },
        "spec": {
            "podGroupTemplateRef": {"workload": reference},
            "schedulingPolicy": template["schedulingPolicy"],
        },
    }
    return Create(kinds.by_name("PodGroup"), body, metadata["namespace"])


def _join(prefix: str, suffix: str) -> str:
    return f"{prefix[: _LONGEST - len(suffix) - 1]}-{suffix}"


def _hash(text: str) -> str:
    """A stable hash with the letters of generated names (FNV-1a of 32 bits)."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return "".join(ALPHABET[ord(digit) % len(ALPHABET)] for digit in str(value))
