"""Filters and sorting of tables; with the page number, they are parameters of the address.

A page with a table passes three values to its template:

* the filter's fields: `Field`s whose names are parameters of the address. The tag `filter_form`
  renders them and reloads the table's region while the user types;
* a `Sorting` named `sorting`, from the parameter `sort` ("cpu", or "-cpu" for descending order).
  The tag `column` renders a heading that sorts by its column;
* a page of rows (`apps.dashboard.paging`). The tag `pager` renders links to the other pages and
  to other page sizes (`size`).

`{% load tables %}` loads the tags. `{% table "Nodes" %}` … `{% endtable %}` is the table with its
caption. The region around it has an id, an argument of `filter_form`; `{% live "nodes" "pods" %}`
in its tag reads it again after these events. Filters, sorting and page are pushed to the address,
so that a reload, a bookmark and the updates of a live page keep them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

from django.urls import reverse

from apps.cluster.errors import ApiError, BadRequest
from apps.cluster.models import Cluster

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a filter form: a text field, or a selection if `choices` is set.

    `hint` is the placeholder of a text field. A choice is a value, or a (value, label) pair; the
    label of the empty choice is `nothing`. `suggestions` complete a text field that takes any text;
    those of a field with an address `complete` are requested there while the user types.
    """

    name: str
    label: str
    hint: str = ""
    choices: Sequence[str | tuple[str, str]] | None = None
    nothing: str = "all"
    suggestions: Sequence[str] = ()
    number: bool = False
    complete: str = ""
    #: Selects a period: the parameters `since` and `until`.
    period: bool = False

    @property
    def options(self) -> list[tuple[str, str]]:
        """(value, label) of each choice, the empty one first."""
        pairs = [each if isinstance(each, tuple) else (each, each) for each in self.choices or ()]
        return [("", self.nothing), *pairs]


def complete_fields(
    cluster: Cluster, fields: Iterable[Field], names: Container[str]
) -> list[Field]:
    """The fields; those with these names complete what is typed with names of the cluster.

    They are names of `apps.engine.ledger.completion`.
    """
    address = reverse("complete-filter", args=[cluster.name])
    return [replace(each, complete=address) if each.name in names else each for each in fields]


#: The filter by time; `{% period %}` shows in the region which period it selects.
PERIOD = Field("since", "Time", period=True)

#: Parameter -> label of the fields with which `PERIOD` and the pages of a moment are selected.
LIMITS = {"since": "From", "until": "To", "zone": "Time zone", "at": "Time"}


def describe_problem(error: ApiError, fields: Sequence[Field]) -> str:
    """The message of an error about a parameter, with the label of its field."""
    name, colon, message = error.message.partition(": ")
    labels = LIMITS | {field.name: field.label for field in fields if not field.period}
    return f"{labels[name]}: {message}" if colon and name in labels else error.message


#: Parameters that every list has.
_OF_LISTS: Final = frozenset({"sort", "page", "size", "before", "after"})


def refuse_unknown(
    query: Mapping[str, Any], fields: Sequence[Field] = (), more: Iterable[str] = ()
) -> None:
    """BadRequest that names a parameter of the address that the list does not have.

    It would have been a filter with a mistyped name, and the list one that is not filtered.
    """
    named = [field for field in fields if not field.period]
    periods = {"since", "until", "zone"} if any(field.period for field in fields) else set()
    known = {*(field.name for field in named), *more, *periods}
    unknown = sorted(query.keys() - known - _OF_LISTS)
    if unknown:
        listed = ", ".join(sorted(known))
        raise BadRequest(f"unknown parameter {unknown[0]!r}; this list has {listed}")


@dataclass(frozen=True, slots=True)
class Sorting(Generic[Key]):
    """The column a table is sorted by; `key` is what the page maps the column to."""

    name: str
    descending: bool
    key: Key

    @property
    def parameter(self) -> str:
        """The value of the parameter `sort`."""
        return f"-{self.name}" if self.descending else self.name


def read_sorting(
    query: Mapping[str, Any], keys: Mapping[str, Key], *, default: str
) -> Sorting[Key]:
    """The sorting of `?sort=` if it is one of `keys`, else `default` ("name", "-age")."""
    requested = str(query.get("sort", ""))
    parameter = requested if requested.removeprefix("-") in keys else default
    name = parameter.removeprefix("-")
    return Sorting(name, parameter.startswith("-"), keys[name])
