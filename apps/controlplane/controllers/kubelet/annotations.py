"""The annotations with which a user tells the mock kubelet what shall happen."""

from __future__ import annotations

from typing import Final

from apps.scheduler.config.durations import DurationError, parse_duration

#: On a node, "false": nobody marks it Ready.
READY: Final = "kubelet.schedweb.dev/ready"
#: On a node, "external": it waits for a cloud provider to give it a providerID.
CLOUD_PROVIDER: Final = "kubelet.schedweb.dev/cloud-provider"
#: On a pod: it ends so long after its start ("90s", "5m", or plain seconds).
SUCCEEDS_AFTER: Final = "kubelet.schedweb.dev/succeeds-after"
FAILS_AFTER: Final = "kubelet.schedweb.dev/fails-after"


def is_false(value: str | None) -> bool:
    return value is not None and value.strip().lower() == "false"


def seconds(value: str | None) -> float | None:
    """The duration an annotation gives; None when it is absent or cannot be read."""
    if value is None:
        return None
    text = value.strip()
    try:
        duration = float(text) if text.replace(".", "", 1).isdecimal() else parse_duration(text)
    except (DurationError, ValueError):
        return None
    # nothing ends before it began, and the calendar ends some day
    return min(max(duration, 0.0), 10.0**9)
