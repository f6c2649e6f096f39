"""The profile editor: the form and the YAML are two views of one text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.engine.models import ConfigurationDraft, ConfigurationRevision
from apps.engine.profiles import drafts, revisions
from apps.engine.queries import count_pending_pods
from apps.scheduler.config import Configuration

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
FIT = "profiles[0].pluginConfig[NodeResourcesFit].args"
PREEMPTION = "profiles[0].pluginConfig[DefaultPreemption].args.minCandidateNodesPercentage"
COMMENTED = """\
# for batch work
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100  # all of them
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated}  # pack
"""


class Editor:
    """The editor as a browser sends it: every field, and the text they were rendered from."""

    def __init__(self, client: Client, text: str) -> None:
        self.client = client
        self.text = self.shown = text
        self.page = ""
        self.send(trigger="id_configuration")

    def send(self, trigger: str = "sheet", **changed: Any) -> str:
        """Change fields (None: unchecked) and send the form; returns the new YAML."""
        posted = {"configuration": self.text, "shown": self.shown, **self._fields()}
        posted |= changed
        data = {name: value for name, value in posted.items() if value is not None}
        answer = self.client.post(
            "/clusters/lab/edit-profile", data, headers={**HTMX, "HX-Trigger": trigger}
        )
        assert answer.status_code == 200
        self.page = answer.content.decode()
        self.text = self.shown = answer.context["shown"]
        self.sheet = answer.context["sheet"]
        self.problems = answer.context["problems"]
        return self.text

    def set(self, path: str, value: str) -> str:
        return self.send(**{f"set:{path}": value})

    def press(self, button: str) -> str:
        assert f'value="{button}"' in self.page
        return self.send(do=button)

    def _fields(self) -> dict[str, str]:
        if not self.page:
            return {}
        fields = {entry.name: entry.value for entry in self.sheet.entries()} | {"form": "1"}
        for profile in self.sheet.profiles:
            for row in profile.plugins:
                if row.weight is not None:
                    fields[row.weight.name] = row.weight.value
                switches = [row.everywhere, *filter(None, row.points)]
                fields |= {each.name: "on" for each in switches if each.on}
        return fields

    def load(self) -> Configuration:
        return revisions.check(self.text)


@pytest.fixture
def editor(alice: Client, lab: Cluster) -> Editor:
    return Editor(alice, COMMENTED)


def test_fields_show_what_is_written_and_what_applies_without(editor: Editor) -> None:
    assert f'name="set:{FIT}.scoringStrategy.type"' in editor.page
    entries = {entry.path: entry for entry in editor.sheet.entries()}
    assert entries[f"{FIT}.scoringStrategy.type"].value == "MostAllocated"
    backoff = entries["podMaxBackoffSeconds"]
    assert (backoff.value, backoff.default, bool(backoff.help)) == ("", "10", True)
    assert "Default: cpu (weight 1), memory (weight 1)" in editor.page
    # every plugin with arguments has its fields
    for path in (
        "InterPodAffinity].args.hardPodAffinityWeight",
        "VolumeBinding].args.bindTimeoutSeconds",
        "DefaultPreemption].args.minCandidateNodesAbsolute",
        "PodTopologySpread].args.defaultingType",
        "DynamicResources].args.filterTimeout",
    ):
        assert f"pluginConfig[{path}" in editor.page


def test_a_change_in_the_form_keeps_the_comments(editor: Editor) -> None:
    text = editor.set("podMaxBackoffSeconds", "20")
    assert "podMaxBackoffSeconds: 20" in text
    text = editor.set("profiles[0].pluginConfig[InterPodAffinity].args.hardPodAffinityWeight", "7")
    for comment in ("# for batch work", "# all of them", "# pack"):
        assert comment in text
    (profile,) = editor.load().profiles
    assert profile.args["InterPodAffinity"].hard_pod_affinity_weight == 7
    editor.set("podMaxBackoffSeconds", "")
    editor.set("profiles[0].pluginConfig[InterPodAffinity].args.hardPodAffinityWeight", "")
    assert editor.text == COMMENTED


def test_a_comment_that_goes_with_its_field_is_announced(editor: Editor) -> None:
    editor.set("percentageOfNodesToScore", "")
    assert "removed 1 comment" in editor.page and "# all of them" in editor.page


def test_plugins_are_switched_ordered_and_weighted(editor: Editor) -> None:
    editor.send(**{"on:0:filter:NodePorts": None})
    editor.send(**{"on:0:multiPoint:PodTopologySpread": None})
    editor.send(**{"set:profiles[0].weights.ImageLocality": "5"})
    editor.press("move:0:filter:NodeName:up")
    (profile,) = editor.load().profiles
    assert profile.plugins["filter"][:2] == ("NodeName", "NodeUnschedulable")
    assert "NodePorts" not in profile.plugins["filter"]
    assert "NodePorts" in profile.plugins["preFilter"]
    assert "PodTopologySpread" not in profile.plugin_names
    assert profile.score_weights["ImageLocality"] == 5
    # and back to the default
    editor.send(**{"on:0:filter:NodePorts": "on", "on:0:multiPoint:PodTopologySpread": "on"})
    editor.send(**{"set:profiles[0].weights.ImageLocality": ""})
    editor.press("move:0:filter:NodeName:down")
    assert editor.load().profiles[0].plugins == revisions.check(COMMENTED).profiles[0].plugins


def test_lists_start_from_their_defaults(editor: Editor) -> None:
    editor.press(f"add:{FIT}.scoringStrategy.resources")
    editor.set(f"{FIT}.scoringStrategy.resources[2].name", "example.com/gpu")
    editor.set(f"{FIT}.scoringStrategy.resources[2].weight", "3")
    resources = editor.load().profiles[0].args["NodeResourcesFit"].scoring_strategy.resources
    assert [(each.name, each.weight) for each in resources] == [
        ("cpu", 1),
        ("memory", 1),
        ("example.com/gpu", 3),
    ]
    editor.press(f"remove:{FIT}.scoringStrategy.resources[0]")
    assert "cpu" not in editor.text


def test_a_shape_constraints_and_affinity_are_entered_in_the_form(editor: Editor) -> None:
    ratio = f"{FIT}.scoringStrategy.requestedToCapacityRatio"
    editor.set(f"{FIT}.scoringStrategy.type", "RequestedToCapacityRatio")
    assert editor.problems
    for index, (utilization, score) in enumerate([("0", "0"), ("100", "10")]):
        editor.press(f"add:{ratio}.shape")
        editor.set(f"{ratio}.shape[{index}].utilization", utilization)
        editor.set(f"{ratio}.shape[{index}].score", score)
    spread = "profiles[0].pluginConfig[PodTopologySpread].args"
    editor.set(f"{spread}.defaultingType", "List")
    editor.press(f"add:{spread}.defaultConstraints")
    constraint = f"{spread}.defaultConstraints[0]"
    editor.send(
        **{
            f"set:{constraint}.maxSkew": "1",
            f"set:{constraint}.topologyKey": "zone",
            f"set:{constraint}.whenUnsatisfiable": "DoNotSchedule",
        }
    )
    added = "profiles[0].pluginConfig[NodeAffinity].args.addedAffinity"
    terms = f"{added}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    editor.press(f"add:{terms}")
    editor.press(f"add:{terms}[0].matchExpressions")
    editor.send(
        **{
            f"set:{terms}[0].matchExpressions[0].key": "disk",
            f"set:{terms}[0].matchExpressions[0].operator": "In",
            f"set:{terms}[0].matchExpressions[0].values": "ssd\r\nnvme",
        }
    )
    assert editor.problems == []
    args = editor.load().profiles[0].args
    shape = args["NodeResourcesFit"].scoring_strategy.requested_to_capacity_ratio.shape
    assert [(point.utilization, point.score) for point in shape] == [(0, 0), (100, 10)]
    assert args["PodTopologySpread"].default_constraints[0].topology_key == "zone"
    required = args["NodeAffinity"].added_affinity
    (term,) = required.required_during_scheduling_ignored_during_execution.node_selector_terms
    assert term.match_expressions[0].values == ("ssd", "nvme")


def test_profiles_and_extenders_are_added_and_removed(editor: Editor) -> None:
    editor.press("copy-profile:0")
    assert [each.scheduler_name for each in editor.load().profiles] == [
        "default-scheduler",
        "default-scheduler-2",
    ]
    editor.press("remove:profiles[0]")
    assert "default-scheduler-2" in editor.text and editor.problems == []
    assert "pending pods wait for scheduler default-scheduler" in editor.page
    editor.press("add:extenders")
    assert editor.problems
    editor.set("extenders[0].urlPrefix", "http://127.0.0.1:8888")
    editor.set("extenders[0].filterVerb", "filter")
    assert editor.load().extenders[0].filter_verb == "filter"


def test_all_errors_are_shown_at_once_at_their_fields_and_lines(editor: Editor) -> None:
    editor.send(
        **{
            "set:percentageOfNodesToScore": "300",
            "set:podMaxBackoffSeconds": "soon",
            f"set:{FIT}.scoringStrategy.type": "MostAllocated",
            f"set:{PREEMPTION}": "-1",
        }
    )
    found = {entry.path: entry.problems for entry in editor.sheet.entries() if entry.problems}
    assert set(found) == {
        "percentageOfNodesToScore",
        "podMaxBackoffSeconds",
        PREEMPTION,
    }
    assert "must be an integer" in found["podMaxBackoffSeconds"][0]
    assert all(line for line, _ in editor.problems)
    editor.send(**{"on:0:queueSort:PrioritySort": None})
    assert "queueSort" in str(editor.sheet.profiles[0].problems)
    assert "only one queue sort plugin" in editor.page


def test_what_is_typed_in_the_yaml_meanwhile_remains(editor: Editor) -> None:
    typed = editor.text.replace("# for batch work", "# typed")
    text = editor.send(configuration=typed, **{"set:podMaxBackoffSeconds": "30"})
    assert "# typed" in text and "podMaxBackoffSeconds: 30" in text


def test_the_yaml_updates_the_form_and_unreadable_yaml_leaves_it(editor: Editor) -> None:
    editor.send("id_configuration", configuration=COMMENTED.replace("100", "40"))
    entries = {entry.path: entry.value for entry in editor.sheet.entries()}
    assert entries["percentageOfNodesToScore"] == "40"
    editor.send("id_configuration", configuration="profiles: [\n")
    assert "The YAML cannot be read" in editor.page and "Line" in editor.page
    assert {entry.path: entry.value for entry in editor.sheet.entries()} == entries


def test_a_revision_is_saved_without_being_activated(alice: Client, lab: Cluster) -> None:
    data = {"configuration": COMMENTED, "name": "packing", "note": "for batch", "save": "revision"}
    alice.post("/clusters/lab/new-profile", data)
    saved = revisions.get_revision(lab, 2)
    assert (saved.active, saved.name) == (False, "packing")
    assert revisions.get_active(lab).revision == 1
    again = alice.post("/clusters/lab/new-profile", data)
    assert again.status_code == 422
    assert "revision 2 already has this name" in again.content.decode()
    alice.post("/clusters/lab/profiles/2/rename", {"name": "dense", "note": "renamed"})
    page = alice.get("/clusters/lab/profiles").content.decode()
    assert "dense" in page and "renamed" in page


def test_saving_includes_changes_of_the_form_that_were_not_sent_before(
    alice: Client, lab: Cluster
) -> None:
    editor = Editor(alice, COMMENTED)
    fields = {**editor._fields(), "set:podMaxBackoffSeconds": "33"}
    data = {"configuration": COMMENTED, "shown": COMMENTED, "save": "revision", **fields}
    alice.post("/clusters/lab/new-profile", data)
    assert "podMaxBackoffSeconds: 33" in revisions.get_revision(lab, 2).configuration


def test_a_draft_may_be_invalid_and_becomes_a_revision(alice: Client, lab: Cluster) -> None:
    address = "/clusters/lab/new-profile"
    wrong = COMMENTED.replace("100", "300")
    nameless = alice.post(address, {"configuration": wrong, "save": "draft"})
    assert nameless.status_code == 422
    alice.post(address, {"configuration": wrong, "save": "draft", "name": "wip"})
    assert (
        "/clusters/lab/new-profile?draft=wip"
        in alice.get("/clusters/lab/profiles").content.decode()
    )
    page = alice.get(f"{address}?draft=wip").content.decode()
    assert "not in valid range [0-100]" in page and "Line 4" in page
    data = {"configuration": COMMENTED, "save": "revision", "draft": "wip", "name": "done"}
    alice.post(address, data)
    assert not ConfigurationDraft.objects.exists()
    assert ConfigurationRevision.objects.filter(cluster=lab, name="done").exists()


def test_disabled_fields_change_nothing_and_unknown_buttons_are_refused(
    alice: Client, lab: Cluster
) -> None:
    data = {"configuration": COMMENTED, "shown": COMMENTED, "save": "revision"}
    alice.post("/clusters/lab/new-profile", data)
    assert revisions.get_revision(lab, 2).configuration == COMMENTED
    for button in ("move:9:filter:NodeName:up", "copy-profile:x", "move:0:lunch:A:up", "dance"):
        sent = {**data, "form": "1", "do": button}
        assert alice.post("/clusters/lab/edit-profile", sent, headers=HTMX).status_code == 400


def test_the_editor_starts_with_all_defaults_written_out(alice: Client, lab: Cluster) -> None:
    page = alice.get("/clusters/lab/new-profile?complete=1")
    text = page.context["shown"]
    assert re.search(r"minCandidateNodesAbsolute: 100", text)
    assert revisions.check(text) == revisions.load_configuration(revisions.get_active(lab))
    assert page.context["problems"] == [] and page.context["effects"] == []


def test_a_field_that_was_not_changed_is_not_rewritten(editor: Editor) -> None:
    """Inputs cannot hold line breaks, and spaces around and in a value are part of it."""
    text = COMMENTED + (
        "    # two\n"
        "  - {name: NodeAffinity, args: {}}\n"
        '- schedulerName: " batch "\n'
        "  pluginConfig:\n"
        "  - name: NodeResourcesFit\n"
        '    args: {ignoredResources: ["a b"]}\n'
        "extenders:\n- urlPrefix: http://x/\n  filterVerb: f\n  tlsConfig:\n"
        "    caData: |\n      aGVs\n      bG8=\n"
    )
    editor.send(configuration=text, trigger="id_configuration")
    one_line = {
        name: value.replace("\n", "")
        for name, value in editor._fields().items()
        if name.startswith("set:extenders")
    }
    changed = editor.send(**one_line, **{"set:podMaxBackoffSeconds": "20"})
    assert changed == f"{text}podMaxBackoffSeconds: 20\n"
    assert "base64" not in str(editor.problems)


def test_a_key_that_is_set_twice_is_marked_where_it_is_set_again(editor: Editor) -> None:
    editor.send(
        configuration=f"{COMMENTED}percentageOfNodesToScore: 5\n", trigger="id_configuration"
    )
    assert editor.problems == [
        (11, 'percentageOfNodesToScore: key "percentageOfNodesToScore" already set in map')
    ]


def _confirm(client: Client, data: dict[str, Any]) -> str:
    """Save, which asks first; returns what it asks, after confirming it."""
    asked = client.post("/clusters/lab/new-profile", data)
    assert asked.status_code == 422
    shown = {"concerns": asked.context["concerns"]}
    again = client.post("/clusters/lab/new-profile", {**data, **shown})
    assert again.status_code == 302
    return str(asked.content.decode())


def test_activating_asks_if_another_revision_was_activated_meanwhile(
    alice: Client, lab: Cluster
) -> None:
    opened = alice.get("/clusters/lab/new-profile").context["base"]
    revisions.add_revision(lab, COMMENTED, user="bob")
    data = {"configuration": COMMENTED, "base": opened, "save": "activate"}
    asked = _confirm(alice, data)
    assert "Revision 2 by bob is active now. When you began, it was revision 1." in asked
    assert revisions.get_active(lab).revision == 3
    # one that is not activated concerns nobody
    assert alice.post("/clusters/lab/new-profile", {**data, "save": "revision"}).status_code == 302


def test_activating_asks_if_it_strands_pods(alice: Client, lab: Cluster) -> None:
    body = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    store.write(lab, [Create(kinds.POD, body, "default")], actor=Actor("alice"))
    other = COMMENTED.replace("schedulerName: default-scheduler", "schedulerName: batch")
    asked = _confirm(alice, {"configuration": other, "base": "1", "save": "activate"})
    waiting = "pending pods wait for scheduler default-scheduler, which no profile of this"
    assert f"{count_pending_pods(lab)['default-scheduler']} {waiting}" in asked
    # nothing is asked about pods that waited in vain before
    data = {"configuration": other, "base": "2", "save": "activate"}
    assert alice.post("/clusters/lab/new-profile", data).status_code == 302


def test_replacing_what_another_user_saved_as_draft_asks(alice: Client, lab: Cluster) -> None:
    address = "/clusters/lab/new-profile"
    drafts.save_draft(lab, "wip", COMMENTED, user="bob")
    data = {"configuration": COMMENTED, "name": "wip", "save": "draft"}
    assert "bob has saved a draft wip. Yours would replace it." in _confirm(alice, data)
    opened = alice.get(f"{address}?draft=wip").context
    data |= {"draft": opened["draft"], "opened": opened["opened"]}
    assert alice.post(address, data).status_code == 302
    assert "alice has saved a draft wip since you opened it." in _confirm(alice, data)


def test_a_revision_is_downloaded_as_kube_scheduler_reads_it(alice: Client, lab: Cluster) -> None:
    gates = "featureGates:\n  GenericWorkload: true\n  OpportunisticBatching: false\n"
    revisions.add_revision(lab, COMMENTED + gates, user="alice")
    page = alice.get("/clusters/lab/profiles/2")
    assert 'href="?download=1"' in page.content.decode()
    file = alice.get("/clusters/lab/profiles/2?download=1")
    assert file["Content-Disposition"] == 'attachment; filename="lab-2.yaml"'
    flag = "--feature-gates=GenericWorkload=true,OpportunisticBatching=false"
    assert file.content.decode() == f"# kube-scheduler {flag}\n{COMMENTED}"
    revisions.add_revision(lab, COMMENTED, user="alice")
    assert alice.get("/clusters/lab/profiles/3?download=1").content.decode() == COMMENTED
