"""The interface of a selectable admission plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.cluster.admission.draft import Body
from apps.cluster.lookups import Lookups
from apps.cluster.validation.causes import Causes, invalid

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a plugin can read about a request, besides the object."""

    user: str
    lookups: Lookups
    #: The stored object; None for a creation.
    old: Mapping[str, Any] | None = None


#: (object, request, parameters): changes the object or raises Forbidden.
Admit = Callable[[Body, Attributes, Parameters], None]


def no_parameters(parameters: Parameters, path: str) -> Causes:
    """The check of a plugin without parameters."""
    yield from check_known(parameters, (), path)


def check_known(parameters: Parameters, known: tuple[str, ...], path: str) -> Causes:
    """Report parameters that the plugin does not have."""
    for name in parameters:
        if name not in known:
            yield invalid(f"{path}.{name}", parameters[name], "unknown parameter")


@dataclass(frozen=True, slots=True)
class AdmissionPlugin:
    """One plugin. It runs for creations of `kind`, and for updates without a subresource."""

    name: str
    #: What it does, in one sentence, for users.
    about: str
    kind: str
    #: Changes objects, before they are validated.
    admit: Admit | None = None
    #: Rejects valid objects.
    validate: Admit | None = None
    check: Callable[[Parameters, str], Causes] = no_parameters
    #: Example parameters.
    example: Parameters = field(default_factory=dict)
