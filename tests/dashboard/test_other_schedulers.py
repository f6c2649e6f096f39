"""Pods of schedulers that no profile of the cluster has."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.cluster.models import Cluster
from tests.dashboard.conftest import add_pods, pod

pytestmark = pytest.mark.django_db
SENTENCE = "waits for scheduler stranger, which no profile here has"
TWO = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: other
"""


def test_they_are_shown_as_such_everywhere(alice: Client, empty: Cluster) -> None:
    add_pods(empty, pod("lost", schedulerName="stranger"))
    assert SENTENCE in alice.get("/clusters/bare/pods/default/lost").content.decode()
    for state, shown in (("others", True), ("active", False), ("pending", True)):
        page = alice.get(f"/clusters/bare/pods?state={state}").content.decode()
        assert ("/pods/default/lost" in page) is shown
        assert ("other schedulers</span>" in page) is shown


def test_the_form_suggests_the_profiles(alice: Client, empty: Cluster) -> None:
    page = alice.get("/clusters/bare/new-pod").content.decode()
    assert '<option value="default-scheduler">' in page[page.index('<datalist id="profiles"') :]


def test_an_activation_warns_of_the_pods_that_it_strands(alice: Client, empty: Cluster) -> None:
    add_pods(empty, pod("web-1"), pod("web-2"))
    warning = "2 pending pods wait for scheduler default-scheduler, which no profile"
    added = alice.post("/clusters/bare/new-profile", {"configuration": TWO}, follow=True)
    assert warning in added.content.decode()
    alice.post("/clusters/bare/profiles/1/activate")
    assert warning in alice.get("/clusters/bare/profiles/2/activate").content.decode()
    assert warning not in alice.get("/clusters/bare/profiles/1/activate").content.decode()
