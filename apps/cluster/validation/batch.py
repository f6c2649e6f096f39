"""Jobs and CronJobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from zoneinfo import available_timezones

from apps.cluster.schema.go_types import internal
from apps.cluster.validation import names
from apps.cluster.validation.addresses import validate_prefixed_path
from apps.cluster.validation.causes import (
    Causes,
    invalid,
    not_supported,
    required,
    sort_keys,
    too_long,
)
from apps.cluster.validation.job_policies import (
    validate_failure_policy,
    validate_success_policy,
)
from apps.cluster.validation.schedules import ScheduleProblem, check_schedule
from apps.cluster.validation.selectors import MISMATCH, selects, validate_label_selector
from apps.cluster.validation.templates import validate_pod_template

Body = Mapping[str, Any]

_COUNTS: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
)
_MODES: Final = ("NonIndexed", "Indexed")
_INDEXED: Final = "Indexed"
_MAX_PARALLELISM: Final = 100_000
_OWNER_LENGTH: Final = 63
_NOT_GENERATED: Final = "`selector` not auto-generated"
_RESTART: Final = ("OnFailure", "Never")
_REPLACEMENTS: Final = ("Failed", "TerminatingOrFailed")
_CONCURRENCY: Final = ("Allow", "Forbid", "Replace")
_CRON_NAME_LENGTH: Final = 52
_NOT_INDEXED: Final = "requires indexed completion mode"
_IMMUTABLE: Final = "field is immutable"
_IMMUTABLE_FIELDS: Final = (
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)
#: Parts of the template's pods that may change while the Job is suspended and has not started.
_PLACEMENT: Final = ("nodeSelector", "tolerations", "affinity", "schedulingGates")


def validate_job(job: Body) -> Causes:
    """A Job, whose pods terminate."""
    yield from _own_selector(job, job.get("spec", {}))
    yield from _selected_pods(job)


def _selected_pods(job: Body) -> Causes:
    spec, selector = job.get("spec", {}), job.get("spec", {}).get("selector")
    if selector is None:
        yield required("spec.selector")
    else:
        yield from validate_label_selector(selector, "spec.selector")
    labels = spec.get("template", {}).get("metadata", {}).get("labels")
    if not selects(selector, labels):
        yield invalid("spec.template.metadata.labels", sort_keys(labels), MISMATCH)
    yield from _job_spec(spec, "spec")


def _own_selector(job: Body, spec: Body) -> Causes:
    """The selector of a Job that does not choose it: its own uid, which its pods have."""
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    uid, name = job["metadata"].get("uid", ""), job["metadata"].get("name", "")
    labels = spec.get("template", {}).get("metadata", {}).get("labels") or {}
    path = "spec.template.metadata.labels"
    for prefix in ("", "batch.kubernetes.io/"):
        for key, value in ((f"{prefix}controller-uid", uid), (f"{prefix}job-name", name)):
            if key not in labels:
                yield required(f"{path}[{key}]", f"must be '{value}'")
            elif labels[key] != value:
                yield invalid(f"{path}[{key}]", sort_keys(labels), f"must be '{value}'")
    if spec["selector"] != {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}:
        yield invalid("spec.selector", sort_keys(spec["selector"]), _NOT_GENERATED)


def validate_job_update(job: Body, old: Body) -> Causes:
    """The completions of a Job that is not indexed, its selector and its template are immutable."""
    # the API server checks the new spec twice
    yield from _selected_pods(job)
    spec, before = job.get("spec", {}), old.get("spec") or {}
    elastic = spec.get("completionMode") == _INDEXED and (
        spec.get("completions") == spec.get("parallelism")
    )
    if not elastic and spec.get("completions") != before.get("completions"):
        yield invalid("spec.completions", spec.get("completions"), _IMMUTABLE)
    if spec.get("selector") != before.get("selector"):
        yield invalid("spec.selector", sort_keys(spec.get("selector")), _IMMUTABLE)
    may_move = before.get("suspend") and not (old.get("status") or {}).get("startTime")
    after, template = spec.get("template"), before.get("template")
    if may_move and _unmoved(after) != _unmoved(template):
        shown = internal("core.PodSpec", (after or {}).get("spec"))
        yield invalid("spec.template.spec", shown, _IMMUTABLE)
    elif after != template and not may_move:
        yield invalid("spec.template", internal("core.PodTemplateSpec", after), _IMMUTABLE)
    for field in _IMMUTABLE_FIELDS:
        if spec.get(field) != before.get(field):
            yield invalid(f"spec.{field}", spec.get(field), _IMMUTABLE)


def _unmoved(template: Body | None) -> Body:
    """A template without what says where its pods may run and what they need, without labels."""
    spec = (template or {}).get("spec") or {}
    unmoved = {name: value for name, value in spec.items() if name not in _PLACEMENT}
    for field in ("containers", "initContainers"):
        if field in spec:
            unmoved[field] = [
                {name: value for name, value in each.items() if name != "resources"}
                for each in spec[field]
            ]
    return unmoved


def validate_cron_job(cron_job: Body) -> Causes:
    """A CronJob."""
    spec = cron_job["spec"]
    schedule, zone = spec.get("schedule", ""), spec.get("timeZone")
    yield from _schedule(schedule, zone)
    yield from _not_negative(spec, ("startingDeadlineSeconds",), "spec")
    yield from _zone(zone)
    policy = spec.get("concurrencyPolicy", "")
    if not policy:
        yield required("spec.concurrencyPolicy")
    elif policy not in _CONCURRENCY:
        yield not_supported("spec.concurrencyPolicy", policy, _CONCURRENCY)
    template, path = (spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec"
    yield from _job_spec(template, path)
    if template.get("selector") is not None:
        yield invalid(f"{path}.selector", template["selector"], "`selector` will be auto-generated")
    if template.get("manualSelector"):
        yield not_supported(f"{path}.manualSelector", True, ("nil", "false"))
    yield from _not_negative(spec, ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"), "spec")


def validate_cron_job_name(cron_job: Body) -> Causes:
    """The name of a CronJob leaves room for the suffix of its Jobs."""
    name = cron_job["metadata"].get("name", "")
    if len(name) > _CRON_NAME_LENGTH:
        yield invalid("metadata.name", name, "must be no more than 52 characters")


def _schedule(schedule: str, zone: str | None) -> Causes:
    if not schedule:
        yield required("spec.schedule")
        return
    try:
        check_schedule(schedule)
    except ScheduleProblem as problem:
        yield invalid("spec.schedule", schedule, str(problem))
    if "TZ" in schedule:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        if zone is not None:
            detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        yield invalid("spec.schedule", schedule, detail)


def _zone(zone: str | None) -> Causes:
    if zone is None:
        return
    if not zone:
        yield invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in "
        yield invalid("spec.timeZone", zone, f"{detail}https://www.iana.org/time-zones")
    elif zone not in available_timezones():
        yield invalid("spec.timeZone", zone, f"unknown time zone {zone}")


def _not_negative(spec: Body, fields: Iterable[str], path: str) -> Causes:
    for field in fields:
        if (spec.get(field) or 0) < 0:
            yield invalid(f"{path}.{field}", spec[field], names.NOT_NEGATIVE)


def _job_spec(spec: Body, path: str) -> Causes:
    yield from _not_negative(spec, _COUNTS, path)
    yield from _not_negative(spec, ("maxFailedIndexes",), path)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    owner = spec.get("managedBy")
    if owner is not None:
        yield from validate_prefixed_path(owner, f"{path}.managedBy")
        if len(owner) > _OWNER_LENGTH:
            yield too_long(f"{path}.managedBy", _OWNER_LENGTH)
    yield from _mode(spec, path)
    if spec.get("podFailurePolicy") is not None:
        yield from validate_failure_policy(spec, f"{path}.podFailurePolicy")
    if spec.get("successPolicy") is not None:
        if spec.get("completionMode") == _INDEXED:
            yield from validate_success_policy(spec, f"{path}.successPolicy")
        else:
            yield invalid(f"{path}.successPolicy", spec["successPolicy"], _NOT_INDEXED)
    yield from _replacement(spec, path)
    template = spec.get("template", {})
    yield from validate_pod_template(template, f"{path}.template")
    yield from _restart(spec, template.get("spec", {}), f"{path}.template.spec.restartPolicy")


def _mode(spec: Body, path: str) -> Causes:
    mode, completions = spec.get("completionMode"), spec.get("completions")
    if mode is not None and mode not in _MODES:
        yield not_supported(f"{path}.completionMode", mode, _MODES)
    if mode == _INDEXED:
        if completions is None:
            yield required(f"{path}.completions", f"when completion mode is {_INDEXED}")
        parallelism, failed = spec.get("parallelism", 0), spec.get("maxFailedIndexes", 0)
        if parallelism > _MAX_PARALLELISM:
            detail = f"must be less than or equal to {_MAX_PARALLELISM} when completion mode is "
            yield invalid(f"{path}.parallelism", parallelism, f"{detail}{_INDEXED}")
        if completions is not None and failed > completions:
            detail = "must be less than or equal to completions"
            yield invalid(f"{path}.maxFailedIndexes", failed, detail)
    elif mode in (None, "NonIndexed"):
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if field in spec:
                yield invalid(f"{path}.{field}", spec[field], _NOT_INDEXED)


def _replacement(spec: Body, path: str) -> Causes:
    policy = spec.get("podReplacementPolicy")
    supported = _REPLACEMENTS[:1] if spec.get("podFailurePolicy") is not None else _REPLACEMENTS
    if policy is not None and policy not in supported:
        yield not_supported(f"{path}.podReplacementPolicy", policy, supported)


def _restart(spec: Body, pod: Body, path: str) -> Causes:
    policy = pod.get("restartPolicy", "")
    if policy in ("", "Always"):
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in _RESTART:
        yield not_supported(path, policy, _RESTART)
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')
