"""Snapshots of cluster-autoscaler: what its `/snapshotz` answers."""

from __future__ import annotations

from apps.cluster import kinds
from apps.studies.importers.formats import Format, Objects
from apps.studies.importers.recorded_events import without_own
from apps.studies.importers.source_files import Place, get_objects, read_json


def read_objects(content: bytes, name: str) -> Objects:
    """The nodes with their pods, and the pods that wait."""
    place = Place(name)
    document = read_json(content, place)
    if not isinstance(document, dict) or not isinstance(document.get("NodeList"), list):
        raise place.at("NodeList").error("must be a list of objects")
    objects: Objects = []
    for index, entry in enumerate(get_objects(document, "NodeList", place)):
        where = place.at("NodeList").at(index)
        objects.append((kinds.NODE, without_own(entry.get("Node"), where.at("Node"))))
        for number, pod in enumerate(get_objects(entry, "Pods", where)):
            objects.append((kinds.POD, without_own(pod.get("Pod"), where.at("Pods").at(number))))
    field = "UnscheduledPodsCanBeScheduled"
    for index, pod in enumerate(get_objects(document, field, place)):
        objects.append((kinds.POD, without_own(pod, place.at(field).at(index))))
    return objects


FORMAT = Format("cluster-autoscaler", read_objects)
