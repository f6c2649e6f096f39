"""What all ways to write have in common."""

from __future__ import annotations

import pytest

from apps.cluster.writing.fragments import log_changes, log_columns


def test_a_way_to_write_cannot_leave_out_a_column_of_the_log() -> None:
    values = dict.fromkeys(log_columns(), "NULL")
    assert log_changes(values, "item").count("NULL") == len(log_columns())
    del values["request_id"]
    with pytest.raises(KeyError, match="request_id"):
        log_changes(values, "item")
