"""Caches of texts that users send hold a bounded amount of them."""

from __future__ import annotations

import tracemalloc

from apps.caching import LONGEST, cache_short, cache_within
from apps.cluster.validation.policy_programs import programs_of


def test_long_texts_are_not_kept() -> None:
    asked: list[str] = []
    read = cache_short(10)(lambda text: asked.append(text) or len(text))
    short, long = "a" * LONGEST, "a" * (LONGEST + 1)
    assert [read(text) for text in (short, long, short, long)] == [1000, 1001, 1000, 1001]
    assert asked == [short, long, long]


def test_the_texts_used_last_are_kept_up_to_a_length_together() -> None:
    asked: list[tuple[str, int]] = []

    @cache_within(10)
    def read(text: str, times: int = 1) -> str:
        asked.append((text, times))
        return text * times

    assert [read("aaaa"), read("bbbb"), read("aaaa"), read("aa", 2)] == ["aaaa", "bbbb"] + [
        "aaaa"
    ] * 2
    asked.clear()
    read("cccc")
    read("aaaa")
    assert asked == [("cccc", 1)], "what was used least recently was dropped"
    read("bbbb")
    read("aa")
    assert asked[1:] == [("bbbb", 1), ("aa", 1)], "each call with other arguments is one"
    asked.clear()
    assert [read("d" * 11), read("d" * 11)] == ["d" * 11] * 2
    assert len(asked) == 2, "a text that is too long is not kept"


def test_policies_that_are_only_validated_hold_no_memory() -> None:
    def compile_policy(number: int) -> None:
        assert programs_of({"validations": [{"expression": f"{number} == '{'x' * 200_000}'"}]})

    compile_policy(-1)
    tracemalloc.start()
    for number in range(60):
        compile_policy(number)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 10_000_000
