"""InterPodAffinity: required and preferred affinity and anti-affinity between pods.

The registry imports the class in `plugin`; no other plugin imports this package.
"""

from __future__ import annotations

from typing import Final

NAME: Final = "InterPodAffinity"
