"""Quotas during one write: refuse what exceeds them, keep count of what they cover.

`status.used` is written in the transaction that changes what is used. The quotas' rows are locked
after the cluster's counter, which every writer that heeds them takes first: no quota can appear or
change between the look and the commit, and nobody who holds the counter waits for anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db import connection

from apps.cluster import kinds, sql
from apps.cluster.admission.draft import forbidden
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.quota.scopes import in_scope
from apps.cluster.quota.usage import Usage, add, countable, covered, missing_from, usage_of
from apps.cluster.writes import Key
from apps.scheduler import quantity
from apps.scheduler.quantity import Parsed

Body = dict[str, Any]

QUOTA = kinds.by_name("ResourceQuota")
#: Kinds whose objects use other amounts than one each.
_MEASURED = ("Pod", "PersistentVolumeClaim", "Service")


class Charges:
    """The quotas of the namespaces that a write touches, and what it does to them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._quotas: dict[Key, Body] = {}
        self._used: dict[Key, Usage] = {}
        self._changed: dict[Key, None] = {}
        self._noted: list[tuple[Kind, Body | None, Body | None]] = []

    def watch(self, key: Key, quota: Body) -> None:
        """Count for this quota from now on."""
        self._quotas[key] = quota
        listed = (quota.get("status") or {}).get("used") or {}
        self._used[key] = {name: quantity.parse(amount) for name, amount in listed.items()}

    def forget(self, key: Key) -> None:
        """The quota is deleted."""
        for known in (self._quotas, self._used, self._changed):
            known.pop(key, None)

    def check(self, kind: Kind, body: Body) -> None:
        """Forbidden if a quota does not allow the creation of this object."""
        if not countable(kind):
            return
        usage = usage_of(kind, body)
        for key, quota in sorted(self._concerned(kind, body)):
            name, hard = key[2], _hard(quota)
            limited = covered(kind, hard)
            missing = missing_from(body, limited) if kind is kinds.POD else ""
            if missing:
                raise _refuse(kind, body, f"failed quota: {name}: must specify {missing}")
            used = self._used[key]
            exceeded = sorted(
                each
                for each in limited & usage.keys()
                if usage[each].nanos
                and usage[each].nanos + _amount(used, each).nanos > hard[each].nanos
            )
            if exceeded:
                told = [_told(amounts, exceeded) for amounts in (usage, used, hard)]
                why = "exceeded quota: {}, requested: {}, used: {}, limited: {}"
                raise _refuse(kind, body, why.format(name, *told))

    def note(self, kind: Kind, old: Body | None, new: Body | None) -> None:
        """An object was created (`old` None), changed, or deleted (`new` None)."""
        if not countable(kind):
            return
        self._noted.append((kind, old, new))
        for key in list(self._quotas):
            self._charge(key, kind, old, new)

    def settle(self) -> Iterator[tuple[Key, Body]]:
        """The quotas of which another amount is used now, with their new status."""
        for key in self._changed:
            quota = self._quotas[key]
            told = {name: _text(amount) for name, amount in sorted(self._used[key].items())}
            status = {**(quota.get("status") or {}), "used": told}
            if status != quota.get("status"):
                yield key, {**quota, "status": status}

    def changed(self, key: Key, old: Body, new: Body, subresource: str) -> Body:
        """A quota that somebody changes: what it limits now is counted from what there is."""
        if subresource == "status":
            self.watch(key, new)
        elif new.get("spec") != old.get("spec"):
            return self.recounted(key, new)
        else:
            self._quotas[key] = new
        return new

    def recounted(self, key: Key, quota: Body) -> Body:
        """The quota with the status that follows from its spec and from what there is."""
        hard = {name: quantity.canonical(amount) for name, amount in _given(quota).items()}
        quota = {**quota, "status": {"hard": hard}}
        self._quotas[key] = quota
        self._used[key] = {name: Parsed(0, "DecimalSI") for name in hard}
        for kind, body in self._stored(key[1], hard):
            self._charge(key, kind, None, body)
        for kind, old, new in self._noted:
            self._charge(key, kind, old, new)
        self._changed.pop(key, None)
        used = {name: _text(amount) for name, amount in sorted(self._used[key].items())}
        quota["status"]["used"] = used
        return quota

    def _concerned(self, kind: Kind, body: Body) -> Iterator[tuple[Key, Body]]:
        namespace = body["metadata"].get("namespace", "")
        for key, quota in self._quotas.items():
            limits = key[1] == namespace and covered(kind, _given(quota))
            if limits and in_scope(quota, kind, body):
                yield key, quota

    def _charge(self, key: Key, kind: Kind, old: Body | None, new: Body | None) -> None:
        quota = self._quotas[key]
        for body, sign in ((new, 1), (old, -1)):
            if body is None or body["metadata"].get("namespace", "") != key[1]:
                continue
            if covered(kind, _given(quota)) and in_scope(quota, kind, body):
                self._used[key] = add(self._used[key], usage_of(kind, body), sign)
                self._changed[key] = None

    def _stored(self, namespace: str, hard: Iterable[str]) -> Iterator[tuple[Kind, Body]]:
        """The objects of a namespace that use something of `hard`, as they are committed."""
        for kind in kinds.ALL:
            if not countable(kind) or not covered(kind, hard):
                continue
            column = "body::text" if kind.name in _MEASURED else "'{\"metadata\": {}}'"
            with connection.cursor() as cursor:
                cursor.execute(
                    f"SELECT {column} FROM {kind.model._meta.db_table} "
                    "WHERE cluster_id = %s AND namespace = %s",
                    [self._cluster.pk, namespace],
                )
                for (text,) in cursor.fetchall():
                    body = sql.load_json(text)
                    body["metadata"].setdefault("namespace", namespace)
                    yield kind, body


def _given(quota: Body) -> Mapping[str, Any]:
    return quota["spec"].get("hard") or {}


def _hard(quota: Body) -> Usage:
    return {name: quantity.parse(amount) for name, amount in _given(quota).items()}


def _amount(amounts: Usage, name: str) -> Parsed:
    return amounts.get(name, Parsed(0, "DecimalSI"))


def _told(amounts: Usage, names: Iterable[str]) -> str:
    return ",".join(f"{name}={_text(_amount(amounts, name))}" for name in names)


def _text(amount: Parsed) -> str:
    return quantity.format_nanos(amount.nanos, amount.format)


def _refuse(kind: Kind, body: Body, why: str) -> Exception:
    return forbidden(kind.plural, body["metadata"]["name"], why, kind.group)
