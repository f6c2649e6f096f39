"""Amounts in explanations are exact, in the largest unit that needs three decimals at most."""

from __future__ import annotations

import pytest

from apps.scheduler.plugins.helper.resource_text import amount, quantity_text


@pytest.mark.parametrize(
    ("resource", "value", "text", "quantity"),
    [
        ("cpu", 0, "0", "0"),
        ("cpu", 1, "0.001", "1m"),
        ("cpu", 1500, "1.5", "1500m"),
        ("cpu", 64_000, "64", "64"),
        ("cpu", -250, "-0.25", "-250m"),
        ("memory", 1023, "1023", "1023"),
        ("memory", 1024, "1Ki", "1Ki"),
        ("memory", 1536 << 20, "1.5Gi", "1610612736"),
        ("memory", 1025 << 10, "1025Ki", "1025Ki"),
        ("memory", (1 << 30) + 1, "1073741825", "1073741825"),
        ("memory", -(1 << 30), "-1Gi", "-1Gi"),
        ("ephemeral-storage", 3 << 40, "3Ti", "3Ti"),
        ("hugepages-2Mi", 4 << 20, "4Mi", "4Mi"),
        ("example.com/gpu", 2048, "2048", "2048"),
    ],
)
def test_an_amount_has_its_shortest_exact_form(
    resource: str, value: int, text: str, quantity: str
) -> None:
    assert amount(resource, value) == text
    assert quantity_text(resource, value) == quantity
