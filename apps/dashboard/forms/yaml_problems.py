"""Errors in a YAML text, shown at its field with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django import forms

from apps.cluster.errors import ApiError, Cause, Invalid
from apps.cluster.manifests.places import ManifestError, ManifestErrors, line_of, locate

#: Of a key that is set twice, whose first line is not the wrong one.
_STARTS_WITH_LINE = re.compile(r"^line (\d+): ")
_LINE = re.compile(r"\bline (\d+)")
#: What a message says about the position of its error, when its line is shown before it.
_POSITION = re.compile(r",? ?\(?(at |in |on )?line \d+(,? column \d+)?\)?:?")


def show_in_yaml(form: forms.Form, field: str, refusal: ApiError, *, files: str = "") -> None:
    """Add an error of the store to the field with the YAML, each cause with its line.

    What is in a file that has a name is shown at the field `files`.
    """
    errors = refusal.errors if isinstance(refusal, ManifestErrors) else [refusal]
    locate(each for each in errors if isinstance(each, ManifestError))
    for error in errors:
        if isinstance(error, Invalid):
            show_causes(form, field, error.causes)
        elif not isinstance(error, ManifestError):
            show_problem(form, field, None, error.message)
        elif files and error.file:
            form.add_error(files, error.message)
        else:
            _show_error(form, field, error)


def _show_error(form: forms.Form, field: str, error: ManifestError) -> None:
    cause = error.__cause__
    if error.place is None:
        line = error.lines[0] or _find_line(error.message)
        show_problem(form, field, line, _describe_syntax(error.message) if line else error.message)
    elif isinstance(cause, Invalid):
        for line, each in zip(error.lines, cause.causes, strict=True):
            show_problem(form, field, line, f"{each.field}: {each.message}")
    else:
        show_problem(form, field, error.lines[0], error.problem)


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


def list_problems(text: str, causes: Iterable[tuple[str, str]]) -> list[tuple[int | None, str]]:
    """The line (from 1; None: unknown) and the text of each cause (path, message)."""
    return [_place_problem(text, path, message) for path, message in causes]


def _place_problem(text: str, path: str, message: str) -> tuple[int | None, str]:
    if match := _STARTS_WITH_LINE.match(message):
        return int(match[1]), f"{path}: {message[match.end() :]}"
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


def _describe_syntax(message: str) -> str:
    """A message about text that is not YAML, without the line, which is shown before it."""
    return _POSITION.sub("", message).replace("this is not YAML: yaml: ", "this is not YAML: ")


def _find_line(message: str) -> int | None:
    match = _LINE.search(message)
    return int(match[1]) if match else None
