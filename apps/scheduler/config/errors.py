"""Errors in a configuration: every fault with the path of its field, with upstream's messages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, NamedTuple

#: The most characters of an invalid value in a message.
_MAX_SHOWN: Final = 500


class Cause(NamedTuple):
    """One fault: the path of the field (``profiles[0].pluginConfig[1].args``) and what is wrong."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class ConfigError(ValueError):
    """A configuration is refused; `causes` holds every fault found, in the order of the checks."""

    def __init__(self, causes: Iterable[Cause]) -> None:
        self.causes: list[Cause] = list(causes)
        texts = [str(cause) for cause in self.causes]
        super().__init__(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


class Problems:
    """Collects causes so that one error reports all of them."""

    def __init__(self) -> None:
        self.causes: list[Cause] = []

    def __bool__(self) -> bool:
        return bool(self.causes)

    def add(self, field: str, message: str) -> None:
        self.causes.append(Cause(field, message))

    def unknown_field(self, field: str, name: str) -> None:
        self.add(field, f'unknown field "{name}"')

    def invalid(self, field: str, value: object, detail: str) -> None:
        self.add(field, f"Invalid value: {format_value(value)}: {detail}")

    def required(self, field: str, detail: str = "") -> None:
        self.add(field, "Required value" + (f": {detail}" if detail else ""))

    def duplicate(self, field: str, value: object) -> None:
        self.add(field, f"Duplicate value: {format_value(value)}")

    def forbidden(self, field: str, detail: str) -> None:
        self.add(field, f"Forbidden: {detail}")

    def unsupported(self, field: str, value: object, supported: Iterable[str]) -> None:
        allowed = ", ".join(format_value(name) for name in supported)
        self.add(field, f"Unsupported value: {format_value(value)}: supported values: {allowed}")

    def raise_if_any(self) -> None:
        """Raise ConfigError with all causes collected so far, if there are any."""
        if self.causes:
            raise ConfigError(self.causes)


def format_value(value: object) -> str:
    """A value as in messages: JSON, so that a string differs from a number."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"


def child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
