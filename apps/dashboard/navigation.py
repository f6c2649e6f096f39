"""The navigation between the pages of a cluster: sections in groups, and pages below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.urls import reverse

from apps.cluster.models import Cluster


@dataclass(frozen=True, slots=True)
class Section:
    label: str
    #: route of the link
    page: str
    icon: str
    #: the key that opens it after "g"; `inc/shortcuts.html` lists them
    key: str
    #: pages that are listed while the section is open: (label, route)
    below: Sequence[tuple[str, str]] = ()
    #: other names with which the addresses of its pages begin, beside that of the link
    names: Sequence[str] = ()


Groups = Sequence[tuple[str, Sequence[Section]]]

#: What a group of sections is about -> its sections. Pages of no section belong to the first one.
GROUPS: Final[Groups] = (
    (
        "",
        (
            Section(
                *("Overview", "cluster", "layout-dashboard", "o"),
                below=(
                    ("Settings", "cluster-settings"),
                    ("Members", "members"),
                    ("Webhooks", "webhooks"),
                    ("Class", "board"),
                ),
            ),
        ),
    ),
    (
        "Scheduling",
        (
            Section(
                *("Queue", "queue", "list-ordered", "q"),
                below=(("History", "queue-history"),),
            ),
            Section(
                *("Decisions", "decisions", "scale", "d"),
                below=(("Saved views", "saved-views"),),
                names=("views", "new-view"),
            ),
            Section(
                *("Profiles", "profiles", "sliders-horizontal", "f"),
                below=(("Compare", "compare-profiles"), ("Feature gates", "feature-gates")),
                names=("new-profile", "feature-gates", "compare-profiles", "previews"),
            ),
            Section(
                *("Lab", "lab", "flask-conical", "a"),
                below=(("Replays", "replays"), ("Debugger", "debugger")),
                names=("replays", "debugger"),
            ),
        ),
    ),
    (
        "Objects",
        (
            Section(
                *("Pods", "pods", "box", "p"),
                below=(("Prospects", "prospects"), ("Board", "placement")),
                names=("new-pod", "change-pods", "stories", "prospects", "placement"),
            ),
            Section("Nodes", "nodes", "server", "n", names=("new-node", "change-nodes")),
            Section(
                *("Objects", "kinds", "boxes", "b"),
                below=(("Import", "import"),),
                names=("import", "new"),
            ),
        ),
    ),
    (
        "History",
        (
            Section(
                *("Charts", "charts", "chart-line", "t"),
                below=(("Past", "past"), ("Film", "film")),
                names=("past", "film"),
            ),
            Section("Events", "events", "bell", "e"),
            Section("Changes", "changes", "history", "h"),
        ),
    ),
)

#: One more, where a client of the API schedules.
OPINIONS: Final[Groups] = (
    ("Other schedulers", (Section("Second opinions", "opinions", "users", "s"),)),
)

#: The same for a deleted cluster.
PAST_GROUPS: Final[Groups] = (
    (
        "",
        (
            Section("Decisions", "decisions", "scale", "d"),
            Section("Events", "events", "bell", "e"),
            Section("Changes", "changes", "history", "h"),
            Section("Queue history", "queue-history", "list-ordered", "q"),
        ),
    ),
)


def groups_of(cluster: Cluster) -> Groups:
    """The navigation of a cluster; of a deleted cluster, that of its history."""
    if cluster.deleted_at is not None:
        return PAST_GROUPS
    external = cluster.scheduling == Cluster.Scheduling.EXTERNAL
    return (*GROUPS, *OPINIONS) if external else GROUPS


def find_section(path: str, groups: Groups) -> Section:
    """The section to which the page of a cluster with this address belongs."""
    first, more = _split_address(path)
    if first in ("edit", "delete") and more:
        # an object of any kind; those of pods and nodes are below the list of these
        first = more if more in ("pods", "nodes") else "objects"
    for section in _sections(groups):
        if first in (_split_address(reverse(section.page, args=["x"]))[0], *section.names):
            return section
    return next(_sections(groups))


def _sections(groups: Groups) -> Iterator[Section]:
    return (section for _, sections in groups for section in sections)


def _split_address(path: str) -> tuple[str, str]:
    """The two names that follow the cluster in an address; "" where there is none."""
    _, _, _, first, more, *_ = [*path.split("/"), "", ""]
    return first, more
