"""Manifests: a YAML stream of objects."""

from __future__ import annotations

from apps.cluster.manifests import raise_all, read_manifest
from apps.studies.importers.files import to_text
from apps.studies.importers.formats import Format, Objects


def read_objects(content: bytes, name: str) -> Objects:
    """The objects of a stream."""
    manifest = read_manifest(to_text(content, name))
    resolved = manifest.resolve(manifest.documents, {})
    raise_all(manifest.errors)
    return [(kind, body) for _, kind, body in resolved]


FORMAT = Format("yaml", read_objects)
