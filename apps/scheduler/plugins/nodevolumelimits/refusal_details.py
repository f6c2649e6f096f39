"""The volumes of a driver that a node has, and how many more it can attach."""

from __future__ import annotations

from dataclasses import dataclass

from apps.scheduler.framework.explanation import Detail


@dataclass(frozen=True, slots=True)
class VolumeCount:
    """The volumes of one CSI driver on one node."""

    driver: str
    attached: int
    #: those that the pod would attach in addition
    new: int
    #: from the CSINode; NO_LIMIT without one
    limit: int

    def describe(self) -> Detail:
        """Why the pod would exceed a limit of the node."""
        return Detail(
            f"driver {self.driver}: {self.attached} attached + {self.new} of the pod = "
            f"{self.attached + self.new}, and the node can attach {self.limit}",
            {
                "driver": self.driver,
                "attached": self.attached,
                "new": self.new,
                "limit": self.limit,
            },
        )
