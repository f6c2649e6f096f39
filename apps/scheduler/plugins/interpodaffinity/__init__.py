"""InterPodAffinity: pods that want to be near some pods, or away from them."""

from __future__ import annotations

from typing import Final

NAME: Final = "InterPodAffinity"
