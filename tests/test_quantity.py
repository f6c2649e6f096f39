"""Quantities: exact amounts, rounded as Kubernetes rounds them, written as it writes them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps import quantity
from apps.quantity import QuantityError

SUFFIXES = {
    **{"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1)},
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)},
}
MAX = 2**63 - 1

texts = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**13),
    st.sampled_from(["", ".", ".5", ".125", ".000000001", ".00000000001"]),
    st.sampled_from([*SUFFIXES, "e3", "E2", "e-4"]),
)


@pytest.mark.parametrize(
    ("text", "whole", "thousandths"),
    [
        ("0", 0, 0),
        ("1", 1, 1000),
        ("100m", 1, 100),
        ("0.5", 1, 500),
        ("-1.5", -2, -1500),
        ("1u", 1, 1),
        ("1500m", 2, 1500),
        ("1Ki", 1024, 1024_000),
        ("1.5Gi", 1610612736, 1610612736_000),
        ("2e3", 2000, 2_000_000),
        ("1E", 10**18, 10**21),
        ("1E1", 10, 10_000),
        ("+5", 5, 5000),
        (".5", 1, 500),
        ("5.", 5, 5000),
        (2, 2, 2000),
        (0.25, 1, 250),
        (1e21, MAX, MAX * 1000),
    ],
)
def test_an_amount_is_rounded_up_to_units_and_to_thousandths(text, whole, thousandths):
    assert (quantity.value(text), quantity.milli(text)) == (whole, thousandths)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0.1", "100m"),
        ("1000m", "1"),
        ("3000m", "3"),
        ("1024Mi", "1Gi"),
        ("2048000Ki", "2000Mi"),
        ("1e3", "1e3"),
        ("1500e3", "1500e3"),
        ("1000e3", "1e6"),
        ("1500000", "1500k"),
        ("0.5Ki", "512"),
        ("1.0001Ki", "1025"),
        ("0", "0"),
        ("0Gi", "0"),
        ("-2048Ki", "-2Mi"),
        ("1n", "1n"),
        ("0.1n", "1n"),
        (1073741824, "1073741824"),
    ],
)
def test_an_amount_is_written_without_fractions_in_the_largest_unit(text, canonical):
    assert quantity.canonical(text) == canonical


def test_resource_lists_are_written_in_whole_thousandths():
    assert quantity.canonical_milli("0.0001") == "1m"
    assert quantity.canonical_milli("1500u") == "2m"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "quantities must match the regular expression"),
        ("abc", "quantities must match the regular expression"),
        ("1 Gi", "quantities must match the regular expression"),
        ("--1", "unable to parse quantity's suffix"),
        ("1.2.3", "quantities must match the regular expression"),
        ("1١", "quantities must match the regular expression"),
        ("1KB", "quantities must match the regular expression"),
        ("1ki", "unable to parse quantity's suffix"),
        ("1kk", "unable to parse quantity's suffix"),
        ("1e", "unable to parse quantity's suffix"),
        ("9" * 5000, "unable to parse numeric part of quantity"),
    ],
)
def test_a_text_that_is_no_quantity_is_refused_in_the_words_of_kubernetes(text, why):
    with pytest.raises(QuantityError) as refused:
        quantity.parse(text)
    assert str(refused.value).startswith(why)


def test_amounts_beyond_64_bits_are_capped():
    assert quantity.value("100Ei") == MAX
    assert quantity.value("-1e99999999") == -MAX
    assert quantity.value("1e-99999999") == 1
    # as they were written, unless in units of 1024
    assert quantity.canonical("1e30") == quantity.canonical_milli("1e30") == "1e30"
    assert quantity.canonical("100Ei") == str(MAX)


@given(texts)
def test_an_amount_equals_exact_arithmetic(text):
    number, suffix = text, ""
    for known in sorted(SUFFIXES, key=len, reverse=True):
        if known and text.endswith(known):
            number, suffix = text.removesuffix(known), known
            break
    exact = Fraction(Decimal(number)) * SUFFIXES[suffix]
    nanos = _round_away(exact * 10**9)
    limit = MAX * 10**9
    assert quantity.parse(text).nanos == max(-limit, min(limit, nanos))


@given(texts)
def test_the_canonical_text_means_the_same_and_is_its_own_canonical_text(text):
    canonical = quantity.canonical(text)
    # 62.5Ki is written 64000, and whoever reads that knows nothing of Ki: 64k
    if quantity.parse(canonical).format == quantity.parse(text).format:
        assert quantity.canonical(canonical) == canonical
    if quantity.parse(text).format != "BinarySI":
        assert quantity.compare(canonical, text) == 0
    assert quantity.compare(quantity.canonical_milli(text), text) * quantity.value(text) >= 0


def _round_away(number: Fraction) -> int:
    magnitude = -(-abs(number.numerator) // number.denominator)
    return magnitude if number >= 0 else -magnitude
