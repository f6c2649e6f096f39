"""Drafts: configurations that users are still writing, which may be invalid."""

from __future__ import annotations

from django.db.models import QuerySet

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster
from apps.engine.models import ConfigurationDraft
from apps.engine.profiles.names import check_name


def save_draft(
    cluster: Cluster,
    name: str,
    configuration: str,
    *,
    user: str,
    note: str = "",
    legacy: bool = False,
) -> ConfigurationDraft:
    """Create the draft with this name, or replace its content; raises Invalid for the name."""
    check_name(name)
    saved, _ = ConfigurationDraft.objects.update_or_create(
        cluster=cluster,
        name=name,
        defaults={"configuration": configuration, "note": note, "legacy": legacy, "user": user},
    )
    return saved


def drafts_of(cluster: Cluster) -> QuerySet[ConfigurationDraft]:
    """All drafts of a cluster, the latest first."""
    return ConfigurationDraft.objects.filter(cluster=cluster).order_by("-updated_at", "-pk")


def get_draft(cluster: Cluster, name: str) -> ConfigurationDraft:
    """The draft with this name; raises NotFound if there is none."""
    draft = ConfigurationDraft.objects.filter(cluster=cluster, name=name).first()
    if draft is None:
        raise NotFound("drafts", name)
    return draft


def delete_draft(cluster: Cluster, name: str) -> None:
    """Delete a draft; raises NotFound if there is none."""
    get_draft(cluster, name).delete()
