"""All stories."""

from __future__ import annotations

from typing import Final

from tools.truth.stories.plots import (
    chains,
    cleaning,
    deployments,
    jobs,
    network,
    nodes,
    sets,
    stateful,
)
from tools.truth.stories.story import Story

STORIES: Final[tuple[Story, ...]] = (
    *deployments.STORIES,
    *sets.STORIES,
    *stateful.STORIES,
    *jobs.STORIES,
    *network.STORIES,
    *nodes.STORIES,
    *cleaning.STORIES,
    *chains.STORIES,
)
