"""The table of gates, and the values that a scheduler runs with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

ALPHA: Final = "Alpha"
BETA: Final = "Beta"
#: Gates that stand for all gates of a stage.
ALL_OF_STAGE: Final = {"AllAlpha": ALPHA, "AllBeta": BETA}

_TABLE: Final = Path(__file__).with_name("kubernetes-1.36.txt")


Stage: TypeAlias = Literal["Alpha", "Beta", "GA", "Deprecated"]


@dataclass(frozen=True, slots=True)
class FeatureGate:
    """A gate as Kubernetes 1.36 declares it."""

    name: str
    stage: Stage
    default: bool
    #: it can only be set to its default
    locked: bool = False
    #: the gates that must be on where this one is on
    requires: tuple[str, ...] = ()


def _read_table() -> Iterator[FeatureGate]:
    for stage in ALL_OF_STAGE.items():
        yield FeatureGate(stage[0], cast(Stage, stage[1]), default=False)
    for line in _TABLE.read_text().splitlines():
        if line.startswith("#"):
            continue
        stage_name, default, *words = line.split()
        locked = words[0] == "locked"
        name, *requires = words[locked:]
        yield FeatureGate(name, cast(Stage, stage_name), default == "on", locked, tuple(requires))


#: name → gate
GATES: Final[Mapping[str, FeatureGate]] = {gate.name: gate for gate in _read_table()}


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """The gates of a scheduler: those that are set, and the defaults of all others."""

    #: name → value; all of them are known
    given: Mapping[str, bool] = field(default_factory=dict)

    def enabled(self, name: str) -> bool:
        """Whether a gate is on; raises KeyError if Kubernetes 1.36 does not have it."""
        gate = GATES[name]
        if name in self.given:
            return self.given[name]
        for group, stage in ALL_OF_STAGE.items():
            if gate.stage == stage and group in self.given and not gate.locked:
                return self.given[group]
        return gate.default

    def as_flag(self) -> str:
        """The value of kube-scheduler's flag `--feature-gates`; "" if no gate is set."""
        return ",".join(f"{name}={_text(value)}" for name, value in sorted(self.given.items()))


def find_faults(given: Mapping[str, bool]) -> list[tuple[str, str]]:
    """Pairs of a gate and why it cannot be set so, with kube-scheduler's messages.

    Dependencies are checked where all gates are known and can be set.
    """
    faults = [(name, message) for name, value in given.items() if (message := _fault(name, value))]
    return faults or list(_missing_dependencies(FeatureGates(given)))


def find_warnings(given: Mapping[str, bool]) -> list[str]:
    """What kube-scheduler logs about gates that are set although they will be removed."""
    kinds = {"GA": "GA", "Deprecated": "deprecated"}
    return [
        f"Setting {kinds[GATES[name].stage]} feature gate {name}={_text(value)}. "
        "It will be removed in a future release."
        for name, value in given.items()
        if GATES[name].stage in kinds
    ]


def _fault(name: str, value: bool) -> str:
    gate = GATES.get(name)
    if gate is None:
        return f"unrecognized feature gate: {name}"
    if gate.locked and value is not gate.default:
        return (
            f"cannot set feature gate {name} to {_text(value)}, "
            f"feature is locked to {_text(gate.default)}"
        )
    return ""


def _missing_dependencies(gates: FeatureGates) -> Iterator[tuple[str, str]]:
    for gate in GATES.values():
        missing = [name for name in gate.requires if not gates.enabled(name)]
        if missing and gates.enabled(gate.name):
            disabled = " ".join(missing)
            yield (
                gate.name,
                f"{gate.name} is enabled, but depends on features that are disabled: [{disabled}]",
            )


def _text(value: bool) -> str:
    return "true" if value else "false"
