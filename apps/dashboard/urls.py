"""The addresses of the dashboard room."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from apps.dashboard.views import (
    accounts,
    changes,
    clusters,
    decisions,
    events,
    new_cluster,
    node_actions,
    nodes,
    objects,
    overview,
    pods,
    profiles,
    queue,
    settings,
    tasks,
)

_cluster: list[URLPattern | URLResolver] = [
    path("", overview.cluster, name="cluster"),
    path("/heat.json", overview.heat, name="heat"),
    path("/clock", overview.clock, name="clock"),
    path("/switch", overview.switch, name="switch"),
    path("/pause", clusters.pause, name="pause"),
    path("/resume", clusters.resume, name="resume"),
    path("/delete", clusters.delete_cluster, name="delete-cluster"),
    path("/export", tasks.export, name="export"),
    path("/settings", settings.settings, name="cluster-settings"),
    path("/queue", queue.queue, name="queue"),
    path("/nodes", nodes.nodes, name="nodes"),
    path("/new-node", nodes.new_node, name="new-node"),
    path("/nodes/<str:name>", nodes.node, name="node"),
    path("/change-nodes", node_actions.change, name="change-nodes"),
    path("/nodes/<str:name>/condition", node_actions.set_condition, name="set-condition"),
    path("/nodes/<str:name>/drain", node_actions.drain, name="drain"),
    path("/nodes/<str:name>/drain/landings", node_actions.landings, name="landings"),
    path("/pods", pods.pods, name="pods"),
    path("/delete-pods", pods.delete_pods, name="delete-pods"),
    path("/new-pod", pods.new_pod, name="new-pod"),
    path("/pods/<str:namespace>/<str:name>", pods.pod, name="pod"),
    path("/stories/<uuid:uid>", pods.story, name="pod-story"),
    path("/decisions", decisions.decisions, name="decisions"),
    path("/decisions/<int:number>", decisions.decision, name="decision"),
    path("/decisions/<int:number>/scores.json", decisions.scores, name="decision-scores"),
    path(
        "/decisions/<int:number>/refused/<int:status>",
        decisions.refused_nodes,
        name="refused-nodes",
    ),
    path("/events", events.events, name="events"),
    path("/changes", changes.changes, name="changes"),
    path("/changes/<int:version>", changes.change, name="change"),
    path("/profiles", profiles.profiles, name="profiles"),
    path("/compare-profiles", profiles.compare_profiles, name="compare-profiles"),
    path("/new-profile", profiles.new_profile, name="new-profile"),
    path("/profiles/<int:revision>", profiles.profile, name="profile"),
    path("/profiles/<int:revision>/activate", profiles.activate, name="activate-profile"),
    path("/import", objects.import_yaml, name="import"),
    path("/objects", objects.kind_list, name="kinds"),
    path("/new/<str:resource>", objects.new_object, name="new-object"),
    path("/objects/<str:resource>", objects.objects, name="objects"),
    path("/objects/<str:resource>/<str:name>", objects.an_object, name="object"),
    path(
        "/objects/<str:resource>/<str:namespace>/<str:name>",
        objects.an_object,
        name="namespaced-object",
    ),
    path("/edit/<str:resource>/<str:name>", objects.edit, name="edit-object"),
    path(
        "/edit/<str:resource>/<str:namespace>/<str:name>",
        objects.edit,
        name="edit-namespaced-object",
    ),
    path("/delete/<str:resource>/<str:name>", objects.delete, name="delete-object"),
    path(
        "/delete/<str:resource>/<str:namespace>/<str:name>",
        objects.delete,
        name="delete-namespaced-object",
    ),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", clusters.cluster_list, name="clusters"),
    path("login", accounts.Login.as_view(), name="login"),
    path("logout", LogoutView.as_view(), name="logout"),
    path("new-cluster", new_cluster.new_cluster, name="new-cluster"),
    path("tasks", tasks.tasks, name="tasks"),
    path("tasks/<int:number>", tasks.task, name="task"),
    path("tasks/<int:number>/cancel", tasks.cancel, name="cancel-task"),
    path("tasks/<int:number>/output", tasks.output, name="task-output"),
    path("clusters/<str:cluster>", include(_cluster)),
]
