"""A form that creates an object, and shows the errors of the store at the fields they are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

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

    def values(self) -> dict[str, Any]:
        """The values entered; a field with an error has a valid value in its place.

        With them the store finds the errors of the other fields, so that all are shown at once.
        """
        typed = self.cleaned_data
        return {
            name: typed[name] if name in typed else _sample(field)
            for name, field in self.fields.items()
        }


def _sample(field: forms.Field) -> Any:
    if field.initial is not None:
        return field.initial
    return "sample" if field.required else field.clean("")


def show_error(form: ObjectForm, error: ApiError, *, field: str | None = None) -> None:
    """Add an error of the store to `field` if given, else to the field of each cause.

    Fields that had errors before keep these alone.
    """
    wrong = set(form.errors)
    if isinstance(error, Invalid):
        for cause in error.causes:
            if form.field_of(cause.field) not in wrong:
                _show_cause(form, cause, field)
    elif isinstance(error, AlreadyExists) and "name" in form.fields:
        if "name" not in wrong:
            form.add_error("name", error.message)
    else:
        form.add_error(field, error.message)


def _show_cause(form: ObjectForm, cause: Cause, field: str | None) -> None:
    target = form.field_of(cause.field)
    if field is None and target is not None:
        form.add_error(target, cause.message)
    else:
        form.add_error(field, f"{cause.field}: {cause.message}")
