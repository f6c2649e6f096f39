"""What docs/differences.md lists of the answers to clients."""

from __future__ import annotations

from typing import Any

#: Fields of the answer to GET /version, by which the distributions of Kubernetes differ.
_VERSION = frozenset(
    {
        "build_date",
        "buildDate",
        "compiler",
        "git_commit",
        "gitCommit",
        "git_tree_state",
        "gitTreeState",
        "git_version",
        "gitVersion",
        "go_version",
        "goVersion",
        "platform",
    }
)


#: Which server it is.
_SUFFIX = "+schedweb"


def without_listed(told: dict[str, Any]) -> dict[str, Any]:
    result = told.get("result")
    if told.get("step") == "warnings" and isinstance(result, list):
        return {**told, "result": [each.replace(_SUFFIX, "") for each in result]}
    if told.get("step") == "version" and isinstance(result, dict):
        return {**told, "result": {n: v for n, v in result.items() if n not in _VERSION}}
    return told
