"""The forms that take YAML: new objects of any kind, and one object to edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from django import forms
from django.core.exceptions import ValidationError

from apps.cluster.documents import UnreadableDocument, parse_yaml
from apps.dashboard.forms.refusals import ObjectForm

_TOP = ("apiVersion", "kind", "metadata", "spec")
_METADATA = ("name", "namespace", "labels", "annotations")
_EXAMPLES = Path(__file__).with_name("examples")
#: What the server sets, and a new object does not carry over from another.
_OF_THE_ORIGINAL = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "ownerReferences",
    "selfLink",
)


def yaml_area(rows: int) -> forms.Textarea:
    """A text area for YAML."""
    return forms.Textarea({"rows": rows, "class": "code", "spellcheck": "false"})


class ManifestForm(ObjectForm):
    """Any number of objects."""

    manifest = forms.CharField(label="YAML", strip=False, widget=yaml_area(24))

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["manifest"].initial = example


class EditForm(ObjectForm):
    """One object; `cleaned_data["manifest"]` is its body."""

    manifest = forms.CharField(label="YAML", strip=False, widget=yaml_area(32))

    def __init__(self, *args: Any, body: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["manifest"].initial = as_yaml(body)

    def clean_manifest(self) -> dict[str, Any]:
        try:
            body = parse_yaml(self.cleaned_data["manifest"])
        except UnreadableDocument as error:
            raise ValidationError(f"this is not YAML: {error}") from None
        if not isinstance(body, dict):
            raise ValidationError("expected an object with apiVersion, kind and metadata")
        return body


def example_of(kind: str) -> str:
    """An object of this kind (in small letters) to start from; empty for a kind that has none."""
    path = _EXAMPLES / f"{kind}.yaml"
    return path.read_text() if kind.isalpha() and path.is_file() else ""


def alike(body: Mapping[str, Any]) -> str:
    """An object to start from that is like another: without what only that one can have."""
    metadata = {k: v for k, v in body["metadata"].items() if k not in _OF_THE_ORIGINAL}
    copy = {**body, "metadata": {**metadata, "name": f"{metadata['name']}-copy"}}
    if copy["kind"] != "Node":
        copy.pop("status", None)
    if copy["kind"] == "Pod":
        copy["spec"] = {k: v for k, v in body["spec"].items() if k != "nodeName"}
    return as_yaml(copy)


def as_yaml(body: Mapping[str, Any]) -> str:
    """An object as YAML: what it is and its name first, its status last."""
    ordered = _in_order(body, _TOP, "status")
    if isinstance(body.get("metadata"), Mapping):
        ordered["metadata"] = _in_order(body["metadata"], _METADATA)
    return yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=100)


def _in_order(body: Mapping[str, Any], first: Sequence[str], last: str = "") -> dict[str, Any]:
    names = [name for name in first if name in body]
    names += [name for name in body if name not in first and name != last]
    return {name: body[name] for name in [*names, *([last] if last in body else [])]}
