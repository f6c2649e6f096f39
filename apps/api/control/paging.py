"""Pages of lists: `page_size` rows from a `cursor`; a response has the addresses of others."""

from __future__ import annotations

import re
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar

from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.utils.urls import remove_query_param, replace_query_param

from apps.api.control.base import parse_whole_number
from apps.cluster import limits
from apps.cluster.errors import BadRequest

#: Maximum number of rows of a page.
MAX_PAGE = limits.PAGE.highest
_DEFAULT_SIZE: Final = 100
_CURSOR: Final = "Where a page starts: use the addresses in `next` and `previous` of a response."
#: The query parameters of every list that has pages.
PAGING: Final = ("cursor", "page_size")
_POSITION: Final = re.compile(rb"o=(\d{1,9})")
_Result = TypeVar("_Result", bound="PageLinks")


def page_parameters(size: int = _DEFAULT_SIZE, highest: int = MAX_PAGE) -> list[OpenApiParameter]:
    """The parameters of a list that has pages and no serializer of rows."""
    described = _describe_size(size, highest)
    return [
        OpenApiParameter("page_size", int, default=size, description=described),
        OpenApiParameter("cursor", str, description=_CURSOR),
    ]


def _describe_size(size: int, highest: int) -> str:
    return f"Maximum number of rows of a page, up to {highest}; default: {size}."


class NewestFirst(CursorPagination):
    """Pages by id, newest row first; the response has the address of the next page."""

    ordering = "-id"
    page_size = _DEFAULT_SIZE
    page_size_query_param = "page_size"
    page_size_query_description = _describe_size(_DEFAULT_SIZE, MAX_PAGE)
    cursor_query_description = _CURSOR
    max_page_size = MAX_PAGE

    def get_page_size(self, request: Request) -> int:
        """The `page_size` of the request; BadRequest if it is none."""
        return _read_size(request, _DEFAULT_SIZE, MAX_PAGE)

    def decode_cursor(self, request: Request) -> Any:
        """The `cursor` of the request; BadRequest if it is none."""
        try:
            return super().decode_cursor(request)
        except NotFound as error:
            raise _no_cursor(request) from error

    def get_paginated_response_schema(self, schema: Any) -> dict[str, Any]:
        """The schema of a page, whose addresses may be null."""
        described: dict[str, Any] = super().get_paginated_response_schema(schema)
        for name in ("next", "previous"):
            described["properties"][name] = {
                "type": ["string", "null"],
                "format": "uri",
                "description": f"Address of the {name} page; null: there is none.",
            }
        return described


@dataclass(frozen=True, kw_only=True)
class PageLinks:
    """What a response says about the pages beside it."""

    #: address of the next page; null: there is none
    next: str | None
    #: address of the previous page; null: there is none
    previous: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """The rows that a request asks for, of a list in which rows have positions."""

    request: Request
    start: int
    size: int

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + self.size)

    def link(self, total: int, **fixed: Any) -> dict[str, Any]:
        """The fields of PageLinks; addresses have the parameters `fixed`, without those of None."""
        after, before = self.start + self.size, max(0, self.start - self.size)
        return {
            "next": self._address(after, fixed) if self.size and after < total else None,
            "previous": self._address(before, fixed) if self.start else None,
        }

    def add_links(self, kind: type[_Result], result: Any, total: int) -> _Result:
        """A result with the addresses of the pages beside it; `kind` extends its class."""
        values = {each.name: getattr(result, each.name) for each in fields(result)}
        return kind(**values, **self.link(total))

    def _address(self, start: int, fixed: Mapping[str, Any]) -> str:
        address = self.request.build_absolute_uri()
        for name, value in fixed.items():
            if value is None:
                address = remove_query_param(address, name)
            else:
                address = replace_query_param(address, name, value)
        if not start:
            return remove_query_param(address, "cursor")
        return replace_query_param(address, "cursor", urlsafe_b64encode(b"o=%d" % start).decode())


def read_page(request: Request, *, size: int = _DEFAULT_SIZE, highest: int = MAX_PAGE) -> Page:
    """The page that `cursor` and `page_size` of a request name; BadRequest if there is none."""
    return Page(request, _read_start(request), _read_size(request, size, highest))


def _read_size(request: Request, default: int, highest: int) -> int:
    return parse_whole_number(request, "page_size", default, lowest=1, highest=highest)


def _read_start(request: Request) -> int:
    text = request.query_params.get("cursor", "")
    if not text:
        return 0
    try:
        position = _POSITION.fullmatch(b64decode(text.encode(), altchars=b"-_", validate=True))
    except ValueError:
        position = None
    if position is None:
        raise _no_cursor(request)
    return int(position[1])


def _no_cursor(request: Request) -> BadRequest:
    text = request.query_params.get("cursor", "")
    return BadRequest(
        f"cursor: {text[:100]!r} is no cursor of this list; use the addresses in `next` and "
        "`previous` of a response"
    )
