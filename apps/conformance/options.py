"""What to run and what to leave out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    #: only cases without a configuration of their own
    default_profile: bool = False
    #: do not compare the results of PostFilter
    no_postfilter: bool = False
    #: only the case with this id
    show: str = ""
