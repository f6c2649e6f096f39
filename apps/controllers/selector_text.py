"""Selectors in messages of controllers."""

from __future__ import annotations

from apps.scheduler.objects import LabelSelector


def selector_text(selector: LabelSelector | None) -> str:
    """The selector as upstream's messages print it."""
    if selector is None:
        return "nil"
    labels = "".join(f"{name}: {value}," for name, value in sorted(selector.match_labels.items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{each.key},Operator:{each.operator},"
        f"Values:[{' '.join(each.values)}],}},"
        for each in selector.match_expressions
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
