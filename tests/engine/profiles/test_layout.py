"""A change in the form changes the lines that it is about, and no others."""

from __future__ import annotations

import json

import pytest

from apps.engine.profiles.editing.document import ConfigurationText
from apps.scheduler.config.reading import read

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
MIXED = f"""\
# by the platform team
---
{HEAD}podMaxBackoffSeconds:   30   # thirty
percentageOfNodesToScore: ~

profiles:
- schedulerName: "dou\\u0062le"
  plugins:
    score: {{disabled: [{{name: ImageLocality}}]}}
  pluginConfig:
    # args, indented by four
    - name: NodeResourcesFit
      args:
          scoringStrategy:
            resources:
              - name: cpu       # c
                weight: 1
...
"""


@pytest.mark.parametrize(
    "text",
    [
        MIXED,
        HEAD.rstrip("\n"),
        "\ufeff" + HEAD,
        f"%YAML 1.1\n---\n{HEAD}",
        f"{HEAD}profiles: [{{schedulerName: a}}, {{schedulerName: b}}]\n",
        f"{HEAD}profiles:\n    - schedulerName: a\n      pluginConfig: []\n",
        f"{HEAD}profiles:\n- schedulerName: >-\n    folded\n    name\n",
        f"{HEAD}extenders:\n- tlsConfig:\n    caData: |\n      aGVs\n      bG8=\n",
    ],
)
def test_other_lines_keep_their_layout(text: str) -> None:
    document = ConfigurationText(text)
    assert document.text() == text
    document.set("podInitialBackoffSeconds", 7)
    kept = [line for line in document.text().splitlines() if "podInitialBackoff" not in line]
    assert kept == text.splitlines()
    assert read(document.text()) == {**read(text), "podInitialBackoffSeconds": 7}


def test_changed_lines_are_indented_like_their_neighbours() -> None:
    document = ConfigurationText(MIXED)
    document.set("podMaxBackoffSeconds", 40)
    document.append(
        "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.resources",
        {"name": "memory", "weight": 2},
    )
    expected = MIXED.replace(
        "podMaxBackoffSeconds:   30   #", "podMaxBackoffSeconds: 40     #"
    ).replace(
        "                weight: 1\n",
        "                weight: 1\n              - name: memory\n                weight: 2\n",
    )
    assert document.text() == expected


def test_a_change_that_fits_nowhere_is_written_with_a_new_layout() -> None:
    text = f"{HEAD}profiles:\n    - schedulerName: a\n      pluginConfig:\n"
    text += "          - name: InterPodAffinity\n            args:\n"
    text += "                hardPodAffinityWeight: 5\n"
    document = ConfigurationText(text)
    document.set("profiles[0].pluginConfig[InterPodAffinity].args.hardPodAffinityWeight", 9)
    document.append("profiles[0].plugins.score.enabled", {"name": "NodeAffinity", "weight": 3})
    (profile,) = read(document.text())["profiles"]
    assert profile["pluginConfig"][0]["args"] == {"hardPodAffinityWeight": 9}
    assert profile["plugins"] == {"score": {"enabled": [{"name": "NodeAffinity", "weight": 3}]}}


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_json_stays_json(indent: int | str | None) -> None:
    body = {**read(HEAD), "profiles": [{"schedulerName": "größe"}]}
    text = json.dumps(body, indent=indent, ensure_ascii=False)
    document = ConfigurationText(text)
    assert document.text() == text
    document.append("profiles", {"schedulerName": "b"})
    body["profiles"].append({"schedulerName": "b"})
    assert document.text() == json.dumps(body, indent=indent, ensure_ascii=False)
