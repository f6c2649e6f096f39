"""Policies of Jobs about failed pods and early success, limits for each index, suspension."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apps.cluster.errors import Invalid
from apps.cluster.tables.workloads import JOBS
from apps.controllers.workloads.job_indexes import format_indexes, read_indexes
from apps.controllers.workloads.job_policies import find_success
from tests.controllers.conftest import Body, Lab

pytestmark = pytest.mark.django_db(transaction=True)

FAIL_JOB = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
IGNORE_EVICTIONS = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}


@pytest.fixture
def lab(lab: Lab) -> Lab:
    for number in range(3):
        lab.node(f"n{number}")
    return lab


def job(annotations: dict[str, str] | None = None, **spec: Any) -> Body:
    kubelet = {f"kubelet.schedweb.dev/{name}": each for name, each in (annotations or {}).items()}
    containers = [{"name": "main", "image": "i"}]
    template = {
        "metadata": {"annotations": kubelet},
        "spec": {"containers": containers, "restartPolicy": "Never"},
    }
    return {"metadata": {"name": "train"}, "spec": {"template": template, **spec}}


def indexed(annotations: dict[str, str] | None = None, **spec: Any) -> Body:
    return job(annotations, completionMode="Indexed", **spec)


def conditions(lab: Lab) -> list[tuple[str, str, str]]:
    told = lab.get("Job", "train")["status"].get("conditions") or []
    return [(each["type"], each["status"], each["reason"]) for each in told]


def version_of(pod: Body) -> int:
    return int(pod["metadata"]["resourceVersion"])


def pod_of(lab: Lab, index: int) -> Body:
    """The newest pod of an index that is not being deleted."""
    label = "batch.kubernetes.io/job-completion-index"
    return next(
        pod
        for pod in sorted(lab.all("Pod"), key=version_of, reverse=True)
        if pod["metadata"]["labels"].get(label) == str(index)
        and "deletionTimestamp" not in pod["metadata"]
    )


def end(lab: Lab, pod: Body, code: int, **status: Any) -> None:
    """End a pod with this exit code, as a kubelet does."""
    ended = {"name": "main", "state": {"terminated": {"exitCode": code}}}
    told = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [ended], **status}

    def change(body: Body) -> Body:
        return {**body, "status": {**body["status"], **told}}

    lab.change("Pod", pod["metadata"]["name"], change, part="status")
    lab.settle()


def test_an_exit_code_fails_the_job_and_the_condition_waits_for_the_last_pod(lab: Lab) -> None:
    body = job({"fails-after": "10s", "exit-code": "42"}, completions=2, parallelism=2)
    lab.create("Job", body | {"spec": body["spec"] | {"podFailurePolicy": {"rules": [FAIL_JOB]}}})
    lab.settle()
    first, second = sorted(lab.all("Pod"), key=lambda each: each["metadata"]["name"])
    end(lab, first, 42)
    assert conditions(lab) == [("FailureTarget", "True", "PodFailurePolicy")]
    status = lab.get("Job", "train")["status"]
    assert status["terminating"] == 1 and status["failed"] == 2 and "active" not in status
    lab.advance(30)
    assert not lab.exists("Pod", second["metadata"]["name"])
    assert conditions(lab)[1:] == [("Failed", "True", "PodFailurePolicy")]
    assert lab.condition("Job", "train", "Failed")["message"] == (
        f"Container main for pod default/{first['metadata']['name']} failed with exit code 42 "
        "matching FailJob rule at index 0"
    )
    status = lab.get("Job", "train")["status"]
    assert status["failed"] == 2 and status["terminating"] == 0
    (event,) = lab.events("PodFailurePolicy")
    assert event["type"] == "Warning"


def test_the_annotation_sets_the_exit_code_that_rules_match(lab: Lab) -> None:
    rules = {"podFailurePolicy": {"rules": [FAIL_JOB]}}
    lab.create("Job", job({"fails-after": "10s", "exit-code": "42"}, **rules))
    lab.settle()
    lab.advance(10)
    assert conditions(lab) == [
        ("FailureTarget", "True", "PodFailurePolicy"),
        ("Failed", "True", "PodFailurePolicy"),
    ]


def test_ignored_failures_do_not_count_and_other_codes_do(lab: Lab) -> None:
    rules = [IGNORE_EVICTIONS, FAIL_JOB]
    lab.create("Job", job(backoffLimit=0, podFailurePolicy={"rules": rules}))
    lab.settle()
    assert lab.get("Job", "train")["spec"]["podReplacementPolicy"] == "Failed"
    (pod,) = lab.all("Pod")
    target = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
    end(lab, pod, 137, conditions=[target])
    assert conditions(lab) == [] and "failed" not in lab.get("Job", "train")["status"]
    lab.advance(10)
    (replacement,) = [each for each in lab.all("Pod") if each["status"]["phase"] == "Running"]
    end(lab, replacement, 1)
    assert conditions(lab)[1] == ("Failed", "True", "BackoffLimitExceeded")
    assert lab.get("Job", "train")["status"]["failed"] == 1


def test_a_preempted_pod_fails_the_job_if_a_rule_says_so(lab: Lab) -> None:
    rule = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}
    body = job(parallelism=1, podFailurePolicy={"rules": [rule]})
    container = body["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "8"}}
    body["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "n0"}
    lab.create("Job", body)
    lab.settle()
    (pod,) = lab.all("Pod")
    important = {"metadata": {"name": "important"}, "value": 1000}
    lab.create("PriorityClass", important)
    selector = {"kubernetes.io/hostname": "n0"}
    lab.pod("urgent", cpu="8", priorityClassName="important", nodeSelector=selector)
    lab.settle()
    assert conditions(lab) == []
    lab.advance(30)
    assert lab.condition("Job", "train", "FailureTarget")["message"] == (
        f"Pod default/{pod['metadata']['name']} has condition DisruptionTarget "
        "matching FailJob rule at index 0"
    )
    assert conditions(lab)[1] == ("Failed", "True", "PodFailurePolicy")


def test_with_a_failure_policy_a_pod_is_replaced_only_when_it_has_ended(lab: Lab) -> None:
    lab.create("Job", job(podFailurePolicy={"rules": [FAIL_JOB]}))
    lab.settle()
    (pod,) = lab.all("Pod")
    lab.delete("Pod", pod["metadata"]["name"])
    lab.settle()
    assert len(lab.all("Pod")) == 1
    lab.advance(30)
    (replacement,) = lab.all("Pod")
    assert replacement["metadata"]["uid"] != pod["metadata"]["uid"]


def test_a_success_policy_ends_the_job_with_its_leader(lab: Lab) -> None:
    policy = {"rules": [{"succeededIndexes": "0"}]}
    lab.create("Job", indexed(completions=3, parallelism=3, successPolicy=policy))
    lab.settle()
    end(lab, pod_of(lab, 1), 0)
    assert conditions(lab) == []
    end(lab, pod_of(lab, 0), 0)
    assert conditions(lab) == [("SuccessCriteriaMet", "True", "SuccessPolicy")]
    met = lab.condition("Job", "train", "SuccessCriteriaMet")
    assert met["message"] == "Matched rules at index 0"
    lab.advance(30)
    assert conditions(lab)[1] == ("Complete", "True", "SuccessPolicy")
    status = lab.get("Job", "train")["status"]
    assert status["succeeded"] == 2 and status["completedIndexes"] == "0,1"
    assert status["completionTime"] == lab.at(30) and "failed" not in status


def test_an_indexed_pod_knows_its_index(lab: Lab) -> None:
    lab.create("Job", indexed(completions=2, parallelism=2))
    lab.settle()
    pod = pod_of(lab, 1)
    assert pod["metadata"]["name"].startswith("train-1-")
    assert pod["spec"]["hostname"] == "train-1"
    (variable,) = pod["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    path = "metadata.labels['batch.kubernetes.io/job-completion-index']"
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == path


def test_each_index_has_its_own_limit_and_the_others_go_on(lab: Lab) -> None:
    lab.create("Job", indexed(completions=2, parallelism=2, backoffLimitPerIndex=1))
    lab.settle()
    assert lab.get("Job", "train")["spec"]["backoffLimit"] == 2**31 - 1
    end(lab, pod_of(lab, 0), 1)
    lab.advance(10)
    again = pod_of(lab, 0)
    assert again["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "1"
    end(lab, again, 1)
    status = lab.get("Job", "train")["status"]
    assert status["failedIndexes"] == "0" and status["active"] == 1 and conditions(lab) == []
    end(lab, pod_of(lab, 1), 0)
    assert conditions(lab)[1] == ("Failed", "True", "FailedIndexes")
    status = lab.get("Job", "train")["status"]
    assert status["completedIndexes"] == "1" and status["failed"] == 2


def test_fail_index_gives_an_index_up_at_once(lab: Lab) -> None:
    rule = {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [1]}}
    limits = {"backoffLimitPerIndex": 5, "maxFailedIndexes": 1}
    policy = {"podFailurePolicy": {"rules": [rule]}}
    lab.create("Job", indexed(completions=3, parallelism=3, **limits, **policy))
    lab.settle()
    end(lab, pod_of(lab, 0), 3)
    assert lab.get("Job", "train")["status"]["failedIndexes"] == "0"
    end(lab, pod_of(lab, 1), 3)
    assert conditions(lab) == [("FailureTarget", "True", "MaxFailedIndexesExceeded")]
    lab.advance(30)
    assert conditions(lab)[1] == ("Failed", "True", "MaxFailedIndexesExceeded")


def test_a_job_is_suspended_and_resumed_with_conditions_and_events(lab: Lab) -> None:
    lab.create("Job", job(suspend=True, activeDeadlineSeconds=100))
    lab.settle()
    assert conditions(lab) == [("Suspended", "True", "JobSuspended")]
    assert lab.all("Pod") == [] and "startTime" not in lab.get("Job", "train")["status"]
    lab.advance(60)
    lab.change("Job", "train", lambda each: {**each, "spec": {**each["spec"], "suspend": False}})
    lab.settle()
    assert conditions(lab) == [("Suspended", "False", "JobResumed")]
    assert lab.get("Job", "train")["status"]["startTime"] == lab.at(60)
    assert len(lab.all("Pod")) == 1
    assert len(lab.events("Suspended")) == len(lab.events("Resumed")) == 1


def test_a_job_of_another_controller_is_left_alone(lab: Lab) -> None:
    lab.create("Job", job(managedBy="kueue.x-k8s.io/multikueue"))
    lab.settle()
    assert lab.all("Pod") == [] and not lab.get("Job", "train").get("status")


def test_deleted_pods_do_not_undo_completed_indexes(lab: Lab) -> None:
    lab.create("Job", indexed(completions=2, parallelism=1))
    lab.settle()
    first = pod_of(lab, 0)
    end(lab, first, 0)
    lab.delete("Pod", first["metadata"]["name"], gracePeriodSeconds=0)
    lab.settle()
    assert lab.get("Job", "train")["status"]["completedIndexes"] == "0"
    end(lab, pod_of(lab, 1), 0)
    assert conditions(lab)[1] == ("Complete", "True", "CompletionsReached")


def test_fewer_completions_of_an_elastic_job_delete_its_last_pods(lab: Lab) -> None:
    lab.create("Job", indexed(completions=3, parallelism=3))
    lab.settle()
    smaller = {"completions": 1, "parallelism": 1}
    lab.change("Job", "train", lambda each: {**each, "spec": {**each["spec"], **smaller}})
    lab.settle()
    left = [each for each in lab.all("Pod") if "deletionTimestamp" not in each["metadata"]]
    assert [each["spec"]["hostname"] for each in left] == ["train-0"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"podFailurePolicy": {"rules": [IGNORE_EVICTIONS | {"action": "Foo"}]}},
            'spec.podFailurePolicy.rules[0].action: Unsupported value: "Foo": supported values: '
            '"Count", "FailIndex", "FailJob", "Ignore"',
        ),
        (
            {"podFailurePolicy": {"rules": [IGNORE_EVICTIONS | {"action": "FailIndex"}]}},
            'action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set',
        ),
        (
            {"podFailurePolicy": {"rules": [{"action": "Count"}]}},
            "Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
        ),
        (
            {
                "podFailurePolicy": {
                    "rules": [
                        {
                            "action": "Count",
                            "onExitCodes": {
                                "operator": "In",
                                "values": [3, 0],
                                "containerName": "x",
                            },
                        }
                    ]
                }
            },
            "values: Invalid value: [3,0]: must be ordered",
        ),
        (
            {"successPolicy": {"rules": [{"succeededCount": 1}]}},
            "requires indexed completion mode",
        ),
        (
            {
                "completionMode": "Indexed",
                "completions": 3,
                "successPolicy": {"rules": [{"succeededIndexes": "1-3"}]},
            },
            'error parsing succeededIndexes: too large index: "3"',
        ),
        (
            {
                "completionMode": "Indexed",
                "completions": 5,
                "successPolicy": {"rules": [{"succeededIndexes": "0-1", "succeededCount": 3}]},
            },
            "must be less than or equal to 2 (the number of indexes in the specified "
            "succeededIndexes field)",
        ),
    ],
)
def test_policies_that_make_no_sense_are_refused(lab: Lab, spec: Body, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        lab.create("Job", job(**spec))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("true", "word"),
    [
        (["FailureTarget"], "FailureTarget"),
        (["FailureTarget", "Failed"], "Failed"),
        (["SuccessCriteriaMet"], "SuccessCriteriaMet"),
        (["SuccessCriteriaMet", "Complete"], "Complete"),
        (["Suspended"], "Suspended"),
        ([], "Running"),
    ],
)
def test_kubectl_shows_what_a_job_is_about_to_be(true: list[str], word: str) -> None:
    status = {"conditions": [{"type": each, "status": "True"} for each in true]}
    column = next(each for each in JOBS if each.name == "Status")
    assert column.cell({**job(), "status": status}, datetime.now(UTC)) == word


def test_lists_of_indexes() -> None:
    assert format_indexes({5, 0, 2, 3, 4}) == "0,2-5"
    assert format_indexes({1, 2}) == "1,2" and format_indexes(()) == ""
    assert read_indexes("0,2-5,x", 5) == {0, 2, 3, 4}


@pytest.mark.parametrize(
    ("rule", "succeeded", "met"),
    [
        ({"succeededCount": 2}, {4}, False),
        ({"succeededCount": 2}, {4, 7}, True),
        ({"succeededIndexes": "0,2-4"}, {0, 2, 3, 9}, False),
        ({"succeededIndexes": "0,2-4"}, {0, 2, 3, 4}, True),
        ({"succeededIndexes": "0,2-4", "succeededCount": 2}, {2, 3}, True),
        ({"succeededCount": 0}, set(), False),
        ({"succeededIndexes": "0-1999999999", "succeededCount": 1}, {7}, True),
    ],
)
def test_a_rule_about_success(rule: Body, succeeded: set[int], met: bool) -> None:
    assert bool(find_success({"rules": [rule]}, 2**31 - 1, succeeded)) is met
