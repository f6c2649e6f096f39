"""Compression of responses for clients that accept gzip."""

from __future__ import annotations

from typing import Any, Final

from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers
from django.utils.text import compress_string
from whitenoise.middleware import WhiteNoiseFileResponse

#: The Kubernetes API compresses as kube-apiserver does: lists above 128 KiB only.
_KUBERNETES: Final = "/k8s/"
_TEXT: Final = ("json", "javascript", "yaml", "xml")
_EVENT_STREAM: Final = "text/event-stream"


class CompressionMiddleware(GZipMiddleware):
    """Compresses pages, JSON, YAML, CSV and static files; never event streams or binary files.

    Static files are compressed once per process. A compressed page has a random length
    (`GZipMiddleware.max_random_bytes`), which hides what the length says about its secrets.
    """

    def __init__(self, get_response: Any) -> None:
        super().__init__(get_response)
        #: path of a static file -> its version, compressed content
        self._files: dict[str, tuple[str, bytes]] = {}

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if request.path_info.startswith(_KUBERNETES) or not _is_text(response):
            return response
        if isinstance(response, WhiteNoiseFileResponse):
            return self._compress_file(request, response)
        compressed: HttpResponseBase = super().process_response(request, response)
        return compressed

    def _compress_file(self, request: HttpRequest, response: FileResponse) -> HttpResponseBase:
        patch_vary_headers(response, ("Accept-Encoding",))
        is_whole = request.method == "GET" and response.status_code == 200
        if not is_whole or "gzip" not in request.headers.get("Accept-Encoding", ""):
            return response
        content = self._compress_once(request.path_info, response)
        response.streaming_content = iter((content,))
        # Browsers revalidate by Last-Modified; an ETag would belong to the other encoding.
        del response.headers["ETag"]
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(content))
        return response

    def _compress_once(self, path: str, response: FileResponse) -> bytes:
        version = response.headers.get("Last-Modified", "")
        known = self._files.get(path)
        if known is None or known[0] != version:
            content = compress_string(response.getvalue())
            known = self._files[path] = (version, content)
        return known[1]


def _is_text(response: HttpResponseBase) -> bool:
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    if kind == _EVENT_STREAM:
        return False
    return kind.startswith("text/") or any(kind.endswith(name) for name in _TEXT)
