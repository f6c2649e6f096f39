"""NodeName: pods that name a node."""

from __future__ import annotations

import pytest

from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.cycle import add, explained


@pytest.mark.parametrize(("wanted", "fits"), [("", True), ("n", True), ("m", False)])
def test_a_pod_that_names_a_node_fits_on_no_other(
    scheduler: Scheduler, wanted: str, fits: bool
) -> None:
    add(scheduler, make_node("n"))
    refused = [] if fits else ["NodeName: the pod requests node m"]
    assert explained(scheduler, make_pod().spec(nodeName=wanted)) == refused
