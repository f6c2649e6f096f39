"""Errors of the store, shown at the form fields they are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from django import forms

from apps.cluster.errors import AlreadyExists, ApiError, Cause, Invalid


class ObjectForm(forms.Form):
    """A form that creates an object."""

    #: Path of the object's field, or a prefix of it -> the field of the form.
    paths: ClassVar[Mapping[str, str]] = {}

    def field_of(self, path: str) -> str | None:
        """The form's field for a path of the object, by the longest matching prefix."""
        if path in self.fields:
            return path
        matching = [start for start in self.paths if path.startswith(start)]
        return self.paths[max(matching, key=len)] if matching else None


def show_refusal(form: ObjectForm, refusal: ApiError, *, field: str | None = None) -> None:
    """Add an error of the store to `field` if given, else to the field of each cause."""
    if isinstance(refusal, Invalid):
        for cause in refusal.causes:
            _show_cause(form, cause, field)
    elif isinstance(refusal, AlreadyExists) and "name" in form.fields:
        form.add_error("name", refusal.message)
    else:
        form.add_error(field, refusal.message)


def _show_cause(form: ObjectForm, cause: Cause, field: str | None) -> None:
    target = form.field_of(cause.field)
    if field is None and target is not None:
        form.add_error(target, cause.message)
    else:
        form.add_error(field, f"{cause.field}: {cause.message}")
