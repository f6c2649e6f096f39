"""What is asked of access, and the answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Access:
    """What a request does: a verb on a resource, or, with `path`, on an address without one."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something is allowed, and why; the reason may be empty."""

    allowed: bool
    reason: str = ""
