"""Parts of views of what is recorded about a cluster, which may be deleted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.base import ControlView, reject_unknown
from apps.cluster.models import Cluster
from apps.cluster.queries import cluster_named
from apps.engine import exported_files
from apps.studies.history import past_clusters

#: The parameters of the period, in the description of the API.
PERIOD = [
    OpenApiParameter(
        "since",
        str,
        description="At or after this time: `1h` (before now by the cluster's clock), `today`, "
        "`yesterday`, `09:00`, `2026-11-22T09:00`, `2026-11-22T09:00:00Z`.",
    ),
    OpenApiParameter("until", str, description="Before this time, in the same forms."),
    OpenApiParameter(
        "zone",
        str,
        default="UTC",
        description="The IANA time zone of times without an offset: `Europe/Berlin`.",
    ),
]


def recorded_cluster(kwargs: Mapping[str, Any]) -> Cluster:
    """The cluster of an address: `cluster`, its name, or `cluster_id`, the id of a deleted one."""
    if "cluster_id" in kwargs:
        past = past_clusters.get_past_cluster(int(kwargs["cluster_id"]))
        return past_clusters.cluster_of(past)
    return cluster_named(kwargs["cluster"])


class FileRenderer(BaseRenderer):
    """Negotiates the format by `?format=` and Accept; it renders only errors."""

    charset = None

    def render(self, data: Any, media_type: Any = None, context: Any = None) -> bytes:
        return msgspec.json.encode(data)


def create_renderer(known: exported_files.Format) -> type[FileRenderer]:
    """A renderer that selects this format."""
    fields = {"format": known.name, "media_type": known.media_type}
    return type(f"{known.name.title()}Renderer", (FileRenderer,), fields)


#: The parameter `format`, and the responses of an export.
FORMAT = OpenApiParameter("format", str, enum=list(exported_files.FORMATS), default="csv")


def describe_files(formats: Mapping[str, exported_files.Format]) -> dict[tuple[int, str], Any]:
    """The responses of an export in these formats; Parquet is binary."""
    rows = {"type": "array", "items": {"type": "object", "additionalProperties": {}}}
    kinds: dict[str, Any] = {"parquet": OpenApiTypes.BINARY, "json": rows}
    return {
        (200, each.media_type): kinds.get(each.name, OpenApiTypes.STR) for each in formats.values()
    }


FILES = describe_files(exported_files.FORMATS)


def file_response(
    request: Request,
    name: str,
    columns: Sequence[str],
    batches: exported_files.Batches,
    formats: Mapping[str, exported_files.Format] = exported_files.FORMATS,
) -> StreamingHttpResponse:
    """The rows as a file called `name`, in the negotiated format, whose name is its ending."""
    chosen = formats[request.accepted_renderer.format]
    chunks = chosen.write(columns, batches)
    response = StreamingHttpResponse(chunks, content_type=chosen.media_type)
    response["Content-Disposition"] = f'attachment; filename="{name}.{chosen.name}"'
    return response


class FileErrors(ControlView):
    """Answers errors as JSON, whichever format was negotiated."""

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        response.content_type = "application/json"
        return response


class FileView(FileErrors):
    """Streams a list of a cluster as a file of the format that `?format=` selects."""

    renderer_classes = [create_renderer(each) for each in exported_files.FORMATS.values()]
    #: The name of the file without its ending, its columns, and its query parameters.
    file_name = ""
    columns: Sequence[str] = ()
    parameters: Sequence[str] = ()
    batches: Callable[[Cluster, Mapping[str, Any]], exported_files.Batches]

    def stream(self, request: Request, kwargs: Mapping[str, Any]) -> StreamingHttpResponse:
        """The file with every row that the parameters select."""
        reject_unknown(request, {*self.parameters, "format"})
        rows = type(self).batches(recorded_cluster(kwargs), request.query_params)
        return file_response(request, self.file_name, self.columns, rows)
