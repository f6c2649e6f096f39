"""manage.py convert_config."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from apps.scheduler.config import load
from tests.legacy_plugins.policies import TABLE

V1BETA2 = """
apiVersion: kubescheduler.config.k8s.io/v1beta2
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: batch
  plugins:
    score:
      disabled: [{name: NodeResourcesFit}]
      enabled: [{name: NodeResourcesMostAllocated, weight: 5}]
"""


def test_an_older_version_becomes_v1_on_standard_output(tmp_path: Path) -> None:
    file = tmp_path / "old.yaml"
    file.write_text(V1BETA2)
    out, err = StringIO(), StringIO()
    call_command("convert_config", file, stdout=out, stderr=err)
    converted = yaml.safe_load(out.getvalue())
    assert converted["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    profile = load(out.getvalue(), TABLE, legacy=True).profile("batch")
    assert profile is not None and profile.score_weights["NodeResourcesMostAllocated"] == 5
    assert "legacy" in err.getvalue()


@pytest.mark.parametrize(
    "text", ["", "kind: Shoe", "[", "apiVersion: v1\nkind: Policy\npriorities: 7"]
)
def test_what_cannot_be_converted_is_rejected_with_the_reason(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(CommandError) as refused:
        call_command("convert_config", file, stdout=StringIO(), stderr=StringIO())
    assert str(refused.value).strip()


def test_a_site_without_a_converter_says_so(tmp_path: Path, settings: Any) -> None:
    settings.SCHEDWEB_PLUGINS = ()
    file = tmp_path / "old.yaml"
    file.write_text(V1BETA2)
    with pytest.raises(CommandError, match="no plugin package of this site converts"):
        call_command("convert_config", file, stdout=StringIO(), stderr=StringIO())
