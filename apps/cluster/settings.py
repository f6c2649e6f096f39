"""The settings of a cluster, each declared once.

The model's columns are these fields. The REST serializers, the forms, the options of
`manage.py create_cluster` and the documents follow `SETTINGS`. Adding a setting: one entry in
`ClusterSettings`, its migration, and the line of code that acts on it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

#: How a value is entered: on or off, a whole number, one of some words, plugins with parameters.
Kind = Literal["switch", "number", "choice", "plugins"]
#: What it is about: in general, who acts in the cluster, how long history is kept, admission.
Group = Literal["general", "actors", "history", "admission"]
ChangedBy = Literal["admins", "no one"]

AnyField: TypeAlias = "models.Field[Any, Any]"
F = TypeVar("F", bound=AnyField)

_KINDS: Mapping[type[AnyField], Kind] = {
    models.BooleanField: "switch",
    models.PositiveIntegerField: "number",
    models.BigIntegerField: "number",
    models.CharField: "choice",
    models.JSONField: "plugins",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting. Its name, default and limits are those of the model's field."""

    field: AnyField
    label: str
    help: str
    group: Group = "general"
    #: Who may change it once the cluster exists.
    changed_by: ChangedBy = "admins"
    #: The value of a new cluster for which none is given; the field's default without it.
    draw: Callable[[], Any] | None = None

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def kind(self) -> Kind:
        return _KINDS[type(self.field)]

    @property
    def default(self) -> Any:
        """The value of a new cluster for which none is given; None where it is drawn."""
        return None if self.draw else self.field.get_default()

    @property
    def follows_site(self) -> bool:
        """Whether the value may be None, which stands for the site's."""
        return self.field.null

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Values with their texts; empty unless it is a choice."""
        return [(str(value), str(text)) for value, text in self.field.flatchoices]

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest number."""
        validators = self.field.validators
        lowest = [each.limit_value for each in validators if isinstance(each, MinValueValidator)]
        highest = [each.limit_value for each in validators if isinstance(each, MaxValueValidator)]
        return max(lowest), min(highest)


_declared: list[Setting] = []


def _setting(field: F, **about: Any) -> F:
    """Declare a field as a setting; `about` are the other values of `Setting`."""
    _declared.append(Setting(field=field, **about))
    return field


class ClusterSettings(models.Model):
    """The columns of a cluster that are settings."""

    class TieBreak(models.TextChoices):
        RANDOM = "random", "seeded draw"
        FIRST_NAME = "first-name", "smallest node name"

    class Scheduling(models.TextChoices):
        BUILT_IN = "built-in", "by this site's scheduler"
        EXTERNAL = "external", "by a client of the API"

    tie_break = _setting(
        models.CharField(max_length=16, choices=TieBreak.choices, default=TieBreak.RANDOM),
        label="Ties",
        help="How a node is selected when several have the best score.",
        changed_by="no one",
    )
    seed = _setting(
        models.BigIntegerField(default=0),
        label="Seed",
        help="The same seed repeats the same random selection. Empty: a random seed.",
        changed_by="no one",
        draw=partial(secrets.randbits, 32),
    )
    scheduling = _setting(
        models.CharField(max_length=16, choices=Scheduling.choices, default=Scheduling.BUILT_IN),
        label="Scheduling",
        help="Who binds pods. An external scheduler gets a second opinion on each of its bindings.",
    )
    controllers = _setting(
        models.BooleanField(default=True),
        label="Run controllers",
        help="Node lifecycle, evictions, workloads, volumes, garbage collection.",
        group="actors",
    )
    kubelet = _setting(
        models.BooleanField(default=True),
        label="Run mock kubelets",
        help="A mock kubelet starts and terminates the pods bound to its node.",
        group="actors",
    )
    beta_node_labels = _setting(
        models.BooleanField(default=False),
        label="Beta labels of nodes",
        help="New nodes also have failure-domain.beta.kubernetes.io/zone and the like.",
    )
    # Kubernetes' documents of before 1.24 say 60.
    pod_max_in_unschedulable_pods_seconds = _setting(
        models.PositiveIntegerField(default=300, validators=[MinValueValidator(1)]),
        label="Maximum time unschedulable, in seconds",
        help="An unschedulable pod is retried after this time even if no event could help it.",
    )
    # kube-apiserver --event-ttl
    event_ttl_seconds = _setting(
        models.PositiveIntegerField(default=3600),
        label="Event retention, in seconds",
        help="Events are deleted this long after they were last seen. 0: no limit.",
    )
    admission_plugins = _setting(
        models.JSONField(default=dict, blank=True),
        label="Admission plugins",
        help="Plugins that run in addition to those of every cluster, with their parameters.",
        group="admission",
    )
    ledger_max_days = _setting(
        models.PositiveIntegerField(null=True, default=None),
        label="Decision retention, in days",
        help="0: no limit. Empty: site default.",
        group="history",
    )
    ledger_max_decisions = _setting(
        models.PositiveIntegerField(null=True, default=None),
        label="Maximum number of decisions",
        help="The newest are kept. 0: no limit. Empty: site default.",
        group="history",
    )
    changelog_max_days = _setting(
        models.PositiveIntegerField(null=True, default=None),
        label="Change log retention, in days",
        help="0: no limit. Empty: site default.",
        group="history",
    )
    changelog_covers_ledger = _setting(
        models.BooleanField(null=True, default=None),
        label="Keep changes that stored decisions need",
        help="Without them an old decision can be read, but its state cannot be rebuilt.",
        group="history",
    )

    class Meta:
        abstract = True


#: All of them, in the order in which they are shown.
SETTINGS = tuple(_declared)
#: Those that can be changed while the cluster exists.
CHANGEABLE = tuple(each for each in SETTINGS if each.changed_by != "no one")

#: What holds for a shadow: the scheduler, the controllers and the kubelets of another cluster act.
SHADOW_SETTINGS: Mapping[str, Any] = {
    "scheduling": ClusterSettings.Scheduling.EXTERNAL,
    "controllers": False,
    "kubelet": False,
}


def initial_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a new cluster, as far as they are not the fields' defaults.

    Raises TypeError for a name that is not a setting.
    """
    if unknown := given.keys() - {each.name for each in SETTINGS}:
        raise TypeError(f"not a setting of a cluster: {', '.join(sorted(unknown))}")
    drawn = {
        each.name: each.draw() for each in SETTINGS if each.draw and given.get(each.name) is None
    }
    return {**given, **drawn}
