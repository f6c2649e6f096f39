"""Turn on the API gate of list attributes where the active configuration sets it already."""

from typing import Any

import yaml
from django.db import migrations

_LISTS = "DRAListTypeAttributes"


def fill_api_gates(apps: Any, schema_editor: Any) -> None:
    revisions = apps.get_model("controlplane", "ConfigurationRevision").objects
    clusters = apps.get_model("cluster", "Cluster").objects
    for revision in revisions.filter(active=True, configuration__contains="featureGates"):
        written = yaml.safe_load(revision.configuration)
        given = written.get("featureGates") if isinstance(written, dict) else None
        if isinstance(given, dict) and given.get(_LISTS, given.get("AllAlpha")) is True:
            cluster = clusters.get(pk=revision.cluster_id)
            cluster.api_gates = [*cluster.api_gates, _LISTS]
            cluster.save(update_fields=["api_gates"])


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0012_api_gates"),
        ("controlplane", "0022_group_attempts"),
    ]

    operations = [
        migrations.RunPython(fill_api_gates, migrations.RunPython.noop),
    ]
