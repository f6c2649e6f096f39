"""What every namespace has: the ServiceAccount `default`, and the ConfigMap with the root CA."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from django.conf import settings

from apps.cluster import kinds
from apps.cluster.writes import Create
from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.controller import Controller, Step
from apps.controllers.writes import update_object
from apps.scheduler.objects import KubeObject, Namespace

Body = dict[str, Any]

ACCOUNT: Final = "default"
AUTHORITY: Final = "kube-root-ca.crt"
_DESCRIPTION: Final = {
    "kubernetes.io/description": (
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
        "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
        "guaranteed across distributions of Kubernetes clusters."
    )
}
_ACCOUNTS: Final = kinds.by_name("ServiceAccount")
_CONFIG_MAPS: Final = kinds.by_name("ConfigMap")


def refs_for_namespace(
    _: ControllerCache, old: Namespace | None, new: Namespace | None
) -> Iterable[Ref]:
    return [("Namespace", "", new.metadata.name)] if old is None and new is not None else ()


def refs_for_content(
    _: ControllerCache, old: KubeObject | None, new: KubeObject | None
) -> Iterable[Ref]:
    """The namespace, if the account or the ConfigMap in it was changed or deleted."""
    if old is None or old.metadata.name not in (ACCOUNT, AUTHORITY):
        return ()
    return [("Namespace", "", old.metadata.namespace)]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    namespace = cache.get(ref, Namespace)
    if namespace is None or namespace.metadata.deletion_timestamp:
        return
    name = namespace.metadata.name
    if cache.get((_ACCOUNTS.name, name, ACCOUNT), KubeObject) is None:
        yield Create(_ACCOUNTS, {"metadata": {"name": ACCOUNT}}, name)
    authority = _authority()
    if authority is None:
        return
    data = {"ca.crt": authority}
    place = (_CONFIG_MAPS.name, name, AUTHORITY)
    present = cache.get(place, KubeObject)
    if present is None:
        metadata = {"name": AUTHORITY, "annotations": _DESCRIPTION}
        yield Create(_CONFIG_MAPS, {"metadata": metadata, "data": data}, name)
    elif (cache.body(place) or {}).get("data") != data:
        yield update_object(place, present.metadata.uid, lambda body: {**body, "data": data})


def _authority() -> str | None:
    """The certificate of the site's authority; None before the first start has created it."""
    try:
        changed = settings.TLS_AUTHORITY_FILE.stat().st_mtime_ns
    except OSError:
        return None
    return _read_authority(changed)


@lru_cache(maxsize=1)
def _read_authority(changed: int) -> str:
    """The file; read again when it has another time of change."""
    text: str = settings.TLS_AUTHORITY_FILE.read_text(encoding="ascii")
    return text


CONTROLLER = Controller(
    name="service accounts",
    user="serviceaccount-controller",
    concerns={
        "Namespace": refs_for_namespace,
        "ServiceAccount": refs_for_content,
        "ConfigMap": refs_for_content,
    },
    reconcile=reconcile,
)
