"""Label selectors: LabelSelector objects, the text syntax of `?labelSelector=`, node selectors.

It imports only `objects` and may be imported everywhere; admission, quotas and the API use it too.
"""

from __future__ import annotations

from apps.scheduler.labels.selectors import (
    DOES_NOT_EXIST,
    EVERYTHING,
    EXISTS,
    GREATER_THAN,
    IN,
    LESS_THAN,
    NOT_IN,
    NOTHING,
    Requirement,
    Selector,
    SelectorError,
    from_label_selector,
    from_mapping,
    from_set,
    node_requirement,
    node_selector_matches,
    node_selector_term_matches,
    parse_int64,
)
from apps.scheduler.labels.syntax import parse_selector

__all__ = [
    "DOES_NOT_EXIST",
    "EVERYTHING",
    "EXISTS",
    "GREATER_THAN",
    "IN",
    "LESS_THAN",
    "NOTHING",
    "NOT_IN",
    "Requirement",
    "Selector",
    "SelectorError",
    "from_label_selector",
    "from_mapping",
    "from_set",
    "node_requirement",
    "node_selector_matches",
    "node_selector_term_matches",
    "parse_int64",
    "parse_selector",
]
