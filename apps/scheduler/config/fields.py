"""Annotations for the strict decoder, in addition to Python's types."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any


class Seconds:
    """Marks a Go duration (`1m30s`), decoded to seconds."""


#: Seconds, as float; written in the configuration as a Go duration string.
Duration = Annotated[float, Seconds()]


def json_field(name: str, default: Any) -> Any:
    """A dataclass field whose name in the configuration is not its name in camel case."""
    return dataclasses.field(default=default, metadata={"json": name})
