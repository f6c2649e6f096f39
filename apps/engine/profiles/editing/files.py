"""A configuration as a file for other programs."""

from __future__ import annotations

from apps.engine.profiles.editing.document import ConfigurationText


def write_for_kube_scheduler(text: str) -> str:
    """A configuration without feature gates, which kube-scheduler takes as a flag.

    The flag is in a comment above it.
    """
    document = ConfigurationText(text)
    gates = document.get("featureGates")
    if gates is None:
        return text
    document.remove("featureGates")
    flag = ",".join(f"{name}={str(value).lower()}" for name, value in gates.items())
    comment = f"# kube-scheduler --feature-gates={flag}\n" if flag else ""
    return comment + document.text()
