"""Bodies of the control-plane API: JSON, and YAML as text."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, JSONParser, MultiPartParser

from apps.cluster import limits
from apps.cluster.documents import UnreadableDocument, parse_json
from apps.cluster.errors import BadRequest, RequestEntityTooLarge
from apps.cluster.manifests.text_files import File


class JsonParser(JSONParser):
    """JSON, with at most the levels of any document."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            return parse_json(stream.read())
        except UnreadableDocument as error:
            raise ParseError(str(error)) from error


class YamlParser(BaseParser):
    """A body of YAML as text: `request.data["yaml"]`."""

    media_type = "application/yaml"

    def parse(
        self, stream: Any, media_type: Any = None, parser_context: Any = None
    ) -> dict[str, str]:
        raw = _read(stream)
        try:
            return {"yaml": str(raw, "utf-8")}
        except UnicodeDecodeError as error:
            raise BadRequest(f"the body is not UTF-8: {error}") from error


class FileParser(BaseParser):
    """A body that is one file: `request.data["files"]`."""

    def parse(
        self, stream: Any, media_type: Any = None, parser_context: Any = None
    ) -> dict[str, list[File]]:
        return {"files": [File("", _read(stream))]}


class FormParser(MultiPartParser):
    """The texts of a form, and its files, whatever their fields are called: `data["files"]`."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        sent = super().parse(stream, media_type, parser_context)
        uploads = [each for _, several in sent.files.lists() for each in several]
        files = [File(each.name, each.read()) for each in uploads]
        return {**sent.data.dict(), "files": files}


#: How files of a cluster are sent; what a file is shows its content.
FILE_MEDIA_TYPES = (
    *("application/yaml", "application/json", "application/x-ndjson"),
    *("application/gzip", "application/x-tar", "application/zip"),
)
FILE_PARSERS = (
    FormParser,
    *(type("FileParser", (FileParser,), {"media_type": each}) for each in FILE_MEDIA_TYPES),
)


def _read(stream: Any) -> bytes:
    raw: bytes = stream.read(limits.BODY_BYTES.highest + 1)
    if len(raw) > limits.BODY_BYTES.highest:
        raise RequestEntityTooLarge(
            f"Request entity too large: limit is {limits.BODY_BYTES.highest}"
        )
    return raw
