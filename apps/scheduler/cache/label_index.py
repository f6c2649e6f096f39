"""Pods by what label selectors distinguish: namespace, labels, and whether they terminate."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable

from apps.scheduler.cache.pod_index import PodIndex
from apps.scheduler.framework.types import LabelClass, PodInfo
from apps.scheduler.labels import IN, Selector


class LabelIndex(PodIndex[LabelClass]):
    """The tags of a class are its labels, as (key, value), and its namespace."""

    def __init__(self) -> None:
        super().__init__(_class_of, _tags_of)


def selector_tags(
    selector: Selector, namespaces: Collection[str] | None
) -> Collection[Hashable] | None:
    """A pod in one of these namespaces (None = any) that matches has exactly one of these tags.

    None if there is no such set of tags.
    """
    if selector.nothing:
        return ()
    listed = [each for each in selector.requirements if each.operator == IN]
    if listed:
        narrowest = min(listed, key=lambda requirement: len(requirement.values))
        return [(narrowest.key, value) for value in dict.fromkeys(narrowest.values)]
    return namespaces


def _class_of(pod: PodInfo) -> tuple[LabelClass]:
    return (pod.label_class,)


def _tags_of(key: LabelClass) -> Iterable[Hashable]:
    namespace, labels, _ = key
    return (namespace, *labels)
