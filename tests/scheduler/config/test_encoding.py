"""A configuration in effect, written out, means the same when it is read again."""

from __future__ import annotations

import pytest
import yaml

from apps.scheduler.config import load
from apps.scheduler.config.encoding import encode
from tests.legacy_plugins.policies import TABLE

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
RICH = """
percentageOfNodesToScore: 40
podMaxBackoffSeconds: 20
extenders:
- urlPrefix: https://extender.example/
  filterVerb: filter
  enableHTTPS: true
  httpTimeout: 1500ms
  nodeCacheCapable: true
profiles:
- schedulerName: packing
  percentageOfNodesToScore: 30
  plugins:
    score:
      disabled: [{name: ImageLocality}]
      enabled: [{name: NodeAffinity, weight: 7}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}]}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}
- schedulerName: plain
"""


@pytest.mark.parametrize("text", ["", RICH], ids=["default", "rich"])
def test_what_is_written_out_means_the_same(text: str) -> None:
    configuration = load(HEAD + text, TABLE)
    written = encode(configuration)
    assert load(yaml.safe_dump(written), TABLE) == configuration


def test_arguments_of_plugins_of_earlier_releases_are_written_out() -> None:
    text = """
profiles:
- plugins: {score: {enabled: [{name: NodeResourcesMostAllocated}]}}
  pluginConfig:
  - {name: NodeResourcesMostAllocated, args: {resources: [{name: example.com/foo, weight: 5}]}}
"""
    configuration = load(HEAD + text, TABLE, legacy=True)
    written = yaml.safe_dump(encode(configuration))
    assert load(written, TABLE, legacy=True) == configuration


def test_nothing_is_left_to_be_guessed() -> None:
    written = encode(load(HEAD, TABLE))
    assert written["parallelism"] == 16
    assert written["leaderElection"]["leaseDuration"] == "15s"
    (profile,) = written["profiles"]
    assert profile["plugins"]["score"]["enabled"][0].keys() == {"name", "weight"}
    fit = next(c for c in profile["pluginConfig"] if c["name"] == "NodeResourcesFit")
    assert fit["args"]["scoringStrategy"]["type"] == "LeastAllocated"


def test_a_private_key_is_not_told() -> None:
    tls = "{insecure: false, certData: Y2VydA==, keyData: c2VjcmV0}"
    extender = f"extenders:\n- {{urlPrefix: https://e/, filterVerb: f, tlsConfig: {tls}}}\n"
    (written,) = encode(load(HEAD + extender, TABLE))["extenders"]
    assert written["tlsConfig"]["certData"] == "Y2VydA=="
    assert "c2VjcmV0" not in yaml.safe_dump(written)
