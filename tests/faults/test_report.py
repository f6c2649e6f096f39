"""The report of a campaign: what a reader sees of its faults."""

from __future__ import annotations

from pathlib import Path

from tests.faults import report
from tests.faults.report import Campaign


def test_the_table_has_a_row_for_each_kind_of_fault(tmp_path: Path) -> None:
    campaign = Campaign("embedded", loads=[0.5, 2.0, 1.0])
    campaign.recoveries["SIGKILL of web"] = [float(number) for number in range(200)]
    campaign.recoveries["full disk"] = [None, 3.0]
    campaign.recoveries["clock jump"] = [None]
    campaign.outages = [4.0]
    campaign.count(["full disk", "SIGKILL of web", "full disk"], 2)
    campaign.count(["SIGKILL of web"], 1)

    file = report.write([campaign], tmp_path)
    text = file.read_text()

    assert "load of the machine 0.5 to 2.0 for each processor, 1.0 at the median" in text
    assert "| SIGKILL of web | 200 | 3 | 0 | 100.0 s | 198.0 s | 199.0 s |" in text
    assert "| full disk | 2 | 2 | 1 | 3.0 s | 3.0 s | 3.0 s |" in text
    assert "| clock jump | 1 | 0 | 1 |  |  |  |" in text
    assert "| all | 203 |  | 2 |" in text
    assert "| outages, from their last fault | 1 |  | 0 | 4.0 s | 4.0 s | 4.0 s |" in text
    assert "![embedded](embedded.svg)" in text
    drawn = (tmp_path / "embedded.svg").read_text()
    assert all(name in drawn for name in campaign.recoveries)
