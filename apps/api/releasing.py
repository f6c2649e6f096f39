"""Views of Django REST framework whose responses are freed as soon as they are sent."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.response import Response
from rest_framework.views import APIView


class ReleasingView(APIView):
    """A view that drops its references to its request and its response.

    The framework links view, request and response in cycles, which keep every body in memory until
    the next full garbage collection: hundreds of MB of lists.
    """

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = super().dispatch(request, *args, **kwargs)
        del self.response
        if isinstance(response, Response):
            # rendering follows, and needs the request
            response.add_post_render_callback(self._release)
        else:
            self._release(response)
        return response

    def _release(self, response: Any) -> None:
        self.request.parser_context.clear()
        del self.request
        # only responses that are rendered have one
        vars(response).pop("renderer_context", None)
