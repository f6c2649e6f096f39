"""The functions of Kubernetes' environment; the target of a member is the first argument."""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote
from zoneinfo import ZoneInfo

from apps.cel import authorization, conversions, formatting, regexes
from apps.cel.conversions import no_overload
from apps.cel.effort import spend, spend_result
from apps.cel.formats import FORMATS, named_format, validate
from apps.cel.formatting import TooLong, format_text
from apps.cel.operators import OPERATORS, add, divide, equal
from apps.cel.values import (
    NO_OVERLOAD,
    CelError,
    Cidr,
    Duration,
    Ip,
    OptionalValue,
    Quantity,
    Semver,
    Url,
    Value,
    size_of,
)

Function = Callable[..., Value]


def call(name: str, args: list[Value]) -> Value:
    """The value of a call whose arguments are no errors."""
    function = FUNCTIONS[name]
    try:
        result = function(*args)
    except (TypeError, AttributeError, KeyError, ValueError, OverflowError):
        return no_overload(name, *args)
    spend_result(result)
    return result


def _typed(name: str, *kinds: type | tuple[type, ...]) -> Callable[[Function], Function]:
    """Arguments of other types are an error, as in Kubernetes."""

    def decorate(function: Function) -> Function:
        def guarded(*args: Value) -> Value:
            if any(not _is(arg, kind) for arg, kind in zip(args, kinds, strict=False)):
                return no_overload(name, *args)
            return function(*args)

        FUNCTIONS[name] = guarded
        return guarded

    return decorate


def _is(value: Value, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and not (isinstance(value, bool) and kind is int)


def _unwrap(values: list[OptionalValue]) -> Value:
    return [each.value for each in values if each.present]


def _range(size: int) -> Value:
    if size > _LONGEST_RANGE:
        return CelError(f"lists.range: size {size} exceeds maximum allowed ({_LONGEST_RANGE})")
    return list(range(size))


#: a path that Go's package url leaves as it is
_ESCAPED_PATH: Final = re.compile(r"[A-Za-z0-9._~$&+,/:;=@!'()*%\[\]-]*")
_BROADCAST: Final = ipaddress.IPv4Address("255.255.255.255")
_LONGEST_RANGE: Final = 10_000_000
#: A longer text would cost more than any expression may, and is refused before it is built.
_LONGEST_TEXT: Final = 10_000_000
#: the most values that the attributes of a device have
_MOST_VALUES: Final = 48
FUNCTIONS: Final[dict[str, Function]] = {
    **OPERATORS,
    **conversions.CONVERSIONS,
    "type": conversions.to_type,
    "quantity": conversions.to_quantity,
    "isQuantity": conversions.succeeds("isQuantity", conversions.to_quantity),
    "semver": conversions.to_semver,
    "isSemver": conversions.succeeds("isSemver", conversions.to_semver),
    "url": conversions.to_url,
    "isURL": conversions.succeeds("isURL", conversions.to_url),
    "ip": conversions.to_ip,
    "isIP": conversions.succeeds("isIP", conversions.to_ip),
    "cidr": conversions.to_cidr,
    "isCIDR": conversions.succeeds("isCIDR", conversions.to_cidr),
    "format.named": named_format,
    "validate": validate,
    **{f"format.{name}": lambda format_=format_: format_ for name, format_ in FORMATS.items()},
    "optional.of": lambda value: OptionalValue(value, True),
    "optional.none": OptionalValue,
    "optional.unwrap": _unwrap,
    "unwrapOpt": _unwrap,
    "first": lambda values: OptionalValue(values[0], True) if values else OptionalValue(),
    "last": lambda values: OptionalValue(values[-1], True) if values else OptionalValue(),
    "optional.ofNonZeroValue": lambda value: (
        OptionalValue(value, True) if value else OptionalValue()
    ),
    "strings.quote": formatting.quote,
    "lists.range": _range,
}


def _too_long(function: str) -> CelError:
    return CelError(f"{function}: the result has more than {_LONGEST_TEXT} characters")


def _size(value: Value) -> Value:
    if isinstance(value, (str, bytes, list, Mapping)):
        return size_of(value)
    return CelError(f"{NO_OVERLOAD}: size")


FUNCTIONS["size"] = _size


@_typed("hasValue", OptionalValue)
def _has_value(optional: OptionalValue) -> Value:
    return optional.present


@_typed("value", OptionalValue)
def _value(optional: OptionalValue) -> Value:
    return optional.value if optional.present else CelError("optional.none() dereference")


# texts


def _text_test(name: str, test: Callable[[str, str], bool]) -> None:
    def guarded(text: Value, part: Value) -> Value:
        both = isinstance(text, str) and isinstance(part, str)
        return test(text, part) if both else CelError(NO_OVERLOAD)

    FUNCTIONS[name] = guarded


_text_test("startsWith", str.startswith)
_text_test("endsWith", str.endswith)
_text_test("contains", str.__contains__)


def _matches(text: Value, pattern: Value) -> Value:
    if not isinstance(text, str) or not isinstance(pattern, str):
        return CelError(NO_OVERLOAD)
    return regexes.matches(text, pattern)


FUNCTIONS["matches"] = _matches


@_typed("find", str, str)
def _find(text: str, pattern: str) -> Value:
    matches = regexes.find_all(text, pattern, 1)
    return matches if isinstance(matches, CelError) else next(iter(matches), "")


@_typed("findAll", str, str, int)
def _find_all(text: str, pattern: str, limit: int = -1) -> Value:
    return regexes.find_all(text, pattern, limit)


def _ascii_case(name: str, first: str, shift: int) -> None:
    table = {ord(first) + i: ord(first) + i + shift for i in range(26)}
    _typed(name, str)(lambda text: text.translate(table))


_ascii_case("lowerAscii", "A", 32)
_ascii_case("upperAscii", "a", -32)


@_typed("trim", str)
def _trim(text: str) -> Value:
    return text.strip()


@_typed("charAt", str, int)
def _char_at(text: str, index: int) -> Value:
    if not 0 <= index <= len(text):
        return CelError(f"index out of range: {index}")
    return text[index : index + 1]


@_typed("substring", str, int, int)
def _substring(text: str, start: int, end: int | None = None) -> Value:
    if end is None:
        if not 0 <= start <= len(text):
            return CelError(f"index out of range: {start}")
        return text[start:]
    if start > end:
        return CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            return CelError(f"index out of range: {index}")
    return text[start:end]


@_typed("split", str, str, int)
def _split(text: str, separator: str, limit: int = -1) -> Value:
    if limit == 0:
        return []
    if not separator:
        parts = list(text)
        return (
            parts
            if limit < 0 or len(parts) <= limit
            else [*parts[: limit - 1], "".join(parts[limit - 1 :])]
        )
    return text.split(separator, limit - 1 if limit > 0 else -1)


@_typed("replace", str, str, str, int)
def _replace(text: str, old: str, new: str, limit: int = -1) -> Value:
    count = text.count(old)
    count = count if limit < 0 else min(count, limit)
    if len(text) + count * (len(new) - len(old)) > _LONGEST_TEXT:
        return _too_long("replace")
    return text.replace(old, new, limit)


@_typed("join", list, str)
def _join(texts: list[Value], separator: str = "") -> Value:
    if sum(map(size_of, texts)) + len(separator) * len(texts) > _LONGEST_TEXT:
        return _too_long("join")
    return separator.join(texts)


@_typed("format", str, list)
def _format(template: str, args: list[Value]) -> Value:
    try:
        return format_text(template, args, _LONGEST_TEXT)
    except TooLong:
        return _too_long("format")


# lists


def _index(name: str, *, last: bool) -> None:
    def index_of(container: Value, element: Value, start: Value = None) -> Value:
        if isinstance(container, str):
            return _text_index(container, element, start, last=last)
        spend(len(container))
        places = [i for i, each in enumerate(container) if equal(each, element) is True]
        return (places[-1] if last else places[0]) if places else -1

    FUNCTIONS[name] = index_of


def _text_index(text: str, part: str, start: int | None, *, last: bool) -> Value:
    """Without a start, the whole text is searched; nothing is found from behind its end."""
    if not part and start is not None:
        return start
    if start is None:
        return text.rfind(part) if last else text.find(part)
    if start < 0:
        return CelError(f"index out of range: {start}")
    if start >= len(text):
        return -1
    return text.rfind(part, 0, start + len(part)) if last else text.find(part, start)


_index("indexOf", last=False)
_index("lastIndexOf", last=True)


def _extreme(name: str, is_better: str) -> None:
    @_typed(name, list)
    def extreme(values: list[Value]) -> Value:
        if not values:
            return CelError(f"{name} called on empty list")
        best = values[0]
        for value in values[1:]:
            if FUNCTIONS[is_better](value, best) is True:
                best = value
        return best


_extreme("max", "_>_")
_extreme("min", "_<_")


@_typed("sum", list)
def _sum(values: list[Value]) -> Value:
    total = values[0] if values else 0
    for value in values[1:]:
        total = add(total, value)
    return total


@_typed("isSorted", list)
def _is_sorted(values: list[Value]) -> Value:
    return all(FUNCTIONS["_<=_"](a, b) is True for a, b in zip(values, values[1:], strict=False))


def _includes(values: Value, element: Value) -> Value:
    """Whether a list has an element. A single value is a list of itself."""
    elements = values if isinstance(values, list) else [values]
    spend(len(elements))
    return any(equal(each, element) is True for each in elements)


def _attribute_includes(values: Value, element: Value) -> Value:
    """Whether an attribute has the value; only so many values are compared."""
    if isinstance(values, list) and len(values) > _MOST_VALUES:
        if _includes(values[:_MOST_VALUES], element):
            return True
        return CelError(
            f"'includes' function cannot be applied to lists longer than {_MOST_VALUES} values"
        )
    return _includes(values, element)


FUNCTIONS["includes"] = _attribute_includes


@_typed("slice", list, int, int)
def _slice(values: list[Value], start: int, end: int) -> Value:
    if start < 0 or end < 0:
        return CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        return CelError(
            f"cannot slice({start}, {end}), start index must be less than or equal to end index"
        )
    if end > len(values):
        return CelError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


@_typed("flatten", list, int)
def _flatten(values: list[Value], depth: int = 1) -> Value:
    if depth < 0:
        return CelError("level must be non-negative")
    spend(len(values))
    flat: list[Value] = []
    for value in values:
        if isinstance(value, list) and depth > 0:
            flat += _flatten(value, depth - 1)
        else:
            flat.append(value)
    return flat


@_typed("distinct", list)
def _distinct(values: list[Value]) -> Value:
    kept: list[Value] = []
    for value in values:
        if not _includes(kept, value):
            kept.append(value)
    return kept


@_typed("reverse", list)
def _reverse(values: list[Value]) -> Value:
    return values[::-1]


@_typed("sort", list)
def _sort(values: list[Value]) -> Value:
    _check_order(values)
    return sorted(values)


@_typed("@sortByAssociatedKeys", list, list)
def _sort_by(values: list[Value], keys: list[Value]) -> Value:
    _check_order(keys)
    order = sorted(range(len(values)), key=lambda index: keys[index])
    return [values[index] for index in order]


def _check_order(values: list[Value]) -> None:
    """Raise TypeError for lists, which have an order in Python only."""
    if any(isinstance(each, list) for each in values):
        raise TypeError("lists have no order")


@_typed("sets.contains", list, list)
def _set_contains(values: list[Value], others: list[Value]) -> Value:
    return all(_includes(values, other) for other in others)


@_typed("sets.intersects", list, list)
def _set_intersects(values: list[Value], others: list[Value]) -> Value:
    return any(_includes(values, other) for other in others)


@_typed("sets.equivalent", list, list)
def _set_equivalent(values: list[Value], others: list[Value]) -> Value:
    return _set_contains(values, others) and _set_contains(others, values)


@_typed("cel.@mapInsert", dict)
def _map_insert(entries: dict[Value, Value], *added: Value) -> Value:
    new = added[0] if len(added) == 1 else {added[0]: added[1]}
    for key in new:
        if key in entries:
            return CelError(f"insert failed: key {key} already exists")
    return {**entries, **new}


# quantities and versions


def _ordered(name: str, test: Callable[[int], Value]) -> None:
    def compared(left: Value, right: Value) -> Value:
        if isinstance(left, Quantity) and isinstance(right, Quantity):
            return test((left.nanos > right.nanos) - (left.nanos < right.nanos))
        if isinstance(left, Semver) and isinstance(right, Semver):
            ours, theirs = left.sort_key, right.sort_key
            return test((ours > theirs) - (ours < theirs))
        return no_overload(name, left, right)

    FUNCTIONS[name] = compared


_ordered("compareTo", lambda sign: sign)
_ordered("isGreaterThan", lambda sign: sign > 0)
_ordered("isLessThan", lambda sign: sign < 0)


@_typed("sign", Quantity)
def _sign(quantity: Quantity) -> Value:
    return (quantity.nanos > 0) - (quantity.nanos < 0)


@_typed("isInteger", Quantity)
def _is_integer(quantity: Quantity) -> Value:
    return quantity.whole


@_typed("asInteger", Quantity)
def _as_integer(quantity: Quantity) -> Value:
    return (
        quantity.nanos // 10**9 if quantity.whole else CelError("cannot convert value to integer")
    )


@_typed("asApproximateFloat", Quantity)
def _as_float(quantity: Quantity) -> Value:
    return quantity.nanos / 10**9


def _quantity_sum(name: str, sign: int) -> None:
    @_typed(name, Quantity, (Quantity, int))
    def summed(left: Quantity, right: Quantity | int) -> Value:
        if not isinstance(right, Quantity):
            right = Quantity(right * 10**9, 0)
        return left.plus(sign * right.nanos, right.scale)


_quantity_sum("add", 1)
_quantity_sum("sub", -1)


for _part in ("major", "minor", "patch"):
    _typed(_part, Semver)(lambda version, part=_part: getattr(version, part))


# addresses and URLs


@_typed("getScheme", Url)
def _scheme(url: Url) -> Value:
    return url.parts.scheme


@_typed("getHost", Url)
def _host(url: Url) -> Value:
    return url.host


@_typed("getHostname", Url)
def _hostname(url: Url) -> Value:
    host = url.host.rpartition("]")[0].removeprefix("[")
    return host or url.host.partition(":")[0]


@_typed("getPort", Url)
def _port(url: Url) -> Value:
    return "" if url.parts.port is None else str(url.parts.port)


@_typed("getEscapedPath", Url)
def _escaped_path(url: Url) -> Value:
    path = url.parts.path
    return path if _ESCAPED_PATH.fullmatch(path) else quote(unquote(path), safe="$&+,/:;=@")


@_typed("getQuery", Url)
def _query(url: Url) -> Value:
    return parse_qs(url.parts.query, keep_blank_values=True)


@_typed("jsonpatch.escapeKey", str)
def _escape_key(text: str) -> Value:
    """A key as a part of a JSON pointer."""
    return text.replace("~", "~0").replace("/", "~1")


@_typed("ip.isCanonical", str)
def _is_canonical(text: str) -> Value:
    address = conversions.to_ip(text)
    return address if isinstance(address, CelError) else str(address.address) == text


@_typed("family", Ip)
def _family(ip: Ip) -> Value:
    return ip.address.version


def _address_test(name: str, test: Callable[[Any], bool]) -> None:
    _typed(name, Ip)(lambda ip: test(ip.address))


_address_test("isLoopback", lambda address: address.is_loopback)
_address_test("isUnspecified", lambda address: address.is_unspecified)
_address_test("isLinkLocalUnicast", lambda address: address.is_link_local)
_address_test(
    "isLinkLocalMulticast",
    lambda address: (
        address in ipaddress.ip_network("224.0.0.0/24")
        if address.version == 4
        else address in ipaddress.ip_network("ff02::/16")
    ),
)
_address_test(
    "isGlobalUnicast",
    lambda address: (
        not (
            address.is_unspecified
            or address.is_loopback
            or address.is_multicast
            or address.is_link_local
            or address == _BROADCAST
        )
    ),
)


@_typed("prefixLength", Cidr)
def _prefix_length(cidr: Cidr) -> Value:
    return cidr.interface.network.prefixlen


@_typed("masked", Cidr)
def _masked(cidr: Cidr) -> Value:
    return Cidr(ipaddress.ip_interface(cidr.interface.network))


@_typed("containsIP", Cidr, (Ip, str))
def _contains_ip(cidr: Cidr, ip: Ip | str) -> Value:
    address = conversions.to_ip(ip) if isinstance(ip, str) else ip
    if isinstance(address, CelError):
        return CelError(NO_OVERLOAD)
    return address.address in cidr.interface.network


@_typed("containsCIDR", Cidr, (Cidr, str))
def _contains_cidr(cidr: Cidr, other: Cidr | str) -> Value:
    prefix = conversions.to_cidr(other) if isinstance(other, str) else other
    if isinstance(prefix, CelError):
        return prefix
    mine, theirs = cidr.interface.network, prefix.interface.network
    contained = theirs.network_address in mine and theirs.prefixlen >= mine.prefixlen
    return mine.version == theirs.version and contained


# times


def _local(time: datetime.datetime, zone: str) -> datetime.datetime | CelError:
    """The time in a zone, by its name or by its difference from UTC such as -05:00."""
    if ":" in zone:
        hours, _, minutes = zone.partition(":")
        for part in (hours, minutes):
            if not _NUMBER.fullmatch(part):
                return CelError(f'strconv.Atoi: parsing "{part}": invalid syntax')
        difference = datetime.timedelta(hours=int(hours))
        minute = datetime.timedelta(minutes=int(minutes))
        difference += -minute if zone.startswith("-") else minute
        return time.astimezone(datetime.UTC) + difference
    try:
        return time.astimezone(datetime.UTC if zone in ("", "Local") else ZoneInfo(zone))
    except (KeyError, ValueError, OSError):
        return CelError(f"unknown time zone {zone}")


_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,6}")


def _time_part(name: str, part: Callable[[datetime.datetime], int]) -> None:
    @_typed(name, (datetime.datetime, Duration), str)
    def read(value: datetime.datetime | Duration, zone: str = "UTC") -> Value:
        if isinstance(value, Duration):
            return divide(value.nanos, _DURATION_PARTS[name])
        moment = _local(value, zone)
        return moment if isinstance(moment, CelError) else part(moment)


_DURATION_PARTS: Final = {
    "getHours": 3_600 * 10**9,
    "getMinutes": 60 * 10**9,
    "getSeconds": 10**9,
    "getMilliseconds": 10**6,
}
_time_part("getFullYear", lambda time: time.year)
_time_part("getMonth", lambda time: time.month - 1)
_time_part("getDate", lambda time: time.day)
_time_part("getDayOfMonth", lambda time: time.day - 1)
_time_part("getDayOfWeek", lambda time: time.isoweekday() % 7)
_time_part("getDayOfYear", lambda time: time.timetuple().tm_yday - 1)
_time_part("getHours", lambda time: time.hour)
_time_part("getMinutes", lambda time: time.minute)
_time_part("getSeconds", lambda time: time.second)
_time_part("getMilliseconds", lambda time: time.microsecond // 1000)


# what a user may do


_CHECK: Final = authorization.ResourceCheck
_typed("path", authorization.Authorizer, str)(authorization.check_path)
_typed("group", authorization.Authorizer, str)(authorization.check_group)
_typed("serviceAccount", authorization.Authorizer, str, str)(authorization.of_service_account)
_typed("resource", authorization.GroupCheck, str)(authorization.check_resource)
_typed("subresource", _CHECK, str)(authorization.with_subresource)
_typed("namespace", _CHECK, str)(authorization.with_namespace)
_typed("name", _CHECK, str)(authorization.with_name)
_typed("fieldSelector", _CHECK, str)(authorization.with_selector)
_typed("labelSelector", _CHECK, str)(authorization.with_selector)
_typed("check", (_CHECK, authorization.PathCheck), str)(authorization.ask)
_typed("allowed", authorization.Decision)(lambda decision: decision.is_allowed)
_typed("reason", authorization.Decision)(lambda decision: decision.why)
_typed("errored", authorization.Decision)(lambda decision: False)
_typed("error", authorization.Decision)(lambda decision: "")
