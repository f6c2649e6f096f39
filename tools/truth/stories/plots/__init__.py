"""All stories."""

from __future__ import annotations

from typing import Final

from tools.truth.stories.plots import (
    belongings,
    chains,
    cleaning,
    deployments,
    jobs,
    network,
    nodes,
    operations,
    sets,
    silence,
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
    *silence.STORIES,
    *operations.STORIES,
    *belongings.STORIES,
)
