"""What reads texts of users takes time linear in their length, and gives a result or a refusal."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

import pytest

from apps import quantity
from apps.cel import conversions
from apps.cel.formats import FORMATS, validate
from apps.cel.parsing import SyntaxProblem, parse_expression
from apps.cluster.validation import formats, names
from apps.cluster.validation.schedules import ScheduleProblem, check_schedule
from apps.scheduler.config.durations import DurationError, parse_duration
from apps.scheduler.labels import SelectorError, parse_selector, validity

LENGTH, FACTOR = 4_000, 4
#: Quadratic time is sixteen times as much; what takes less than this is fast in any case.
MOST_GROWTH, SHORTEST = 9, 0.05
PARTS: Final = (
    *("1", "0", "a", "A1", "é", "-", " ", "!", "\\", '"', "'", "(", "[", "{"),
    *("1h", "1.", "a.", "a@", ":", "::", "/", "1/", "%41", "=", ", ", "a in (", "-0", "e9"),
)
STARTS: Final = ("", "-", "1.0.", "1.0.0-", "http://", "a@")
ENDS: Final = ("", "s", "\x00")
REFUSALS: Final = (
    quantity.QuantityError,
    SelectorError,
    ScheduleProblem,
    SyntaxProblem,
    DurationError,
)
READERS: Final[dict[str, Callable[[str], object]]] = {
    **{
        f"format {name}": lambda text, name=name: formats.has_format(name, text)
        for name in ("byte", "cidr", "date", "date-time", "duration", "email", "hexcolor")
        + ("hostname", "ipv4", "ipv6", "mac", "uri", "uuid", "uuid3", "uuid4", "uuid5")
    },
    **{
        f"CEL format {name}": lambda text, form=form: validate(form, text)
        for name, form in FORMATS.items()
        if name != "byte"
    },
    **{
        each.__name__: each
        for each in (
            *(conversions.to_int, conversions.to_uint, conversions.to_double),
            *(conversions.to_duration, conversions.to_timestamp, conversions.to_semver),
            *(conversions.to_quantity, conversions.to_url, conversions.to_ip),
            *(conversions.to_cidr, parse_duration, quantity.parse, parse_selector),
        )
    },
    "schedule": check_schedule,
    "field of a schedule": lambda text: check_schedule(f"{text} * * * *"),
    "period of a schedule": lambda text: check_schedule(f"@every {text}"),
    "CEL": parse_expression,
}


def texts(length: int) -> Iterator[str]:
    for part in PARTS:
        for start in STARTS:
            for end in ENDS:
                yield start + part * (length // len(part)) + end


def seconds(read: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    with suppress(REFUSALS):
        read(text)
    return time.thread_time() - began


@pytest.mark.parametrize("reader", READERS)
def test_time_is_linear_and_the_end_a_result_or_a_refusal(reader: str) -> None:
    read = READERS[reader]
    for short, long in zip(texts(LENGTH), texts(LENGTH * FACTOR), strict=True):
        before, after = seconds(read, short), seconds(read, long)
        assert after < SHORTEST or after < MOST_GROWTH * before, f"{short[:20]!r}… {after:.2f} s"


@pytest.mark.parametrize(
    "read",
    [
        *(names.dns_label, names.dns_subdomain, names.qualified_name, names.label_value),
        *(validity.qualified_name_faults, validity.label_value_faults, parse_selector),
    ],
)
def test_long_texts_are_not_kept(read: Callable[[str], object]) -> None:
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(30):
        with suppress(REFUSALS):
            read(f"a{number}" * 50_000)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 1_000_000
