"""Bodies of the control-plane API: JSON, and YAML as text."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, JSONParser

from apps.cluster import limits
from apps.cluster.documents import UnreadableDocument, parse_json
from apps.cluster.errors import BadRequest, RequestEntityTooLarge


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
        raw = stream.read(limits.BODY_BYTES.highest + 1)
        if len(raw) > limits.BODY_BYTES.highest:
            raise RequestEntityTooLarge(
                f"Request entity too large: limit is {limits.BODY_BYTES.highest}"
            )
        try:
            return {"yaml": str(raw, "utf-8")}
        except UnicodeDecodeError as error:
            raise BadRequest(f"the body is not UTF-8: {error}") from error
