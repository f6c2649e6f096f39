"""Forms with YAML: new objects of any kind, and an existing object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django import forms
from django.core.exceptions import ValidationError

from apps.cluster.documents import UnreadableDocument, parse_yaml
from apps.cluster.manifests.text_files import Text
from apps.dashboard.forms.files import DumpsField, YamlField
from apps.dashboard.forms.object_form import ObjectForm
from apps.dashboard.forms.yaml_problems import show_syntax

_TOP = ("apiVersion", "kind", "metadata", "spec")
_METADATA = ("name", "namespace", "labels", "annotations")
_EXAMPLES = Path(__file__).with_name("examples")
#: The kinds that are only data.
_DATA = _EXAMPLES / "data.yaml"
#: Fields that the server sets; a copy of an object does not have them.
_SERVER_FIELDS = (
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


class ManifestForm(ObjectForm):
    """Any number of objects."""

    manifest = YamlField(rows=24)

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["manifest"].initial = example


class DumpForm(ObjectForm):
    """Any number of objects, as text and in files."""

    manifest = YamlField(rows=24, required=False, plain=True)
    uploads = DumpsField(
        required=False,
        fills="id_manifest",
        label="Files",
        help_text="Any number of files with YAML or JSON, and archives (gzip, tar, zip), such as "
        "that of a folder that kubectl cluster-info dump --output-directory has written.",
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        given = cleaned.get("manifest", "").strip() or cleaned.get("uploads")
        if not given and not self.errors.keys() & {"manifest", "uploads"}:
            self.add_error("manifest", "This field is required, unless there are files.")
        return cleaned

    def texts(self) -> list[Text]:
        """What is imported; of a valid form."""
        typed = self.cleaned_data["manifest"]
        return [*([Text("", typed)] if typed.strip() else []), *self.cleaned_data["uploads"]]


class ImportForm(DumpForm):
    """Objects that existed before, and how to treat what they say of it."""

    keep_uids = forms.BooleanField(
        required=False, label="Keep uids", help_text="Otherwise each object gets a new one."
    )
    strict = forms.BooleanField(
        required=False,
        label="Refuse missing objects",
        help_text="Otherwise namespaces, priority classes, runtime classes and service accounts "
        "that objects refer to are added.",
    )

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["manifest"].initial = example

    def options(self) -> dict[str, bool]:
        """The options of the import, by name; of a valid form."""
        return {name: self.cleaned_data[name] for name in ("keep_uids", "strict")}


class EditForm(ObjectForm):
    """One object; `cleaned_data["manifest"]` is its body."""

    manifest = YamlField(rows=32)

    def __init__(self, *args: Any, body: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # who owns which field is kept: an edit does not state it
        rest = {key: value for key, value in body["metadata"].items() if key != "managedFields"}
        self.fields["manifest"].initial = dump_yaml({**body, "metadata": rest})

    def clean_manifest(self) -> dict[str, Any]:
        try:
            body = parse_yaml(self.cleaned_data["manifest"], strict=True)
        except UnreadableDocument as error:
            show_syntax(self, "manifest", str(error))
            return {}
        if not isinstance(body, dict):
            raise ValidationError("expected an object with apiVersion, kind and metadata")
        return body


def load_example(kind: str) -> str:
    """The example of a kind (in lower case); empty if there is none."""
    path = _EXAMPLES / f"{kind}.yaml"
    if kind.isalpha() and path.is_file():
        return path.read_text()
    return _data_examples().get(kind, "")


@cache
def _data_examples() -> dict[str, str]:
    """The examples of the kinds that are only data: the documents of one file."""
    documents = _DATA.read_text().split("---\n")
    return {yaml.safe_load(text)["kind"].lower(): text for text in documents}


def copy_as_example(body: Mapping[str, Any]) -> str:
    """The YAML of a new object like another one, without the fields that are unique to that one."""
    metadata = {k: v for k, v in body["metadata"].items() if k not in _SERVER_FIELDS}
    copy = {**body, "metadata": {**metadata, "name": f"{metadata['name']}-copy"}}
    if copy["kind"] != "Node":
        copy.pop("status", None)
    if copy["kind"] == "Pod":
        copy["spec"] = {k: v for k, v in body["spec"].items() if k != "nodeName"}
    elif copy["kind"] == "Service":
        copy["spec"] = _without_allocations(body["spec"])
    return dump_yaml(copy)


def _without_allocations(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A service's spec without the address and the node ports, which no other one may have."""
    own = {"healthCheckNodePort"}
    if spec.get("clusterIP") != "None":
        own |= {"clusterIP", "clusterIPs"}
    rest = {name: value for name, value in spec.items() if name not in own}
    if "ports" in rest:
        rest["ports"] = [
            {name: value for name, value in port.items() if name != "nodePort"}
            for port in rest["ports"]
        ]
    return rest


def dump_yaml(body: Mapping[str, Any]) -> str:
    """An object as YAML: apiVersion, kind and metadata first, status last."""
    ordered = _order_fields(body, _TOP, "status")
    if isinstance(body.get("metadata"), Mapping):
        ordered["metadata"] = _order_fields(body["metadata"], _METADATA)
    return yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=100)


def _order_fields(body: Mapping[str, Any], first: Sequence[str], last: str = "") -> dict[str, Any]:
    names = [name for name in first if name in body]
    names += [name for name in body if name not in first and name != last]
    return {name: body[name] for name in [*names, *([last] if last in body else [])]}
