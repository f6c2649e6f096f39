"""Configurations of earlier releases, rewritten for this one.

`convert` reads KubeSchedulerConfiguration v1alpha1 to v1beta3 and Policy v1, and writes a v1
configuration that schedules as the old one did, as far as possible; notes list the differences.
The package provides it as its converter.
"""

from __future__ import annotations

from legacy_plugins.conversion.conversion import convert

__all__ = ["convert"]
