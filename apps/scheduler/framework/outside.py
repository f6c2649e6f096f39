"""Plugins from outside the tree: what their methods return is checked before the scheduler uses it.

A result that cannot be used is the plugin's error: it ends one attempt and names the plugin, like
an exception. Without the check it would fail later, for example when the decision is stored, and
with it all other pods of the cluster. Plugins of the tree are not checked, which would cost time.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan
from numbers import Real
from typing import Any, Final

import numpy as np

from apps.scheduler.framework.events import ClusterEventWithHint
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.guard import presentable
from apps.scheduler.framework.interface import (
    NominatingInfo,
    PostFilterResult,
    PreFilterExtensions,
    PreFilterResult,
    ReservePlugin,
    Verdicts,
)
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.status import REJECTIONS, Code, Status
from apps.scheduler.framework.types import PodInfo

log = logging.getLogger(__name__)

#: attributes that count only in the class itself, since a subclass may read more than its base
_NOT_INHERITED: Final = (
    "sign",
    "skips",
    "room",
    "is_idle_when_skipped",
    "normalizes_by_extremes",
)
_FINAL: Final = REJECTIONS | {Code.SUCCESS, Code.ERROR}
#: methods of which a class has all or none
_TOGETHER: Final = (
    ("reserve", "unreserve"),
    ("add_pod", "remove_pod"),
)
assert all(hasattr(ReservePlugin, name) for name in _TOGETHER[0])
assert all(hasattr(PreFilterExtensions, name) for name in _TOGETHER[1])


def missing_methods(plugin: type[Any]) -> Iterable[tuple[str, str]]:
    """Pairs of a method that the class has, and one without which it is never called."""
    for names in _TOGETHER:
        there = [name for name in names if callable(getattr(plugin, name, None))]
        if there and len(there) < len(names):
            yield there[0], next(name for name in names if name not in there)


def checked(plugin: type[Any]) -> type[Any]:
    """A subclass of ``plugin`` whose methods raise TypeError for a result that cannot be used."""
    members = {name: vars(plugin)[name] for name in _NOT_INHERITED if name in vars(plugin)}
    for name, check in _CHECKS.items():
        method = getattr(plugin, name, None)
        if callable(method):
            members[name] = _wrap(name, method, check)
    if "sign" in members:
        members["sign"] = _sign(plugin.sign)
    if "skips" in members:
        members["skips"] = _skips(plugin.skips)
    named = {"__module__": plugin.__module__, "__doc__": plugin.__doc__}
    return type(plugin.__name__, (plugin,), {**named, **members})


def _wrap(
    name: str, method: Callable[..., Any], check: Callable[[str, Any, tuple[Any, ...]], Any]
) -> Callable[..., Any]:
    shown = name.removesuffix("_rows")

    def checked_method(self: Any, *args: Any) -> Any:
        try:
            result = method(self, *args)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as left:
            # SystemExit, CancelledError: not caught by those who catch errors of plugins.
            raise RuntimeError(f"{shown} raised {left!r}") from left
        return check(shown, result, args)

    checked_method.__name__ = name
    checked_method.__doc__ = method.__doc__
    return checked_method


def _sign(method: Callable[..., Any]) -> Callable[..., Any]:
    def sign(self: Any, pod: PodInfo) -> Any:
        """What the plugin signs; None if it fails, so that it is asked in each cycle."""
        try:
            signed = method(self, pod)
            hash(signed)
        except Exception:
            log.exception("plugin %s failed in sign", self.name)
            return None
        return signed

    return sign


def _skips(method: Callable[..., Any]) -> Callable[..., Any]:
    def skips(self: Any, pod: PodInfo) -> bool:
        """What the plugin says; False if it fails, so that PreFilter and PreScore are called."""
        try:
            return bool(method(self, pod))
        except Exception:
            log.exception("plugin %s failed in skips", self.name)
            return False

    return skips


def _anything(name: str, returned: Any, args: tuple[Any, ...]) -> Any:
    return returned


def _status(name: str, returned: Any, args: tuple[Any, ...] = ()) -> Status | None:
    """The status with reasons that can be stored and shown."""
    if returned is None:
        return None
    if not isinstance(returned, Status):
        raise TypeError(f"{name} returned {_show(returned)}, which is neither a Status nor None")
    if not isinstance(returned.code, Code):
        raise TypeError(
            f"{name} returned a Status whose code is {_show(returned.code)}, not a Code"
        )
    reasons: Any = returned.reasons
    if isinstance(reasons, str) or not all(isinstance(reason, str) for reason in reasons):
        raise TypeError(f"{name} returned a Status whose reasons are {_show(reasons)}, not texts")
    shown = tuple(presentable(reason) for reason in reasons)
    return returned if shown == reasons else Status(returned.code, shown)


def _reserve(name: str, returned: Any, args: tuple[Any, ...]) -> Status | None:
    return _one_of(_FINAL, name, _status(name, returned))


def _one_of(codes: Iterable[Code], name: str, status: Status | None) -> Status | None:
    if status is not None and status.code not in codes:
        raise ValueError(f"{name} must not return {status.code.label}")
    return status


def _pair(name: str, returned: Any, what: str) -> tuple[Any, Any]:
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise TypeError(f"{name} returned {_show(returned)}, not a tuple of {what}")
    return returned


def _pre_filter(
    name: str, returned: Any, args: tuple[Any, ...]
) -> tuple[PreFilterResult | None, Status | None]:
    result, status = _pair(name, returned, "a PreFilterResult or None, and a Status or None")
    if result is not None:
        if not isinstance(result, PreFilterResult):
            raise TypeError(f"{name} returned {_show(result)}, not a PreFilterResult")
        names: Any = result.node_names
        if names is not None:
            if isinstance(names, str) or not all(isinstance(each, str) for each in names):
                raise TypeError(
                    f"{name} returned the node names {_show(names)}, not a set of texts"
                )
            result = PreFilterResult(frozenset(names))
    return result, _status(name, status)


def _filter(name: str, returned: Any, args: tuple[Any, ...]) -> Verdicts | None:
    if returned is None:
        return None
    if not isinstance(returned, Verdicts):
        raise TypeError(f"{name} returned {_show(returned)}, which is neither Verdicts nor None")
    nodes = args[2]
    ids = np.asarray(returned.ids)
    if ids.shape != (len(nodes),) or ids.dtype.kind not in "iu":
        raise TypeError(
            f"{name} returned ids of shape {ids.shape} and type {ids.dtype}: "
            f"{len(nodes)} of type uint16 are wanted"
        )
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < max(len(returned.statuses), 1):
        raise ValueError(
            f"{name} returned ids from {ids.min()} to {ids.max()} "
            f"for {len(returned.statuses)} statuses"
        )
    used = set(np.flatnonzero(np.bincount(ids)).tolist()) - {0}
    statuses = [
        _refusal(name, status) if number in used else None
        for number, status in enumerate(returned.statuses)
    ]
    if ids is returned.ids and all(
        statuses[number] is returned.statuses[number] for number in used
    ):
        # The same arrays as in the last cycle say that nothing has changed.
        return returned
    return Verdicts(ids.astype(np.uint16, copy=False), statuses)


def _refusal(name: str, returned: Any) -> Status:
    status = _status(name, returned)
    if status is None:
        raise TypeError(f"{name} rejects a node without a Status")
    _one_of(_FINAL - {Code.SUCCESS}, name, status)
    return status


def _post_filter(
    name: str, returned: Any, args: tuple[Any, ...]
) -> tuple[PostFilterResult | None, Status]:
    result, given = _pair(name, returned, "a PostFilterResult or None, and a Status")
    status = _status(name, given)
    if status is None:
        raise TypeError(f"{name} returned no Status")
    if result is None:
        return None, status
    if not isinstance(result, PostFilterResult):
        raise TypeError(f"{name} returned {_show(result)}, not a PostFilterResult")
    nominating = result.nominating
    if nominating is not None and not (
        isinstance(nominating, NominatingInfo) and isinstance(nominating.nominated_node, str)
    ):
        raise TypeError(f"{name} nominates {_show(nominating)}, not a NominatingInfo with a name")
    for pod in (*result.victims, *result.displaced):
        if not isinstance(pod, PodInfo):
            raise TypeError(f"{name} returned {_show(pod)} among the pods, not a PodInfo")
    return result, status


def _permit(name: str, returned: Any, args: tuple[Any, ...]) -> tuple[Status | None, float]:
    status, seconds = _pair(name, returned, "a Status or None, and seconds")
    if not isinstance(seconds, Real) or isnan(seconds):
        raise TypeError(f"{name} returned the timeout {_show(seconds)}, not a number of seconds")
    return _one_of(_FINAL | {Code.WAIT}, name, _status(name, status)), float(seconds)


def _score(name: str, returned: Any, args: tuple[Any, ...]) -> Int64Array:
    if not isinstance(returned, np.ndarray):
        raise TypeError(f"{name} returned {_show(returned)}, not an array of int64")
    return returned


def _events(name: str, returned: Any, args: tuple[Any, ...]) -> Sequence[ClusterEventWithHint]:
    if not isinstance(returned, Iterable):
        raise TypeError(f"{name} returned {_show(returned)}, not a list of ClusterEventWithHint")
    events = list(returned)
    for event in events:
        if not isinstance(event, ClusterEventWithHint):
            raise TypeError(f"{name} returned {_show(event)}, not a ClusterEventWithHint")
    return events


def _details(name: str, returned: Any, args: tuple[Any, ...]) -> Sequence[Detail]:
    if returned is None:
        return ()
    if isinstance(returned, str) or not isinstance(returned, Iterable):
        raise TypeError(f"{name} returned {_show(returned)}, not a list of Details")
    details = list(returned)
    for detail in details:
        if not isinstance(detail, Detail):
            raise TypeError(f"{name} returned {_show(detail)}, not a Detail")
        json.dumps(dict(detail.figures))
    return [replace(each, sentence=presentable(each.sentence)) for each in details]


def _show(returned: Any) -> str:
    text = repr(returned)
    return text if len(text) <= 100 else f"{text[:99]}…"


_CHECKS: Final[Mapping[str, Callable[[str, Any, tuple[Any, ...]], Any]]] = {
    "pre_enqueue": _status,
    "events_to_register": _events,
    "pre_filter": _pre_filter,
    "filter": _filter,
    "filter_rows": _filter,
    "post_filter": _post_filter,
    "pre_score": _status,
    "score": _score,
    "normalize_score": _score,
    "reserve": _reserve,
    "permit": _permit,
    "pre_bind": _status,
    "bind": _status,
    "explain_refusal": _details,
    "explain_score": _details,
    "explain_normalization": _details,
    # Whatever they return; they must not end the process.
    **dict.fromkeys(("unreserve", "post_bind", "add_pod", "remove_pod", "sort_key"), _anything),
}
