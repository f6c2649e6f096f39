"""What may trigger a retry of a rejected pod, as sentences and by the labels of events."""

from __future__ import annotations

from apps.scheduler.explaining.waking import wake_events
from tests.scheduler.conftest import NewScheduler


def test_the_events_of_the_rejecting_plugins_are_listed(new_scheduler: NewScheduler) -> None:
    framework = new_scheduler().profiles["default-scheduler"]
    found = wake_events(framework, ["TaintToleration", "NodePorts"])
    assert [(each.plugin, each.event, each.sentence) for each in found] == [
        (
            "NodePorts",
            "PodDelete",
            "A pod that uses a host port this pod requests is deleted",
        ),
        ("NodePorts", "NodeAdd", "A node is added"),
        (
            "TaintToleration",
            "NodeAdd|UpdateNodeTaint",
            "A node whose taints the pod tolerates is added or is uncordoned or gets other taints",
        ),
        (
            "TaintToleration",
            "PodUpdatePodToleration",
            "This pod gets other tolerations",
        ),
    ]


def test_every_event_of_every_plugin_has_a_sentence(new_scheduler: NewScheduler) -> None:
    framework = new_scheduler().profiles["default-scheduler"]
    found = wake_events(framework, framework.plugins)
    assert len(found) > 30
    assert all(each.sentence.count(" ") >= 2 for each in found)
