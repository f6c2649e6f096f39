"""Texts of users are inert: hostile ones are stored everywhere, then every page is opened.

The marker ends attributes, strings and elements. If a page puts it in as markup, there is an image
`x`; if anything runs it, a counter is increased; if the content policy stops it, the browser says
so.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

import pytest
import yaml
from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models import F, Value
from django.db.models.functions import Concat, Left

from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.models import Change, Cluster, KubernetesObject
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.dashboard.forms.manifest import load_example
from apps.engine import models as recorded
from tests.browser import pages
from tests.browser.conftest import Seen
from tests.browser.furnishing import furnish

pytestmark = pytest.mark.browser

MARKER = "\"'></script><img src=x onerror=hit()>"
#: Longer texts have more: addresses that run code, templates, the end of a comment.
HOSTILE = (
    f"--> {MARKER} javascript:hit() {{{{7*7}}}} {{% x %}} ${{hit()}} \u202e</textarea></title>"
)
#: Fields of objects that may be any text.
TEXTS = {
    *("message", "reason", "note", "description", "image", "reportingComponent", "kernelVersion"),
    *("osImage", "containerRuntimeVersion", "provider", "reportingInstance", "action"),
}
#: Fields with maps or lists of any texts.
COLLECTIONS = {"annotations", "data", "command", "args", "stringData", "parameters"}
#: Columns with texts of users, or texts that contain them.
COLUMNS: dict[type[models.Model], tuple[str, ...]] = {
    Change: ("user", "request_id"),
    recorded.ConfigurationDraft: ("note", "user"),
    recorded.ConfigurationRevision: ("note", "user"),
    recorded.GroupAttempt: ("message",),
    recorded.LoopLease: ("failure",),
    recorded.Operation: ("title", "message", "cause", "user", "output_name", "request_id"),
    recorded.PastCluster: ("user",),
    recorded.QueueMove: ("reason",),
    recorded.SavedView: ("name",),
    recorded.SchedulingDecision: ("message", "post_filter_message", "request_id", "workload"),
    recorded.SecondOpinion: ("message", "user"),
    recorded.Webhook: ("url", "user"),
    recorded.WebhookDelivery: ("answer",),
}
LISTS = {recorded.SchedulingDecision: ("reasons",)}
HIT = "window.hits = 0; window.hit = () => { window.hits += 1 }"
FOUND = (
    "() => [window.hits, document.querySelectorAll(\"img[src='x'], [onerror]\").length,"
    " document.querySelectorAll(\"a[href^='javascript:']\").length]"
)


def poison(value: Any, *, text: bool = False) -> Any:
    """The value with hostile texts in every field that may have any text."""
    if isinstance(value, dict):
        return {
            key: poison(part, text=key in TEXTS or key in COLLECTIONS or (text and key != "name"))
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [poison(part, text=text) for part in value]
    return f"{value}{HOSTILE}" if text and isinstance(value, str) else value


def create_every_kind(cluster: Cluster) -> list[str]:
    """Create an object of every kind from its example; returns the paths of their pages."""
    paths = ["/clusters/lab/objects/customresourcedefinitions.apiextensions.k8s.io"]
    for kind in kinds.ALL:
        body = yaml.safe_load(load_example(kind.name.lower()) or "{}")
        if not body:
            continue
        metadata = body["metadata"]
        metadata["name"] = name = f"hostile-{metadata.get('name', kind.name.lower())}"[:60]
        metadata["annotations"] = {"example.com/note": HOSTILE}
        namespace = "default" if kind.namespaced else ""
        try:
            store.write(cluster, [Create(kind, body, namespace)], actor=Actor("mallory"))
        except ApiError:
            # the name of some kinds is fixed; all objects are changed below
            continue
        resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        place = f"{namespace}/{name}" if namespace else name
        paths += [f"/clusters/lab/objects/{resource}", f"/clusters/lab/objects/{resource}/{place}"]
    return paths


def poison_everything() -> None:
    """Write behind the store: some of it can only come from earlier versions, or by mistake."""
    for model in apps.get_models():
        if issubclass(model, KubernetesObject):
            rows = list(model.objects.all())
            for row in rows:
                row.body = poison(row.body)
                row.body["metadata"].setdefault("annotations", {})[MARKER] = HOSTILE
                row.body["metadata"].setdefault("labels", {})["evil"] = MARKER
                row.labels["evil"] = MARKER
            model.objects.bulk_update(rows, ["body", "labels"], batch_size=500)
    changes = list(Change.objects.all())
    for change in changes:
        change.object = poison(change.object)
    Change.objects.bulk_update(changes, ["object"], batch_size=500)
    with connection.cursor() as cursor:
        # rows of the ledger refuse changes
        cursor.execute("SET session_replication_role = replica")
    for table, columns in COLUMNS.items():
        for column in columns:
            field = table._meta.get_field(column)
            longest = getattr(field, "max_length", None) or 10_000
            text = Left(Concat(Value(MARKER), F(column)), longest)
            table._default_manager.update(**{column: text})
    for table, columns in LISTS.items():
        for column in columns:
            assert isinstance(table._meta.get_field(column), ArrayField)
            for row in table._default_manager.exclude(**{column: []}):
                setattr(row, column, [MARKER + text for text in getattr(row, column)])
                row.save(update_fields=[column])
    for revision in recorded.ConfigurationRevision.objects.all():
        revision.configuration += f"\n# {HOSTILE}\n"
        revision.save(update_fields=["configuration"])
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = DEFAULT")


def test_hostile_texts_are_inert_on_every_page(seen: Seen) -> None:
    places = furnish()
    lab = Cluster.objects.get(name="lab")
    created = create_every_kind(lab)
    assert len(created) > 60, created
    poison_everything()
    seen.page.add_init_script(HIT)
    seen.log_in("admin", "open sesame")
    seen.page.wait_for_url(f"{seen.address}/")
    seen.problems.clear()
    wrong: defaultdict[str, list[str]] = defaultdict(list)
    visible = 0
    # pages of objects have one template: in `make test` a part of the kinds stands for all
    sample = created if os.environ.get("SOAK_FACTOR") else created[::4]
    paths = {path.format_map(places) for path in pages.PAGES.values()} | set(sample)
    paths |= {f"/search?q={MARKER}", f"/clusters/lab/pods?q={MARKER}"}
    for path in sorted(paths):
        answer = seen.page.goto(f"{seen.address}{path}")
        assert answer is not None
        status, policy = answer.status, answer.headers.get("content-security-policy", "")
        if "default-src 'self'" not in policy or "unsafe" in policy:
            wrong[path].append(f"content policy {policy!r}")
        hits, images, links = seen.page.evaluate(FOUND)
        if status >= 500:
            wrong[path].append(f"status {status}")
        if hits or images or links:
            wrong[path].append(f"{hits} hits, {images} elements, {links} links")
        wrong[path] += [said for said in seen.problems if "status of" not in said]
        visible += MARKER in seen.page.locator("body").inner_text()
        seen.problems.clear()
    told = "\n".join(f"{path}: {what}" for path, found in wrong.items() for what in found)
    assert not told, told
    assert visible > 10, f"the marker is to be seen on {visible} pages only"
