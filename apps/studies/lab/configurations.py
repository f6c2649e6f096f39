"""The configuration of a simulation: the active revision, a stored one, or a given text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from apps.cluster.models import Cluster
from apps.engine.profiles import revisions
from apps.scheduler.config import Cause, ConfigError, Configuration
from apps.scheduler.config.reading import read


@dataclass(frozen=True, slots=True)
class LabConfiguration:
    """A configuration with the feature gates that a simulation sets."""

    loaded: Configuration
    #: the number of the stored revision; None for a given text
    revision: int | None
    #: what the simulation sets besides
    feature_gates: Mapping[str, bool]
    #: whether the gates differ from those of the active revision
    changes_gates: bool

    @property
    def name(self) -> str:
        """The name of the configuration in a sentence."""
        return "the given configuration" if self.revision is None else f"revision {self.revision}"


def choose_configuration(
    cluster: Cluster,
    *,
    text: str = "",
    revision: int | None = None,
    feature_gates: Mapping[str, bool] | None = None,
) -> LabConfiguration:
    """The given text, else the revision, else the active one; with these gates set besides.

    Raises NotFound for an unknown revision, and ConfigError with the fields of what is wrong; a
    gate that is set besides is `feature_gates.NAME`.
    """
    active = revisions.get_active(cluster)
    stored = active if revision is None else revisions.get_revision(cluster, revision)
    legacy = False if text else stored.legacy
    written = text or stored.configuration
    gates = dict(feature_gates or {})
    if gates:
        written = _set_gates(written, gates)
    if text or gates:
        loaded = _check(written, gates, legacy=legacy)
    else:
        loaded = revisions.load_configuration(stored)
    known = revisions.load_configuration(active).gates
    return LabConfiguration(loaded, None if text else stored.revision, gates, loaded.gates != known)


def _check(text: str, gates: Mapping[str, bool], *, legacy: bool) -> Configuration:
    try:
        return revisions.check(text, legacy=legacy)
    except ConfigError as error:
        given = {f"featureGates.{name}": f"feature_gates.{name}" for name in gates}
        causes = (Cause(given.get(field, field), message) for field, message in error.causes)
        raise ConfigError(causes) from None


def _set_gates(text: str, gates: Mapping[str, bool]) -> str:
    """The text with these gates; one that is no mapping is returned as it is, to be rejected."""
    try:
        document = read(text)
    except ConfigError:
        return text
    known = document.get("featureGates")
    merged = {**(known if isinstance(known, dict) else {}), **gates}
    return yaml.safe_dump({**document, "featureGates": merged}, sort_keys=False)
