"""A cluster's /healthz, /livez and /readyz, as kube-apiserver answers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse

from apps.api.kubernetes.errors import UnknownPath
from apps.cluster.models import Cluster
from apps.controlplane.workers import readiness

#: A check of a cluster: "" when all is well, else what is not.
Check = Callable[[Cluster], str]


def _ping(cluster: Cluster) -> str:
    """That this is answered at all says that the process lives and the database answered."""
    return ""


def _scheduler(cluster: Cluster) -> str:
    for _, seconds in readiness.overdue(cluster.pk):
        return f"no worker has taken this cluster for {seconds:.0f} s"
    return ""


_ALIVE: Mapping[str, Check] = {"ping": _ping}
PROBES: Mapping[str, Mapping[str, Check]] = {
    "healthz": _ALIVE,
    "livez": _ALIVE,
    "readyz": {"ping": _ping, "scheduler": _scheduler},
}


def answer(request: HttpRequest, cluster: Cluster, probe: str, only: str) -> HttpResponse:
    """ "ok", or with ``?verbose`` a line for each check; 500 and all lines when one fails.

    `only`: the one check that the path names below the probe, "" for all; ``?exclude=`` leaves
    some out.
    """
    checks = PROBES[probe]
    if only and only not in checks:
        raise UnknownPath
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
