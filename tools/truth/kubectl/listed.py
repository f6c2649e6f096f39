"""What docs/differences.md lists, removed from outcomes of kubectl."""

from __future__ import annotations

import re
from typing import Final

from tests.stack.kubectl import Outcome

#: Pattern -> what takes its place in both texts.
_TEXTS: Final = (
    # the object that a patch makes of an object
    (r'(patch: Invalid value: )"\{.*\}":', r"\1<object>:"),
    # what the API server answers with 500
    (r"(?s)Error from server(?: \(BadRequest\))?: (failed to create typed patch object).*", r"\1"),
    (r"v1\.36\.2\+schedweb", "v1.36.2"),
    # the port of the real API server, which does not serve at 6443
    (r"(?i)(target-?port: +)\d+", r"\1<port>"),
)
#: The version of Go and what else tells the programs apart.
_BUILD: Final = re.compile(
    r'"?(compiler|gitCommit|gitTreeState|goVersion|platform|buildDate)"?: .*'
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
    return Outcome(outcome.exit, _text(outcome.stdout), _causes(_text(outcome.stderr)))


def _text(text: str) -> str:
    for pattern, shown in _TEXTS:
        text = re.sub(pattern, shown, text)
    return text


def _causes(text: str) -> str:
    """Causes of an invalid custom object are in a random order."""
    lines = text.splitlines()
    causes = sorted(line for line in lines if line.startswith("* "))
    return "\n".join([*(line for line in lines if not line.startswith("* ")), *causes])
