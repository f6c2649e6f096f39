"""Results of the rooms below in the responses of this API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.response import Response

from apps.answers import find_hint, list_fields, read_comments, to_json


def answer(result: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A response with a result as its body."""
    return Response(to_json(result), status=status, headers=headers)


def result_fields(kind: Any) -> dict[str, ResultField]:
    """A field of a serializer for each one of a result."""
    comments = read_comments(kind)
    return {
        name: ResultField(find_hint(kind, name), help_text=comments.get(name))
        for name in list_fields(kind)
    }


class ResultField(serializers.Field[Any, Any, Any, Any]):
    """A result as a field of a serializer, beside rows of the database."""

    def __init__(self, kind: Any, **options: Any) -> None:
        super().__init__(**options)
        self.kind = kind

    def to_representation(self, value: Any) -> Any:
        return to_json(value, self.kind)
