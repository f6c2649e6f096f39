"""Extenders may drop candidates, or change their victims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apps.scheduler.framework.extender import Extender, ExtenderError
from apps.scheduler.framework.interface import Victims
from apps.scheduler.framework.types import PodInfo


def ask_extenders(
    extenders: Iterable[Extender], pod: PodInfo, candidates: Mapping[str, Victims]
) -> Mapping[str, Victims]:
    """The candidates that remain after every extender was called, one after the other.

    Raises ExtenderError if an extender fails that is not ignorable.
    """
    for extender in extenders:
        try:
            answer = extender.process_preemption(pod, candidates)
        except ExtenderError:
            if extender.is_ignorable:
                continue
            raise
        candidates = _check(extender, answer)
        if not candidates:
            break
    return candidates


def _check(extender: Extender, answer: Mapping[str, Victims]) -> Mapping[str, Victims]:
    """The answer without nodes that have no victims."""
    for node, victims in answer.items():
        if not victims.pods and not extender.is_ignorable:
            raise ExtenderError(f'expected at least one victim pod on node "{node}"')
    return {node: victims for node, victims in answer.items() if victims.pods}
