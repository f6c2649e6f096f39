"""Values of the language: durations, and distributions from which numbers are drawn."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any, Final

from apps.cluster import limits
from apps.scheduler.config.durations import DurationError, parse_duration


class Seconds(float):
    """A duration: "90s", "1h30m", "1d", or a number of seconds."""

    @classmethod
    def parse(cls, value: Any) -> Seconds:
        """Raises ValueError for anything else."""
        if isinstance(value, str):
            try:
                days, _, rest = value.rpartition("d")
                seconds = float(days or 0) * 86400 + (parse_duration(rest) if rest else 0.0)
            except (DurationError, ValueError):
                raise ValueError(f"{value!r} is not a duration such as 90s or 1h30m") from None
        elif isinstance(value, int | float) and not isinstance(value, bool):
            seconds = float(value)
        else:
            raise ValueError("must be a duration such as 90s or 1h30m")
        if not limits.SCENARIO_SECONDS.admits(seconds):
            raise ValueError(f"{value!r} is not between 0 and 366 days")
        return cls(seconds)


class Distribution:
    """Durations that are drawn: a constant, or an object with one of `FORMS`."""

    #: name -> its parameters; one value stands for the first of them
    FORMS: Final[Mapping[str, tuple[str, ...]]] = {
        "constant": ("value",),
        "exponential": ("mean",),
        "uniform": ("from", "to"),
        "normal": ("mean", "deviation"),
        "lognormal": ("median", "sigma"),
        "pareto": ("minimum", "shape"),
        "choices": (),
    }
    #: parameters that are numbers, not durations
    _NUMBERS: Final = frozenset({"sigma", "shape"})

    def __init__(self, form: str, parameters: Mapping[str, float], choices: list[float]) -> None:
        self.form = form
        self._parameters = parameters
        self._choices = choices

    @classmethod
    def parse(cls, value: Any) -> Distribution:
        """Raises ValueError that says what is wrong."""
        if not isinstance(value, Mapping):
            return cls("constant", {"value": Seconds.parse(value)}, [])
        if len(value) != 1 or (form := next(iter(value))) not in cls.FORMS:
            raise ValueError(f"must be a duration, or an object with one of {', '.join(cls.FORMS)}")
        given = value[form]
        if form == "choices":
            if not isinstance(given, list) or not given:
                raise ValueError("choices: must be a list of durations")
            return cls(form, {}, [Seconds.parse(each) for each in given])
        names = cls.FORMS[form]
        if not isinstance(given, Mapping):
            given = dict(zip(names, given if isinstance(given, list) else [given], strict=False))
        if set(given) != set(names):
            raise ValueError(f"{form}: must have {' and '.join(names)}")
        return cls(form, {name: cls._read(form, name, given[name]) for name in names}, [])

    @classmethod
    def _read(cls, form: str, name: str, value: Any) -> float:
        if name not in cls._NUMBERS:
            try:
                return Seconds.parse(value)
            except ValueError as error:
                raise ValueError(f"{form}.{name}: {error}") from None
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise ValueError(f"{form}.{name}: must be a number above 0")
        return float(value)

    def draw(self, source: random.Random) -> float:
        """A number of seconds, at least 0 and at most a year."""
        return min(max(self._draw(source), 0.0), float(limits.SCENARIO_SECONDS.highest))

    def _draw(self, source: random.Random) -> float:
        given = self._parameters
        match self.form:
            case "constant":
                return given["value"]
            case "exponential":
                return source.expovariate(1 / given["mean"]) if given["mean"] else 0.0
            case "uniform":
                return source.uniform(given["from"], given["to"])
            case "normal":
                return source.gauss(given["mean"], given["deviation"])
            case "lognormal":
                median = given["median"]
                return source.lognormvariate(math.log(median), given["sigma"]) if median else 0.0
            case "pareto":
                return given["minimum"] * source.paretovariate(given["shape"])
        return source.choice(self._choices)
