"""The schedulers of this site: with its out-of-tree plugins, and its rules for extenders."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

from django.conf import settings

from apps.engine.profiles import plugins
from apps.scheduler.clock import Clock
from apps.scheduler.config import Configuration
from apps.scheduler.extenders.bodies import ObjectBodies, declared_fields
from apps.scheduler.queue.records import Observer
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.tie_break import Draw, parse_tie_break


def assemble_scheduler(
    configuration: Configuration,
    *,
    clock: Clock,
    tie_break: str = "random",
    draws: Draw | None = None,
    bodies: ObjectBodies = declared_fields,
    executor: Executor | None = None,
    on_progress: Callable[[], None] = lambda: None,
    observer: Observer | None = None,
    binds: bool = True,
) -> Scheduler:
    """A scheduler with an empty cluster; `tie_break` is as clusters and bundles store it.

    Raises PluginError if a plugin cannot be built, ExtenderConfigError if an extender cannot be
    called, and ImproperlyConfigured if a plugin of the site cannot be loaded.
    """
    return Scheduler(
        configuration,
        clock=clock,
        tie_break=parse_tie_break(tie_break),
        draws=draws,
        registry=plugins.registry(),
        bodies=bodies,
        outgoing=settings.OUTGOING,
        executor=executor,
        on_progress=on_progress,
        observer=observer,
        binds=binds,
    )
