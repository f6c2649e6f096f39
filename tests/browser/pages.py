"""Every page of the dashboard, for the check of all pages and `make screenshots`.

A page that is added to the dashboard gets a line in `PAGES`; what is no page, one in `NOT_PAGES`.
`{…}` in a path is filled in from what `furnishing.furnish` returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from django.urls import resolve

from apps.dashboard.urls import urlpatterns
from bench import addresses

_CLASSES = "priorityclasses.scheduling.k8s.io"
_BUDGETS = "poddisruptionbudgets.policy"

#: Names of the greatest length, without a place where a line could end.
LONG_CLUSTER = "l" * 63
LONG_LABEL = "a" * 63
LONG_NAME = ".".join(letter * 62 for letter in "nopq") + "r"
_LONG = f"/clusters/{LONG_CLUSTER}"

#: name of the screenshot -> path of the page
PAGES = {
    "clusters": "/",
    "deleted-clusters": "/deleted-clusters",
    "forget-cluster": "/deleted-clusters/{past}/delete",
    "past-changes": "/clusters/old~{past}/changes?since=1h",
    "new-cluster": "/new-cluster",
    "pasted": "/paste",
    "new-cluster-yaml": "/new-cluster?way=yaml",
    "new-cluster-trace": "/new-cluster?way=trace",
    "new-cluster-copy": "/new-cluster?way=copy",
    "search": "/search?q=web-1",
    "operations": "/operations",
    "operations-none": "/operations?q=nothing",
    "operation": "/operations/{failed_operation}",
    "operation-running": "/operations/{operation}",
    "scenarios": "/scenarios",
    "scenario": "/scenarios/{scenario}",
    "recorded-decisions": "/recorded-decisions",
    "recorded-comparison": "/recorded-decisions/{recorded}",
    "compare-scenarios": "/scenarios/compare?first={scenario}.0&second={scenario}.2",
    "account": "/account",
    "password": "/account/password",
    "new-token": "/account/new-token",
    "kubeconfig": "/clusters/lab/kubeconfig",
    "groups": "/groups",
    "users": "/users",
    "user": "/users/admin",
    "audit": "/audit?since=1h",
    "help": "/help",
    "cluster": "/clusters/lab",
    "cluster-empty": "/clusters/bare",
    "charts": "/clusters/lab/charts",
    "placement": "/clusters/lab/placement",
    "placement-answer": "/clusters/lab/placement?pod=default/huge&node=node-0",
    "charts-empty": "/clusters/bare/charts",
    "past": "/clusters/lab/past?decision={preempting}",
    "fork": "/clusters/lab/fork?decision={preempting}",
    "replays": "/clusters/lab/replays?since=1",
    "replay": "/clusters/lab/replays/{replay}",
    "past-pods": "/clusters/lab/past?show=pods",
    "past-differences": "/clusters/lab/past?decision={preempting}&with=now",
    "past-empty": "/clusters/bare/past",
    "cluster-settings": "/clusters/lab/settings",
    "webhooks": "/clusters/lab/webhooks",
    "opinions": "/clusters/external/opinions",
    "board": "/clusters/spring/board",
    "board-student": "/clusters/spring/board?student=ann",
    "board-none": "/clusters/bare/board",
    "opinions-none": "/clusters/bare/opinions",
    "members": "/clusters/lab/members",
    "webhooks-empty": "/clusters/bare/webhooks",
    "webhook": "/clusters/lab/webhooks/{webhook}",
    "delete-cluster": "/clusters/lab/delete",
    "nodes": "/clusters/lab/nodes?size=25",
    "nodes-none": "/clusters/lab/nodes?q=nothing",
    "nodes-empty": "/clusters/bare/nodes",
    "node": "/clusters/lab/nodes/gpu-1",
    "drain": "/clusters/lab/nodes/{moving}/drain",
    "drain-losing": "/clusters/lab/nodes/gpu-1/drain",
    "landings": "/clusters/lab/nodes/{moving}/drain/landings",
    "new-node": "/clusters/lab/new-node",
    "pods": "/clusters/lab/pods?size=25",
    "pods-empty": "/clusters/bare/pods",
    "pod": "/clusters/lab/pods/default/web-1",
    "pod-pending": "/clusters/lab/pods/default/huge",
    "pod-gated": "/clusters/lab/pods/default/held",
    "pod-gone": "/clusters/lab/pods/default/gone",
    "pod-waiting": "/clusters/lab/pods/default/huge/waiting",
    "pod-story": "/clusters/lab/stories/{gone}",
    "pod-chain": "/clusters/lab/stories/{gone}/chain",
    "consequences": "/clusters/lab/changes/{change}/consequences",
    "new-pod": "/clusters/lab/new-pod",
    "queue": "/clusters/lab/queue",
    "queue-empty": "/clusters/bare/queue",
    "film": "/clusters/lab/film",
    "queue-past": "/clusters/lab/queue?decision={preempting}",
    "queue-history": "/clusters/lab/queue/history",
    "decisions": "/clusters/lab/decisions?size=25",
    "decisions-none": "/clusters/lab/decisions?node=nothing",
    "decisions-empty": "/clusters/bare/decisions",
    "decision-groups": "/clusters/lab/decisions?group=reason&result=unschedulable",
    "decision-groups-hours": "/clusters/lab/decisions?group=hour&then=result",
    "decision-groups-slowest": "/clusters/lab/decisions?group=decision&sort=-max_us&size=25",
    "decision-plugin": "/clusters/lab/decisions/{scheduled}/plugins/NodeResourcesFit",
    "decision-plugin-rejecting": "/clusters/lab/decisions/{failed}/plugins/NodeResourcesFit",
    "saved-views": "/clusters/lab/views",
    "new-view": "/clusters/lab/new-view?group=pod&result=unschedulable",
    "edit-view": "/clusters/lab/views/{view}/edit",
    "plugins": "/plugins",
    "plugin": "/plugins/PodTopologySpread",
    "documents": "/docs",
    "document": "/docs/performance",
    "decision": "/clusters/lab/decisions/{scheduled}",
    "decision-failed": "/clusters/lab/decisions/{failed}",
    "decision-preempting": "/clusters/lab/decisions/{preempting}",
    "decision-card": "/clusters/lab/decisions/{scheduled}/card",
    "decision-card-pending": "/clusters/lab/decisions/{failed}/card",
    "explanation": "/clusters/lab/decisions/{scheduled}/explanation",
    "explanation-why-not": "/clusters/lab/decisions/{scheduled}/explanation?node=broken-1",
    "explanation-or": (
        "/clusters/lab/decisions/{scheduled}/explanation?node=node-02&against=node-03"
    ),
    "explanation-unknown": "/clusters/lab/decisions/{scheduled}/explanation?node=nobody",
    "score-inputs": "/clusters/lab/decisions/{scheduled}/inputs",
    "score-inputs-none": "/clusters/lab/decisions/{failed}/inputs",
    "visiting-order": "/clusters/lab/decisions/{scheduled}/order",
    "refused-nodes": "/clusters/lab/decisions/{failed}/refused/1",
    "decision-state": "/clusters/lab/decisions/{preempting}/state?size=25",
    "decision-facts": "/clusters/lab/decisions/{failed}/facts",
    "debugger": "/clusters/lab/debugger?pod=default/huge&step=9",
    "debugger-none": "/clusters/bare/debugger",
    "bundles": "/bundles",
    "lab": "/clusters/lab/lab",
    "prospects": "/clusters/lab/prospects",
    "prospects-none": "/clusters/bare/prospects",
    "lab-simulation": "/clusters/lab/lab?ask=simulate&pending=on&drain={moving}",
    "lab-emptiable": "/clusters/lab/lab?ask=emptiable",
    "lab-failures": "/clusters/lab/lab?ask=failures",
    "events": "/clusters/lab/events?size=25",
    "events-empty": "/clusters/bare/events",
    "changes": "/clusters/lab/changes?size=25",
    "changes-empty": "/clusters/bare/changes?q=nothing",
    "change": "/clusters/lab/changes/{change}",
    "profiles": "/clusters/lab/profiles",
    "profile": "/clusters/lab/profiles/1",
    "feature-gates": "/clusters/lab/feature-gates",
    "feature-gates-all": "/clusters/lab/feature-gates?revision=1&all=1",
    "compare-profiles": "/clusters/lab/compare-profiles",
    "compare-profiles-unified": "/clusters/lab/compare-profiles?view=unified",
    "activate-profile": "/clusters/lab/profiles/1/activate",
    "new-profile": "/clusters/lab/new-profile",
    "new-profile-draft": "/clusters/lab/new-profile?draft=wip",
    "preview": "/clusters/lab/previews/{preview}",
    "preview-all": "/clusters/lab/previews/{preview}?show=all",
    "compare-clusters": "/compare-clusters?cluster=lab&cluster=bare",
    "kinds": "/clusters/lab/objects",
    "objects": f"/clusters/lab/objects/{_CLASSES}",
    "objects-empty": "/clusters/bare/objects/deployments.apps",
    "object": f"/clusters/lab/objects/{_CLASSES}/system-node-critical",
    "object-budget": f"/clusters/lab/objects/{_BUDGETS}/default/web",
    "new-object": "/clusters/lab/new/deployments.apps",
    "edit-object": "/clusters/lab/edit/nodes/gpu-1",
    "edit-budget": f"/clusters/lab/edit/{_BUDGETS}/default/web",
    "delete-object": "/clusters/lab/delete/nodes/gpu-1",
    "delete-budget": f"/clusters/lab/delete/{_BUDGETS}/default/web",
    "import": "/clusters/lab/import?example=pod",
    "cluster-long": _LONG,
    "charts-long": f"{_LONG}/charts",
    "nodes-long": f"{_LONG}/nodes",
    "node-long": f"{_LONG}/nodes/{LONG_NAME}",
    "drain-long": f"{_LONG}/nodes/{LONG_NAME}/drain",
    "pods-long": f"{_LONG}/pods",
    "pod-long": f"{_LONG}/pods/default/{LONG_NAME}",
    "queue-long": f"{_LONG}/queue",
    "decisions-long": f"{_LONG}/decisions",
    "decision-long": f"{_LONG}/decisions/{{long}}",
    "compare-clusters-long": f"/compare-clusters?cluster=lab&cluster={LONG_CLUSTER}",
}

#: pages with an invalid parameter in the address
MISTAKEN = {
    "no-page": "/nothing/here",
    "no-cluster": "/clusters/nowhere",
    "past-of-the-future": "/clusters/lab/past?at=2999-01-01",
    "no-node": "/clusters/lab/nodes/nobody",
    "no-pod": "/clusters/lab/pods/default/nobody",
    "no-decision": "/clusters/lab/decisions/7",
    "no-operation": "/operations/7777",
    "no-scenario": "/scenarios/7777",
    "filter-refused": "/clusters/lab/decisions?since=sometime&attempt=many",
    "charts-refused": "/clusters/lab/charts?since=soon",
    "grouping-refused": "/clusters/lab/decisions?group=plugin&then=reason",
    "no-view": "/clusters/lab/views/7777",
    "lab-refused": "/clusters/lab/lab?ask=fit&drain=nobody&objects=a",
    "debugger-refused": "/clusters/lab/debugger?pod=default/huge&version=1",
    "no-plugin": "/plugins/nobody",
    "no-document": "/docs/nothing",
    "comparison-refused": "/clusters/lab/compare-profiles?before=1&after=77",
}

#: pages of deleted objects
GONE = {"pod-gone"}

_POSTED = "takes POST only, and goes on to a page"
#: route -> why it is not in `PAGES`
NOT_PAGES = {
    "login": "stands before the others; looked at on the way in",
    "logout": _POSTED,
    "film-frames": "JSON, for the page of the film",
    "placement-answers": "JSON, for the board of pods on nodes",
    "lab-questions": _POSTED,
    "lab-question": "the answer of the lab, with progress before; tested with its operation",
    "heat": "JSON, for the heat map of the cluster's page",
    "decision-card-svg": "a picture, which the card shows",
    "decision-card-text": "Markdown",
    "decision-scores": "JSON, for the table of scores of a decision's page",
    "decision-nodes": "options, for a field of a decision's page",
    "complete-filter": "options, for the filters of decisions",
    "change-group": _POSTED,
    "saved-view": "goes on to the page of decisions",
    "delete-view": _POSTED,
    "document-file": "a picture of a document",
    "operation-output": "a file",
    "set-theme": _POSTED,
    "set-times": _POSTED,
    "change-user": _POSTED,
    "delete-token": _POSTED,
    "end-session": _POSTED,
    "delete-identity": _POSTED,
    "end-sessions": _POSTED,
    "set-password": "stands before the others; tested with its links",
    "openid": "goes on to the provider",
    "openid-callback": "goes on to a page",
    "change-webhook": _POSTED,
    "change-member": _POSTED,
    "set-visibility": _POSTED,
    "clock": _POSTED,
    "switch": _POSTED,
    "pause": _POSTED,
    "resume": _POSTED,
    "export": _POSTED,
    "activate-pod": _POSTED,
    "change-nodes": _POSTED,
    "set-condition": _POSTED,
    "set-usage": _POSTED,
    "change-pods": _POSTED,
    "undo-nodes": _POSTED,
    "undo-operation": _POSTED,
    "cancel-operation": _POSTED,
    "edit-profile": "the form of the page of the profile editor, for htmx",
    "start-preview": _POSTED,
    "rename-profile": _POSTED,
    "delete-draft": _POSTED,
}


@dataclass(frozen=True, slots=True)
class InvalidForm:
    """A form with an invalid value: its page, the values by label, and the button."""

    path: str
    entered: dict[str, str]
    button: str


#: name of the screenshot -> a form whose response has an error
REFUSED = {
    "refused-webhook": InvalidForm("/clusters/lab/webhooks", {"URL": "nowhere"}, "Add webhook"),
    "refused-preferences": InvalidForm("/account", {"Time zone": "Mars/Olympus"}, "Save"),
    "refused-token": InvalidForm("/account/new-token", {"Name": " "}, "Create token"),
    "refused-invitation": InvalidForm(
        "/users", {"Name": "a b", "Email": "nowhere"}, "Create invitation"
    ),
    "refused-taint": InvalidForm("/clusters/lab/nodes/gpu-1", {"New taint": "dedicated"}, "Taint"),
    "refused-cluster": InvalidForm("/new-cluster", {"Name": "Lab!"}, "Create cluster"),
    "refused-settings": InvalidForm(
        "/clusters/lab/settings",
        {"Maximum time unschedulable, in seconds": "-1"},
        "Save settings",
    ),
    "refused-scenario": InvalidForm("/scenarios", {"Scenario": "name: 3\ncluster: {}"}, "Run"),
    "refused-node": InvalidForm(
        "/clusters/lab/new-node", {"Name": "gpu-1", "CPU": "many"}, "Create node"
    ),
    "refused-pod": InvalidForm(
        "/clusters/lab/new-pod", {"Name": "Web", "CPU": "many", "Tolerations": "x y"}, "Create pod"
    ),
    "refused-yaml": InvalidForm(
        "/clusters/lab/import", {"YAML": "apiVersion: v1\nkind: Pod\nmetadata: [\n"}, "Import"
    ),
    "refused-profile": InvalidForm(
        "/clusters/lab/new-profile",
        {"Configuration": "profiles:\n- schedulerName: a\n  plugins: {score: {enabled: 7}}\n"},
        "Save and activate",
    ),
}


def list_checked_routes() -> set[str]:
    """The names of the routes in `PAGES`."""
    blanks = {"gone": "00000000-0000-0000-0000-000000000000"}
    numbers = dict.fromkeys(
        (
            *("failed_operation", "operation", "scenario", "scheduled", "failed", "preempting"),
            *("change", "moving", "preview", "view", "webhook", "past", "replay", "recorded"),
            "long",
        ),
        1,
    )
    paths = (urlsplit(path.format_map(blanks | numbers)).path for path in PAGES.values())
    return {resolve(path).url_name or path for path in paths}


def list_routes() -> set[str]:
    return {name for name, _ in addresses.routes(urlpatterns)}
