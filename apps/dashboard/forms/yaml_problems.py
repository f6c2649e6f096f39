"""What is wrong with a YAML text, shown beside it with the line it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable

import yaml
from django import forms

from apps.cluster.errors import ApiError, Invalid
from apps.controlplane.clusters.manifests import ManifestError

#: A step of a field's path: a name, or what stands in brackets.
_STEP = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")
_LINE = re.compile(r"\bline (\d+)")
#: Where a manifest stands in its file, as ManifestError says it.
_DOCUMENT = re.compile(r"^document (\d+)")
_ITEM = re.compile(r"items\[(\d+)\]")


def show_in_yaml(form: forms.Form, field: str, refusal: ApiError) -> None:
    """Add what was refused to the field that holds the YAML, each cause with its line."""
    text = str(form.data.get(field, ""))
    told = refusal.__cause__ if isinstance(refusal, ManifestError) else refusal
    if not isinstance(told, Invalid):
        show_problem(form, field, _line_in(refusal.message), refusal.message)
        return
    document, place = _place(refusal.message if refusal is not told else "")
    for cause in told.causes:
        line = line_of(text, f"{place}{cause.field}", document=document)
        show_problem(form, field, line, f"{cause.field}: {cause.message}")


def show_causes(form: forms.Form, field: str, causes: Iterable[tuple[str, str]]) -> None:
    """Add causes (path, message) to the field that holds the YAML."""
    text = str(form.data.get(field, ""))
    for path, message in causes:
        line = line_of(text, path) if path else _line_in(message)
        show_problem(form, field, line, f"{path}: {message}" if path else message)


def show_problem(form: forms.Form, field: str, line: int | None, message: str) -> None:
    """Add one message; the line is marked in the text, too."""
    if line is None:
        form.add_error(field, message)
        return
    form.add_error(field, f"Line {line}: {message}")
    attributes = form.fields[field].widget.attrs
    known = attributes.get("data-wrong", "")
    attributes["data-wrong"] = f"{known},{line}" if known else str(line)


def line_of(text: str, path: str, *, document: int = 1) -> int | None:
    """The line (from 1) of a field, or of the nearest one above it that is there.

    None for a text that is no YAML, or where not even the path's first step is there.
    """
    try:
        nodes = list(yaml.compose_all(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, RecursionError):
        return None
    node = nodes[document - 1] if 0 < document <= len(nodes) else None
    line = None
    for name, inner in _STEP.findall(path):
        found = _step(node, inner or name)
        if found is None:
            break
        node, line = found
    return line


def _step(node: yaml.Node | None, step: str) -> tuple[yaml.Node, int] | None:
    """The value under one step, and its line."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step.strip("\"'"):
                return value, key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
        item = node.value[int(step)]
        return item, item.start_mark.line + 1
    return None


def _place(message: str) -> tuple[int, str]:
    """The number of the document a message is about, and the path of the object in it."""
    found = _DOCUMENT.match(message)
    start = message.split(" (", 1)[0]
    items = "".join(f"items[{number}]." for number in _ITEM.findall(start))
    return (int(found[1]) if found else 1), items


def _line_in(message: str) -> int | None:
    found = _LINE.search(message)
    return int(found[1]) if found else None
