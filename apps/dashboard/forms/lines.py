"""Form fields with one value per line, in the notation of kubectl."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from apps.quantity import QuantityError, parse

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

Body = dict[str, Any]


class LinesField(forms.CharField):
    """Text of several lines; empty lines are ignored. Not required."""

    def __init__(self, *, example: str = "", rows: int = 3, **kwargs: Any) -> None:
        attributes = {"rows": rows, "placeholder": example, "spellcheck": "false"}
        super().__init__(required=False, widget=forms.Textarea(attributes), **kwargs)

    def lines(self, value: Any) -> Iterator[tuple[str, str]]:
        """(how errors name the line, the line) of each line that is not empty."""
        for number, line in enumerate(super().clean(value).splitlines(), start=1):
            if line.strip():
                yield f"line {number}", line.strip()


class LabelsField(LinesField):
    """`key=value` per line -> dict."""

    def clean(self, value: Any) -> Any:
        labels: dict[str, str] = {}
        for place, line in self.lines(value):
            key, equals, text = (part.strip() for part in line.partition("="))
            if not equals or not key:
                raise ValidationError(f"{place}: {line!r} is not of the form key=value")
            if key in labels:
                raise ValidationError(f"{place}: {key!r} is given twice")
            labels[key] = text
        return labels


class AmountsField(LinesField):
    """`resource=quantity` per line -> dict."""

    def clean(self, value: Any) -> Any:
        amounts: dict[str, str] = {}
        for place, line in self.lines(value):
            name, equals, amount = (part.strip() for part in line.partition("="))
            if not equals or not name:
                raise ValidationError(f"{place}: {line!r} is not of the form resource=quantity")
            check_quantity(amount, f"{place}: ")
            amounts[name] = amount
        return amounts


class TaintsField(LinesField):
    """`key=value:Effect` or `key:Effect` per line -> list of taints."""

    def clean(self, value: Any) -> Any:
        return [_parse_taint(place, line) for place, line in self.lines(value)]


class TolerationsField(LinesField):
    """`key=value:Effect`, `key:Effect`, `key=value`, `key`, or `*` for every taint, per line."""

    def clean(self, value: Any) -> Any:
        return [_parse_toleration(place, line) for place, line in self.lines(value)]


class NamesField(LinesField):
    """One name per line -> list."""

    def clean(self, value: Any) -> Any:
        return [line for _, line in self.lines(value)]


class SuggestedField(forms.CharField):
    """One word; the page suggests some and accepts others."""

    suggestions: Sequence[str] = ()

    def suggest(self, words: Sequence[str], *, list_id: str) -> None:
        """Suggest these words, in a list of the page with this id."""
        self.suggestions = words
        self.widget.attrs["list"] = list_id


class QuantityField(forms.CharField):
    """A quantity such as `500m` or `2Gi`; the value is its text."""

    def clean(self, value: Any) -> Any:
        text = super().clean(value).strip()
        if text:
            check_quantity(text)
        return text


def check_quantity(text: str, place: str = "") -> None:
    """Raise ValidationError unless `text` is a quantity of zero or more."""
    try:
        negative = parse(text).nanos < 0
    except QuantityError:
        raise ValidationError(
            f"{place}{text!r} is not a quantity: a number, "
            "optionally with a suffix such as m, k, M, G, Ki, Mi or Gi"
        ) from None
    if negative:
        raise ValidationError(f"{place}{text!r} is negative")


def _parse_taint(place: str, line: str) -> Body:
    key, value, effect = _split_taint(line)
    if not key or effect not in EFFECTS:
        raise ValidationError(
            f"{place}: {line!r} is not of the form key=value:Effect; effects are "
            f"{', '.join(EFFECTS)}"
        )
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def _parse_toleration(place: str, line: str) -> Body:
    if line == "*":
        return {"operator": "Exists"}
    key, value, effect = _split_taint(line)
    if not key or (effect is not None and effect not in EFFECTS):
        raise ValidationError(
            f"{place}: {line!r} is not one of key=value:Effect, key:Effect, key=value, key, *; "
            f"effects are {', '.join(EFFECTS)}"
        )
    matched: Body = {"operator": "Exists"} if value is None else {"operator": "Equal"}
    if value is not None:
        matched["value"] = value
    return {"key": key, **matched, **({"effect": effect} if effect else {})}


def _split_taint(line: str) -> tuple[str, str | None, str | None]:
    """The parts of `key=value:Effect`; None for a part that is absent."""
    rest, colon, effect = line.rpartition(":")
    if not colon:
        rest, effect = line, ""
    key, equals, value = rest.partition("=")
    return key.strip(), value.strip() if equals else None, effect.strip() if colon else None
