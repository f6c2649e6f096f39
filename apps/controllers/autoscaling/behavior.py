"""How fast a workload is scaled: stabilization windows and the policies of `spec.behavior`."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final

Body = Mapping[str, Any]

_UP: Final[Body] = {
    "stabilizationWindowSeconds": 0,
    "policies": (
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ),
}
_DOWN: Final[Body] = {
    "stabilizationWindowSeconds": 300,
    "policies": ({"type": "Percent", "value": 100, "periodSeconds": 15},),
}
#: The longest period and window that the API accepts.
_LONGEST: Final = timedelta(hours=1)


@dataclass(slots=True)
class History:
    """What a controller remembers of one autoscaler; a new process starts without it."""

    #: Proposals, and changes of the number of replicas, with their times.
    proposals: deque[tuple[datetime, int]] = field(default_factory=deque)
    changes: deque[tuple[datetime, int]] = field(default_factory=deque)
    #: When the metrics were last read.
    looked_at: datetime | None = None

    def next_look(self, now: datetime, period: timedelta) -> datetime:
        """When to read the metrics again: now, if they never were."""
        return now if self.looked_at is None else self.looked_at + period

    def forget(self, now: datetime) -> None:
        for remembered in (self.proposals, self.changes):
            while remembered and remembered[0][0] < now - _LONGEST:
                remembered.popleft()


@dataclass(frozen=True, slots=True)
class Limited:
    """The replicas after all limits, and the reasons of two conditions."""

    replicas: int
    #: Why the workload cannot be scaled by more now; "" if nothing holds it.
    stabilized: str = ""
    #: Which limit was applied; "" if none.
    limit: str = ""


def limit(spec: Body, current: int, proposed: int, history: History, now: datetime) -> Limited:
    """Apply windows, policies, minimum and maximum to a proposal, and remember it."""
    behavior = spec.get("behavior") or {}
    up, down = (
        {**_UP, **(behavior.get("scaleUp") or {})},
        {**_DOWN, **(behavior.get("scaleDown") or {})},
    )
    history.forget(now)
    stable, stabilized = _stabilize(current, proposed, history, now, up, down)
    history.proposals.append((now, proposed))
    least, most = spec.get("minReplicas", 1), spec["maxReplicas"]
    if stable > current:
        fastest = max(current, _bound(up, current, history, now, 1))
        if stable > min(fastest, most):
            reason = "TooManyReplicas" if most <= fastest else "ScaleUpLimit"
            return Limited(min(fastest, most), stabilized, reason)
    if stable < current:
        fastest = min(current, _bound(down, current, history, now, -1))
        if stable < max(fastest, least):
            reason = "TooFewReplicas" if least >= fastest else "ScaleDownLimit"
            return Limited(max(fastest, least), stabilized, reason)
    if stable > most:
        return Limited(most, stabilized, "TooManyReplicas")
    if stable < least:
        return Limited(least, stabilized, "TooFewReplicas")
    return Limited(stable, stabilized)


def _stabilize(
    current: int, proposed: int, history: History, now: datetime, up: Body, down: Body
) -> tuple[int, str]:
    """No more than the least recent proposal when growing, no less than the highest otherwise."""
    lowest, highest = proposed, proposed
    for time, value in history.proposals:
        if time > now - timedelta(seconds=up["stabilizationWindowSeconds"]):
            lowest = min(lowest, value)
        if time > now - timedelta(seconds=down["stabilizationWindowSeconds"]):
            highest = max(highest, value)
    stable = min(max(current, lowest), highest)
    if stable == proposed:
        return stable, ""
    return stable, "ScaleUpStabilized" if proposed > current else "ScaleDownStabilized"


def _bound(rules: Body, current: int, history: History, now: datetime, way: int) -> int:
    """The farthest number of replicas that the policies allow now; `way` is 1 up, -1 down."""
    select = rules.get("selectPolicy") or "Max"
    if select == "Disabled":
        return current
    bounds = []
    for policy in rules.get("policies") or ():
        since = now - timedelta(seconds=policy["periodSeconds"])
        changed = sum(value for time, value in history.changes if time > since and value * way > 0)
        start = current - changed
        if policy["type"] == "Pods":
            bounds.append(start + way * policy["value"])
        else:
            share = start * (100 + way * policy["value"]) / 100
            bounds.append(ceil(share) if way > 0 else int(share))
    farthest = max if (select == "Max") == (way > 0) else min
    return max(farthest(bounds, default=current), 0)
