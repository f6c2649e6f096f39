"""Plain data from JSON and YAML text that somebody sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

#: Objects, lists and values in one document, after YAML aliases are followed.
_MAX_NODES = 500_000
_MAX_DEPTH = 200
_TOO_LARGE = "the document is too large or too deep, its aliases followed"


class Unreadable(Exception):
    """Text that is no JSON or YAML, or holds what an object cannot hold; why."""


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: what looks like a date stays text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


def parse_json(raw: bytes) -> Any:
    """Plain data from JSON text."""
    try:
        value = msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        truncated = not raw.strip() or str(error) == "Input data was truncated"
        raise Unreadable(
            f"json parse error: {'unexpected end of JSON input' if truncated else error}"
        ) from error
    except RecursionError as error:
        raise Unreadable("json parse error: exceeded max depth") from error
    except ValueError as error:
        raise Unreadable(f"json parse error: {error}") from error
    if b"\\u0000" in raw:
        _check(value)
    return value


def parse_yaml(raw: bytes | str) -> Any:
    """Plain data from one YAML document; None from an empty text."""
    return next(parse_yaml_stream(raw, single=True), None)


def parse_yaml_stream(raw: bytes | str, *, single: bool = False) -> Iterator[Any]:
    """Plain data from each document of a YAML text, empty ones included (None).

    With `single` a second document is refused.
    """
    loader = None
    try:
        _check_depth(raw)
        loader = _Loader(raw)
        if single:
            yield _checked(loader.get_single_data())
            return
        while loader.check_data():  # type: ignore[no-untyped-call]  # the stubs left it out
            yield _checked(loader.get_data())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Unreadable(f"yaml: {_problem(error)}") from error
    finally:
        if loader is not None:
            loader.dispose()


def _check_depth(raw: bytes | str) -> None:
    """Refuse a deep document before libyaml's composer, which recurses without a limit, sees it."""
    depth = 0
    for event in yaml.parse(raw, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise Unreadable(_TOO_LARGE)


def _checked(value: Any) -> Any:
    _check(value)
    return value


def _check(value: Any) -> None:
    """Refuse what JSON or the database cannot hold, and trees that grow out of aliases."""
    stack, nodes = [(value, "", 0)], 0
    while stack:
        item, path, depth = stack.pop()
        nodes += 1
        if nodes > _MAX_NODES or depth > _MAX_DEPTH:
            raise Unreadable(_TOO_LARGE)
        if isinstance(item, dict):
            for key, child in item.items():
                if not isinstance(key, str):
                    raise Unreadable(f"yaml: the key {key!r} in {path or 'the body'} is not text")
                stack.append((key, f"{path}.{key}", depth + 1))
                stack.append((child, f"{path}.{key}", depth + 1))
        elif isinstance(item, list):
            stack.extend((child, f"{path}[{i}]", depth + 1) for i, child in enumerate(item))
        elif isinstance(item, str):
            if "\x00" in item:
                raise Unreadable(f"{path.lstrip('.')} holds a NUL character")
        elif item is not None and not isinstance(item, (bool, int, float)):
            raise Unreadable(f"yaml: {path.lstrip('.')} holds a {type(item).__name__}")


def _problem(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        line = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        return f"{error.problem}{line}"
    return str(error).split("\n")[0]
