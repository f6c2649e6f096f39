"""A plugin's exception as a status: it ends one attempt, never the scheduler."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from time import monotonic
from typing import Any

from apps.scheduler.framework.status import SUCCESS, Code, Status, StatusError, error

log = logging.getLogger(__name__)

#: characters of a reason or an error; an event has no more either
_LONGEST = 1024
#: for how many seconds the traceback of a failure is not logged again
_QUIET = 60.0
_MOST_LOGGED = 1000
#: what failed -> when its traceback was logged
_logged: dict[str, float] = {}
#: what a database and JSON cannot store
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def failure(plugin: str, point: str, raised: Exception) -> Status:
    """The internal error for an exception; it is logged unless it is a StatusError."""
    if isinstance(raised, StatusError):
        return raised.status
    try:
        message = str(raised)
    except Exception:
        message = "its message cannot be read"
    text = presentable(f"{type(raised).__name__}: {message}")
    if _is_new(f"{plugin} {point} {text}"):
        log.error("plugin %s failed in %s", plugin, point, exc_info=raised)
    else:
        log.error("plugin %s failed in %s again: %s", plugin, point, text)
    return error(text)


def _is_new(failed: str) -> bool:
    """Whether its traceback was not logged in the last minute: each attempt may fail alike."""
    now = monotonic()
    if now - _logged.get(failed, -_QUIET) < _QUIET:
        return False
    if len(_logged) >= _MOST_LOGGED:
        _logged.clear()
    _logged[failed] = now
    return True


def is_storable(text: str) -> bool:
    """Whether a database and JSON can store the text."""
    return _UNSTORABLE.search(text) is None


def presentable(text: str) -> str:
    """A plugin's text as it can be stored and shown."""
    text = _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def call(plugin: str, point: str, call: Callable[..., Status | None], *args: Any) -> Status:
    """The plugin's status with its name; an error names the extension point, as upstream."""
    try:
        status = call(*args)
    except Exception as raised:
        status = failure(plugin, point, raised)
    return SUCCESS if status is None else sign(plugin, point, status)


def sign(plugin: str, point: str, status: Status | None) -> Status:
    """The status with the plugin's name; success for None. An error names the extension point."""
    if status is None or status.is_success:
        return SUCCESS
    if status.code is Code.ERROR:
        status = error(f'running {point} plugin "{plugin}": {status.message}')
    return status.by(plugin)


def call_without_answer(plugin: str, point: str, call: Callable[..., None], *args: Any) -> None:
    """Call a method that cannot fail the attempt any more: an exception is only logged."""
    try:
        call(*args)
    except Exception as raised:
        failure(plugin, point, raised)


def running_error(plugin: str, point: str, raised: Exception) -> StatusError:
    """The error that ends an attempt while filtering or scoring."""
    return StatusError(
        error(f'running "{plugin}" {point} plugin: {failure(plugin, point, raised).message}')
    )
