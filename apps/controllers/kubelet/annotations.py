"""The annotations that control the mock kubelet."""

from __future__ import annotations

from typing import Final

from apps.scheduler.config.durations import DurationError, parse_duration

#: On a node, "false": the node is not marked Ready.
READY: Final = "kubelet.schedweb.dev/ready"
#: On a node, "external": it waits until a cloud provider sets its providerID.
CLOUD_PROVIDER: Final = "kubelet.schedweb.dev/cloud-provider"
#: On a pod: it ends this long after its start ("90s", "5m", or seconds).
SUCCEEDS_AFTER: Final = "kubelet.schedweb.dev/succeeds-after"
FAILS_AFTER: Final = "kubelet.schedweb.dev/fails-after"

#: On a pod that fails: the exit code of its containers (1 to 255).
EXIT_CODE: Final = "kubelet.schedweb.dev/exit-code"


def is_false(value: str | None) -> bool:
    return value is not None and value.strip().lower() == "false"


def seconds(value: str | None) -> float | None:
    """The duration in an annotation; None if it is absent or invalid."""
    if value is None:
        return None
    text = value.strip()
    try:
        duration = float(text) if text.replace(".", "", 1).isdecimal() else parse_duration(text)
    except (DurationError, ValueError):
        return None
    # not negative, and small enough for datetime
    return min(max(duration, 0.0), 10.0**9)


def exit_code(value: str | None) -> int:
    """The code in an annotation; 1 if it is absent or invalid."""
    text = (value or "").strip()
    code = int(text) if text.isdecimal() and len(text) <= 3 else 1
    return code if 0 < code <= 255 else 1
