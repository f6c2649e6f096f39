"""How views describe themselves in the OpenAPI document."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from apps.api.control.documentation.areas import Area
from apps.api.control.documentation.parameters import IN_PATHS


class ControlSchema(AutoSchema):
    """Describes an operation by its view's `area` and `path_help`, and its method's docstring.

    The first paragraph of the docstring is the summary, the others are the description.
    Lists of a deleted cluster are in the area HISTORY, whatever their view.
    `extend_schema(summary=…, description=…)` describes methods that a view inherits.
    """

    def get_tags(self) -> list[str]:
        is_past = "{cluster_id}" in self.path
        view: Any = self.view
        return [Area.HISTORY.title if is_past else view.area.title]

    def get_summary(self) -> str:
        return self._paragraphs()[0].rstrip(".")

    def get_description(self) -> str:  # type: ignore[override]  # as in drf-spectacular
        return "\n\n".join(self._paragraphs()[1:])

    def _paragraphs(self) -> list[str]:
        """The docstring of the method, as paragraphs of one line each."""
        name = getattr(self.view, "action", None) or self.method.lower()
        text = cleandoc(getattr(self.view, name).__doc__ or "")
        return [" ".join(paragraph.split("\n")) for paragraph in text.split("\n\n")]

    def _resolve_path_parameters(self, variables: list[str]) -> Any:
        described: Any = super()._resolve_path_parameters(variables)  # type: ignore[no-untyped-call]
        helps = {name: meaning.description for name, meaning in IN_PATHS.items()}
        helps |= getattr(self.view, "path_help", {})
        for parameter in described:
            parameter["description"] = helps.get(parameter["name"], "")
        return described


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # has no types
    """`Authorization: Bearer KEY`, in the description."""

    target_class = "apps.people.authentication.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}
