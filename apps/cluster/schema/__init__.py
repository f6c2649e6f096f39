"""The shapes of the served kinds, from the OpenAPI definitions of Kubernetes 1.36.

One data file is the source of the fields of a body (`decoding`), of strategic merge patch rules
(`definitions.patch_field`) and of the OpenAPI documents. `scripts/extract_openapi.py` generates it.
A second one has what shows of the server's own types (`go_types`), from `extract_go_types.py`.
"""

from __future__ import annotations

from apps.cluster.schema.body_decoding import Decoded, ShapeError, convert, decode
from apps.cluster.schema.definitions import DEFINITIONS, definition_of

__all__ = ["DEFINITIONS", "Decoded", "ShapeError", "convert", "decode", "definition_of"]
