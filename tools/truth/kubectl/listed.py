"""What docs/differences.md lists, removed from outcomes of kubectl."""

from __future__ import annotations

import re
from typing import Final

import yaml

from tests.stack.kubectl import Outcome
from tools.truth.listed import without_listed as without_listed_of_answer

#: Pattern -> what takes its place in both texts.
_TEXTS: Final = (
    # the object that a patch makes of an object
    (r'(patch: Invalid value: )"\{.*\}":', r"\1<object>:"),
    # what the API server answers with 500
    (r"Error from server(?: \(BadRequest\))?: (?=failed to create typed patch object)", ""),
    (r"v1\.36\.2\+schedweb", "v1.36.2"),
    # counted whenever the CronJob is looked at
    (r"(UnexpectedJob .*?)\(x\d+ over <age>\) +", r"\1"),
    # the port of the real API server, which does not serve at 6443
    (r"(?i)(target-?port: +)\d+", r"\1<port>"),
)
#: The version of Go and what else tells the programs apart.
_BUILD: Final = re.compile(
    r'"?(compiler|gitCommit|gitTreeState|goVersion|platform|buildDate)"?: .*'
)
#: What only a server with the gate GenericWorkload has.
_OF_GATE: Final = re.compile(
    r"(?m)^\S*(system:controller:podgroup-protection-controller|v1alpha2\.scheduling\.k8s\.io)\b.*\n?"
)
#: Resource -> kind, whose status controllers of the API server write, or ours counts at once.
_KINDS: Final = {
    "apiservice": "APIService",
    "flowschema": "FlowSchema",
    "quota": "ResourceQuota",
    "resourcequota": "ResourceQuota",
    "hpa": "HorizontalPodAutoscaler",
}
#: Columns that show such a status, and what an autoscaler sees, which is looked at at once.
_COLUMNS: Final = ("AVAILABLE", "MISSINGPL", "REQUEST", "LIMIT", "TARGETS", "REPLICAS")
_SECTIONS: Final = ("Status", "Metrics", "Deployment pods", "Conditions", "Events")
#: The table of a quota, which is the end of its description.
_OF_QUOTA: Final = "Resource "
#: What controllers and kubelets note of nodes.
_OF_NODES: Final = re.compile(
    r"(?m)^(Annotations: .*| .*(RegisteredNode|NodeSchedulable|NodeNotSchedulable) .*)\n?"
)
#: Kubelets have logs, but no processes, and nothing listens at their address.
_KUBELETS: Final = ("logs", "exec", "attach", "cp", "port-forward", "top")
_NO_KUBELET: Final = re.compile(r"connection refused|mock kubelet|previous terminated container")


def without_listed(outcome: Outcome, line: str) -> Outcome:
    """The outcome of this command without what is listed."""
    if "/version" in line or line.startswith("version"):
        return Outcome(outcome.exit, _BUILD.sub("<build>", _text(outcome.stdout)), outcome.stderr)
    if line.split()[0] in _KUBELETS and _NO_KUBELET.search(outcome.stdout + outcome.stderr):
        return Outcome(0, "<no kubelet>", "")
    if line.startswith("get flowschemas"):
        return Outcome(outcome.exit, "<notes of the server>", "")
    words = line.split()
    resource = re.split("[./]", words[1])[0] if words[1:] else ""
    kind = _KINDS.get(resource.removesuffix("s"))
    if words[0] in ("get", "describe") and kind is not None:
        return Outcome(outcome.exit, _without_status(outcome.stdout, line, kind), outcome.stderr)
    if line.startswith("describe node "):
        return Outcome(outcome.exit, _OF_NODES.sub("", outcome.stdout), outcome.stderr)
    if words[0] == "drain":
        # pods are evicted at the same time
        return Outcome(outcome.exit, _sorted(outcome.stdout), _sorted(outcome.stderr))
    return Outcome(outcome.exit, _text(outcome.stdout), _causes(_text(outcome.stderr)))


def _without_status(text: str, line: str, kind: str) -> str:
    """What kubectl shows of objects, without the part of their status that is listed."""
    if line.startswith("describe"):
        return _without_sections(_text(text))
    if " -o yaml" not in line:
        return _without_columns(_text(text))
    answer = {"status": 200, "warnings": [], "body": yaml.safe_load(text)}
    body = without_listed_of_answer(answer, kind, "", frozenset())["body"]
    if kind == "HorizontalPodAutoscaler" and isinstance(body, dict):
        for each in body.get("items") or (body,):
            each.pop("status", None)
    return yaml.safe_dump(body)


def _without_sections(text: str) -> str:
    """A description without the sections that show a status."""
    kept, is_shown = [], True
    for line in text.splitlines():
        if line.startswith(_OF_QUOTA):
            break
        if not line.startswith((" ", "-")):
            is_shown = not line.startswith(_SECTIONS)
        if is_shown:
            kept.append(line)
    return "\n".join(kept)


def _without_columns(text: str) -> str:
    """A table without the columns that show a status, and without its padding."""
    heading, _, rest = text.partition("\n")
    names = re.split(r" {2,}", heading.strip())
    rows = [re.split(r" {2,}", row.strip()) for row in rest.splitlines()]
    if any(len(row) != len(names) for row in rows):
        # cells without a text
        rows = [row[:2] for row in rows]
    hidden = {index for index, name in enumerate(names) if name in _COLUMNS}
    shown = [[c for i, c in enumerate(row) if i not in hidden] for row in (names, *rows)]
    return "\n".join("  ".join(row) for row in shown)


def _sorted(text: str) -> str:
    """The lines of a text, and the parts of its lists."""
    return "\n".join(sorted(part.strip() for part in re.split(r"[\n,\[\]]", text)))


def _text(text: str) -> str:
    for pattern, shown in _TEXTS:
        text = re.sub(pattern, shown, text)
    return _OF_GATE.sub("", text)


def _causes(text: str) -> str:
    """Causes of an invalid custom object are in a random order."""
    lines = text.splitlines()
    causes = sorted(line for line in lines if line.startswith("* "))
    return "\n".join([*(line for line in lines if not line.startswith("* ")), *causes])
