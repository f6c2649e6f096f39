"""The shapes of the served kinds, from the OpenAPI definitions of Kubernetes 1.36.

One data file is the source of what a body may hold (`decoding`), of how a strategic merge patch
merges (`definitions.patch_field`) and of the OpenAPI documents. `scripts/extract_openapi.py`
makes it.
"""

from __future__ import annotations

from apps.cluster.schema.decoding import Decoded, ShapeError, decode
from apps.cluster.schema.definitions import DEFINITIONS, definition_of

__all__ = ["DEFINITIONS", "Decoded", "ShapeError", "decode", "definition_of"]
