"""Turn on the API gates of clusters whose active configuration sets them already."""

from typing import Any

import yaml
from django.db import migrations

_COMPARISONS = "TaintTolerationComparisonOperators"


def fill_api_gates(apps: Any, schema_editor: Any) -> None:
    revisions = apps.get_model("controlplane", "ConfigurationRevision").objects
    clusters = apps.get_model("cluster", "Cluster").objects
    for revision in revisions.filter(active=True, configuration__contains="featureGates"):
        written = yaml.safe_load(revision.configuration)
        given = written.get("featureGates") if isinstance(written, dict) else None
        if isinstance(given, dict) and given.get(_COMPARISONS, given.get("AllAlpha")) is True:
            clusters.filter(pk=revision.cluster_id).update(api_gates=[_COMPARISONS])


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0012_api_gates"),
        ("controlplane", "0020_operation_lease"),
    ]

    operations = [
        migrations.RunPython(fill_api_gates, migrations.RunPython.noop),
    ]
