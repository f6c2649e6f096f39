"""How long state machines run: `SOAK_FACTOR` times as many examples as in `make test`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings


def machine_settings(examples: int, steps: int) -> settings:
    """For a state machine with so many examples of so many steps in `make test`."""
    factor = int(os.environ.get("SOAK_FACTOR") or 1)
    return settings(
        max_examples=examples * factor,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
