"""Turn on the API gates of devices and groups where the active configuration sets them already."""

from typing import Any

import yaml
from django.db import migrations

_GATES = ("DRANodeAllocatableResources", "DRAWorkloadResourceClaims")


def fill_api_gates(apps: Any, schema_editor: Any) -> None:
    revisions = apps.get_model("controlplane", "ConfigurationRevision").objects
    clusters = apps.get_model("cluster", "Cluster").objects
    for revision in revisions.filter(active=True, configuration__contains="featureGates"):
        written = yaml.safe_load(revision.configuration)
        given = written.get("featureGates") if isinstance(written, dict) else None
        if not isinstance(given, dict):
            continue
        added = [name for name in _GATES if given.get(name, given.get("AllAlpha")) is True]
        if added:
            cluster = clusters.get(pk=revision.cluster_id)
            cluster.api_gates = [*cluster.api_gates, *added]
            cluster.save(update_fields=["api_gates"])


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0012_api_gates"),
        ("controlplane", "0024_group_gates"),
    ]

    operations = [
        migrations.RunPython(fill_api_gates, migrations.RunPython.noop),
    ]
