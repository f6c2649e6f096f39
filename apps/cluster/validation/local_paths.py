"""Paths of files inside a volume, and their modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, all_invalid, invalid, required

Body = Mapping[str, Any]


def has_backsteps(path: str) -> bool:
    """Whether the path has an element `..`."""
    return ".." in path.split("/")


def validate_relative_path(target: str, path: str) -> Causes:
    """A path that stays below the volume's root."""
    if target.startswith("/"):
        yield invalid(path, target, "must be a relative path")
    if has_backsteps(target):
        yield invalid(path, target, "must not contain '..'")


def validate_file_path(target: str, path: str) -> Causes:
    """A relative path that does not begin with the dots that the kubelet reserves."""
    yield from validate_relative_path(target, path)
    if target.startswith("..") and not has_backsteps(target):
        yield invalid(path, target, "must not start with '..'")


def validate_file_mode(mode: int | None, path: str) -> Causes:
    """The permission bits of a file."""
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive")


def validate_files(items: Sequence[Body], path: str) -> Causes:
    """The keys of a ConfigMap or Secret, with the paths of their files."""
    for index, item in enumerate(items):
        place = f"{path}[{index}]"
        if not item.get("key"):
            yield required(f"{place}.key")
        else:
            yield from all_invalid(f"{place}.key", item["key"], names.config_key(item["key"]))
        if not item.get("path"):
            yield required(f"{place}.path")
        yield from validate_file_path(item.get("path", ""), f"{place}.path")
        yield from validate_file_mode(item.get("mode"), f"{place}.mode")
