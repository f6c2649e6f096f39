"""The arguments of DynamicResources."""

from __future__ import annotations

from dataclasses import dataclass

from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import Duration, described


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicResourcesArgs:
    filter_timeout: Duration = described(
        10.0, "The longest time that filtering one node may take, such as 10s; 0s: no limit."
    )
    binding_timeout: Duration = described(
        600.0, "The longest time to wait until devices are bound; at least 1s."
    )


def check_args(args: DynamicResourcesArgs, path: str, problems: Problems) -> None:
    if args.filter_timeout < 0:
        problems.invalid(
            f"{path}.filterTimeout", f"{args.filter_timeout:g}s", "must be zero or positive"
        )
    if args.binding_timeout < 1:
        problems.invalid(
            f"{path}.bindingTimeout", f"{args.binding_timeout:g}s", "must be at least 1 second"
        )
