"""What completes the filters of decisions: names that occur in the ledger or in the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from django.db import connection

from apps.cluster import kinds
from apps.cluster.models import Change, Cluster, Namespace, Node
from apps.engine import queries
from apps.engine.models import SchedulingDecision
from apps.engine.profiles.plugins import plugin_names

#: The most suggestions for one field.
MAX_SUGGESTIONS: Final = 20
#: Operators of an index on text (at or after, after, before), and of one that compares bytewise.
_COLLATED: Final = (">=", ">", "<")
_BYTEWISE: Final = ("~>=~", "~>~", "~<~")
#: The kinds whose names are completed without the kind.
_WORKLOADS: Final = sorted(kind.name for kind in kinds.ALL if kind.manages_pods)
#: The newest decisions whose reasons, or whose pods in a namespace, are suggested.
RECENT: Final = 5_000

#: The next name after the last one, each found in the index: not every row is read.
_NEXT_NAMES: Final = """
    WITH RECURSIVE names(found) AS (
        (SELECT {column} FROM controlplane_schedulingdecision
         WHERE cluster_id = %(cluster)s AND {column} {from_} %(start)s {condition}
         ORDER BY {column} USING {below} LIMIT 1)
        UNION ALL
        SELECT (SELECT {column} FROM controlplane_schedulingdecision
                WHERE cluster_id = %(cluster)s AND {column} {above} names.found {condition}
                ORDER BY {column} USING {below} LIMIT 1)
        FROM names WHERE names.found LIKE %(prefix)s
    )
    SELECT found FROM names WHERE found LIKE %(prefix)s LIMIT %(most)s
"""
_REASONS: Final = """
    SELECT reason FROM (
        SELECT reasons FROM controlplane_schedulingdecision
        WHERE cluster_id = %s ORDER BY id DESC LIMIT %s
    ) recent, unnest(reasons) reason
    WHERE strpos(lower(reason), %s) > 0 GROUP BY reason ORDER BY count(*) DESC, reason LIMIT %s
"""


#: Names of the pods of a namespace: of its newest decisions.
_RECENT_NAMES: Final = """
    SELECT DISTINCT name FROM (
        SELECT name FROM controlplane_schedulingdecision
        WHERE cluster_id = %s AND namespace = %s ORDER BY id DESC LIMIT %s
    ) recent WHERE name LIKE %s ORDER BY name LIMIT %s
"""


def complete(cluster: Cluster, field: str, text: str) -> list[str]:
    """At most MAX_SUGGESTIONS values of a filter that contain the text or start with it.

    All of them for plugins, which are few. Empty for a filter without suggestions.
    """
    text = text.strip()
    if field not in _COMPLETIONS or "\x00" in text:
        return []
    suggestions = _COMPLETIONS[field](cluster, text)
    return suggestions if _COMPLETIONS[field] is _complete_plugin else suggestions[:MAX_SUGGESTIONS]


def _complete_pod(cluster: Cluster, text: str) -> list[str]:
    """Names of pods by prefix, also of deleted ones; after a namespace and a slash, of its pods.

    `billing/*`, for all pods of a namespace, completes the start of its name.
    """
    namespace, slash, name = text.rstrip("*").rpartition("/")
    # the index by prefix compares text bytewise
    names = _find_names(cluster, "name", name, _BYTEWISE)
    if not slash:
        namespaces = _complete_namespace(cluster, name) if name else []
        return [f"{each}/*" for each in namespaces if each.startswith(name)] + names
    rows = SchedulingDecision.objects.filter(cluster=cluster, namespace=namespace, name__in=names)
    there = set(rows.order_by().values_list("name", flat=True).distinct())
    there.update(_find_recent_names(cluster, namespace, name))
    return [f"{namespace}/{each}" for each in sorted(there)]


def _complete_node(cluster: Cluster, text: str) -> list[str]:
    """Nodes that exist, then deleted ones that pods were bound to."""
    here = Node.objects.filter(cluster=cluster, name__icontains=text).order_by("name")
    present = here.values_list("name", flat=True)[:MAX_SUGGESTIONS]
    return _merge(present, _find_names(cluster, "node", text, _COLLATED, "AND node <> ''"))


def _complete_namespace(cluster: Cluster, text: str) -> list[str]:
    here = Namespace.objects.filter(cluster=cluster, name__icontains=text).order_by("name")
    gone = Change.objects.filter(
        cluster=cluster, kind="Namespace", type=Change.Type.DELETED, name__startswith=text
    )
    names = here.values_list("name", flat=True)[:MAX_SUGGESTIONS]
    return _merge(names, gone.order_by("name").values_list("name", flat=True)[:MAX_SUGGESTIONS])


def _complete_workload(cluster: Cluster, text: str) -> list[str]:
    """By prefix of the kind, in any case, or of the name of a kind that has pods here."""
    if "/" in text or text[:1].isupper() or not text:
        return _find_names(cluster, "workload", text, _COLLATED, "AND workload <> ''")
    prefixes = [f"{kind}/{text}" for kind in _WORKLOADS]
    prefixes += [f"{kind}/" for kind in _WORKLOADS if kind.lower().startswith(text.lower())]
    return _merge(
        *(
            _find_names(cluster, "workload", prefix, _COLLATED, "AND workload <> ''")
            for prefix in prefixes
        )
    )


def _complete_reason(cluster: Cluster, text: str) -> list[str]:
    """Reasons of the newest decisions, the most frequent first."""
    with connection.cursor() as cursor:
        cursor.execute(_REASONS, [cluster.pk, RECENT, text.lower(), MAX_SUGGESTIONS])
        return [reason for (reason,) in cursor.fetchall()]


def _complete_plugin(_: Cluster, text: str) -> list[str]:
    return [name for name in plugin_names() if text.lower() in name.lower()]


def _complete_profile(cluster: Cluster, text: str) -> list[str]:
    """The profiles of the active configuration, then earlier ones that scheduled pods."""
    active = [name for name in queries.list_scheduler_names(cluster) if text in name]
    other = "AND scheduler_name <> 'default-scheduler'"
    return _merge(active, _find_names(cluster, "scheduler_name", text, _COLLATED, other))


#: name of a filter -> its suggestions
_COMPLETIONS: Final[dict[str, Callable[[Cluster, str], list[str]]]] = {
    "pod": _complete_pod,
    "node": _complete_node,
    "namespace": _complete_namespace,
    "workload": _complete_workload,
    "reason": _complete_reason,
    "main_reason": _complete_reason,
    "plugin": _complete_plugin,
    "main_plugin": _complete_plugin,
    "profile": _complete_profile,
}
FIELDS: Final = frozenset(_COMPLETIONS)


def _find_names(
    cluster: Cluster,
    column: str,
    prefix: str,
    operators: tuple[str, str, str],
    condition: str = "",
) -> list[str]:
    """The first distinct values of a column with a prefix, by its index.

    `condition` is that of a partial index.
    """
    from_, above, below = operators
    pattern = _match_prefix(prefix)
    sql = _NEXT_NAMES.format(
        column=column, from_=from_, above=above, below=below, condition=condition
    )
    values: dict[str, str | int] = {
        "cluster": cluster.pk,
        "start": prefix,
        "prefix": pattern,
        "most": MAX_SUGGESTIONS,
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return [name for (name,) in cursor.fetchall() if name]


def _find_recent_names(cluster: Cluster, namespace: str, prefix: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            _RECENT_NAMES,
            [cluster.pk, namespace, RECENT, _match_prefix(prefix), MAX_SUGGESTIONS],
        )
        return [name for (name,) in cursor.fetchall()]


def _match_prefix(prefix: str) -> str:
    """The pattern of LIKE for texts with this prefix."""
    return prefix.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") + "%"


def _merge(*lists: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for names in lists for name in names))
