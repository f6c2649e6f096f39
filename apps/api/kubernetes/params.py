"""Parses and validates the query parameters of the Kubernetes API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict

from apps.caching import cache_short
from apps.cluster.errors import BadRequest, Cause, Invalid
from apps.cluster.selectors import label_requirements, split_field_selector
from apps.cluster.validation.causes import forbidden, invalid, not_supported, required, too_long
from apps.scheduler.config.durations import DurationError, parse_duration

_WHOLE_NUMBER = re.compile(r"[+-]?\d+", re.ASCII)
_VERSION = re.compile(r"\d+", re.ASCII)
#: A number with more digits than these is not converted.
_DIGITS = 1000
_INT64 = range(-(1 << 63), 1 << 63)
#: A list has fewer objects; more digits would not fit into the database's numbers.
_HIGHEST_LIMIT = (1 << 31) - 1
_HIGHEST_VERSION = (1 << 62) - 1
#: Parameters of a list that are numbers, in the order in which they are read.
_NUMBERS = ("timeoutSeconds", "limit")
_MATCHES = ("Exact", "NotOlderThan", "")
#: HTTP method -> the options object that its parameters belong to
_OPTIONS = {
    "POST": "CreateOptions",
    "PUT": "UpdateOptions",
    "PATCH": "PatchOptions",
    "DELETE": "DeleteOptions",
}
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_MANAGER_LENGTH = 128
_PROPAGATION = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The parameters of list, watch and deletecollection: which objects, at which version."""

    labels: str
    fields: str
    limit: int
    continue_: str
    #: The parameter resourceVersion as it was given; "" if absent.
    said: str
    #: None if absent or with a token; 0 means any.
    version: int | None
    exact: bool


def check_text(query: QueryDict) -> None:
    """Raise BadRequest for a parameter with a character that the database cannot store."""
    for _, values in query.lists():
        if any("\x00" in value for value in values):
            raise BadRequest("an address cannot contain NUL characters")


def first(query: Mapping[str, str], name: str) -> str | None:
    """The value of a parameter, of several the first one; None if absent."""
    if isinstance(query, QueryDict):
        return next(iter(query.getlist(name)), None)
    return query.get(name)


def flag(query: Mapping[str, str], name: str) -> bool:
    """A boolean parameter: any value except 0 and false is true."""
    value = first(query, name)
    return value is not None and value.lower() not in ("0", "false")


def number(query: Mapping[str, str], name: str) -> int | None:
    """A 64-bit integer; None if absent. Raises BadRequest for anything else."""
    value = first(query, name)
    if value is None:
        return None
    why = ""
    if not _WHOLE_NUMBER.fullmatch(value):
        why = "invalid syntax"
    elif len(value) > _DIGITS or int(value) not in _INT64:
        why = "value out of range"
    if why:
        raise BadRequest(f"strconv.ParseInt: parsing {_quoted(value)}: {why}")
    return int(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def check_timeout(query: Mapping[str, str]) -> None:
    """Raise BadRequest for a `timeout` that is no duration; clients send one with every request."""
    value = query.get("timeout")
    if not value:
        return
    try:
        parse_duration(value)
    except DurationError:
        why = "missing unit in" if re.fullmatch(r"[-+]?[\d.]+", value) else "invalid"
        raise BadRequest(
            "invalid timeout specified in the request URL - time: "
            f"{why} duration {json.dumps(value, ensure_ascii=False)}"
        ) from None


def resource_version(query: Mapping[str, str]) -> int | None:
    """The parameter resourceVersion; None if absent. Raises BadRequest if it is no number."""
    value = first(query, "resourceVersion")
    if not value:
        return None
    why = ""
    if not _VERSION.fullmatch(value):
        why = "invalid syntax"
    elif len(value) > _DIGITS or int(value) > 2 * _INT64.stop - 1:
        why = "value out of range"
    if why:
        shown = _quoted(value)
        raise BadRequest(
            f"invalid resource version: resourceVersion: Invalid value: {shown}: "
            f"strconv.ParseUint: parsing {shown}: {why}"
        )
    return min(int(value), _HIGHEST_VERSION)


def list_options(query: Mapping[str, str]) -> ListOptions:
    """The parameters of a list; an error names the first that cannot be read, or all wrong ones."""
    labels, fields = _readable_selectors(query)
    match, continue_ = first(query, "resourceVersionMatch") or "", first(query, "continue") or ""
    said = first(query, "resourceVersion") or ""
    causes = list(_match_causes(match, said, continue_)) if match else []
    if "sendInitialEvents" in query:
        causes.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if causes:
        raise _invalid_options("ListOptions", causes)
    limit = min(max(number(query, "limit") or 0, 0), _HIGHEST_LIMIT)
    if said == "0":
        # of any version there is no second page
        limit = 0
    if continue_:
        return ListOptions(labels, fields, limit, continue_, said, None, exact=False)
    version = resource_version(query)
    exact = match == "Exact" or (bool(version and limit) and not match)
    return ListOptions(labels, fields, limit, "", said, version, exact)


def check_watch(query: Mapping[str, str]) -> None:
    """Reject parameters of a watch that cannot be read, or that are in conflict."""
    _readable_selectors(query)
    match, continue_ = first(query, "resourceVersionMatch") or "", first(query, "continue") or ""
    field = "resourceVersionMatch"
    causes = []
    if "sendInitialEvents" in query:
        if match != "NotOlderThan":
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            causes.append(forbidden(field, why))
    elif match:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(forbidden(field, why))
    if match not in ("", "NotOlderThan"):
        causes.append(not_supported(field, match, ("NotOlderThan",)))
    if continue_ and (match or "sendInitialEvents" not in query):
        why = "resourceVersionMatch is forbidden when continue is provided"
        causes.append(forbidden(field, why))
    if causes:
        raise _invalid_options("ListOptions", causes)


def _match_causes(match: str, version: str, continue_: str) -> Iterator[Cause]:
    field = "resourceVersionMatch"
    if not version:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        yield forbidden(field, why)
    if continue_:
        yield forbidden(field, "resourceVersionMatch is forbidden when continue is provided")
    if match not in _MATCHES:
        yield not_supported(field, match, _MATCHES)
    if match == "Exact" and version == "0":
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        yield forbidden(field, why)


def _readable_selectors(query: Mapping[str, str]) -> tuple[str, str]:
    """The selectors of labels and of fields, after all that is read before they are compared."""
    for name in _NUMBERS:
        number(query, name)
    labels = first(query, "labelSelector") or ""
    fields = first(query, "fieldSelector") or ""
    label_requirements(labels)
    split_field_selector(fields)
    return labels, fields


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The parameters of create, update and patch."""

    dry_run: bool
    #: How to treat unknown fields: Ignore, Warn (the default) or Strict.
    validation: str
    #: Whether an apply takes fields from other managers.
    force: bool


_PLAIN_WRITE = WriteOptions(dry_run=False, validation="Warn", force=False)


def write_options(query: QueryDict, method: str, *, apply: bool = False) -> WriteOptions:
    """The parameters of a write; Invalid with every invalid one."""
    if not query and not apply:
        return _PLAIN_WRITE
    causes = list(_force_causes(query, apply)) if method == "PATCH" else []
    causes += _manager_causes(query.get("fieldManager", ""))
    values = query.getlist("dryRun")
    if any(value != "All" for value in values):
        causes.append(not_supported("dryRun", values, ("All",)))
    validation = query.get("fieldValidation", "")
    if validation not in _VALIDATIONS:
        causes.append(not_supported("fieldValidation", validation, _VALIDATIONS))
    if causes:
        raise _invalid_options(_OPTIONS[method], causes)
    return WriteOptions(bool(values), validation or "Warn", flag(query, "force"))


def dry_run(query: QueryDict, method: str, *, apply: bool = False) -> bool:
    """Whether the request is a dry run."""
    return write_options(query, method, apply=apply).dry_run


def _force_causes(query: QueryDict, apply: bool) -> Iterator[Cause]:
    if not apply:
        if "force" in query:
            yield forbidden("force", "may not be specified for non-apply patch")
    elif not query.get("fieldManager"):
        yield required("fieldManager", "is required for apply patch")


def _manager_causes(manager: str) -> Iterator[Cause]:
    """A fieldManager has up to 128 bytes, all of them printable."""
    if len(manager.encode()) > _MANAGER_LENGTH:
        yield too_long("fieldManager", _MANAGER_LENGTH)
    for index, char in enumerate(manager):
        if not char.isprintable():
            at = len(manager[:index].encode())
            why = f"invalid character U+{ord(char):04X} (at position {at})"
            yield invalid("fieldManager", manager, why)


def manager_of(query: Mapping[str, str], user_agent: str) -> str:
    """The name under which managedFields list a client: its fieldManager, or its program."""
    given = query.get("fieldManager", "")
    return given or _program(user_agent)


@cache_short(1000)
def _program(user_agent: str) -> str:
    """The name of a User-Agent, without its version and what cannot be printed."""
    name = "".join(char for char in user_agent.partition("/")[0] if char.isprintable())
    return name.encode()[:_MANAGER_LENGTH].decode(errors="ignore") or "unknown"


def check_propagation(value: str) -> None:
    """Reject an unknown propagationPolicy."""
    if value and value not in _PROPAGATION:
        cause = not_supported("propagationPolicy", value, (*_PROPAGATION, "nil"))
        raise _invalid_options("DeleteOptions", [cause])


def contradiction(options: str, field: str, value: str, why: str) -> Invalid:
    """Two parameters that cannot both be set."""
    return _invalid_options(options, [invalid(field, value, why)])


def _invalid_options(options: str, causes: Sequence[Cause]) -> Invalid:
    return Invalid(options, "", causes, "meta.k8s.io")
