"""What may wake a rejected pod, in plain words and by the labels of events."""

from __future__ import annotations

from apps.scheduler.explaining.waking import wake_events
from tests.scheduler.conftest import NewScheduler


def test_the_rejectors_events_are_told(new_scheduler: NewScheduler) -> None:
    framework = new_scheduler().profiles["default-scheduler"]
    found = wake_events(framework, ["TaintToleration", "NodePorts"])
    assert [(each.plugin, each.event, each.sentence) for each in found] == [
        (
            "NodePorts",
            "PodDelete",
            "A pod that holds a host port this pod wants is deleted",
        ),
        ("NodePorts", "NodeAdd", "A node is added"),
        (
            "TaintToleration",
            "NodeAdd|UpdateNodeTaint",
            "A node whose taints the pod tolerates is added or gets or loses taints or a cordon",
        ),
        (
            "TaintToleration",
            "PodUpdatePodToleration",
            "This pod has other tolerations",
        ),
    ]


def test_every_event_of_every_plugin_has_words(new_scheduler: NewScheduler) -> None:
    framework = new_scheduler().profiles["default-scheduler"]
    found = wake_events(framework, framework.plugins)
    assert len(found) > 30
    assert all(each.sentence.count(" ") >= 2 for each in found)
