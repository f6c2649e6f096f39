"""Thousands of pods, written by SQL: creating them through the API would take minutes."""

from __future__ import annotations

from django.db import connection

from apps.cluster.models import Cluster


def copy_pod(cluster: Cluster, name: str, copies: int) -> None:
    """Add copies of the pod `name` named `name-1`, `name-2` ... in its namespace."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO cluster_pod (cluster_id, namespace, name, uid, resource_version, labels, "
            "body, created_at, node_name, phase, scheduler_name, priority, nominated_node_name, "
            "requests) SELECT cluster_id, namespace, name || '-' || n, gen_random_uuid(), "
            "resource_version, labels, "
            "jsonb_set(body, '{metadata,name}', to_jsonb(name || '-' || n)), created_at, "
            "node_name, phase, scheduler_name, priority, nominated_node_name, requests "
            "FROM cluster_pod, generate_series(1, %s) n WHERE cluster_id = %s AND name = %s",
            [copies, cluster.pk, name],
        )
