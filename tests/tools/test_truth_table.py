"""`make truth` fails if anything differs or was not compared, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.truth import table
from tools.truth.table import PROGRAMS, Row


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_ROWS", tmp_path)
    monkeypatch.setenv("REAL_KUBERNETES", str(tmp_path))


def leave_rows(**changed: Row) -> None:
    for program in PROGRAMS:
        changed.get(program, Row("of a program", compared=10, listed=2)).save(program)


def test_what_is_equal_or_listed_passes(capsys: pytest.CaptureFixture[str]) -> None:
    leave_rows()
    assert table.main() == 0
    (total,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("total"))
    count = len(PROGRAMS)
    assert total.split()[1:] == [str(each * count) for each in (10, 8, 2, 0, 0)]


def test_a_difference_fails(capsys: pytest.CaptureFixture[str]) -> None:
    leave_rows(groups=Row("groups", compared=3, differing=["sequence 1"]))
    assert table.main() == 1
    assert f"{PROGRAMS['groups']:46}{3:11}{2:11}{0:11}{1:11}" in capsys.readouterr().out


def test_a_program_that_compared_nothing_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert Row("of a program", compared=1).save("published") == 0
    assert Row("of a program").save("published") == 1
    leave_rows(published=Row("published"))
    assert table.main() == 1
    assert "NOT COMPARED" not in capsys.readouterr().out


def test_a_program_that_lacks_what_it_needs_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    leave_rows()
    assert table.skip("published", "set PUBLISHED") == 0
    assert table.main() == 0
    assert f"{PROGRAMS['published']:46}    SKIPPED: set PUBLISHED" in capsys.readouterr().out


def test_a_program_that_has_left_no_row_fails(capsys: pytest.CaptureFixture[str]) -> None:
    for program in PROGRAMS:
        if program != "stories":
            Row("of a program", compared=1).save(program)
    assert table.main() == 1
    assert "NOT COMPARED" in capsys.readouterr().out
