"""Jobs and CronJobs."""

from __future__ import annotations

from typing import Any

from tools.truth.stories.kubelet import Fate, always
from tools.truth.stories.plots.manifests import job, template
from tools.truth.stories.story import Create, Delete, EachPod, NextMinute, Patch, Play, Story, Wait

Body = dict[str, Any]
_INDEX = "batch.kubernetes.io/job-completion-index"
_DONE = Play(always("Succeeded"))


def _job(**spec: Any) -> Create:
    return Create(job(**spec))


def _patch(**spec: Any) -> Patch:
    return Patch("Job", "job", {"spec": spec})


def _indexes(fates: Body, other: str = "Succeeded") -> Fate:
    return lambda pod: fates.get(pod["metadata"].get("annotations", {}).get(_INDEX), other)


_INDEXED = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}


def _policy(action: str, **rule: Any) -> Body:
    return {"podFailurePolicy": {"rules": [{"action": action, **rule}]}}


def _on_code(code: int) -> Body:
    return {"onExitCodes": {"operator": "In", "values": [code]}}


def _cron(**spec: Any) -> Create:
    given = job()["spec"]
    body = {"kind": "CronJob", "metadata": {"name": "cron"}}
    return Create(
        {**body, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": given}, **spec}}
    )


#: No run begins while the others come to rest.
_NO_MORE = Patch("CronJob", "cron", {"spec": {"suspend": True}})

STORIES = (
    Story(
        "job-one", [[_job()], [_DONE], [Delete("Job", "job", {"propagationPolicy": "Background"})]]
    ),
    Story("job-parallel", [[_job(completions=4, parallelism=2)], [_DONE]]),
    Story("job-work-queue", [[_job(parallelism=2)], [_DONE]]),
    Story("job-indexed", [[_job(**_INDEXED)], [_DONE]]),
    Story(
        "job-scale",
        [
            [_job(completions=5, parallelism=1)],
            [_patch(parallelism=3)],
            [_patch(parallelism=1)],
            [_DONE],
        ],
    ),
    Story("job-elastic", [[_job(**_INDEXED)], [_patch(completions=2, parallelism=2)], [_DONE]]),
    Story("job-backoff-limit", [[_job(backoffLimit=1)], [Play(always("Failed")), Wait(24)]]),
    Story(
        "job-backoff-zero",
        [[_job(backoffLimit=0, completions=2, parallelism=2)], [Play(always("Failed"))]],
    ),
    Story(
        "job-per-index",
        [[_job(**_INDEXED, backoffLimitPerIndex=0)], [Play(_indexes({"1": "Failed"}))]],
    ),
    Story(
        "job-per-index-all",
        [[_job(**_INDEXED, backoffLimitPerIndex=1)], [Play(_indexes({"0": "Failed"})), Wait(16)]],
    ),
    Story(
        "job-max-failed-indexes",
        [
            [_job(**_INDEXED, backoffLimitPerIndex=0, maxFailedIndexes=1)],
            [Play(_indexes({"0": "Failed", "1": "Failed"}, "Ready"))],
        ],
    ),
    Story(
        "job-fail-job",
        [
            [_job(completions=2, parallelism=2, **_policy("FailJob", **_on_code(42)))],
            [Play(always("Failed:42"))],
        ],
    ),
    Story(
        "job-ignore",
        [
            [
                _job(
                    backoffLimit=0,
                    **_policy(
                        "Ignore", onPodConditions=[{"type": "DisruptionTarget", "status": "True"}]
                    ),
                )
            ],
            [EachPod({"of": "job"})],
            [_DONE],
        ],
    ),
    Story(
        "job-count",
        [[_job(backoffLimit=0, **_policy("Count", **_on_code(1)))], [Play(always("Failed"))]],
    ),
    Story(
        "job-fail-index",
        [
            [_job(**_INDEXED, backoffLimitPerIndex=3, **_policy("FailIndex", **_on_code(42)))],
            [Play(_indexes({"2": "Failed:42"}))],
        ],
    ),
    Story(
        "job-success-policy",
        [
            [_job(**_INDEXED, successPolicy={"rules": [{"succeededIndexes": "1"}]})],
            [Play(_indexes({"1": "Succeeded"}, "Ready"))],
        ],
    ),
    Story(
        "job-deadline",
        [[_job(activeDeadlineSeconds=6, completions=2, parallelism=2), Wait(9)]],
        always("Ready"),
    ),
    Story(
        "job-suspend",
        [
            [_job(suspend=True)],
            [_patch(suspend=False)],
            [_patch(suspend=True)],
            [_patch(suspend=False)],
            [_DONE],
        ],
    ),
    Story("job-ttl", [[_job(ttlSecondsAfterFinished=2)], [_DONE, Wait(6)]]),
    Story("job-ttl-later", [[_job()], [_DONE], [_patch(ttlSecondsAfterFinished=0), Wait(4)]]),
    Story("job-pod-deleted", [[_job(backoffLimit=2)], [EachPod({"of": "job"}), Wait(14)], [_DONE]]),
    Story(
        "job-replacement-failed",
        [[_job(podReplacementPolicy="Failed")], [EachPod({"of": "job"}), Wait(14)], [_DONE]],
    ),
    Story("job-managed-elsewhere", [[_job(managedBy="example.com/other")]]),
    Story("job-zero", [[_job(completions=0)]]),
    Story("job-orphans", [[_job()], [Delete("Job", "job", {"propagationPolicy": "Orphan"})]]),
    Story(
        "job-no-parallelism",
        [[_job(parallelism=0, completions=1)], [_patch(parallelism=1)], [_DONE]],
    ),
    Story(
        "job-template-labels",
        [
            [
                Create(
                    {
                        "kind": "Job",
                        "metadata": {"name": "job", "labels": {"a": "b"}},
                        "spec": {
                            "template": template(labels={"c": "d"}, restartPolicy="OnFailure")
                        },
                    }
                )
            ],
            [_DONE],
        ],
    ),
    Story(
        "cron-allow",
        [[_cron(), NextMinute()], [NextMinute()], [_NO_MORE, _DONE]],
        always("Ready"),
    ),
    Story(
        "cron-forbid",
        [
            [_cron(concurrencyPolicy="Forbid"), NextMinute()],
            [NextMinute()],
            [_NO_MORE, _DONE, Wait(3)],
        ],
        always("Ready"),
    ),
    Story(
        "cron-replace",
        [[_cron(concurrencyPolicy="Replace"), NextMinute()], [NextMinute()]],
        always("Ready"),
    ),
    Story(
        "cron-history",
        [[_cron(successfulJobsHistoryLimit=1), NextMinute()], [NextMinute()]],
        always("Succeeded"),
    ),
    Story(
        "cron-failed-history",
        [
            [
                _cron(
                    failedJobsHistoryLimit=0,
                    jobTemplate={"spec": {**job()["spec"], "backoffLimit": 0}},
                ),
                NextMinute(),
            ]
        ],
        always("Failed"),
    ),
    Story("cron-suspended", [[_cron(suspend=True), NextMinute()]]),
    Story("cron-deleted", [[_cron(), NextMinute()], [Delete("CronJob", "cron")]]),
    Story(
        "cron-labels",
        [
            [
                _cron(
                    jobTemplate={
                        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
                        "spec": job()["spec"],
                    }
                ),
                NextMinute(),
            ]
        ],
    ),
    Story("cron-zone", [[_cron(timeZone="Asia/Kolkata"), NextMinute()]]),
)
