"""Parses JSON and YAML text that a client sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import yaml

from apps.cluster import limits
from apps.cluster.json_syntax import syntax_error

_TOO_LARGE = "the document is too large or too deep after its aliases are expanded"
#: The beginning of a value or a key in JSON, with what belongs to it; also in a text that is none.
_JSON_VALUE: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{\[]|[^\s,:{}\[\]"]++', re.DOTALL)


#: Escapes in JSON; of those for halves of a character, the lone ones stand for none.
_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class UnreadableDocument(Exception):
    """Text that is not JSON or YAML, or contains a value that an object cannot have."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem if line is None else f"{problem} (line {line})")
        self.problem = problem
        #: where it is, from 1, if that is known
        self.line = line


def _read_flag(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> bool:
    return node.value.lower() in ("y", "yes", "true", "on")


def _read_integer(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> int | float:
    text = node.value.replace("_", "")
    digits = text.lstrip("+-")
    is_octal = digits[0] == "0" and digits.isdecimal()
    if is_octal and not set(digits).isdisjoint("89"):
        return float(text)
    return int(text, 8 if is_octal else 0)


def _read_float(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> float:
    text = node.value.replace("_", "").lower()
    return float(text.replace(".inf", "inf").replace(".nan", "nan"))


#: Of the types that plain text in YAML may have, Kubernetes knows these as PyYAML does,
_KEPT: Final = ("null", "merge")
#: and these by other texts: name, pattern, first characters.
_RESOLVED: Final = (
    ("bool", "[yYnN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|true|True|TRUE|false|False|FALSE",
     "yYnNtTfFoO", _read_flag),
    ("int", r"[-+]?(?:\d[\d_]*|0[oO][0-7_]+|0[bB][01_]+|0[xX][\da-fA-F_]+)",
     "-+0123456789", _read_integer),
    ("float", r"[-+]?(?:\d*\.)?\d+(?:[eE][-+]?\d+)?|[-+]?\d+\.(?:[eE][-+]?\d+)?"
     r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+0123456789.", _read_float),
)  # fmt: skip


class _ManifestLoader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: version 1.1, in which dates and numbers to base 60 are text.

    Merge keys (`<<`) copy a mapping into each that names it, with what was merged into it: ten
    lines can stand for billions of values. They are counted while they are resolved, before
    anything is constructed.
    """

    _walked = 0

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping whose keys are text; numbers and booleans are written as JSON writes them."""
        built = super().construct_mapping(node, deep)
        return {
            json.dumps(key) if type(key) in (bool, int, float) else key: value
            for key, value in built.items()
        }

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        self._walked += len(node.value)
        if self._walked > limits.DOCUMENT_VALUES.highest:
            raise yaml.constructor.ConstructorError(
                None, None, "merge keys copy too many values", node.start_mark
            )


_ManifestLoader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag.rpartition(":")[2] in _KEPT]
    for first, resolvers in _ManifestLoader.yaml_implicit_resolvers.items()
}
for _name, _pattern, _first, _construct in _RESOLVED:
    _tag = f"tag:yaml.org,2002:{_name}"
    _ManifestLoader.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), list(_first))
    _ManifestLoader.add_constructor(_tag, _construct)


class _StrictLoader(_ManifestLoader):
    """The same; a key that occurs twice in a mapping is an error, and not the last of the two."""

    def __init__(self, stream: bytes | str) -> None:
        super().__init__(stream)
        #: by id; a mapping that others merge comes again, with what was merged into it
        self._checked: dict[int, yaml.MappingNode] = {}

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        if id(node) not in self._checked:
            self._checked[id(node)] = node
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f'key "{key.value}" already set in map', key.start_mark
                    )
                if isinstance(key, yaml.ScalarNode):
                    seen.add(key.value)
        super().flatten_mapping(node)

    def construct_document(self, node: yaml.Node) -> Any:
        # the nodes of a stream would be walked by each garbage collection, whose length nothing
        # interrupts: seconds in the middle of a long import
        self._checked.clear()
        return super().construct_document(node)


def parse_json(raw: bytes) -> Any:
    """Plain data from JSON text. Raises UnreadableDocument."""
    if _has_many_values(raw):
        raise UnreadableDocument("json parse error: too many values")
    try:
        value = _decode(raw)
    except RecursionError as error:
        raise UnreadableDocument("json parse error: exceeded max depth") from error
    except ValueError as error:
        raise UnreadableDocument(f"json parse error: {syntax_error(raw) or error}") from error
    if _is_deep(raw, value):
        raise UnreadableDocument("json parse error: exceeded max depth")
    if b"\\u0000" in raw:
        _check(value)
    return value


def _decode(raw: bytes) -> Any:
    """The value of a JSON text; characters that no text can have are replaced, as Go does it."""
    try:
        return msgspec.json.decode(raw)
    except ValueError:
        repaired = _ESCAPE.sub(_valid_escape, raw.decode(errors="replace"))
        if repaired.encode() == raw:
            raise
        return msgspec.json.decode(repaired)


def _valid_escape(match: re.Match[str]) -> str:
    return r"\ufffd" if match["lone"] else match[0]


def _has_many_values(raw: bytes) -> bool:
    """Whether JSON has more values and keys than are read; a text with few marks has few."""
    most = limits.DOCUMENT_VALUES.highest
    if 2 * (raw.count(b",") + raw.count(b"[") + raw.count(b"{")) < most:
        return False
    # a loop of Python's, which other threads interrupt
    return any(count > most for count, _ in enumerate(_JSON_VALUE.finditer(raw), start=1))


def _is_deep(raw: bytes, value: Any) -> bool:
    """Whether JSON has more levels than are read; a text with few brackets has few levels."""
    most = limits.DOCUMENT_DEPTH.highest
    return raw.count(b"{") + raw.count(b"[") > most and depth_of(value) > most


def depth_of(value: Any) -> int:
    """The levels of plain data: 0 of a scalar, 1 of a list of scalars."""
    depth, level = 0, [value]
    while level := [each for each in level if type(each) in (dict, list)]:
        depth += 1
        level = [
            inner for each in level for inner in (each.values() if type(each) is dict else each)
        ]
    return depth


def parse_yaml(raw: bytes | str, *, strict: bool = False) -> Any:
    """Plain data from one YAML document; None from an empty text."""
    return next(parse_yaml_stream(raw, single=True, strict=strict), None)


def parse_yaml_stream(
    raw: bytes | str, *, single: bool = False, strict: bool = False
) -> Iterator[Any]:
    """Plain data from each document of a YAML text, empty ones included (None).

    With `single` a second document is refused. `strict` refuses a key that occurs twice in a
    mapping, which a person did not mean; clients of the Kubernetes API get the last of the two.
    """
    loader = None
    try:
        _check_size(raw)
        loader = (_StrictLoader if strict else _ManifestLoader)(raw)
        if single:
            yield _check_value(loader.get_single_data())
            return
        while loader.check_data():  # type: ignore[no-untyped-call]  # missing in the stubs
            yield _check_value(loader.get_data())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _unreadable(error) from error
    finally:
        if loader is not None:
            loader.dispose()


def repeated_keys(raw: bytes) -> Iterator[str]:
    """What the API server says of keys that occur twice in a mapping of a YAML text.

    The text is one that `parse_yaml` has read.
    """
    waiting: list[yaml.Node | None] = [yaml.compose(raw, Loader=_ManifestLoader)]
    known: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in known:
            continue
        known.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += reversed(node.value)
        elif isinstance(node, yaml.MappingNode):
            keys: set[str] = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value in keys:
                    line = key.start_mark.line + 1
                    yield f'line {line}: key "{key.value}" already set in map'
                keys.add(key.value if isinstance(key, yaml.ScalarNode) else "")
            waiting += [value for _, value in reversed(node.value)]


def _check_size(raw: bytes | str) -> None:
    """Reject deep and large documents before their nodes are built.

    libyaml's composer recurses without a limit, and a node takes half a kilobyte.
    """
    depth = values = 0
    for event in yaml.parse(raw, Loader=_ManifestLoader):
        if isinstance(event, yaml.NodeEvent):
            values += 1
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            values = 0
        if values > limits.DOCUMENT_VALUES.highest or depth > limits.DOCUMENT_DEPTH.highest:
            raise UnreadableDocument(_TOO_LARGE)


def _check_value(value: Any) -> Any:
    _check(value)
    return value


def _check(value: Any) -> None:
    """Reject values that JSON or the database cannot represent, and expanded aliases."""
    most, deepest = limits.DOCUMENT_VALUES.highest, limits.DOCUMENT_DEPTH.highest
    stack, nodes = [(value, "", 0)], 0
    while stack:
        item, path, depth = stack.pop()
        nodes += 1
        if nodes > most or depth > deepest:
            raise UnreadableDocument(_TOO_LARGE)
        if isinstance(item, dict):
            for key, child in item.items():
                if not isinstance(key, str):
                    raise UnreadableDocument(
                        f"yaml: the key {key!r} in {path or 'the body'} is not a string"
                    )
                stack.append((key, f"{path}.{key}", depth + 1))
                stack.append((child, f"{path}.{key}", depth + 1))
        elif isinstance(item, list):
            stack.extend((child, f"{path}[{i}]", depth + 1) for i, child in enumerate(item))
        elif isinstance(item, str):
            if "\x00" in item:
                raise UnreadableDocument(f"{path.lstrip('.')} holds a NUL character")
        elif item is not None and not isinstance(item, (bool, int, float)):
            raise UnreadableDocument(f"yaml: {path.lstrip('.')} contains a {type(item).__name__}")


def _unreadable(error: Exception) -> UnreadableDocument:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        mark = error.problem_mark
        return UnreadableDocument(f"yaml: {error.problem}", mark.line + 1 if mark else None)
    return UnreadableDocument("yaml: " + str(error).split("\n")[0])
