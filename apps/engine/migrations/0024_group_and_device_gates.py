"""Placements and victims of attempts with groups; the API gates of groups and devices."""

from typing import Any

import yaml
from django.db import migrations, models

_GATES = (
    "DRANodeAllocatableResources",
    "DRAWorkloadResourceClaims",
    "TopologyAwareWorkloadScheduling",
    "WorkloadAwarePreemption",
)


def fill_api_gates(apps: Any, schema_editor: Any) -> None:
    """Turn on the API gates where the active configuration sets them already."""
    revisions = apps.get_model("controlplane", "ConfigurationRevision").objects
    clusters = apps.get_model("cluster", "Cluster").objects
    for revision in revisions.filter(active=True, configuration__contains="featureGates"):
        written = yaml.safe_load(revision.configuration)
        given = written.get("featureGates") if isinstance(written, dict) else None
        if not isinstance(given, dict):
            continue
        found = [gate for gate in _GATES if given.get(gate, given.get("AllAlpha")) is True]
        if found:
            cluster = clusters.get(pk=revision.cluster_id)
            cluster.api_gates = [*cluster.api_gates, *found]
            cluster.save(update_fields=["api_gates"])


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0012_api_gates"),
        ("controlplane", "0023_list_attribute_gate"),
    ]

    operations = [
        migrations.AddField(
            model_name="groupattempt",
            name="placements",
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name="groupattempt",
            name="victims",
            field=models.JSONField(default=list),
        ),
        migrations.RunPython(fill_api_gates, migrations.RunPython.noop),
    ]
