"""Annotations for the strict decoder, in addition to Python's types."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple


class Seconds:
    """Marks a Go duration (`1m30s`), decoded to seconds."""


#: Seconds, as float; written in the configuration as a Go duration string.
Duration = Annotated[float, Seconds()]


class Description(NamedTuple):
    """What a person who edits the configuration reads about a field."""

    help: str = ""
    #: the values that the field accepts; empty: not limited to certain values
    choices: Sequence[str] = ()


def described(default: Any, help: str, *, choices: Sequence[str] = (), json: str = "") -> Any:
    """A dataclass field with a sentence about it, for editors.

    `json` is its name in the configuration, if that is not its name in camel case.
    """
    metadata: dict[str, Any] = {"description": Description(help, choices)}
    if json:
        metadata["json"] = json
    return dataclasses.field(default=default, metadata=metadata)
