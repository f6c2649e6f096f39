"""Charts from buckets: a value for each step of a span."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q

from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.models import Cluster, Namespace, Node
from apps.engine import queries
from apps.engine.models import SeriesBucket, SeriesCursor
from apps.engine.periods import to_datetime
from apps.engine.series import buckets, node_columns
from apps.engine.series.buckets import CLUSTER, Bucket, Part
from apps.engine.series.catalog import SCOPES, Chart, Line, Scope, list_charts
from apps.engine.series.levels import empty_part
from apps.engine.series.quantiles import WAIT_BOUNDS, quantile
from apps.engine.series.spans import Span
from apps.scheduler.metrics import definitions

#: Levels are carried over a gap of this many seconds between two samples.
BRIDGED_SECONDS = 90
#: A rate is unknown in a step of which less was observed: one pod would make a peak.
LEAST_SECONDS = 5.0
#: Levels that are zero where a sample has others, but not these: a sum over no pod.
_SUMS = ("pods.", "queue.", "requested.")

Value = float | None


@dataclass(frozen=True, slots=True)
class Values:
    """The values of one line, one for each step; None where nothing is known."""

    line: Line
    values: list[Value]


@dataclass(frozen=True, slots=True)
class DrawnChart:
    """A chart with its values."""

    chart: Chart
    series: list[Values]


@dataclass(frozen=True, slots=True)
class Series:
    """The charts of a scope over a span."""

    scope: Scope
    name: str
    span: Span
    charts: list[DrawnChart]
    #: Whether any bucket lies in the span.
    known: bool


@dataclass(frozen=True, slots=True)
class _Step:
    """What is known about one step: its own figures, and the levels at its end."""

    part: Part
    levels: dict[str, float]
    #: Length of its observed part in seconds; 0 before the cluster existed, or if it has expired.
    seconds: float


def read_series(
    cluster: Cluster, span: Span, *, scope: str = "cluster", name: str = "", chart: str = ""
) -> Series:
    """The charts of a scope, or the one with the id `chart`.

    Raises BadRequest, which names the parameter, or NotFound for a name that neither exists nor
    occurs in the span.
    """
    if scope not in SCOPES:
        raise BadRequest(f"scope: {scope!r} is not one of {', '.join(SCOPES)}")
    if (scope == "cluster") == bool(name):
        raise BadRequest(
            "name: the scope cluster has no name" if name else f"name: which {scope} is missing"
        )
    rows = _list_rows(cluster, span, with_nodes=scope == "node")
    exists = _exists(cluster, scope, name)
    steps = _fill(cluster, span, rows, _reader(cluster, scope, name, exists=exists))
    known = any(step.levels or step.part.counts for step in steps)
    if not exists and not known:
        raise NotFound(f"{scope}s", name)
    drawn = [
        DrawnChart(each, [Values(line, _values(each, line, steps)) for line in each.lines])
        for each in list_charts(scope, (Part(step.levels, step.part.counts) for step in steps))
        if chart in ("", each.id)
    ]
    if chart and not drawn:
        raise BadRequest(f"chart: {chart!r} is not a chart of the scope {scope}")
    return Series(scope, name, span, drawn, known)


def _list_rows(cluster: Cluster, span: Span, *, with_nodes: bool) -> list[SeriesBucket]:
    """The buckets of the span, after the last one before it, whose levels may last."""
    own = SeriesBucket.objects.filter(cluster=cluster, resolution=span.resolution.step)
    own = own.defer("figures") if with_nodes else own.defer("nodes")
    first = span.since - timedelta(seconds=span.resolution.step)
    has_levels = Q(until__isnull=False)
    before = own.filter(has_levels, start__lte=first).order_by("-start")[:1]
    within = own.filter(start__gt=first, start__lte=span.until).order_by("start")
    return [*before, *within]


def _exists(cluster: Cluster, scope: Scope, name: str) -> bool:
    match scope:
        case "namespace":
            return Namespace.objects.filter(cluster=cluster, name=name).exists()
        case "profile":
            return name in queries.list_scheduler_names(cluster)
    return True


def _reader(
    cluster: Cluster, scope: Scope, name: str, *, exists: bool
) -> Callable[[SeriesBucket], Part]:
    """A function that reads the part of a scope from a row."""
    if scope == "node":
        node = Node.objects.filter(cluster=cluster, name=name).values_list("pk", flat=True).first()
        if node is None:
            raise NotFound("nodes", name)
        return lambda row: _node_part(bytes(row.nodes or b""), node)
    key = CLUSTER if scope == "cluster" else f"{scope}/{name}"
    may_be_empty = scope == "namespace" and exists
    return lambda row: _part(buckets.decode(bytes(row.figures)), key, may_be_empty=may_be_empty)


def _part(bucket: Bucket, key: str, *, may_be_empty: bool) -> Part:
    """The part with this key; a namespace without levels had no pods if all with pods have some."""
    part = bucket.get(key, Part())
    sampled = bucket.get(CLUSTER, Part()).levels
    if may_be_empty and sampled and not part.levels and buckets.has_all(bucket):
        return Part(empty_part().levels, part.counts, part.histograms)
    return part


def _node_part(data: bytes, node_id: int) -> Part:
    one = node_columns.decode(data, node_id) if data else None
    if one is None:
        return Part()
    use = {f"use.{resource}": share for resource, share in one.shares.items()}
    state = {"cordoned": float(one.cordoned), "not-ready": float(not one.ready)}
    return Part(levels={**use, **state, "pods": float(one.pods)})


def _fill(
    cluster: Cluster,
    span: Span,
    rows: Sequence[SeriesBucket],
    read: Callable[[SeriesBucket], Part],
) -> list[_Step]:
    """One step for each bucket of the span: levels last until the next sample."""
    cursor = SeriesCursor.objects.filter(cluster=cluster).first()
    now = cursor.sampled_at.timestamp() if cursor else cluster.created_at.timestamp()
    by_start = {int(row.start.timestamp()): row for row in rows}
    newest = max((start for start, row in by_start.items() if row.until), default=None)
    levels: dict[str, float] = {}
    lasts = 0.0
    steps = []
    for start in [*(early for early in by_start if early < span.starts.start), *span.starts]:
        row, part = by_start.get(start), Part()
        if row is not None:
            part = read(row)
            if row.until is not None:
                levels, lasts = part.lasting, row.until.timestamp() + BRIDGED_SECONDS
            if start == newest:
                lasts = max(lasts, now)
        held = levels if start <= lasts else {}
        if start >= span.starts.start:
            expired = row is None and start < now - span.resolution.keep
            seconds = 0.0 if expired else _observed(cluster, span, start, now)
            steps.append(_Step(part, part.levels or held, seconds))
    return steps


def _observed(cluster: Cluster, span: Span, start: int, now: float) -> float:
    """How many seconds of a bucket have passed in the life of the cluster."""
    step, created = span.resolution.step, cluster.created_at.timestamp()
    if cluster.manual_time is not None:
        return float(step) if created - step < start <= now else 0.0
    return max(0.0, min(start + step, now) - max(start, created))


def _values(chart: Chart, line: Line, steps: Sequence[_Step]) -> list[Value]:
    match line.source:
        case "level":
            return [_level(step.levels, line.key) for step in steps]
        case "count":
            length = 60.0 if chart.unit == "per minute" else 1.0
            return [_rate(step, line.key, length) for step in steps]
    bounds = _bounds(line.key)
    histograms = (step.part.histograms.get(line.key, {}) for step in steps)
    return [quantile(histogram, bounds, line.share) for histogram in histograms]


def _level(levels: Mapping[str, float], key: str) -> Value:
    return levels.get(key, 0.0 if levels and key.startswith(_SUMS) else None)


def _rate(step: _Step, key: str, length: float) -> Value:
    """A count for each `length` seconds; None if too little of the bucket has passed."""
    amount = step.part.counts.get(key, 0.0)
    if step.seconds < LEAST_SECONDS:
        return None
    return amount * length / step.seconds


def _bounds(key: str) -> Sequence[float]:
    if key == "wait":
        return WAIT_BOUNDS
    plugin = key.startswith("plugin/")
    metric = definitions.PLUGIN_DURATION if plugin else definitions.ATTEMPT_DURATION
    return metric.buckets


def table_rows(series: Series) -> Iterator[list[str]]:
    """The series as a table: a heading, then a row for each step, with times in UTC."""
    lines = [(chart.chart, each) for chart in series.charts for each in chart.series]
    yield ["time", *(f"{chart.title}: {each.line.label} ({chart.unit})" for chart, each in lines)]
    for index, start in enumerate(series.span.starts):
        cells = (each.values[index] for _, each in lines)
        moment = _format_time(start)
        yield [moment, *("" if value is None else f"{value:.6g}" for value in cells)]


def _format_time(seconds: int) -> str:
    return f"{to_datetime(seconds):%Y-%m-%dT%H:%M:%SZ}"
