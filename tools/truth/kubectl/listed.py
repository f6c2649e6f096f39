"""What docs/differences.md lists, removed from outcomes of kubectl."""

from __future__ import annotations

import re
from typing import Final

import yaml

from tests.stack.kubectl import Outcome
from tools.truth.listed import OWN

#: Pattern -> what takes its place in both texts.
_TEXTS: Final = (
    # the object that a patch makes of an object
    (r'(patch: Invalid value: )"\{.*\}":', r"\1<object>:"),
    # what the API server answers with 500
    (r"(?s)Error from server(?: \(BadRequest\))?: (failed to create typed patch object).*", r"\1"),
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
#: Kinds whose status controllers of the API server write, and quotas, which ours counts at once.
_STATUSES: Final = ("apiservice", "flowschema", "resourcequota")
#: An autoscaler is looked at at once.
_AUTOSCALERS: Final = ("describe hpa", "get hpa")
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
    if words[0] in ("get", "describe") and words[1].startswith(_STATUSES) and "/" in words[1]:
        shown = _without_status(outcome.stdout) if " -o yaml" in line else "<status>"
        return Outcome(outcome.exit, shown, outcome.stderr)
    if line.startswith(_AUTOSCALERS):
        return Outcome(outcome.exit, "<status>", outcome.stderr)
    if line.startswith("describe node "):
        return Outcome(outcome.exit, _OF_NODES.sub("", outcome.stdout), outcome.stderr)
    if words[0] == "drain":
        # pods are evicted at the same time
        return Outcome(outcome.exit, _sorted(outcome.stdout), _sorted(outcome.stderr))
    return Outcome(outcome.exit, _text(outcome.stdout), _causes(_text(outcome.stderr)))


def _without_status(text: str) -> str:
    """An object in YAML without its status, and without what the API server owns of it."""
    body = yaml.safe_load(text)
    body.pop("status", None)
    managers = body["metadata"].get("managedFields", ())
    kept = [each for each in managers if each["manager"] not in OWN]
    body["metadata"]["managedFields"] = kept
    return yaml.safe_dump(body)


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
