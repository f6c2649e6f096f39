"""A cluster's /healthz, /livez and /readyz, as kube-apiserver answers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse

from apps.api.kubernetes.errors import NoPage
from apps.cluster.models import Cluster
from apps.engine.workers import readiness

#: A check of a cluster: "" if it passes, otherwise the problem.
Check = Callable[[Cluster], str]


def _ping(cluster: Cluster) -> str:
    """Always passes: a response shows that the process and the database work."""
    return ""


def _scheduler(cluster: Cluster) -> str:
    for _, seconds in readiness.overdue_clusters(cluster.pk):
        return f"no worker has taken this cluster for {seconds:.0f} s"
    return readiness.describe_failures(cluster.pk)


_ALIVE: Mapping[str, Check] = {"ping": _ping}
PROBES: Mapping[str, Mapping[str, Check]] = {
    "healthz": _ALIVE,
    "livez": _ALIVE,
    "readyz": {"ping": _ping, "scheduler": _scheduler},
}


def answer(request: HttpRequest, cluster: Cluster, probe: str, only: str) -> HttpResponse:
    """ "ok", or with ``?verbose`` a line for each check; 500 and all lines if one fails.

    `only`: the single check that the path names below the probe, "" for all; ``?exclude=`` skips
    some.
    """
    checks = PROBES[probe]
    if only and only not in checks:
        raise NoPage
    excluded = set(request.GET.getlist("exclude"))
    asked = [only] if only else [name for name in checks if name not in excluded]
    faults = {name: fault for name in asked if (fault := checks[name](cluster))}
    if not faults and "verbose" not in request.GET:
        return _text("ok")
    lines = [_line(name, faults.get(name, "")) for name in asked]
    verdict = "failed" if faults else "passed"
    return _text("\n".join([*lines, f"{probe} check {verdict}", ""]), 500 if faults else 200)


def _line(name: str, fault: str) -> str:
    return f"[-]{name} failed: {fault}" if fault else f"[+]{name} ok"


def _text(text: str, status: int = 200) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
