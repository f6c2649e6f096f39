"""What the views of the control-plane API share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound as NoSuchAddress
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.api.control.errors import handle
from apps.cluster.errors import BadRequest

#: Rows of one page at most.
MAX_PAGE = 1000


class NewestFirst(CursorPagination):
    """Pages by id, from the newest row back; the address of the next page is in the answer."""

    ordering = "-id"
    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = MAX_PAGE


class ControlView:
    """Refusals in the one shape of this API."""

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Any]:
        return handle


@extend_schema(exclude=True)
class NothingHereView(ControlView, APIView):
    """Whatever else is asked for below this API: its clients read JSON, also of a typing error."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise NoSuchAddress(f"{request.path} does not exist; see /api/docs")


def refuse_unknown(request: Request, known: Collection[str]) -> None:
    """BadRequest for a parameter that is none of these: misspelt, it would filter nothing."""
    for name in request.query_params:
        if name not in known:
            raise BadRequest(f"{name}: no such parameter; there are {', '.join(sorted(known))}")


def whole_number(request: Request, name: str, default: int, *, highest: int) -> int:
    """A query parameter that is a number from 0 to `highest`; BadRequest names it otherwise."""
    text = request.query_params.get(name)
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > 10 or int(text) > highest:
        raise BadRequest(f"{name}: {text!r} is not a whole number from 0 to {highest}")
    return int(text)


def switch(request: Request, name: str) -> bool:
    """A query parameter that is true or false; false when it is absent."""
    text = request.query_params.get(name, "").lower()
    if text not in ("", "0", "1", "false", "true"):
        raise BadRequest(f"{name}: {text!r} is neither true nor false")
    return text in ("1", "true")
