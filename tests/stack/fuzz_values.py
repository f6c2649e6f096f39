"""Sends hostile values to both APIs of a site of its own: sizes, depths, and expressions.

    python -m tests.stack.fuzz_values      # part of `make fuzz`; FUZZ_SECONDS, 120 by default

Fails, with the smallest request that Hypothesis finds, at an answer of 5xx, at one that takes the
web process FUZZ_SLOWEST (2) seconds of processor time, and if its memory has grown by 100 MB.
Processor time, because a busy machine answers late whatever it is asked.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import hypothesis
from hypothesis import strategies as st

from tests.stack.running_site import RunningSite

SLOWEST: Final = float(os.environ.get("FUZZ_SLOWEST", "2"))
GROWTH: Final = 100
_K8S: Final = "/k8s/demo"
_PODS: Final = f"{_K8S}/api/v1/namespaces/default/pods"
_TICKS: Final = os.sysconf("SC_CLK_TCK")

sizes = st.sampled_from([1, 2, 17, 63, 64, 253, 1000, 4000, 30_000, 200_000])
atoms = st.sampled_from(
    [
        "a",
        "0",
        "9",
        "(",
        ")",
        "[",
        "{",
        "\\",
        "-",
        ".",
        "/",
        ",",
        "=",
        "!",
        "é",
        "\0",
        "%",
        "\n",
        "😀",
    ]
)
#: One character or a few, again and again.
long_texts = st.builds(
    lambda parts, size, end: ("".join(parts) * size)[:200_000] + end,
    st.lists(atoms, min_size=1, max_size=4),
    sizes,
    st.sampled_from(["", "x", "!", "$"]),
)
patterns = st.sampled_from(
    [
        r"(a+)+$",
        r"(a|a)*b",
        r"(.*)*x",
        r"([a-zA-Z]+)*\d",
        r"a{1,1000}{1,1000}",
        "(" * 500,
        "[",
        r"\1",
    ]
)
numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, -1, 2**31, 2**63, 10**4000, 1e308, -1e308, 5e-324]),
)
quantities = st.builds(
    lambda digits, exponent, suffix: f"{'9' * digits}{exponent}{suffix}",
    st.sampled_from([1, 18, 19, 20, 400, 4000]),
    st.sampled_from(["", ".5", "." + "0" * 3000 + "1", "e9", "e999999999", "E-99999999"]),
    st.sampled_from(["", "m", "n", "Ki", "Ei", "E", "xx"]),
)
durations = st.builds(
    lambda number, unit, times: f"{number}{unit}" * times,
    st.sampled_from(["1", "9" * 4000, "0." + "3" * 4000, "-1"]),
    st.sampled_from(["s", "h", "ns", "µs", "d", ""]),
    st.sampled_from([1, 2, 1000]),
)


def _nest(depth: int, opening: str, inner: str, closing: str) -> str:
    return opening * depth + inner + closing * depth


depths = st.sampled_from([1, 5, 30, 200, 2000, 20_000])
expressions = st.one_of(
    st.builds(lambda depth: _nest(depth, "(", "true", ")"), depths),
    st.builds(lambda depth: _nest(depth, "[1, 2, 3].map(x, ", "x", ")") + ".size() > 0", depths),
    st.builds(lambda depth: _nest(depth, "!", "false", ""), depths),
    st.builds(lambda size: " && ".join(["object.metadata.name == 'a'"] * size), sizes),
    st.builds(lambda size: "'" + "a" * size + "'.matches('(a+)+$')", sizes),
    st.builds(lambda text: f"duration('{text}') > duration('1s')", durations),
    st.builds(lambda text: f"quantity('{text}').isGreaterThan(quantity('1'))", quantities),
    st.builds(lambda size: "'a,'".ljust(3) + ".split(',')" * size, st.sampled_from([1, 50, 5000])),
    long_texts,
)
scalars = st.one_of(
    long_texts, numbers, quantities, durations, patterns, expressions, st.none(), st.booleans()
)


def _deepen(depth: int, key: str | None, inner: object) -> object:
    for _ in range(depth):
        inner = [inner] if key is None else {key: inner}
    return inner


values = st.one_of(
    scalars,
    st.builds(
        _deepen, st.sampled_from([1, 20, 900, 5000]), st.sampled_from([None, "a", "spec"]), scalars
    ),
    st.builds(
        lambda value, size: [value] * min(size, 5000),
        scalars.filter(lambda v: len(str(v)) < 99),
        sizes,
    ),
    st.builds(lambda size: {f"k{n}": "v" for n in range(min(size, 20_000))}, sizes),
)


class Sent(NamedTuple):
    """A request."""

    method: str
    path: str
    body: bytes
    kind: str = "application/json"


def _encode(value: object) -> bytes:
    """JSON of values of any depth."""
    parts: list[str] = []
    waiting: list[tuple[str, object]] = [("value", value)]
    while waiting:
        what, each = waiting.pop()
        if what == "text":
            parts.append(str(each))
        elif isinstance(each, dict):
            waiting.append(("text", "}"))
            for place, (key, inner) in reversed([*enumerate(each.items())]):
                waiting.append(("value", inner))
                waiting.append(("text", f"{',' if place else ''}{json.dumps(key)}:"))
            parts.append("{")
        elif isinstance(each, list):
            waiting.append(("text", "]"))
            for place, inner in reversed([*enumerate(each)]):
                waiting.append(("value", inner))
                waiting.append(("text", "," if place else ""))
            parts.append("[")
        else:
            parts.append(json.dumps(each))
    return "".join(parts).encode()


def _object(version: str, kind: str, spec: object, **metadata: object) -> dict[str, Any]:
    named = {"generateName": "fuzz-", **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": named, "spec": spec}


def _pod(place: str, value: object) -> bytes:
    container: dict[str, Any] = {"name": "c", "image": "i"}
    spec: dict[str, Any] = {"containers": [container]}
    metadata: dict[str, Any] = {}
    if place in ("labels", "annotations", "finalizers", "name"):
        metadata[place] = {"a": value} if place in ("labels", "annotations") else value
    elif place == "requests":
        container["resources"] = {"requests": {"cpu": value}}
    elif place == "env":
        container["env"] = [{"name": "a", "value": value}]
    elif place == "affinity":
        term = {"matchExpressions": [{"key": "a", "operator": "In", "values": value}]}
        required = {"nodeSelectorTerms": [term]}
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
        }
    else:
        spec[place] = value
    return _encode(_object("v1", "Pod", spec, **metadata))


def _schema(pattern: object, value: object) -> bytes:
    schema = {"type": "object", "properties": {"spec": {"type": "string", "pattern": pattern}}}
    rules = [{"rule": value, "message": "m"}]
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema | {"x-kubernetes-validations": rules}},
    }
    names = {"plural": "fuzzes", "kind": "Fuzz"}
    spec = {"group": "fuzz.example", "names": names, "scope": "Namespaced", "versions": [version]}
    metadata = {"metadata": {"name": "fuzzes.fuzz.example"}}
    definition = _object("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec)
    return _encode(definition | metadata)


def _policy(expression: object) -> bytes:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression}],
    }
    return _encode(_object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", spec))


def _claim(expression: object) -> bytes:
    exactly = {"deviceClassName": "d", "selectors": [{"cel": {"expression": expression}}]}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    return _encode(_object("resource.k8s.io/v1", "ResourceClaim", spec))


def _query(path: str, names: list[str]) -> st.SearchStrategy[Sent]:
    texts = st.one_of(long_texts, quantities, durations, patterns, st.integers().map(str))
    short = texts.map(lambda text: text[:20_000].encode("utf-8", "replace").decode())
    return st.dictionaries(st.sampled_from(names), short, min_size=1, max_size=2).map(
        lambda query: Sent("GET", f"{path}?{urlencode(query)}", b"")
    )


_SELECTING: Final = ["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion"]
_ASKING: Final = ["since", "until", "q", "sort", "limit", "page", "size", "at", "reason", "node"]
_PLACES: Final = (
    *("labels", "annotations", "finalizers", "name", "requests", "env", "affinity"),
    *("nodeSelector", "tolerations", "priority", "schedulerName", "topologySpreadConstraints"),
    *("overhead", "volumes", "schedulingGates", "containers", "resourceClaims"),
)

requests = st.one_of(
    _query(_PODS, _SELECTING),
    _query(f"{_K8S}/apis/apps/v1/deployments", _SELECTING),
    _query("/api/v1/clusters/demo/decisions", _ASKING),
    _query("/api/v1/clusters/demo/queue", _ASKING),
    _query("/api/v1/clusters/demo/changes", _ASKING),
    st.builds(
        lambda place, value: Sent("POST", f"{_PODS}?dryRun=All", _pod(place, value)),
        st.sampled_from(_PLACES),
        values,
    ),
    st.builds(
        lambda value, kind: Sent("PATCH", f"{_PODS}/shop-web", _encode(value), kind),
        values,
        st.sampled_from(
            [
                "application/merge-patch+json",
                "application/strategic-merge-patch+json",
                "application/json-patch+json",
                "application/apply-patch+yaml",
            ]
        ),
    ),
    st.builds(
        lambda pattern, value: Sent(
            "POST",
            f"{_K8S}/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All",
            _schema(pattern, value),
        ),
        st.one_of(patterns, long_texts),
        expressions,
    ),
    st.builds(
        lambda expression: Sent(
            "POST",
            f"{_K8S}/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All",
            _policy(expression),
        ),
        expressions,
    ),
    st.builds(
        lambda expression: Sent(
            "POST",
            f"{_K8S}/apis/resource.k8s.io/v1/namespaces/default/resourceclaims?dryRun=All",
            _claim(expression),
        ),
        expressions,
    ),
    st.builds(
        lambda path, key, value: Sent("POST", path, _encode({key: value, "name": "fuzz"})),
        st.sampled_from(
            [
                "/api/v1/clusters",
                "/api/v1/scenarios",
                "/api/v1/clusters/demo/capacity/fit",
                "/api/v1/clusters/demo/capacity/nodes",
                "/api/v1/clusters/demo/configurations/convert",
                "/api/v1/clusters/demo/fork",
                "/api/v1/clusters/demo/previews",
                "/api/v1/clusters/demo/queue/activate",
                "/api/v1/clusters/demo/replays",
                "/api/v1/clusters/demo/simulate",
            ]
        ),
        st.sampled_from(
            [
                *("source", "text", "config", "nodes", "count", "pod", "scenario", "name"),
                *("manifest", "configuration", "changes", "pods", "since", "at", "version"),
            ]
        ),
        values,
    ),
    st.builds(
        lambda text, size: Sent(
            "POST", _PODS, (text * size)[:300_000].encode(), "application/yaml"
        ),
        st.sampled_from(
            ["- ", "a: &x [*x]\n", "{a: ", "&a a\n", "---\n", "? ", "'", "!!python/x "]
        ),
        sizes,
    ),
)


class Asked:
    """A site, what it answers, and what that costs its web process."""

    def __init__(self, site: RunningSite) -> None:
        kubeconfig = site.manage("kubeconfig", "demo", "--user", "admin")
        self._token = re.findall(r"token: (\S+)", kubeconfig)[0]
        self._port = site.port()
        self._pid = site.process(r"schedweb\.front")
        self.count = 0
        self.longest = 0.0

    def megabytes(self) -> float:
        """The memory of the web process."""
        status = Path(f"/proc/{self._pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024

    def check(self, sent: Sent) -> None:
        """Send a request; AssertionError if the answer is one that should not be."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": sent.kind}
        web = http.client.HTTPConnection("localhost", self._port, timeout=120)
        before = self._seconds()
        try:
            web.request(sent.method, sent.path, sent.body or None, headers)
            response = web.getresponse()
            answer = response.read()
        finally:
            web.close()
        took = self._seconds() - before
        self.count += 1
        self.longest = max(self.longest, took)
        # so the real API server answers, too
        in_the_future = response.status == 504 and b"Too large resource version" in answer
        assert response.status < 500 or in_the_future, (response.status, answer[:300])
        assert took < SLOWEST, f"{took:.1f} s of processor time"

    def _seconds(self) -> float:
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


def main() -> int:
    until = time.monotonic() + float(os.environ.get("FUZZ_SECONDS", "120"))
    with tempfile.TemporaryDirectory(prefix="schedweb-fuzz-") as folder:
        Path(folder).chmod(0o755)
        site = RunningSite(Path(folder), empty=True)
        site.start()
        try:
            asked = Asked(site)
            before = asked.megabytes()

            @hypothesis.settings(
                max_examples=100,
                deadline=None,
                database=None,
                suppress_health_check=list(hypothesis.HealthCheck),
            )
            @hypothesis.given(requests)
            def send(sent: Sent) -> None:
                asked.check(sent)

            while time.monotonic() < until:
                send()
            after = asked.megabytes()
            print(
                f"{asked.count} requests, {asked.longest:.2f} s of processor time at most, "
                f"memory of the web process: {before:.0f} MB, then {after:.0f} MB"
            )
            return int(after > before + GROWTH)
        finally:
            site.close()


if __name__ == "__main__":
    sys.exit(main())
