"""The rows of a list that a user has selected, and what is kept of a rejected action on them.

A form over a list posts the names of the selected rows, one field each or all of them in `names`,
or `matching` with `filter`, the query string of the list, for all rows that its filter matches.
When an action is rejected, the user goes back to the list, which shows the selection, the text and
the error once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Self

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect

from apps.cluster.errors import ApiError, BadRequest, Invalid
from apps.dashboard.alike import Alike, group_alike
from apps.dashboard.rendering import Request

_KEY = "rejected-action"
#: Names that are kept in a session; of more, none is selected again.
_MAX_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class NamedObject:
    """A selected object; only pods have a namespace."""

    namespace: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        namespace, _, name = text.rpartition("/")
        return cls(namespace, name)


@dataclass(frozen=True, slots=True)
class Selection:
    """Names of the selected objects; `filter` is a query string if all that it matches are."""

    names: Sequence[str]
    filter: str | None = None

    @property
    def text(self) -> str:
        """The names as one field of a form: a request has a limited number of fields."""
        return " ".join(self.names)

    @property
    def shown(self) -> Sequence[Alike[NamedObject]]:
        """What a page of confirmation lists: pods whose names differ only in their ends are one."""
        objects = map(NamedObject.parse, self.names)
        return group_alike(objects, lambda each: each.namespace or each.name)[:100]

    @property
    def hidden(self) -> int:
        return len(self.names) - sum(len(each.rows) for each in self.shown)


@dataclass(frozen=True, slots=True)
class RejectedAction:
    """An action that was rejected, and the path of the page that it came from."""

    path: str = ""
    action: str = ""
    text: str = ""
    message: str = ""
    names: Sequence[str] = field(default_factory=tuple)
    matching: bool = False


def read_selection(
    request: Request, parameter: str, find_matching: Callable[[Mapping[str, str]], Sequence[str]]
) -> Selection:
    """The selection in a form; `find_matching` returns the names that a filter matches."""
    if "matching" not in request.POST:
        return Selection(_read_names(request, parameter))
    query = request.POST.get("filter", "")
    return Selection(find_matching(QueryDict(query).dict()), query)


def _read_names(request: Request, parameter: str) -> list[str]:
    names = [*request.POST.getlist(parameter), *request.POST.get("names", "").split()]
    return list(dict.fromkeys(names))


def reject_action(request: Request, back: str, parameter: str, error: ApiError) -> HttpResponse:
    """Return to the page at `back`, which shows the error beside the selection and the text."""
    names = _read_names(request, parameter)
    rejected = RejectedAction(
        path=back.partition("?")[0],
        action=request.POST.get("action", ""),
        text=request.POST.get("text", ""),
        message=_describe(error),
        names=names if len(names) <= _MAX_KEPT else [],
        matching="matching" in request.POST,
    )
    request.session[_KEY] = asdict(rejected)
    return redirect(back)


def take_rejected(request: Request) -> RejectedAction:
    """The rejected action that this page is to show, once; an empty one if there is none."""
    if request.htmx or request.session.get(_KEY, {}).get("path") != request.path:
        return RejectedAction()
    return RejectedAction(**request.session.pop(_KEY))


def _describe(error: ApiError) -> str:
    """The error without the name of the object: it is the same for all of them."""
    if isinstance(error, Invalid) and error.causes:
        return "; ".join(f"{each.field}: {each.message}" for each in error.causes)
    return error.message if isinstance(error, BadRequest) else str(error)
