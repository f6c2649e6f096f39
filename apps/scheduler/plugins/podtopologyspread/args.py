"""The arguments of PodTopologySpread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from apps.scheduler.config.checks import check_label_name
from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import described
from apps.scheduler.objects import TopologySpreadConstraint
from apps.scheduler.plugins.podtopologyspread.constraints import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY

SYSTEM_DEFAULTING: Final = "System"
LIST_DEFAULTING: Final = "List"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTopologySpreadArgs:
    """`default_constraints` apply to pods without constraints of their own.

    They have no label selector: it is derived from the pod's owners. With `defaulting_type` System
    the list is empty and upstream's two soft constraints (hostname, zone) apply.
    """

    default_constraints: tuple[TopologySpreadConstraint, ...] = described(
        (), "Constraints for pods that have none; require the defaulting type List."
    )
    defaulting_type: str = described(
        SYSTEM_DEFAULTING,
        "System: soft constraints over hostname and zone. List: the default constraints above.",
        choices=(SYSTEM_DEFAULTING, LIST_DEFAULTING),
    )


def default_args(args: PodTopologySpreadArgs) -> PodTopologySpreadArgs:
    return args if args.defaulting_type else replace(args, defaulting_type=SYSTEM_DEFAULTING)


def check_args(args: PodTopologySpreadArgs, path: str, problems: Problems) -> None:
    constraints, kind = args.default_constraints, args.defaulting_type
    kind_path = f"{path}.defaultingType"
    if kind not in (SYSTEM_DEFAULTING, LIST_DEFAULTING):
        problems.unsupported(kind_path, kind, (SYSTEM_DEFAULTING, LIST_DEFAULTING))
    if kind == SYSTEM_DEFAULTING and constraints:
        problems.invalid(kind_path, kind, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints):
        at = f"{path}.defaultConstraints[{index}]"
        _check_constraint(constraint, at, problems)
        key = (constraint.topology_key, constraint.when_unsatisfiable)
        if key in seen:
            problems.duplicate(at, "{" + ", ".join(key) + "}")
        seen.add(key)


def _check_constraint(constraint: TopologySpreadConstraint, path: str, problems: Problems) -> None:
    if constraint.max_skew <= 0:
        problems.invalid(f"{path}.maxSkew", constraint.max_skew, "not in valid range (0, inf)")
    if constraint.topology_key:
        check_label_name(constraint.topology_key, f"{path}.topologyKey", problems)
    else:
        problems.required(f"{path}.topologyKey", "can not be empty")
    action, actions = constraint.when_unsatisfiable, (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)
    if not action:
        problems.required(f"{path}.whenUnsatisfiable", "can not be empty")
    elif action not in actions:
        problems.unsupported(f"{path}.whenUnsatisfiable", action, actions)
    if constraint.label_selector is not None:
        said = "constraint must not define a selector, as they deduced for each pod"
        problems.forbidden(f"{path}.labelSelector", said)
