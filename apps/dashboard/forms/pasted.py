"""The form for a cluster that is pasted and not kept."""

from __future__ import annotations

from typing import Any

from apps.dashboard.forms.files import YamlField
from apps.dashboard.forms.manifest import DumpForm


class PastedForm(DumpForm):
    """The objects of a cluster, and the configuration that is compared with the defaults."""

    configuration = YamlField(
        rows=6,
        required=False,
        label="Scheduler configuration",
        help_text="A KubeSchedulerConfiguration (v1); what it would do is compared with "
        "kube-scheduler's defaults.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        manifest = self.fields["manifest"]
        manifest.label = "Objects"
        manifest.widget.attrs["rows"] = 8
        manifest.help_text = (
            "What kubectl get nodes,pods -A -o yaml prints; with other kinds (pvc, pv, sc, pdb, "
            "priorityclasses …) answers that depend on them are exact."
        )
