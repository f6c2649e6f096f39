"""CronJobs, on the cluster's clock."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apps.cluster import kinds
from apps.cluster.models import DataObject, Job, Namespace
from apps.cluster.writes import Delete, Update
from apps.cluster.writing import store
from apps.controllers.workloads.schedule import read_schedule
from tests.controllers.conftest import ACTOR, Lab

CRON_JOB = kinds.by_name("CronJob")


def cron_job(**spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    job = {"spec": {"template": template}}
    return {
        "metadata": {"name": "tick"},
        "spec": {"schedule": "*/10 * * * *", "jobTemplate": job, **spec},
    }


def names() -> list[str]:
    return sorted(Job.objects.values_list("name", flat=True))


def set_spec(lab: Lab, **spec: Any) -> None:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "spec": {**body["spec"], **spec}}

    store.write(lab.cluster, [Update(CRON_JOB, "default", "tick", change)], actor=ACTOR)


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "expected"),
    [
        ("*/15 * * * *", "", "2030-01-01T00:00", "2030-01-01T00:15"),
        ("0 3 * * mon-fri", "", "2030-01-04T03:00", "2030-01-07T03:00"),
        # a day of the month or a day of the week
        ("0 0 13 * fri", "", "2030-01-01T00:00", "2030-01-04T00:00"),
        ("30 4 29 feb *", "", "2030-01-01T00:00", "2032-02-29T04:30"),
        ("@daily", "Europe/Berlin", "2030-07-01T12:00", "2030-07-01T22:00"),
    ],
)
def test_a_schedule_has_the_times_that_cron_gives(
    schedule: str, zone: str, after: str, expected: str
) -> None:
    found = read_schedule(schedule, zone)
    assert found is not None
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)
    following = found.after(moment)
    assert following == datetime.fromisoformat(expected).replace(tzinfo=UTC)
    assert found.last_until(following, moment) == following
    assert read_schedule("61 * * * *", "") is None


@pytest.mark.django_db(transaction=True)
def test_a_cron_job_creates_jobs_on_schedule_and_keeps_its_policies(lab: Lab) -> None:
    lab.create("CronJob", cron_job(concurrencyPolicy="Forbid"))
    lab.settle()
    assert names() == []
    lab.advance(600)
    first = names()
    assert len(first) == 1
    status = lab.get("CronJob", "tick")["status"]
    assert status["lastScheduleTime"] == lab.at(600)
    assert [each["name"] for each in status["active"]] == first
    # the job has not ended: no node runs its pod
    lab.advance(600)
    assert names() == first
    (refusal,) = lab.events("JobAlreadyActive")
    assert refusal["message"] == (
        "Not starting job because prior execution is running and concurrency policy is Forbid"
    )
    set_spec(lab, concurrencyPolicy="Replace")
    lab.settle()
    second = names()
    assert len(second) == 1 and second != first
    set_spec(lab, suspend=True)
    lab.advance(1200)
    assert names() == second
    set_spec(lab, suspend=False, concurrencyPolicy="Allow")
    lab.settle()
    # of the times that were missed, only the last one counts
    assert len(names()) == 2


@pytest.mark.django_db(transaction=True)
def test_the_end_of_a_job_is_an_event_of_its_cron_job(lab: Lab) -> None:
    lab.node("n0")
    body = cron_job()
    template = body["spec"]["jobTemplate"]["spec"]["template"]
    template["metadata"] = {"annotations": {"kubelet.schedweb.dev/succeeds-after": "5s"}}
    lab.create("CronJob", body)
    lab.settle()
    lab.advance(600)
    lab.advance(5)
    (event,) = lab.events("SawCompletedJob")
    assert event["message"] == f"Saw completed job: {names()[0]}, condition: Complete"
    assert "count" not in event or event["count"] == 1


@pytest.mark.django_db(transaction=True)
def test_a_job_that_a_user_creates_from_a_cron_job_is_not_active(lab: Lab) -> None:
    created = lab.create("CronJob", cron_job())
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "tick", "controller": True}
    owner["uid"] = created["metadata"]["uid"]
    manual = {"name": "manual", "ownerReferences": [owner]}
    lab.create("Job", {**cron_job()["spec"]["jobTemplate"], "metadata": manual})
    lab.settle()
    assert "active" not in lab.get("CronJob", "tick").get("status", {})
    (event,) = lab.events("UnexpectedJob")
    assert event["message"].endswith("did not create or forgot: manual")


@pytest.mark.django_db(transaction=True)
def test_an_active_job_that_is_deleted_is_missed(lab: Lab) -> None:
    lab.create("CronJob", cron_job())
    lab.advance(600)
    (active,) = lab.get("CronJob", "tick")["status"]["active"]
    lab.delete("Job", active["name"])
    lab.settle()
    assert "active" not in lab.get("CronJob", "tick")["status"]
    (event,) = lab.events("MissingJob")
    assert event["message"] == f"Active job went missing: {active['name']}"


@pytest.mark.django_db(transaction=True)
def test_a_deleted_namespace_takes_data_and_quotas_with_it(lab: Lab) -> None:
    lab.create("Namespace", {"metadata": {"name": "team"}})
    lab.create("ConfigMap", {"metadata": {"name": "m"}}, "team")
    lab.create("CronJob", cron_job(), "team")
    lab.create("ResourceQuota", {"metadata": {"name": "q"}, "spec": {}}, "team")
    lab.settle()
    store.write(lab.cluster, [Delete(kinds.NAMESPACE, "", "team")], actor=ACTOR)
    lab.settle()
    assert not Namespace.objects.filter(name="team").exists()
    assert not DataObject.objects.filter(namespace="team").exists()
    assert not kinds.by_name("ResourceQuota").objects(lab.cluster).exists()
