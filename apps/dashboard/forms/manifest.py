"""The forms that take YAML: new objects of any kind, and one object to edit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from django import forms
from django.core.exceptions import ValidationError

from apps.cluster.documents import Unreadable, parse_yaml
from apps.dashboard.forms.refusals import ObjectForm

EXAMPLES = {
    "pod": """\
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: default
  labels:
    app: web
spec:
  containers:
  - name: main
    image: example/main:1
    resources:
      requests:
        cpu: 500m
        memory: 256Mi
""",
    "node": """\
apiVersion: v1
kind: Node
metadata:
  name: node-new
  labels:
    kubernetes.io/hostname: node-new
    topology.kubernetes.io/zone: zone-1
status:
  capacity: &capacity {cpu: "8", memory: 32Gi, pods: "110"}
  allocatable: *capacity
  conditions:
  - {type: Ready, status: "True", reason: KubeletReady}
""",
    "priorityclass": """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: high
value: 1000
description: Pods that may take the place of others.
""",
}


def yaml_area(rows: int) -> forms.Textarea:
    """A text area for YAML."""
    return forms.Textarea({"rows": rows, "class": "code", "spellcheck": "false"})


class ManifestForm(ObjectForm):
    """Any number of objects."""

    manifest = forms.CharField(label="YAML", strip=False, widget=yaml_area(24))

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["manifest"].initial = EXAMPLES.get(example, "")


class EditForm(ObjectForm):
    """One object; `cleaned_data["manifest"]` is its body."""

    manifest = forms.CharField(label="YAML", strip=False, widget=yaml_area(32))

    def __init__(self, *args: Any, body: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["manifest"].initial = as_yaml(body)

    def clean_manifest(self) -> dict[str, Any]:
        try:
            body = parse_yaml(self.cleaned_data["manifest"])
        except Unreadable as error:
            raise ValidationError(f"this is not YAML: {error}") from None
        if not isinstance(body, dict):
            raise ValidationError("an object with apiVersion, kind and metadata is expected")
        return body


def as_yaml(body: Mapping[str, Any]) -> str:
    """An object as YAML, in the order it has."""
    return yaml.safe_dump(dict(body), sort_keys=False, allow_unicode=True, width=100)
