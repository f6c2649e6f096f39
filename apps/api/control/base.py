"""Shared parts of the control-plane API's views: errors and query parameters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Final

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound as NoSuchAddress
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from apps.api.control.documentation.areas import Area
from apps.api.control.errors import handle
from apps.api.releasing import ReleasingView
from apps.cluster.errors import BadRequest


class ControlView(ReleasingView):
    """A view whose errors have the common format of this API.

    A documented view names its area, and in `path_help` the meaning of parameters in its path that
    `documentation/parameters.py` does not have.
    """

    area: ClassVar[Area]
    path_help: ClassVar[Mapping[str, str]] = {}

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Any]:
        return handle


class YamlRenderer(JSONRenderer):
    """Lets clients ask for the type of a file of YAML. The view writes it; errors are JSON."""

    media_type = "application/yaml"
    format = "yaml"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> Any:
        renderer_context["response"]["Content-Type"] = JSONRenderer.media_type
        return super().render(data, JSONRenderer.media_type, renderer_context)


#: Parameters of other APIs that select a page -> those of this one.
_RENAMED: Final = {"limit": "page_size", "offset": "cursor", "before": "cursor", "page": "cursor"}

#: Of a view that writes a file of YAML.
YAML_FILES: Final = (YamlRenderer, JSONRenderer)


@extend_schema(exclude=True)
class UnknownAddressView(ControlView):
    """Answers every other address below this API with 404 as JSON."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise NoSuchAddress(f"{request.path} does not exist; see /api/docs")


def reject_unknown(request: Request, known: Collection[str]) -> None:
    """BadRequest for an unknown parameter: a misspelt filter must not be ignored."""
    for name in request.query_params:
        if name in known:
            continue
        if (new := _RENAMED.get(name)) in known:
            raise BadRequest(f"{name}: unknown parameter; pages are selected with {new}")
        raise BadRequest(
            f"{name}: unknown parameter; known parameters are {', '.join(sorted(known))}"
        )


def parse_whole_number(
    request: Request, name: str, default: int, *, lowest: int = 0, highest: int
) -> int:
    """A query parameter that is a number from `lowest` to `highest`; else BadRequest."""
    text = request.query_params.get(name)
    if not text:
        return default
    if (
        not (text.isascii() and text.isdecimal())
        or len(text) > 10
        or not lowest <= int(text) <= highest
    ):
        raise BadRequest(f"{name}: {text!r} is not a whole number from {lowest} to {highest}")
    return int(text)


def parse_switch(request: Request, name: str) -> bool:
    """A boolean query parameter; False if it is absent, BadRequest if it is invalid."""
    text = request.query_params.get(name, "").lower()
    if text not in ("", "0", "1", "false", "true"):
        raise BadRequest(f"{name}: {text!r} is neither true nor false")
    return text in ("1", "true")
