"""The default profile over an empty cluster: what the recorded queue and hints were run with."""

from __future__ import annotations

from functools import lru_cache

from apps.scheduler.cache.listers import Listers
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.config import default_configuration
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.plugins.registry import IN_TREE
from apps.scheduler.queue.hinting import QueueingHintMap, build_queueing_hint_map
from apps.scheduler.queue.nominator import Nominator
from apps.scheduler.testing.clock import FakeClock


@lru_cache(maxsize=1)
def default_framework() -> Framework:
    profile = default_configuration().profiles[0]
    return Framework(profile, IN_TREE, Handle(Snapshot(), Listers(), Nominator(), FakeClock()))


@lru_cache(maxsize=1)
def default_hints() -> QueueingHintMap:
    return build_queueing_hint_map(default_framework().registered_events())
