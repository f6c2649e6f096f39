"""Errors in a YAML text, shown at its field with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

import yaml
from django import forms

from apps.cluster.errors import ApiError, Cause, Invalid
from apps.cluster.manifests import ManifestError, ManifestErrors

#: A step of a field's path: a name, or the text in brackets.
_STEP = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")
#: Of a key that is set twice, whose first line is not the wrong one.
_STARTS_WITH_LINE = re.compile(r"^line (\d+): ")
_LINE = re.compile(r"\bline (\d+)")
#: The position of a manifest in its file, in the message of a ManifestError.
_DOCUMENT = re.compile(r"^document (\d+)")
#: What a message says about the position of its error, when its line is shown before it.
_PLACE = re.compile(r"^document \d[^:]*: ")
_POSITION = re.compile(r",? ?\(?(at |in |on )?line \d+(,? column \d+)?\)?:?")
_ITEM = re.compile(r"items\[(\d+)\]")


def show_in_yaml(form: forms.Form, field: str, refusal: ApiError) -> None:
    """Add an error of the store to the field with the YAML, each cause with its line."""
    text = _text(form, field)
    if isinstance(refusal, ManifestErrors):
        for each in refusal.errors:
            _show_refusal(form, field, each, text)
    else:
        _show_refusal(form, field, refusal, text)


def show_syntax(form: forms.Form, field: str, message: str) -> None:
    """Add the message about a text that is not YAML, at its line."""
    line = _find_line(message)
    shown = f"this is not YAML: {message}"
    show_problem(form, field, line, _describe_syntax(shown) if line else shown)


def show_causes(form: forms.Form, field: str, causes: Iterable[Cause]) -> None:
    """Add the causes of an error about the object in a field, each with its line."""
    text = _text(form, field)
    for cause in causes:
        line = line_of(text, cause.field)
        show_problem(form, field, line, f"{cause.field}: {cause.message}")


def _show_refusal(form: forms.Form, field: str, refusal: ApiError, text: str) -> None:
    error = refusal.__cause__ if isinstance(refusal, ManifestError) else refusal
    document, prefix = _parse_position(refusal.message if refusal is not error else "")
    if not isinstance(error, Invalid):
        line = _find_line(refusal.message)
        if line is not None:
            show_problem(form, field, line, _describe_syntax(refusal.message))
            return
        line = line_of(text, prefix, document=document) if prefix else None
        line = line or _line_of_document(text, document, refusal.message)
        show_problem(
            form, field, line, _PLACE.sub("", refusal.message) if line else refusal.message
        )
        return
    for cause in error.causes:
        line = line_of(text, f"{prefix}{cause.field}", document=document)
        show_problem(form, field, line, f"{cause.field}: {cause.message}")


def list_problems(text: str, causes: Iterable[tuple[str, str]]) -> list[tuple[int | None, str]]:
    """The line (from 1; None: unknown) and the text of each cause (path, message)."""
    return [_place_problem(text, path, message) for path, message in causes]


def _place_problem(text: str, path: str, message: str) -> tuple[int | None, str]:
    if found := _STARTS_WITH_LINE.match(message):
        return int(found[1]), f"{path}: {message[found.end() :]}"
    if not path:
        return _find_line(message), message
    return line_of(text, path) or _find_line(message), f"{path}: {message}"


def _text(form: forms.Form, field: str) -> str:
    """The text that was entered, or that of the uploaded file."""
    return str(form[field].value() or "")


def show_problem(form: forms.Form, field: str, line: int | None, message: str) -> None:
    """Add a message, and mark the line in the text."""
    if line is None:
        form.add_error(field, message)
        return
    form.add_error(field, f"Line {line}: {message}")
    attributes = form.fields[field].widget.attrs
    known = attributes.get("data-wrong", "")
    attributes["data-wrong"] = f"{known},{line}" if known else str(line)


def line_of(text: str, path: str, *, document: int = 1) -> int | None:
    """The line (from 1) of a field, or of its nearest ancestor that exists.

    None for a text that is not valid YAML, or without the first step of the path.
    """
    try:
        nodes = list(yaml.compose_all(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, RecursionError):
        return None
    node = nodes[document - 1] if 0 < document <= len(nodes) else None
    line = None
    for name, inner in _STEP.findall(path):
        found = _follow_step(node, inner or name)
        if found is None:
            break
        node, line = found
    return line


def _describe_syntax(message: str) -> str:
    """A message about text that is not YAML, without the line, which is shown before it."""
    return _POSITION.sub("", message).replace("this is not YAML: yaml: ", "this is not YAML: ")


def _line_of_document(text: str, document: int, message: str) -> int | None:
    """The line (from 1) at which the document that a message names starts."""
    if not _DOCUMENT.match(message):
        return None
    try:
        nodes = list(yaml.compose_all(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, RecursionError):
        return None
    node = nodes[document - 1] if document <= len(nodes) else None
    return node.start_mark.line + 1 if node is not None else None


def _follow_step(node: yaml.Node | None, step: str) -> tuple[yaml.Node, int] | None:
    """The value at one step, and its line."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step.strip("\"'"):
                return value, key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
        item = node.value[int(step)]
        return item, item.start_mark.line + 1
    return None


def _parse_position(message: str) -> tuple[int, str]:
    """The number of the document in a message, and the path of the object in it."""
    found = _DOCUMENT.match(message)
    start = message.split(" (", 1)[0]
    items = "".join(f"items[{number}]." for number in _ITEM.findall(start))
    return (int(found[1]) if found else 1), items


def _find_line(message: str) -> int | None:
    found = _LINE.search(message)
    return int(found[1]) if found else None
