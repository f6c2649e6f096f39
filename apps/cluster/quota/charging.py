"""Enforces quotas during one write, and updates their `status.used`.

`status.used` is written in the transaction that changes the usage. The rows of quotas are locked
after the cluster's counter, which every write that checks quotas locks first: no quota can appear
or change between the check and the commit, and a transaction that holds the counter waits for no
other lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db import connection

from apps import quantity
from apps.cluster import kinds, sql
from apps.cluster.admission.draft import forbidden
from apps.cluster.kind import Kind, Usage
from apps.cluster.models import Cluster
from apps.cluster.quota.scopes import in_scope
from apps.cluster.usage import (
    add,
    countable,
    covered_resources,
    missing_resources,
    usage_of,
)
from apps.cluster.writes import Key
from apps.quantity import Parsed

Body = dict[str, Any]

QUOTA = kinds.by_name("ResourceQuota")


class Charges:
    """The quotas of the namespaces that a write changes, and their usage."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._quotas: dict[Key, Body] = {}
        self._used: dict[Key, Usage] = {}
        self._changed: dict[Key, None] = {}
        self._recorded: list[tuple[Kind, Body | None, Body | None]] = []

    def watch(self, key: Key, quota: Body) -> None:
        """Charge this quota from now on."""
        self._quotas[key] = quota
        listed = (quota.get("status") or {}).get("used") or {}
        self._used[key] = {name: quantity.parse(amount) for name, amount in listed.items()}

    def forget(self, key: Key) -> None:
        """The quota is deleted."""
        for known in (self._quotas, self._used, self._changed):
            known.pop(key, None)

    def check(self, kind: Kind, body: Body) -> None:
        """Forbidden if the object would exceed a quota."""
        if not countable(kind):
            return
        usage = usage_of(kind, body)
        for key, quota in sorted(self._matching_quotas(kind, body)):
            name, hard = key[2], _hard(quota)
            limited = covered_resources(kind, hard)
            missing = missing_resources(body, limited) if kind is kinds.POD else ""
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
                texts = [_format_amounts(amounts, exceeded) for amounts in (usage, used, hard)]
                why = "exceeded quota: {}, requested: {}, used: {}, limited: {}"
                raise _refuse(kind, body, why.format(name, *texts))

    def record(self, kind: Kind, old: Body | None, new: Body | None) -> None:
        """An object was created (`old` None), updated, or deleted (`new` None)."""
        if not countable(kind):
            return
        self._recorded.append((kind, old, new))
        for key in list(self._quotas):
            self._charge(key, kind, old, new)

    def settle(self) -> Iterator[tuple[Key, Body]]:
        """The quotas whose usage has changed, with their new status."""
        for key in self._changed:
            quota = self._quotas[key]
            used = {name: _format(amount) for name, amount in sorted(self._used[key].items())}
            status = {**(quota.get("status") or {}), "used": used}
            if status != quota.get("status"):
                yield key, {**quota, "status": status}

    def recount_if_changed(self, key: Key, old: Body, new: Body, subresource: str) -> Body:
        """An updated quota; if its spec has changed, usage is counted again."""
        if subresource == "status":
            self.watch(key, new)
        elif new.get("spec") != old.get("spec"):
            return self.recount(key, new)
        else:
            self._quotas[key] = new
        return new

    def recount(self, key: Key, quota: Body) -> Body:
        """The quota with a status counted from the stored objects."""
        hard = {name: quantity.canonical(amount) for name, amount in _spec_hard(quota).items()}
        quota = {**quota, "status": {"hard": hard}}
        self._quotas[key] = quota
        self._used[key] = {name: Parsed(0, "DecimalSI") for name in hard}
        for kind, body in self._read_objects(key[1], hard):
            self._charge(key, kind, None, body)
        for kind, old, new in self._recorded:
            self._charge(key, kind, old, new)
        self._changed.pop(key, None)
        used = {name: _format(amount) for name, amount in sorted(self._used[key].items())}
        quota["status"]["used"] = used
        return quota

    def _matching_quotas(self, kind: Kind, body: Body) -> Iterator[tuple[Key, Body]]:
        namespace = body["metadata"].get("namespace", "")
        for key, quota in self._quotas.items():
            limits = key[1] == namespace and covered_resources(kind, _spec_hard(quota))
            if limits and in_scope(quota, kind, body):
                yield key, quota

    def _charge(self, key: Key, kind: Kind, old: Body | None, new: Body | None) -> None:
        quota = self._quotas[key]
        for body, sign in ((new, 1), (old, -1)):
            if body is None or body["metadata"].get("namespace", "") != key[1]:
                continue
            if covered_resources(kind, _spec_hard(quota)) and in_scope(quota, kind, body):
                self._used[key] = add(self._used[key], usage_of(kind, body), sign)
                self._changed[key] = None

    def _read_objects(self, namespace: str, hard: Iterable[str]) -> Iterator[tuple[Kind, Body]]:
        """The committed objects of a namespace that use resources in `hard`."""
        for kind in kinds.ALL:
            if not countable(kind) or not covered_resources(kind, hard):
                continue
            column = "body::text" if kind.quota is not None else "'{\"metadata\": {}}'"
            with connection.cursor() as cursor:
                cursor.execute(
                    f"SELECT {column} FROM {kind.table} o WHERE cluster_id = %s AND namespace = %s",
                    [self._cluster.pk, namespace],
                )
                for (text,) in cursor.fetchall():
                    body = sql.load_json(text)
                    body["metadata"].setdefault("namespace", namespace)
                    yield kind, body


def _spec_hard(quota: Body) -> Mapping[str, Any]:
    return quota["spec"].get("hard") or {}


def _hard(quota: Body) -> Usage:
    return {name: quantity.parse(amount) for name, amount in _spec_hard(quota).items()}


def _amount(amounts: Usage, name: str) -> Parsed:
    return amounts.get(name, Parsed(0, "DecimalSI"))


def _format_amounts(amounts: Usage, names: Iterable[str]) -> str:
    return ",".join(f"{name}={_format(_amount(amounts, name))}" for name in names)


def _format(amount: Parsed) -> str:
    return quantity.format_nanos(amount.nanos, amount.format)


def _refuse(kind: Kind, body: Body, why: str) -> Exception:
    return forbidden(kind.plural, body["metadata"]["name"], why, kind.group)
