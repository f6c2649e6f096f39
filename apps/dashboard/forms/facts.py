"""The form with the pod of a decision and a node, to be changed before it is decided again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from django import forms

from apps.cluster import kinds
from apps.cluster.admission.fields import check_fields
from apps.cluster.documents import UnreadableDocument, parse_yaml
from apps.cluster.errors import ApiError, Invalid
from apps.cluster.kinds import Kind
from apps.dashboard.forms.files import YamlField
from apps.dashboard.forms.lines import NamesField
from apps.dashboard.forms.yaml_problems import show_causes, show_syntax
from apps.studies.lab.edits import Edits

Document = dict[str, Any]


class FactsForm(forms.Form):
    """Starts with what the decision saw; only what the user changes counts."""

    pod = YamlField(rows=14, label="Pod", required=False)
    node = forms.CharField(
        label="Node",
        required=False,
        widget=forms.TextInput({"readonly": ""}),
        help_text="Another one is selected above.",
    )
    changes = YamlField(
        rows=14,
        label="Labels, taints and allocatable of the node",
        required=False,
    )
    delete_pods = NamesField(label="Pods on nodes to delete first", rows=2, example="default/web-1")

    def __init__(self, known: Document, *args: Any, **kwargs: Any) -> None:
        texts = {
            name: value if isinstance(value, str) else yaml.safe_dump(value, sort_keys=False)
            for name, value in known.items()
        }
        super().__init__(*args, **{**kwargs, "initial": texts})
        self._known = known

    def clean_pod(self) -> Document:
        return self._read("pod", kinds.POD)

    def clean_changes(self) -> Document:
        return self._read("changes", kinds.NODE)

    def build_edits(self) -> Edits:
        """The differences from what the decision saw, as merge patches."""
        typed = self.cleaned_data
        pod = find_patch(self._known.get("pod", {}), typed["pod"])
        known = self._known.get("changes", {}) if typed["node"] == self._known.get("node") else {}
        patch = find_patch(known, typed["changes"])
        return Edits(pod, {typed["node"]: patch} if patch else {}, typed["delete_pods"])

    def add_refusal(self, refusal: ApiError) -> None:
        """Show an error at the field that it names."""
        name, _, rest = refusal.message.partition(":")
        start = name.partition("[")[0].partition(".")[0]
        field = {"pod": "pod", "nodes": "changes", "delete_pods": "delete_pods"}.get(start)
        self.add_error(field, rest.strip() if name == field else refusal.message)

    def _read(self, name: str, kind: Kind) -> Document:
        """The object in a field; errors are added to it, with their lines."""
        try:
            document = parse_yaml(self.cleaned_data[name], strict=True) or {}
        except UnreadableDocument as error:
            show_syntax(self, name, str(error))
            return {}
        if not isinstance(document, dict):
            self.add_error(name, "This is not an object.")
            return {}
        try:
            check_fields(kind, document)
        except Invalid as refusal:
            show_causes(self, name, refusal.causes)
        return document


def find_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> Document:
    """The merge patch (RFC 7386) that turns `old` into `new`."""
    patch: Document = {key: None for key in old if key not in new}
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(key), dict):
            if inner := find_patch(old[key], value):
                patch[key] = inner
        elif key not in old or old[key] != value:
            patch[key] = value
    return patch
