"""From the text of a configuration (YAML or JSON) to plain values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml

from apps.scheduler.config.errors import Cause, ConfigError

#: Bytes of a text, and its levels.
MAX_BYTES: Final = 256 * 1024
_MAX_DEPTH: Final = 200
#: Values of a document once its aliases are written out. They can grow exponentially.
_MAX_VALUES: Final = 100_000


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: no timestamps, no base-60 numbers, no duplicate keys."""

    duplicates: list[Cause]


#: Scalars that Python's loader resolves and Kubernetes' does not.
_STRINGS: Final = (
    "tag:yaml.org,2002:timestamp",
    "tag:yaml.org,2002:int",
    "tag:yaml.org,2002:float",
)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _STRINGS]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"^[-+]?(?:0|0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[1-9][0-9_]*)$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    ),
    list("-+0123456789."),
)


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = node.value.replace("_", "")
    octal = re.fullmatch(r"([-+]?)0o?([0-7]+)", text)
    return int(octal[1] + octal[2], 8) if octal else int(text, 0)


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[str] = set()
    for key_node, _ in node.value:
        key = str(key_node.value)
        if key in seen:
            line = key_node.start_mark.line + 1
            loader.duplicates.append(Cause(key, f'line {line}: key "{key}" already set in map'))
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


def _float(loader: _Loader, node: yaml.ScalarNode) -> float:
    return float(node.value.replace(".inf", "inf").replace(".nan", "nan").lower())


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read(source: str | bytes | Mapping[str, Any]) -> Mapping[str, Any]:
    """The one object that a YAML or JSON text holds; a mapping is returned as it is.

    Raises ConfigError when the text cannot be read, is not a single object, or has a key twice.
    """
    if isinstance(source, Mapping):
        return source
    size = len(source.encode(errors="replace") if isinstance(source, str) else source)
    if size > MAX_BYTES:
        said = f"the text has {size:,} bytes, at most {MAX_BYTES:,} are read"
        raise ConfigError([Cause("", said)])
    try:
        documents, duplicates = _documents(replace_tabs(source))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = " ".join(str(error).split())
        raise ConfigError([Cause("", f"cannot be read as YAML or JSON: {said}")]) from None
    if duplicates:
        raise ConfigError(duplicates)
    if len(documents) != 1:
        said = "is empty" if not documents else f"has {len(documents)} documents, not one"
        raise ConfigError([Cause("", f"the text {said}")])
    (value,) = documents
    if not isinstance(value, Mapping):
        raise ConfigError([Cause("", "the text does not hold an object")])
    return value


def replace_tabs(text: str | bytes) -> str | bytes:
    """The text; without tabs if it is JSON, which may be indented with them, as YAML may not."""
    if isinstance(text, str) and "\t" in text and text.lstrip().startswith("{"):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return text
        # strings of JSON have none
        return text.replace("\t", " ")
    return text


def _documents(text: str | bytes) -> tuple[list[Any], list[Cause]]:
    """The documents that are not empty, and the keys that are set twice."""
    _check_depth(text)
    loader = _Loader(text)
    loader.duplicates = []
    documents = []
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is not None and _values(node, {}) > _MAX_VALUES:
                raise yaml.YAMLError(f"more than {_MAX_VALUES} values")
            documents.append(loader.construct_document(node))
    finally:
        loader.dispose()
    return [document for document in documents if document is not None], loader.duplicates


def _check_depth(text: str | bytes) -> None:
    """Reject deep texts before a value is composed, which takes a level of the stack for each."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise yaml.YAMLError(f"more than {_MAX_DEPTH} levels")


def _values(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values `node` holds with all aliases written out.

    `known` has the nodes counted before, by id, and 0 for those that are being counted.
    """
    if id(node) in known:
        if not known[id(node)]:
            raise yaml.YAMLError("a value contains itself")
        return known[id(node)]
    known[id(node)] = 0
    children: Iterable[yaml.Node] = ()
    if isinstance(node, yaml.SequenceNode):
        children = node.value
    elif isinstance(node, yaml.MappingNode):
        children = (child for pair in node.value for child in pair)
    known[id(node)] = 1 + sum(_values(child, known) for child in children)
    return known[id(node)]
