"""Who owns the fields of an object, without a database."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster import kinds
from apps.cluster.ownership.field_paths import InvalidList, compare, paths_of
from apps.cluster.ownership.managers import (
    Manager,
    Ownership,
    creation_entry,
    entries_of,
    read_entries,
)
from apps.cluster.ownership.paths import UnreadableFields, display, from_fields, to_fields
from apps.cluster.ownership.writes import ApplyConflict, Applying, Updating, definition_of_kind

Body = dict[str, Any]

POD = definition_of_kind(kinds.POD)
NOON, LATER = "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z"


def pod(*containers: Body, labels: Body | None = None, **spec: Any) -> Body:
    metadata: Body = {"name": "p", "namespace": "default", "resourceVersion": "1"}
    if labels:
        metadata["labels"] = labels
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": list(containers), **spec},
    }


def owned(body: Body, *entries: Body) -> Body:
    return {**body, "metadata": {**body["metadata"], "managedFields": list(entries)}}


def apply(name: str, body: Body, live: Body, *, force: bool = False) -> Body:
    """The object after an apply, with its owners."""
    applying = Applying(kinds.POD, Manager(name, "Apply", "v1"), body, force)
    merged = applying.merge(live)
    return owned(merged, *applying.entries(live, merged, None, LATER))


def fields(body: Body, manager: str) -> Body:
    entries = body["metadata"]["managedFields"]
    return next((entry["fieldsV1"] for entry in entries if entry["manager"] == manager), {})


def test_fields_v1_names_items_by_their_keys() -> None:
    body = pod(
        {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "args": ["a"]},
        labels={"app": "x"},
        finalizers=[],
    )
    body["metadata"]["finalizers"] = ["example.com/f"]
    shown = {display(path) for path in paths_of(body, POD)}
    assert '.spec.containers[name="c"].image' in shown
    assert (
        '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].containerPort' in shown
    )
    # an atomic list has one owner
    assert '.spec.containers[name="c"].args' in shown
    assert '.metadata.finalizers[="example.com/f"]' in shown
    assert ".metadata.labels.app" in shown
    paths = paths_of(body, POD)
    assert from_fields(to_fields(paths)) == paths
    item = to_fields(paths)["f:spec"]["f:containers"]['k:{"name":"c"}']
    assert item["."] == {} and item["f:image"] == {}


@pytest.mark.parametrize("wrong", [[], {"spec": {}}, {"f:spec": 1}])
def test_what_is_not_fields_v1_is_unreadable(wrong: Any) -> None:
    with pytest.raises(UnreadableFields):
        from_fields(wrong)


def test_a_comparison_tells_added_modified_and_removed() -> None:
    old = pod({"name": "c", "image": "1"}, labels={"a": "1"})
    new = pod({"name": "c", "image": "2"}, {"name": "d", "image": "1"})
    found = compare(old, new, POD)
    assert {display(path) for path in found.modified} == {'.spec.containers[name="c"].image'}
    assert '.spec.containers[name="d"].image' in {display(path) for path in found.added}
    assert {display(path) for path in found.removed} == {".metadata.labels", ".metadata.labels.a"}


def test_the_creator_owns_everything_until_another_client_writes() -> None:
    old = owned(
        pod({"name": "c", "image": "1"}, nodeName="n"), creation_entry("kubectl", "v1", NOON)
    )
    new = pod({"name": "c", "image": "2"}, nodeName="n")
    editor = Updating(kinds.POD, Manager("editor", "Update", "v1"))
    new = owned(new, *editor.entries(old, new, None, LATER))
    container = {'k:{"name":"c"}': {"f:image": {}}}
    assert fields(new, "editor") == {"f:spec": {"f:containers": container}}
    kept = fields(new, "kubectl")["f:spec"]
    assert kept["f:nodeName"] == {} and "f:image" not in kept["f:containers"]['k:{"name":"c"}']
    # the same again changes no time, so that the object is unchanged
    assert editor.entries(new, new, None, LATER) == new["metadata"]["managedFields"]
    assert editor.entries(new, new, [], LATER) == []


def test_an_apply_asks_before_it_takes_a_field() -> None:
    live = apply("a", pod({"name": "c", "image": "1"}, labels={"x": "1"}), pod())
    wanted = pod({"name": "c", "image": "2"}, labels={"x": "2"})
    with pytest.raises(ApplyConflict) as conflict:
        apply("b", wanted, live)
    assert conflict.value.message == (
        'Apply failed with 2 conflicts: conflicts with "a":\n- .metadata.labels.x\n'
        '- .spec.containers[name="c"].image'
    )
    forced = apply("b", wanted, live, force=True)
    assert forced["metadata"]["labels"] == {"x": "2"}
    assert "f:labels" not in fields(forced, "a").get("f:metadata", {})
    # the same value is shared
    both = apply("b", pod({"name": "c", "image": "1"}), live)
    assert fields(both, "a")["f:spec"] == fields(both, "b")["f:spec"]


def test_what_is_no_longer_applied_is_removed_unless_another_owns_it() -> None:
    first = pod({"name": "c", "image": "1"}, {"name": "d", "image": "1"}, labels={"x": "1"})
    live = apply("b", pod({"name": "d", "image": "1"}), apply("a", first, pod()))
    after = apply("a", pod({"name": "c", "image": "1"}), live)
    assert [each["name"] for each in after["spec"]["containers"]] == ["c", "d"]
    assert "labels" not in after["metadata"]
    alone = apply("b", pod(nodeName="n"), after)
    assert [each["name"] for each in alone["spec"]["containers"]] == ["c"]


def test_old_updates_are_merged_into_one_entry() -> None:
    body = pod({"name": "c", "image": "0"})
    first = Ownership(frozenset({("f:spec",)}), "2026-01-01T11:00:00Z")
    body = owned(body, *entries_of({Manager("first", "Update", "v1"): first}))
    for number in range(14):
        updating = Updating(kinds.POD, Manager(f"m{number:02}", "Update", "v1"))
        new = pod({"name": "c", "image": "0"}, labels={f"l{n}": "" for n in range(number + 1)})
        body = owned(new, *updating.entries(body, new, None, f"2026-01-01T12:00:{number:02}Z"))
    managers = [each.name for each in read_entries(body["metadata"]["managedFields"])]
    assert len(managers) == 10 and managers.count("ancient-changes") == 1
    assert "m13" in managers and "m00" not in managers


def test_items_with_the_same_key_are_compared_as_one_value() -> None:
    """As stored lists may have them: variables of a container, addresses of a node."""
    once = pod({"name": "c", "env": [{"name": "A", "value": "1"}]})
    twice = pod({"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]})
    item = 'k:{"name":"A"}'
    for old, new in ((once, twice), (twice, once)):
        found = compare(old, new, POD)
        assert {path[-1] for path in found.modified} == {item}
        assert not found.added and not found.removed
    assert compare(twice, twice | {"kind": "Pod"}, POD).modified == set()
    assert {path[-1] for path in paths_of(twice, POD)} >= {item, "f:value"}


def test_an_apply_keeps_repeated_items_of_others_and_has_none_of_its_own() -> None:
    repeated = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    live = pod({"name": "c", "env": repeated})
    merged = apply(
        "a", {"metadata": {}, "spec": {"containers": [{"name": "c", "tty": True}]}}, live
    )
    assert merged["spec"]["containers"][0]["env"] == repeated
    with pytest.raises(InvalidList):
        apply("a", pod({"name": "c", "env": repeated}), live)
