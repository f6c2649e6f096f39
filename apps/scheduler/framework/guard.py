"""A plugin's failure as a status: whatever it raises ends one attempt, never the scheduler."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from apps.scheduler.framework.status import SUCCESS, Code, Status, StatusError, error

log = logging.getLogger(__name__)

#: a call that may be held up, with everything it needs
Call = Callable[[], Status | None]


def failure(plugin: str, point: str, raised: Exception) -> Status:
    """The internal error that an exception stands for; one that was not meant is logged."""
    if isinstance(raised, StatusError):
        return raised.status
    log.error("plugin %s failed in %s", plugin, point, exc_info=raised)
    return error(f"{type(raised).__name__}: {raised}")


def answer(plugin: str, point: str, call: Callable[..., Status | None], *args: Any) -> Status:
    """What the plugin answers, signed; an error says where it happened, as upstream."""
    try:
        status = call(*args)
    except Exception as raised:
        status = failure(plugin, point, raised)
    return SUCCESS if status is None else described(plugin, point, status)


def described(plugin: str, point: str, status: Status | None) -> Status:
    """A plugin's status signed by it; success for None; of an error, the point it came from."""
    if status is None or status.is_success:
        return SUCCESS
    if status.code is Code.ERROR:
        status = error(f'running {point} plugin "{plugin}": {status.message}')
    return status.by(plugin)


def without_answer(plugin: str, point: str, call: Callable[..., None], *args: Any) -> None:
    """Run what cannot fail any more: an exception is logged and that is all."""
    try:
        call(*args)
    except Exception as raised:
        failure(plugin, point, raised)


def while_running(plugin: str, point: str, raised: Exception) -> StatusError:
    """The error that ends an attempt in the middle of a search or of scoring."""
    return StatusError(
        error(f'running "{plugin}" {point} plugin: {failure(plugin, point, raised).message}')
    )
