"""What a shadow of a real cluster follows."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.db import models
from django.utils import timezone

from apps.cluster.models import Cluster

#: Without a sign of life for this time, nobody follows.
_SILENT: Final = timedelta(seconds=15)


class Shadow(models.Model):
    """The real cluster that a cluster follows; `apps.administration.shadows` writes it."""

    cluster = models.OneToOneField(Cluster, primary_key=True, on_delete=models.CASCADE)
    #: Address of its API server.
    server = models.CharField(max_length=500)
    #: Context of the kubeconfig.
    context = models.CharField(max_length=253, blank=True)
    #: Until when a process followed it, by the clock of that process; null before the first time.
    followed_at = models.DateTimeField(null=True, default=None)
    #: Kind -> what stops it from being followed; kinds that are followed are not in it.
    faults = models.JSONField(default=dict, blank=True)

    @property
    def is_followed(self) -> bool:
        """Whether a process follows it now."""
        return bool(self.followed_at and timezone.now() - self.followed_at < _SILENT)

    def __str__(self) -> str:
        return f"{self.cluster_id} follows {self.server}"
