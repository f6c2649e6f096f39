"""The differences of two texts."""

from __future__ import annotations

from apps.dashboard.text_diff import AROUND, text_diff


def test_equal_texts_have_no_difference() -> None:
    diff = text_diff("a\nb\n", "a\nb\n")
    assert (diff.added, diff.removed) == (0, 0)


def test_lines_are_paired_with_their_numbers() -> None:
    diff = text_diff("a\nb\nc\n", "a\nB\nc\nd\n")
    found = [
        (each.kind, each.old_number, each.old, each.new_number, each.new) for each in diff.lines
    ]
    assert found == [
        ("same", 1, "a", 1, "a"),
        ("changed", 2, "b", 2, "B"),
        ("same", 3, "c", 3, "c"),
        ("added", 0, "", 4, "d"),
    ]
    assert (diff.added, diff.removed) == (2, 1)


def test_a_unified_diff_has_removed_lines_above_added_lines() -> None:
    diff = text_diff("a\nb\nc\n", "x\ny\nc\n")
    assert [(line.kind, line.old or line.new) for line in diff.unified] == [
        ("removed", "a"),
        ("removed", "b"),
        ("added", "x"),
        ("added", "y"),
        ("same", "c"),
    ]


def test_long_runs_of_equal_lines_are_omitted_and_counted() -> None:
    lines = [f"line {number}" for number in range(20)]
    changed = [*lines[:10], "new", *lines[10:]]
    diff = text_diff("\n".join(lines), "\n".join(changed))
    kinds = [line.kind for line in diff.lines]
    assert kinds == ["skipped", *["same"] * AROUND, "added", *["same"] * AROUND, "skipped"]
    assert [line.skipped for line in diff.lines if line.skipped] == [7, 7]
