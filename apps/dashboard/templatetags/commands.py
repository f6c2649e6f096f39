"""Tags that show a list, an object or a form as commands: `apps.dashboard.recipes`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django import template

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.dashboard.recipes.actions import (
    activate_pods_recipe,
    activate_profile_recipe,
    cluster_recipes,
    object_recipes,
)
from apps.dashboard.recipes.lists import list_recipe, past_recipe, site_recipe
from apps.dashboard.recipes.recipe import Recipe
from apps.dashboard.recipes.rendering import render_commands
from apps.engine.models import QueueEntry

register = template.Library()

#: The queues whose pods can be activated.
_ACTIVATED = (QueueEntry.Queue.BACKOFF, QueueEntry.Queue.UNSCHEDULABLE)


@register.inclusion_tag("dashboard/inc/commands.html", takes_context=True)
def show_commands(
    context: template.Context, recipes: Sequence[Recipe], id_prefix: str = "command"
) -> dict[str, Any]:
    """Each recipe for each tool, and the address of a page, with buttons that copy them."""
    request = context["request"]
    site = f"{request.scheme}://{request.get_host()}"
    texts: dict[str, list[tuple[str, str]]] = {"kubectl": [], "curl": [], "Python": [], "Link": []}
    for recipe in recipes:
        # Each by itself, so that reading an object does not also copy its deletion.
        commands = render_commands(recipe, site)
        title = recipe.title if len(recipes) > 1 else ""
        texts["curl"].append((title, commands.curl))
        texts["Python"].append((title, commands.python))
        if commands.kubectl:
            texts["kubectl"].append((title, commands.kubectl))
    if request.method == "GET":
        texts["Link"].append(("", request.build_absolute_uri()))
    tools = [
        (
            name,
            [
                (title, text, f"{id_prefix}-{name.lower()}" + (f"-{number}" if number else ""))
                for number, (title, text) in enumerate(shown)
            ],
        )
        for name, shown in texts.items()
        if shown
    ]
    return {"tools": tools, "open": "" if texts["kubectl"] else "curl"}


@register.inclusion_tag("dashboard/inc/copy_as.html", takes_context=True)
def copy_list(
    context: template.Context, name: str, cluster: Cluster | None = None, kind: Kind | None = None
) -> dict[str, Any]:
    """The list with the filters of the address."""
    request = context["request"]
    query = request.GET.dict()
    if cluster is None:
        recipe = site_recipe(name, query)
    elif cluster.deleted_at is not None:
        recipe = past_recipe(name, cluster.pk, query)
    else:
        recipe = list_recipe(name, cluster.name, query, kind)
    return {"request": request, "recipes": [recipe], "id": "copy-list"}


@register.inclusion_tag("dashboard/inc/copy_as.html", takes_context=True)
def copy_queue(context: template.Context, cluster: Cluster, rows: Iterable[Any]) -> dict[str, Any]:
    """The queue with the filters of the address, and activating those of its pods that can be."""
    request = context["request"]
    recipes = [list_recipe("queue", cluster.name, request.GET.dict())]
    if pods := [f"{row.namespace}/{row.name}" for row in rows if row.queue in _ACTIVATED]:
        recipes.append(activate_pods_recipe(cluster.name, pods))
    return {"request": request, "recipes": recipes, "id": "copy-list"}


@register.inclusion_tag("dashboard/inc/copy_as.html", takes_context=True)
def copy_activation(context: template.Context, cluster: Cluster, revision: int) -> dict[str, Any]:
    """Activating a revision of the configuration."""
    recipes = [activate_profile_recipe(cluster.name, revision)]
    return {"request": context["request"], "recipes": recipes, "id": "copy-activation"}


@register.inclusion_tag("dashboard/inc/copy_as.html", takes_context=True)
def copy_object(
    context: template.Context, cluster: Cluster, kind: str | Kind, namespace: str, name: str
) -> dict[str, Any]:
    """Reading and deleting one object."""
    known_kind = kind if isinstance(kind, Kind) else kinds.by_name(kind)
    recipes = object_recipes(cluster.name, known_kind, namespace, name)
    return {"request": context["request"], "recipes": recipes, "id": "copy-object"}


@register.inclusion_tag("dashboard/inc/copy_as.html", takes_context=True)
def copy_cluster(context: template.Context, cluster: Cluster) -> dict[str, Any]:
    """Reading, pausing or resuming, exporting and deleting a cluster."""
    recipes = cluster_recipes(cluster.name, paused=cluster.paused)
    return {"request": context["request"], "recipes": recipes, "id": "copy-cluster"}


@register.inclusion_tag("dashboard/inc/copy_form.html")
def copy_form(action: str = "", id_suffix: str = "form") -> dict[str, str]:
    """A button that shows the commands for what the form contains now."""
    return {"action": action, "id": f"copied-{id_suffix}"}
