"""Configurations of earlier releases, rewritten for this one.

`convert` reads KubeSchedulerConfiguration v1alpha1 to v1beta3 and Policy v1, and writes a v1
configuration that schedules as the old one did, as far as possible; notes list the differences.
The command and pages that convert configurations import it.
"""

from __future__ import annotations

from apps.scheduler.config.convert.conversion import Conversion, convert

__all__ = ["Conversion", "convert"]
