"""Parses and validates the query parameters of the Kubernetes API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from django.http import QueryDict

from apps.cluster.errors import BadRequest, Cause, Invalid
from apps.scheduler.config.durations import DurationError, parse_duration

_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_VERSION = re.compile(r"\d{1,18}", re.ASCII)
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
    #: None if absent; 0 means any.
    version: int | None
    exact: bool


def check_text(query: QueryDict) -> None:
    """Reject parameters with a character that the database cannot store."""
    for _, values in query.lists():
        if any("\x00" in value for value in values):
            raise BadRequest("an address cannot contain NUL characters")


def flag(query: Mapping[str, str], name: str) -> bool:
    """A boolean parameter: any value except 0 and false is true."""
    value = query.get(name)
    return value is not None and value.lower() not in ("0", "false")


def number(query: Mapping[str, str], name: str) -> int | None:
    """An integer; None if absent."""
    value = query.get(name)
    if not value:
        return None
    if not _WHOLE_NUMBER.fullmatch(value):
        raise BadRequest(f'{name}: strconv.ParseInt: parsing "{value}": invalid syntax')
    return int(value)


def check_timeout(query: Mapping[str, str]) -> None:
    """The parameter timeout, which client libraries send with every request: "32s"."""
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
    """The parameter resourceVersion; None if absent."""
    value = query.get("resourceVersion")
    if not value:
        return None
    if not _VERSION.fullmatch(value):
        raise _invalid("ListOptions", "resourceVersion", f'Invalid value: "{value}"')
    return int(value)


def list_options(query: Mapping[str, str]) -> ListOptions:
    """The parameters of a list."""
    match = query.get("resourceVersionMatch", "")
    version, continue_ = resource_version(query), query.get("continue", "")
    if match and version is None:
        raise _forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        )
    if match and continue_:
        raise _forbidden(
            "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"
        )
    if match not in ("", "Exact", "NotOlderThan"):
        raise _unsupported(
            "ListOptions", "resourceVersionMatch", f'"{match}"', ("Exact", "NotOlderThan")
        )
    if match == "Exact" and version == 0:
        raise _forbidden(
            "resourceVersionMatch",
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        )
    if "sendInitialEvents" in query:
        raise _forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
    if continue_ and version:
        raise BadRequest("specifying resource version is not allowed when using continue")
    return ListOptions(
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        limit=max(number(query, "limit") or 0, 0),
        continue_=continue_,
        version=version,
        exact=match == "Exact",
    )


def check_watch(query: Mapping[str, str]) -> None:
    """Reject conflicting parameters of a watch."""
    match = query.get("resourceVersionMatch", "")
    if "sendInitialEvents" in query:
        if match != "NotOlderThan":
            raise _forbidden(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )
    elif match:
        raise _forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        )
    if query.get("continue"):
        raise _forbidden("continue", "continue is forbidden for watch")


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
        shown = "[" + ",".join(f'"{value}"' for value in values) + "]"
        causes.append(_unsupported_cause("dryRun", shown, ("All",)))
    validation = query.get("fieldValidation", "")
    if validation not in _VALIDATIONS:
        causes.append(_unsupported_cause("fieldValidation", f'"{validation}"', _VALIDATIONS))
    if causes:
        raise Invalid(_OPTIONS[method], "", causes, "meta.k8s.io")
    return WriteOptions(bool(values), validation or "Warn", flag(query, "force"))


def dry_run(query: QueryDict, method: str) -> bool:
    """Whether the request is a dry run."""
    return write_options(query, method).dry_run


def _force_causes(query: QueryDict, apply: bool) -> Iterator[Cause]:
    if not apply:
        if "force" in query:
            why = "Forbidden: may not be specified for non-apply patch"
            yield Cause("FieldValueForbidden", why, "force")
    elif not query.get("fieldManager"):
        why = "Required value: is required for apply patch"
        yield Cause("FieldValueRequired", why, "fieldManager")


def _manager_causes(manager: str) -> Iterator[Cause]:
    """A fieldManager has up to 128 bytes, all of them printable."""
    if len(manager.encode()) > _MANAGER_LENGTH:
        why = f"Too long: may not be more than {_MANAGER_LENGTH} bytes"
        yield Cause("FieldValueTooLong", why, "fieldManager")
    for index, char in enumerate(manager):
        if not char.isprintable():
            at = len(manager[:index].encode())
            why = f"invalid character U+{ord(char):04X} (at position {at})"
            text = f"Invalid value: {json.dumps(manager)}: {why}"
            yield Cause("FieldValueInvalid", text, "fieldManager")


def manager_of(query: Mapping[str, str], user_agent: str) -> str:
    """The name under which managedFields list a client: its fieldManager, or its program."""
    given = query.get("fieldManager", "")
    return given or _program(user_agent)


@lru_cache(maxsize=1000)
def _program(user_agent: str) -> str:
    """The name of a User-Agent, without its version and what cannot be printed."""
    name = "".join(char for char in user_agent.partition("/")[0] if char.isprintable())
    return name.encode()[:_MANAGER_LENGTH].decode(errors="ignore") or "unknown"


def check_propagation(value: str) -> None:
    """Reject an unknown propagationPolicy."""
    if value and value not in _PROPAGATION:
        raise _unsupported(
            "DeleteOptions", "propagationPolicy", f'"{value}"', (*_PROPAGATION, "nil")
        )


def contradiction(options: str, field: str, value: str, why: str) -> Invalid:
    """Two parameters that cannot both be set."""
    return _invalid(options, field, f'Invalid value: "{value}": {why}')


def _unsupported(options: str, field: str, value: str, supported: tuple[str, ...]) -> Invalid:
    cause = _unsupported_cause(field, value, supported)
    return Invalid(options, "", [cause], "meta.k8s.io")


def _unsupported_cause(field: str, value: str, supported: tuple[str, ...]) -> Cause:
    names = ", ".join(f'"{name}"' for name in supported)
    return Cause(
        "FieldValueNotSupported", f"Unsupported value: {value}: supported values: {names}", field
    )


def _forbidden(field: str, why: str) -> Invalid:
    return _invalid("ListOptions", field, f"Forbidden: {why}", "FieldValueForbidden")


def _invalid(options: str, field: str, message: str, reason: str = "FieldValueInvalid") -> Invalid:
    return Invalid(options, "", [Cause(reason, message, field)], "meta.k8s.io")
