"""The shape of a selectable admission plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.cluster.admission.draft import Body
from apps.cluster.admission.lookups import Lookups
from apps.cluster.validation.causes import Causes, invalid

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a plugin may know of a request beside the object."""

    user: str
    lookups: Lookups
    #: The stored object that is changed; None for a creation.
    old: Mapping[str, Any] | None = None


#: (object, request, parameters): changes the object, or raises Forbidden.
Admit = Callable[[Body, Attributes, Parameters], None]


def no_parameters(parameters: Parameters, path: str) -> Causes:
    """The check of a plugin that takes none."""
    yield from unknown(parameters, (), path)


def unknown(parameters: Parameters, known: tuple[str, ...], path: str) -> Causes:
    """Parameters that the plugin does not have."""
    for name in parameters:
        if name not in known:
            yield invalid(f"{path}.{name}", parameters[name], "unknown parameter")


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plugin. It acts on creations of `kind`, and on updates that name no subresource."""

    name: str
    #: What it does, in a sentence, for those who choose.
    about: str
    kind: str
    #: Changes objects, before they are validated.
    admit: Admit | None = None
    #: Refuses objects that are valid.
    validate: Admit | None = None
    check: Callable[[Parameters, str], Causes] = no_parameters
    #: Parameters as they might be.
    example: Parameters = field(default_factory=dict)
