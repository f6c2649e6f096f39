"""The columns of a kind as the API describes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec

from apps.cluster.kind import Kind
from apps.cluster.schema.definitions import DEFINITIONS

#: Kind -> column -> its description: a sentence, or the field of the API whose description it is.
_DESCRIPTIONS: Final = Path(__file__).with_name("column_descriptions.json")
_METADATA: Final = "apimachinery.pkg.apis.meta.v1.ObjectMeta"
SHARED: Final = {
    "Name": f"{_METADATA}.name",
    "Age": f"{_METADATA}.creationTimestamp",
    "Created At": f"{_METADATA}.creationTimestamp",
    "Containers": "Names of each container in the template.",
    "Images": "Images referenced by each container in the template.",
}


@lru_cache(maxsize=512)
def definitions_of(kind: Kind) -> list[dict[str, Any]]:
    """The `columnDefinitions` of a kind, with descriptions."""
    described = SHARED if kind.definition_name else {**SHARED, **_descriptions().get(kind.name, {})}
    return [
        {**column.definition(), "description": column.description or _text(described, column.name)}
        for column in kind.columns
        if column.is_described
    ]


@cache
def _descriptions() -> dict[str, dict[str, str]]:
    descriptions: dict[str, dict[str, str]] = msgspec.json.decode(_DESCRIPTIONS.read_bytes())
    return descriptions


def _text(described: Mapping[str, str], name: str) -> str:
    """The description of a column: that of the API's field which it names, or a sentence."""
    text = described.get(name, "")
    if " " in text or not text:
        return text
    definition, _, field_name = text.rpartition(".")
    field = DEFINITIONS[f"io.k8s.{definition}"]["properties"][field_name]
    return str(field["description"]).partition("\n\nPossible enum values:")[0]
