"""`make bench-real`: ratios, and when it fails."""

from __future__ import annotations

from bench import real

REAL = {
    "post_1": [{"pods_per_s": 100, "p50_ms": 8, "p99_ms": 20}],
    "latency": [{"p50_ms": value, "p99_ms": 30} for value in (10, 12, 11)],
}
OURS = {
    "post_1": [{"pods_per_s": 450, "p50_ms": 1, "p99_ms": 2}],
    "latency": [{"p50_ms": value, "p99_ms": 60} for value in (5, 6, 5.5)],
}


def test_ratios_say_how_many_times_better_we_are() -> None:
    compared = real.compare(REAL, OURS)
    assert compared == {
        "post_1 pods_per_s": (100, 450, 4.5),
        "latency p50_ms": (11, 5.5, 2),
        "latency p99_ms": (30, 60, 0.5),
    }
    assert "latency p50_ms             11       5.5  2.0 ×   2.1 ×" in real.table(
        compared, {"latency p50_ms": 2.1}
    )


def test_only_a_ratio_that_has_fallen_by_more_than_a_fifth_fails() -> None:
    compared = real.compare(REAL, OURS)
    assert real.find_fallen(compared, {"post_1 pods_per_s": 5.5, "latency p50_ms": 2.4}) == []
    assert real.find_fallen(compared, {"post_1 pods_per_s": 5.7, "gone": 1}) == [
        "post_1 pods_per_s"
    ]
