"""Exports a cluster as YAML, to download afterwards."""

from __future__ import annotations

import zstandard

from apps.administration.clusters import manifests
from apps.administration.operations.progress import Progress
from apps.engine.models import Operation


def run(work: Progress) -> str:
    """Every object of the operation's cluster, except those of the kinds in `without`."""
    without = work.operation.arguments.get("without", ())
    text = manifests.export_yaml(work.cluster, without=without, progress=work.step).encode()
    Operation.objects.filter(pk=work.operation.pk).update(
        output=zstandard.compress(text), output_name=f"{work.cluster.name}.yaml"
    )
    return f"{len(text):,} bytes of YAML"
