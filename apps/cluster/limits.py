"""How much a request may name: every amount, in one table.

An amount is compared with its limit before anything is built from it. The rules that the API
server of Kubernetes has, such as the number of devices of a slice, are in `validation`; the limits
that the admin of a site sets are in `schedweb/config.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limit:
    """The least and the most of something that a request may name."""

    #: what is limited, as the table in docs/limits.md names it
    of: str
    highest: int
    lowest: int = 0

    def admits(self, amount: float) -> bool:
        """Whether a request may name this amount."""
        return self.lowest <= amount <= self.highest

    def __str__(self) -> str:
        """ "between 1 and 10,000": what follows "must be" in an error."""
        return f"between {self.lowest:,} and {self.highest:,}"


_DAY: Final = 86_400
_KIB: Final = 1024
_MIB: Final = 1024 * 1024

# --- clusters
NODES: Final = Limit("nodes that are generated for a cluster", 100_000)
ZONES: Final = Limit("zones of generated nodes", 20_000, 1)
CLOCK_SPEED: Final = Limit("speed of a cluster's clock", 100_000)
COMPARED_CLUSTERS: Final = Limit("clusters in a comparison", 6, 2)
COPIED_PODS: Final = Limit("copies of a pod in the form", 1000, 1)
BULK: Final = Limit("objects of one action", 50_000, 1)
ACTIVATED_PODS: Final = Limit("pods of an activation", 1000, 1)
DRAIN_SECONDS: Final = Limit("seconds of a drain", _DAY, 1)
WEBHOOKS: Final = Limit("webhooks of a cluster", 20)
WEBHOOK_CALLS: Final = Limit("calls of admission webhooks of one request", 200)
WEBHOOK_SECONDS: Final = Limit("seconds of all calls of admission webhooks of one request", 30)
SAVED_VIEWS: Final = Limit("saved views of a user in a cluster", 200)
TOKENS: Final = Limit("tokens of a user", 100)

# --- classes
CLASS_STUDENTS: Final = Limit("students of a class on its board", 200)
CLASS_OBJECTS: Final = Limit("pods and nodes of all clusters on the board of a class", 50_000)
CLASS_CHECKS: Final = Limit("checks of an exercise", 50, 1)

# --- scenarios
SCENARIO_BYTES: Final = Limit("bytes of a scenario's text, without its files", 256 * _KIB)
SCENARIO_ENTRIES: Final = Limit(
    "clusters, workloads, operations, expectations, profiles or seeds of a scenario", 1000
)
SCENARIO_NODES: Final = Limit("nodes of all clusters of a scenario", 100_000)
SCENARIO_PODS: Final = Limit("pods that a run of a scenario creates", 200_000)
SCENARIO_ARRIVALS: Final = Limit("pods that arrive together in a scenario", 10_000, 1)
SCENARIO_TIMES: Final = Limit("repetitions of an operation in a scenario", 10_000, 1)
SCENARIO_STEPS: Final = Limit("repetitions of all operations of a scenario", 100_000)
SCENARIO_RUNS: Final = Limit("runs of a scenario: clusters × profiles × seeds", 200, 1)
SCENARIO_SECONDS: Final = Limit("seconds of a duration in a scenario or a recording", 366 * _DAY)
SCENARIO_INLINE: Final = Limit(
    "characters of a scenario that is checked without a process", 8 * _KIB
)
SCENARIO_CHECK_CPU: Final = Limit("seconds of a processor for the check of a scenario", 5)
SCENARIO_CHECK_MEMORY: Final = Limit("bytes of memory for the check of a scenario", 256 * _MIB)
SCENARIO_CPU: Final = Limit("seconds of a processor for a scenario on a site", 3600)
SCENARIO_MEMORY: Final = Limit("bytes of memory for a scenario on a site", 2048 * _MIB)
PASTED_SECONDS: Final = Limit("seconds for the questions about a pasted cluster", 60)
PASTED_MEMORY: Final = Limit("bytes of memory for a pasted cluster", 2048 * _MIB)
SCENARIOS: Final = Limit("scenarios of a user on a site that have not ended", 4)

# --- the lab
LAB_PODS: Final = Limit("pods of a simulation, copies and replicas included", 20_000)
LAB_COPIES: Final = Limit("copies of each pod of a simulation", 10_000, 1)
FITTING_PODS: Final = Limit("pods that are tried when the fitting ones are counted", 20_000, 1)
EMPTIED_NODES: Final = Limit("nodes that are tried when empty ones are wanted", 1000, 1)
FAILED_NODES: Final = Limit("nodes whose failure is simulated", 100)
PLANNED_NODES: Final = Limit("nodes of a plan", 2000, 1)
PLANNED_SHAPES: Final = Limit("shapes of a plan", 10, 1)
PREVIEWED_DECISIONS: Final = Limit("decisions of a preview", 2000, 1)
REPLAYED_DECISIONS: Final = Limit("decisions in the span of a replay", 100_000)

# --- answers
PAGE: Final = Limit("rows of a page", 1000)
EXPORTED_DECISIONS: Final = Limit("decisions of an export", 10**9)
GROUPS: Final = Limit("groups of decisions in an answer", 10_000)
CHART_POINTS: Final = Limit("points of a chart with a given step", 20_000)

# --- bodies
BODY_BYTES: Final = Limit(
    "bytes of a body, unless it is an object of the Kubernetes API", 64 * _MIB
)
IMPORT_FILES: Final = Limit("files of an import, with those in archives and folders", 50_000)
IMPORT_UNPACKED: Final = Limit("bytes of the compressed files of an import, unpacked", 256 * _MIB)
OBJECT_BYTES: Final = Limit("bytes of an object of the Kubernetes API", 3 * _MIB)
#: The core, which this room does not read, has the same number.
CONFIGURATION_BYTES: Final = Limit("bytes of a KubeSchedulerConfiguration", 256 * _KIB)
DOCUMENT_VALUES: Final = Limit("values of a YAML or JSON document, its aliases expanded", 500_000)
DOCUMENT_DEPTH: Final = Limit("levels of a YAML or JSON document", 200)
PATCH_STEPS: Final = Limit("steps of a JSON patch", 10_000)
# a decision at 5,000 nodes: a file of 14 kB with 138 kB and 16,000 values in it, 142,000 in its
# objects; unless pruned 131 kB, 380 kB, 38,000 and 600,000
BUNDLE_BYTES: Final = Limit("bytes of a bundle's file", 2 * _MIB)
BUNDLE_CONTENTS: Final = Limit("bytes of a bundle's contents", 8 * _MIB)
BUNDLE_CONFIGURATION: Final = Limit("characters of the configuration in a bundle", 64 * _KIB)
BUNDLE_VALUES: Final = Limit("values in a bundle's file", 400_000)
BUNDLE_OBJECTS: Final = Limit("objects in the tables of a bundle", 60_000)
BUNDLE_FIELDS: Final = Limit("values of a bundle's objects, or entries of its arrays", 2_000_000)
ARCHIVE_FILE: Final = Limit("bytes of a file of the data folder in a backup", _MIB)
ARCHIVE_MANIFEST: Final = Limit("bytes of the manifest of a backup", 16 * _MIB)

TABLE: Final = tuple(each for each in list(globals().values()) if isinstance(each, Limit))
