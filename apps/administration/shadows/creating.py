"""Creates the cluster that is to follow a real one."""

from __future__ import annotations

from django.db import transaction

from apps.administration.clusters import lifecycle
from apps.cluster.models import Cluster
from apps.cluster.roles import Visibility
from apps.cluster.settings import SHADOW_SETTINGS
from apps.engine.models import Shadow
from apps.engine.profiles import revisions

#: As kube-scheduler's default: the percentage depends on the number of nodes.
_ADAPTIVE = 0


def create_shadow(
    name: str,
    server: str,
    *,
    user: str,
    context: str = "",
    configuration: str = "",
    visibility: Visibility = Visibility.MEMBERS,
) -> Shadow:
    """Create an empty cluster that is to follow the one at `server`; the user owns it.

    `configuration` is that of the other cluster's scheduler; kube-scheduler's default without it.
    Raises Invalid and AlreadyExists for the name, and ConfigError for the configuration.
    """
    with transaction.atomic():
        cluster = lifecycle.create_cluster(
            name,
            user=user,
            visibility=visibility,
            percentage_of_nodes_to_score=_ADAPTIVE,
            **SHADOW_SETTINGS,
        )
        if configuration:
            revisions.add_revision(cluster, configuration, user=user, note="of the real cluster")
        # from now on, nobody but what follows changes objects
        cluster.is_shadow = True
        cluster.save(update_fields=["is_shadow"])
        return Shadow.objects.create(cluster=cluster, server=server, context=context)


def find_shadow(cluster: Cluster) -> Shadow | None:
    """What a cluster follows; None if it is no shadow."""
    return Shadow.objects.filter(cluster=cluster).first() if cluster.is_shadow else None
