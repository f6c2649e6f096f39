"""From the types of the configuration to parts of the form: the annotations are the schema."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from apps.dashboard.profile_form.fields import Entry, Fill, Group, GroupList, Kind, Part, to_text
from apps.engine.profiles.editing.document import ConfigurationText
from apps.scheduler.config.decoding import camel_case
from apps.scheduler.config.durations import go_duration
from apps.scheduler.config.fields import Description, Seconds

_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_POLICIES: Final = ("Honor", "Ignore")
#: Fields of objects of the Kubernetes API: (type, field) -> description; None: not in the form.
_OBJECTS: Final[Mapping[tuple[str, str], Description | None]] = {
    ("NodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"): Description(
        "Nodes that match none of these terms are rejected."
    ),
    ("NodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"): Description(
        "Nodes that match these terms get a higher score."
    ),
    ("NodeSelectorTerm", "matchExpressions"): Description("Requirements on the node's labels."),
    ("NodeSelectorTerm", "matchFields"): Description(
        "Requirements on the node's fields: metadata.name."
    ),
    ("NodeSelector", "nodeSelectorTerms"): Description("A node matches if one term matches."),
    ("NodeSelectorRequirement", "operator"): Description(choices=_OPERATORS),
    ("NodeSelectorRequirement", "values"): Description("One per line; empty for Exists."),
    ("PreferredSchedulingTerm", "weight"): Description("1 to 100."),
    ("TopologySpreadConstraint", "maxSkew"): Description(
        "The largest difference in the number of matching pods between two domains."
    ),
    ("TopologySpreadConstraint", "topologyKey"): Description(
        "The node label whose values are the domains, such as topology.kubernetes.io/zone."
    ),
    ("TopologySpreadConstraint", "whenUnsatisfiable"): Description(
        "Reject the node, or only lower its score.", ("DoNotSchedule", "ScheduleAnyway")
    ),
    ("TopologySpreadConstraint", "minDomains"): Description(
        "With fewer domains than this, the smallest number of pods counts as 0."
    ),
    ("TopologySpreadConstraint", "nodeAffinityPolicy"): Description(
        "Whether nodes that the pod's affinity excludes are left out.", _POLICIES
    ),
    ("TopologySpreadConstraint", "nodeTaintsPolicy"): Description(
        "Whether nodes with taints that the pod does not tolerate are left out.", _POLICIES
    ),
    # the selector is derived from the owners of each pod
    ("TopologySpreadConstraint", "labelSelector"): None,
    ("TopologySpreadConstraint", "matchLabelKeys"): None,
}
_KINDS: Final[Mapping[Any, Kind]] = {int: "number", float: "number", bool: "switch"}


class Schema(NamedTuple):
    """One field of a type."""

    attribute: str
    name: str
    type: Any
    description: Description


def build_parts(
    cls: Any,
    default: Any,
    path: str,
    document: ConfigurationText,
    *,
    fills: Sequence[Fill] = (),
    only: Sequence[str] = (),
) -> list[Part]:
    """The parts for the fields of a type, or for some of them in the given order.

    `default` is the object that applies where nothing is written.
    """
    fields = {field.name: field for field in fields_of(cls)}
    return [
        _build_part(
            fields[name],
            getattr(default, fields[name].attribute),
            f"{path}.{name}".strip("."),
            document,
            fills,
        )
        for name in only or fields
    ]


def fields_of(cls: Any) -> list[Schema]:
    """The fields of a dataclass or Struct, except those that are not in the form."""
    if issubclass(cls, msgspec.Struct):
        return [
            Schema(each.name, each.encode_name, each.type, description)
            for each in msgspec.structs.fields(cls)
            if (description := _OBJECTS.get((cls.__name__, each.encode_name), Description()))
            is not None
        ]
    hints = get_type_hints(cls, include_extras=True)
    return [
        Schema(
            each.name,
            each.metadata.get("json", camel_case(each.name)),
            hints[each.name],
            each.metadata.get("description", Description()),
        )
        for each in dataclasses.fields(cls)
    ]


def _build_part(
    field: Schema, default: Any, path: str, document: ConfigurationText, fills: Sequence[Fill]
) -> Part:
    kind, is_duration = _unwrap(field.type)
    if get_origin(kind) is tuple:
        element, _ = _unwrap(get_args(kind)[0])
        if _is_object(element):
            return _build_list(field, element, default, path, document, fills)
        return _build_lines(field, default, path, document, fills)
    if _is_object(kind):
        return _build_group(field, kind, default, path, document, fills)
    shown = go_duration(default) if is_duration and default is not None else to_text(default)
    choices = field.description.choices
    return Entry(
        path=path,
        label=field.name,
        kind="choice" if choices else "text" if is_duration else _KINDS.get(kind, "text"),
        value=to_text(document.get(path)),
        default=shown if kind is not bytes else "",
        help=field.description.help,
        choices=choices,
        fills=fills,
    )


def _build_lines(
    field: Schema, default: Any, path: str, document: ConfigurationText, fills: Sequence[Fill]
) -> Entry:
    written = document.get(path)
    value = "\n".join(map(to_text, written)) if isinstance(written, list) else to_text(written)
    return Entry(
        path=path,
        label=field.name,
        kind="lines",
        value=value,
        default=", ".join(default or ()),
        help=field.description.help,
        fills=fills,
    )


def _build_group(
    field: Schema,
    kind: Any,
    default: Any,
    path: str,
    document: ConfigurationText,
    fills: Sequence[Fill],
) -> Group:
    fill = _differing_fields(default, kind())
    shown = default if document.get(path) is None and default is not None else kind()
    inner = [*fills, (path, fill)] if fill else fills
    return Group(
        path=path,
        label=field.name,
        help=field.description.help,
        parts=build_parts(kind, shown, path, document, fills=inner),
    )


def _build_list(
    field: Schema,
    element: Any,
    default: Any,
    path: str,
    document: ConfigurationText,
    fills: Sequence[Fill],
) -> GroupList:
    written = document.get(path)
    count = len(written) if isinstance(written, list) else 0
    defaults = [] if written is not None else [_to_document(item) for item in default or ()]
    return GroupList(
        path=path,
        label=field.name,
        element=_singular(field.name),
        help=field.description.help,
        default=", ".join(_describe(item) for item in defaults),
        default_items=defaults,
        fills=fills,
        items=[
            Group(
                path=f"{path}[{index}]",
                label=f"{_singular(field.name)} {index + 1}",
                removable=True,
                parts=build_parts(element, element(), f"{path}[{index}]", document),
            )
            for index in range(count)
        ],
    )


def _unwrap(kind: Any) -> tuple[Any, bool]:
    """The type without `None` and annotations, and whether it is a duration."""
    origin = get_origin(kind)
    if origin in (types.UnionType, Union):
        (kind,) = (option for option in get_args(kind) if option is not types.NoneType)
        return _unwrap(kind)
    if origin is Annotated:
        base, *marks = get_args(kind)
        return _unwrap(base)[0], any(isinstance(mark, Seconds) for mark in marks)
    return kind, False


def _is_object(kind: Any) -> bool:
    return isinstance(kind, type) and (
        dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct)
    )


def _differing_fields(value: Any, base: Any) -> dict[str, Any]:
    """The fields of an object that differ from those of `base`, as in a document."""
    if value is None:
        return {}
    return {
        field.name: _plain(getattr(value, field.attribute))
        for field in fields_of(type(value))
        if getattr(value, field.attribute) != getattr(base, field.attribute)
    }


def _to_document(value: Any) -> dict[str, Any]:
    return {
        field.name: _plain(getattr(value, field.attribute))
        for field in fields_of(type(value))
        if getattr(value, field.attribute) not in (None, ())
    }


def _plain(value: Any) -> Any:
    if _is_object(type(value)):
        return _to_document(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _describe(item: Mapping[str, Any]) -> str:
    """An element as text: cpu (weight 1)."""
    first, *others = item.items()
    rest = ", ".join(f"{name} {value}" for name, value in others)
    return f"{first[1]} ({rest})" if rest else str(first[1])


def _singular(name: str) -> str:
    """A word for one element of a list: resources -> resource."""
    words = {"preferredDuringSchedulingIgnoredDuringExecution": "preferred term"}
    return words.get(name) or (name[:-1] if name.endswith("s") else f"{name} point")
