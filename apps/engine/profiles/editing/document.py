"""The YAML of a configuration, edited field by field."""

from __future__ import annotations

import copy
import re
from io import StringIO
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from ruamel.yaml.util import load_yaml_guess_indent

from apps.engine.profiles.editing.layout import is_json, keep_layout, write_json
from apps.scheduler.config import Cause, ConfigError
from apps.scheduler.config.reading import read, replace_tabs

#: A step of a path: the name of a field, or an index or the `name` of an element in brackets.
_STEP: Final = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")
_COMMENT: Final = re.compile(r"(?:^|\s)#.*$")
_NO_WRAPPING: Final = 4096

Step = str | int


class ConfigurationText:
    """A configuration as text; raises ConfigError if the text is not one YAML mapping.

    In a path, an element of a list is `[2]` or, by its field `name`, `[NodeResourcesFit]`.
    """

    def __init__(self, text: str) -> None:
        # aliases that grow without limit, and keys that are set twice, are refused here
        read(text)
        self._source = text
        self._yaml = YAML()
        self._yaml.preserve_quotes = True
        self._yaml.brace_single_entry_mapping_in_flow_sequence = True
        self._yaml.width = _NO_WRAPPING
        try:
            _, indent, offset = load_yaml_guess_indent(text)
            self.body: Any = self._yaml.load(replace_tabs(text))
        except (YAMLError, ValueError, RecursionError) as error:
            said = " ".join(str(error).split())
            raise ConfigError([Cause("", f"cannot be read as YAML or JSON: {said}")]) from None
        if not isinstance(self.body, CommentedMap):
            raise ConfigError([Cause("", "the text does not hold an object")])
        offset = offset or 0
        self._yaml.indent(mapping=2, sequence=max(indent or 2, offset + 2), offset=offset)
        self._before = self._dump()

    def get(self, path: str) -> Any:
        """The value at a path; None if there is none."""
        value = self.body
        for step in split_path(path):
            value = _child(value, step)
        return value

    def set(self, path: str, value: Any) -> None:
        """Set a field; containers on its way are created."""
        *above, last = split_path(path)
        container = self._container(above)
        value = _to_yaml(value)
        if isinstance(container, CommentedSeq):
            index = _index_of(container, last)
            if index is None:
                container.append(value)
            else:
                container[index] = value
        else:
            container[last] = value

    def append(self, path: str, value: Any) -> None:
        """Append an element to the list at a path, which is created if it is absent."""
        items = self.get(path)
        if not isinstance(items, CommentedSeq):
            self.set(path, CommentedSeq())
            items = self.get(path)
        items.append(_to_yaml(value))

    def append_copy(self, path: str, index: int) -> None:
        """Append a copy of the element with this index to the list at a path."""
        items = self.get(path)
        items.append(copy.deepcopy(items[index]))

    def remove(self, path: str) -> None:
        """Remove a field or an element, and the containers that are empty without it."""
        steps = split_path(path)
        *above, last = steps
        container = self.body
        for step in above:
            container = _child(container, step)
        if isinstance(container, CommentedSeq):
            index = _index_of(container, last)
            if index is not None and index < len(container):
                del container[index]
        elif isinstance(container, CommentedMap):
            container.pop(last, None)
        self._prune(above)

    def text(self) -> str:
        """The YAML, or JSON if it was read as JSON, with the layout of the text that was read."""
        after = self._dump()
        if after != self._before and is_json(self._source):
            return write_json(self.body, self._source)
        return keep_layout(self._source, self._before, after)

    def _dump(self) -> str:
        stream = StringIO()
        self._yaml.dump(self.body, stream)
        return stream.getvalue()

    def _container(self, steps: list[Step]) -> Any:
        """The mapping or list at a path; created where it is absent."""
        value = self.body
        for position, step in enumerate(steps):
            container = _child(value, step)
            if not isinstance(container, CommentedMap | CommentedSeq):
                following = steps[position + 1] if position + 1 < len(steps) else None
                container = self._create(value, step, following)
            value = container
        return value

    @staticmethod
    def _create(parent: Any, step: Step, following: Step | None) -> Any:
        is_list = isinstance(following, int) or following is not None and _is_named(following)
        created: Any = CommentedSeq() if is_list else CommentedMap()
        if isinstance(parent, CommentedSeq):
            if isinstance(step, str):
                created["name"] = _name_of(step)
            parent.append(created)
        else:
            parent[step] = created
        return created

    def _prune(self, steps: list[Step]) -> None:
        """Remove empty containers, and entries of pluginConfig without arguments, from below."""
        while steps:
            container, above = self.body, steps[:-1]
            for step in above:
                container = _child(container, step)
            value = _child(container, steps[-1])
            if isinstance(container, CommentedSeq):
                index = _index_of(container, steps[-1])
                if index is None or not _is_empty_entry(value, steps):
                    return
                del container[index]
            elif value is None or value:
                return
            else:
                del container[steps[-1]]
            steps = above


def split_path(path: str) -> list[Step]:
    """The steps of a path: names of fields, indexes, and `[name]` for elements by name."""
    steps: list[Step] = []
    for name, inner in _STEP.findall(path):
        if name:
            steps.append(name)
        elif inner.isdecimal():
            steps.append(int(inner))
        else:
            steps.append(f"[{inner}]")
    return steps


def find_lost_comments(before: str, after: str) -> list[str]:
    """The comments of a text that are no longer in the edited one."""
    remaining = _comments(after)
    lost = []
    for comment in _comments(before):
        if comment in remaining:
            remaining.remove(comment)
        else:
            lost.append(comment)
    return lost


def _comments(text: str) -> list[str]:
    return [match[0].strip() for line in text.splitlines() if (match := _COMMENT.search(line))]


def _is_named(step: Step) -> bool:
    return isinstance(step, str) and step.startswith("[")


def _name_of(step: str) -> str:
    return step[1:-1]


def _index_of(container: Any, step: Step) -> int | None:
    """The index of an element; None for a name that no element has."""
    if isinstance(step, int):
        return step if step < len(container) else None
    wanted = _name_of(step)
    for index, item in enumerate(container):
        if isinstance(item, CommentedMap) and item.get("name") == wanted:
            return index
    return None


def _child(value: Any, step: Step) -> Any:
    if isinstance(value, CommentedSeq):
        index = _index_of(value, step)
        return None if index is None else value[index]
    if isinstance(value, CommentedMap) and isinstance(step, str):
        return value.get(step)
    return None


def _is_empty_entry(value: Any, steps: list[Step]) -> bool:
    """Whether a value is an entry of pluginConfig that has a name only."""
    return (
        len(steps) > 1
        and steps[-2] == "pluginConfig"
        and isinstance(value, CommentedMap)
        and set(value) <= {"name"}
    )


def _to_yaml(value: Any) -> Any:
    """A value for the document; a text that YAML reads as another type is quoted."""
    if isinstance(value, str):
        return value if _is_plain(value) else DoubleQuotedScalarString(value)
    if isinstance(value, CommentedMap | CommentedSeq):
        return value
    if isinstance(value, dict):
        return CommentedMap({key: _to_yaml(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return CommentedSeq([_to_yaml(item) for item in value])
    return value


def _is_plain(text: str) -> bool:
    """Whether Kubernetes reads the plain text as this text."""
    try:
        return bool(read(f"value: {text}") == {"value": text})
    except ConfigError:
        return False
