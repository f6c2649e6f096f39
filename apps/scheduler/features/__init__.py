"""The feature gates of Kubernetes 1.36: names, stages, defaults, and what each does here.

`gates` has the table and the values that a configuration sets; `effects` says what a gate changes.
The configuration, the plugins and the queue import this package; it imports none of them.
"""

from __future__ import annotations

from apps.scheduler.features.gates import GATES, FeatureGate, FeatureGates, find_faults

__all__ = ["GATES", "FeatureGate", "FeatureGates", "find_faults"]
