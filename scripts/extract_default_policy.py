"""Writes apps/cluster/access/default_policy.jsonl: RBAC objects and APIServices of a new cluster.

    KUBECONFIG=FILE python scripts/extract_default_policy.py

reads them with kubectl from a kube-apiserver that was just started, with no controllers running.
What all objects of a kind have in common is left out; `default_policy.py` beside it adds it.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

TARGET: Final = Path(__file__).parent.parent / "apps/cluster/access/default_policy.jsonl"
PLURALS: Final = (
    "clusterroles",
    "clusterrolebindings",
    "roles",
    "rolebindings",
    "apiservices",
)
COMMON_LABELS: Final = {"kubernetes.io/bootstrapping", "kube-aggregator.kubernetes.io/automanaged"}
CONTENT: Final = ("rules", "aggregationRule", "roleRef", "subjects", "spec")


def main() -> None:
    lines = [line for plural in PLURALS for line in map(shorten, read(plural))]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    TARGET.write_text(text, encoding="utf-8")


def read(plural: str) -> list[dict[str, Any]]:
    command = ["kubectl", "get", plural, "--all-namespaces", "--output=json"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    items = json.loads(answer.stdout)["items"]
    return sorted(items, key=lambda item: (item["metadata"].get("namespace", ""), name_of(item)))


def shorten(item: dict[str, Any]) -> dict[str, Any]:
    metadata = item["metadata"]
    labels = {key: text for key, text in metadata["labels"].items() if key not in COMMON_LABELS}
    shortened = {
        "kind": item["kind"],
        "name": name_of(item),
        "namespace": metadata.get("namespace"),
    }
    shortened |= {"labels": labels, **{part: item.get(part) for part in CONTENT}}
    return {key: part for key, part in shortened.items() if part}


def name_of(item: dict[str, Any]) -> str:
    return str(item["metadata"]["name"])


if __name__ == "__main__":
    main()
