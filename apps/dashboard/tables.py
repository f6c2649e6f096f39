"""What every table has in common: filter, sort and paging, all three kept in the address.

A page with a table builds three values and gives them to its template:

* the filter's fields, `Field`s whose names are parameters of the address; the tag `filter_form`
  draws them and fetches the table's region anew while one types;
* a `Sorting`, from the parameter `sort` ("cpu", or "-cpu" for downwards), under the name
  `sorting`; the tag `column` draws a heading that sorts by it;
* a page of rows (`apps.dashboard.paging`); the tag `pager` draws the way to the others, and to
  pages of another size (`size`).

`{% load tables %}` has the tags. The region around the table carries an id, which `filter_form`
is given. Whatever one filters, sorts or turns to is pushed to the address, so that it survives a
reload, a bookmark and the refetches of a live page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a filter form: a text, or a choice where `choices` are given.

    `hint` is shown in an empty text field. A choice is a value, or a value with its words; the
    empty one is called `nothing`. `suggestions` are offered for a text that may be any other too.
    """

    name: str
    label: str
    hint: str = ""
    choices: Sequence[str | tuple[str, str]] | None = None
    nothing: str = "all"
    suggestions: Sequence[str] = ()
    number: bool = False

    @property
    def options(self) -> list[tuple[str, str]]:
        """The choices with their words, the empty one first."""
        pairs = [each if isinstance(each, tuple) else (each, each) for each in self.choices or ()]
        return [("", self.nothing), *pairs]


@dataclass(frozen=True, slots=True)
class Sorting(Generic[Key]):
    """The column a table is sorted by; `key` is what its page said that column sorts by."""

    name: str
    downwards: bool
    key: Key

    @property
    def parameter(self) -> str:
        """As the address has it."""
        return f"-{self.name}" if self.downwards else self.name


def asked_sorting(
    query: Mapping[str, Any], keys: Mapping[str, Key], *, default: str
) -> Sorting[Key]:
    """What `?sort=` asks for among `keys`; `default` ("name", "-age") where it asks for none."""
    asked = str(query.get("sort", ""))
    wanted = asked if asked.removeprefix("-") in keys else default
    name = wanted.removeprefix("-")
    return Sorting(name, wanted.startswith("-"), keys[name])
