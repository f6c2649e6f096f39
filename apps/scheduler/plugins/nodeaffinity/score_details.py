"""Which preferences a node satisfies, as sentences with figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apps.scheduler.framework.explanation import Detail
from apps.scheduler.objects import PreferredSchedulingTerm
from apps.scheduler.plugins.helper.arithmetic import sum_text
from apps.scheduler.plugins.helper.node_text import requirement_text


def describe_preferences(
    preferences: Sequence[PreferredSchedulingTerm], satisfied: Sequence[bool], of_profile: int
) -> Iterator[Detail]:
    """Each preference with its weight, and their sum, those of the profile first."""
    weights = []
    for number, (term, counts) in enumerate(zip(preferences, satisfied, strict=True)):
        owner = "profile" if number < of_profile else "pod"
        text = _term_text(term)
        if counts:
            weights.append(term.weight)
        yield Detail(
            f"the node {'satisfies' if counts else 'does not satisfy'} the {owner}'s preference "
            f"{text}, weight {term.weight}",
            {
                "preference": text,
                "of": owner,
                "weight": term.weight,
                "satisfied": counts,
                "counts": term.weight if counts else 0,
            },
        )
    total = sum(weights)
    terms = f"{sum_text([str(weight) for weight in weights])} = " if len(weights) > 1 else ""
    yield Detail(f"sum of the weights of satisfied preferences: {terms}{total}", {"score": total})


def _term_text(term: PreferredSchedulingTerm) -> str:
    preference = term.preference
    requirements = (*preference.match_expressions, *preference.match_fields)
    return " and ".join(map(requirement_text, requirements)) or "without requirements"
