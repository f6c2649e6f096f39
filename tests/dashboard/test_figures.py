"""Formatting of numbers and times, and the paths of charts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from apps.dashboard import charts, figures


@pytest.mark.parametrize(
    ("milli", "text"),
    [(0, "0"), (250, "250m"), (1000, "1"), (1500, "1.5"), (64_000, "64"), (1_234_567, "1,235")],
)
def test_cpu(milli: int, text: str) -> None:
    assert figures.cpu(milli) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1 KiB"),
        (1536 * 2**20, "1.5 GiB"),
        (200 * 2**30, "200 GiB"),
        (2**63 - 1, "8 EiB"),
    ],
)
def test_memory(amount: int, text: str) -> None:
    assert figures.memory(amount) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0 s"), (0, "0 s"), (59.9, "59 s"), (60, "1 min"), (7300, "2 h"), (200_000, "2 d")],
)
def test_a_span_of_time(seconds: float, text: str) -> None:
    assert figures.span(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(840, "840 ns"), (12_340, "12.3 µs"), (4_100_000, "4.1 ms"), (986_000, "986 µs")],
)
def test_short_times(value: int, text: str) -> None:
    assert figures.nanoseconds(value) == text


def test_bars_fill_the_box_and_small_ones_are_visible() -> None:
    assert charts.bars([]) == ""
    path = charts.bars([100, 0, 0.1])
    assert path.count("M") == 2
    assert f"v-{charts.HEIGHT:.1f}" in path and "v-1.0h" in path


def test_thousands_of_nodes_are_drawn_with_few_bars() -> None:
    shares = [number / 5000 for number in range(5000)]
    assert charts.spread(shares).count("M") == 60
    assert charts.summary(shares) == "least 0%, median 50%, most 100%"
    assert charts.summary([]) == "no nodes"
