"""Refusals of the store, shown beside the field they are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from django import forms

from apps.cluster.errors import AlreadyExists, ApiError, Cause, Invalid


class ObjectForm(forms.Form):
    """A form that makes an object."""

    #: Path of the object's field, or how it begins -> the form's field that it is typed in.
    paths: ClassVar[Mapping[str, str]] = {}

    def field_of(self, path: str) -> str | None:
        """The form's field for a path of the object; the longest that fits wins."""
        if path in self.fields:
            return path
        fitting = [start for start in self.paths if path.startswith(start)]
        return self.paths[max(fitting, key=len)] if fitting else None


def show_refusal(form: ObjectForm, refusal: ApiError, *, field: str | None = None) -> None:
    """Add what was refused to the form: to `field` if given, else where each cause belongs."""
    if isinstance(refusal, Invalid):
        for cause in refusal.causes:
            _show(form, cause, field)
    elif isinstance(refusal, AlreadyExists) and "name" in form.fields:
        form.add_error("name", refusal.message)
    else:
        form.add_error(field, refusal.message)


def _show(form: ObjectForm, cause: Cause, field: str | None) -> None:
    own = form.field_of(cause.field)
    if field is None and own is not None:
        form.add_error(own, cause.message)
    else:
        form.add_error(field, f"{cause.field}: {cause.message}")
