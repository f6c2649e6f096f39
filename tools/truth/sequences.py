"""Sequences of writes and reads that build on each other, drawn at random.

Several managers write one object in every form of patch, lists are read in parts, collections are
deleted by selectors, and users ask for what roles, quotas and LimitRanges permit.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import quote

from tools.truth.requests import JSON, Body, Step

_CORE: Final = "/api/v1/namespaces/default"
_APPS: Final = "/apis/apps/v1/namespaces/default"
_FORMS: Final = ("merge-patch", "strategic-merge-patch", "json-patch")
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_USERS: Final = ("ann", "bob", "system:serviceaccount:default:robot", "eve")


def sequences(seed: str, number: int) -> Iterator[Step]:
    """`number` requests of each sequence."""
    for draw in (_managers, _subresources, _creations, _collections, _deletions, _access, _limits):
        yield from draw(random.Random(f"{seed} {draw.__name__}"), number)


def _step(about: str, method: str, path: str, body: Any = None, **headers: str) -> Step:
    step: Step = {"about": about, "kind": "sequence", "method": method, "path": path}
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    step["headers"] = {**(JSON if body is not None else {"Accept": JSON["Accept"]}), **given}
    return step if body is None else {**step, "body": body}


def _patch(about: str, path: str, form: str, body: Any) -> Step:
    return _step(about, "PATCH", path, body, Content_Type=f"application/{form}+json")


def _apply(about: str, path: str, body: Body, dice: random.Random) -> Step:
    manager = dice.choice("ab")
    force = dice.choice(("", "", "&force=true"))
    sent = {"Content_Type": "application/apply-patch+yaml"}
    return _step(about, "PATCH", f"{path}?fieldManager={manager}{force}", body, **sent)


# -- managers of lists with keys ----------------------------------------------------------------


def _container(dice: random.Random) -> Body:
    name = dice.choice(("a", "b"))
    container: Body = {"name": name, "image": dice.choice(("i:1", "i:2"))}
    if dice.random() < 0.5:
        names = dice.sample(("X", "Y", "Z"), dice.randint(1, 3))
        container["env"] = [{"name": each, "value": dice.choice("12")} for each in names]
    if dice.random() < 0.4:
        ports = dice.sample((80, 81), dice.randint(1, 2))
        container["ports"] = [{"containerPort": each, "protocol": "TCP"} for each in ports]
    if dice.random() < 0.3:
        container["args"] = dice.sample(("-x", "-y", "-z"), 2)
    return container


def _pod_spec(dice: random.Random) -> Body:
    containers = {each["name"]: each for each in (_container(dice), _container(dice))}
    spec: Body = {"containers": list(containers.values())}
    if dice.random() < 0.4:
        spec["tolerations"] = [{"key": dice.choice("kl"), "operator": "Exists"}]
    if dice.random() < 0.3:
        spec["nodeSelector"] = {dice.choice("pq"): dice.choice("12")}
    if dice.random() < 0.3:
        spec["volumes"] = [{"name": "v", **dice.choice(({"emptyDir": {}}, _HOST_PATH))}]
    return spec


_HOST_PATH: Final[Body] = {"hostPath": {"path": "/x"}}


def _deployment(dice: random.Random) -> Body:
    spec: Body = {"template": {"metadata": {"labels": {"app": "m"}}, "spec": _pod_spec(dice)}}
    spec["selector"] = {"matchLabels": {"app": "m"}}
    if dice.random() < 0.5:
        spec["replicas"] = dice.randint(0, 3)
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _named("m"), "spec": spec}


def _service(dice: random.Random) -> Body:
    numbers = dice.sample((80, 81, 82), dice.randint(1, 2))
    ports = [{"name": f"p{each}", "port": each} for each in numbers]
    if dice.random() < 0.4:
        ports[0]["protocol"] = dice.choice(("TCP", "UDP"))
    spec = {"ports": ports, "selector": {"app": dice.choice("mn")}, "clusterIP": "None"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _named("m"), "spec": spec}


def _config_map(dice: random.Random) -> Body:
    data = {name: dice.choice("12") for name in dice.sample("abc", dice.randint(1, 3))}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _named("m"), "data": data}


def _named(name: str) -> Body:
    return {"name": name, "namespace": "default"}


_MANAGED: Final[tuple[tuple[str, Callable[[random.Random], Body]], ...]] = (
    (f"{_APPS}/deployments", _deployment),
    (f"{_CORE}/services", _service),
    (f"{_CORE}/configmaps", _config_map),
)


def _managers(dice: random.Random, number: int) -> Iterator[Step]:
    for place, draw in _MANAGED:
        first = draw(dice)
        if dice.random() < 0.5:
            yield _step("managers", "POST", f"{place}?fieldManager=creator", first)
        else:
            yield _apply("managers", f"{place}/m", first, dice)
        for _ in range(number):
            yield from _write(dice, f"{place}/m", draw)
        yield _step("managers", "GET", f"{place}/m", Accept=_METADATA)
        yield _step("managers", "DELETE", f"{place}/m")


def _write(
    dice: random.Random, place: str, draw: Callable[[random.Random], Body]
) -> Iterator[Step]:
    body = draw(dice)
    match dice.randint(0, 5):
        case 0 | 1:
            if dice.random() < 0.3:
                del body["metadata"]["namespace"]
            yield _apply("managers", place, body, dice)
        case 2:
            yield _step("managers", "PUT", f"{place}?fieldManager={dice.choice('cd')}", body)
        case 3:
            yield _patch("managers", place, dice.choice(_FORMS[:2]), _with_directive(body, dice))
        case 4:
            yield _patch("managers", place, "json-patch", _json_patch(body, dice))
        case _:
            change = {"metadata": {"labels": {"x": dice.choice(("1", "2", None))}}}
            query = dice.choice(("", "?fieldManager=c", "?fieldValidation=Strict", "?dryRun=All"))
            yield _patch("managers", place + query, dice.choice(_FORMS[:2]), change)


def _with_directive(body: Body, dice: random.Random) -> Body:
    """A patch of the lists of an object, possibly with directives of strategic merge patches."""
    patch = copy.deepcopy({name: body[name] for name in body if name in ("spec", "data")})
    for parent, name in _lists(patch):
        items = parent[name]
        match dice.randint(0, 4):
            case 0 if isinstance(items[0], dict):
                items.append({"$patch": "replace"})
            case 1 if isinstance(items[0], dict):
                items[0]["$patch"] = "delete"
            case 2 if isinstance(items[0], dict):
                key = next(iter(items[0]))
                order = [{key: each[key]} for each in reversed(items) if key in each]
                parent[f"$setElementOrder/{name}"] = order
                break
            case 3:
                parent[name] = None
    return patch


def _lists(value: Any) -> list[tuple[Body, str]]:
    lists: list[tuple[Body, str]] = []
    for name, item in value.items() if isinstance(value, dict) else ():
        if isinstance(item, list) and item:
            lists.append((value, name))
        lists += _lists(item)
    return lists


def _json_patch(body: Body, dice: random.Random) -> list[Body]:
    places = ("/metadata/labels", "/metadata/annotations/a", "/spec/replicas", "/data/a")
    lists = ("/spec/template/spec/containers/0/env/-", "/spec/ports/0", "/spec/ports/5")
    steps = []
    for _ in range(dice.randint(1, 3)):
        op = dice.choice(("add", "replace", "remove", "test", "copy", "move"))
        step: Body = {"op": op, "path": dice.choice((*places, *lists))}
        if op in ("add", "replace", "test"):
            values = ({"a": "b"}, "1", 2, {"name": "N", "value": "1"}, {"name": "p", "port": 90})
            step["value"] = dice.choice(values)
        if op in ("copy", "move"):
            step["from"] = dice.choice(places)
        steps.append(step)
    return steps


# -- subresources -------------------------------------------------------------------------------


def _subresources(dice: random.Random, number: int) -> Iterator[Step]:
    place = f"{_APPS}/deployments"
    yield _step("subresources", "POST", place, _deployment(dice))
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": _named("m")}
    replicas = (0, 1, 5, -1, None, "2", 2.5, 2**40)
    for _ in range(number):
        manager = f"?fieldManager={dice.choice('ab')}"
        given = {"spec": {"replicas": dice.choice(replicas)}}
        status = {"replicas": dice.choice((0, 3, -1)), "readyReplicas": dice.choice((0, 2, 4))}
        condition = {
            "type": dice.choice(("Available", "Odd")),
            "status": dice.choice(("True", "x")),
        }
        conditions = {"conditions": [condition]} if dice.random() < 0.5 else {}
        whole = {**_deployment(dice), "status": {**status, **conditions}}
        below = f"{place}/m"
        yield dice.choice(
            (
                _step("subresources", "GET", f"{below}/scale"),
                _step("subresources", "PUT", f"{below}/scale{manager}", {**scale, **given}),
                _patch("subresources", f"{below}/scale{manager}", "merge-patch", given),
                _apply("subresources", f"{below}/scale", {**scale, **given}, dice),
                _step("subresources", "PUT", f"{below}/status{manager}", whole),
                _patch("subresources", f"{below}/status", "merge-patch", {"status": status}),
                _patch(
                    "subresources",
                    f"{below}/status",
                    "strategic-merge-patch",
                    {"status": conditions},
                ),
                _step("subresources", "GET", below),
            )
        )
    yield _step("subresources", "DELETE", f"{place}/m")


# -- creations ----------------------------------------------------------------------------------


def _creations(dice: random.Random, number: int) -> Iterator[Step]:
    place = f"{_CORE}/configmaps"
    for _ in range(number):
        metadata: Body = dice.choice(
            (
                {"generateName": dice.choice(("g-", "G_", "g" * 70))},
                {"name": "c", "generateName": "g-"},
                {"name": "c", "namespace": dice.choice(("default", "other", ""))},
                {"name": "c", "uid": "x", "resourceVersion": dice.choice(("", "1", "x"))},
                {"name": "c", "finalizers": dice.choice((["a"], ["a.b/c"], ["orphan"], [1]))},
                {"name": "c", "ownerReferences": [{"kind": "Pod", "name": "p"}]},
                {"name": "c", "labels": dice.choice(({"a": 1}, {"a b": "c"}, {"a": "b c"}, None))},
                {
                    "name": "c",
                    "creationTimestamp": dice.choice((None, "x", "2020-01-01T00:00:00Z")),
                },
            )
        )
        body = {"metadata": metadata, "data": dice.choice(({"a": "b"}, {"a": 1}, {"/": "b"}, []))}
        if dice.random() < 0.5:
            body |= {"dataX": {}, "metadata": {**metadata, "labelX": "y"}}
        checks = dice.choice(("", "&fieldValidation=Strict", "&fieldValidation=Warn"))
        checks = dice.choice((checks, "&fieldValidation=Ignore"))
        step = _step("creations", "POST", f"{place}?dryRun=All{checks}", body)
        if dice.random() < 0.3:
            text = 'kind: ConfigMap\nmetadata: {name: c, name: d}\ndata: {a: "1", a: "2"}\nx: 1\n'
            headers = {**step["headers"], "Content-Type": "application/yaml"}
            step = {**step, "headers": headers, "body_raw": text}
        yield step


# -- lists --------------------------------------------------------------------------------------


def _collections(dice: random.Random, number: int) -> Iterator[Step]:
    place = f"{_CORE}/secrets"
    for index in range(5):
        labels = {"n": str(index), "even": str(index % 2)}
        body = {"metadata": {"name": f"s{index}", "labels": labels}, "type": "example.com/t"}
        yield {**_step("lists", "POST", place, body), "capture": {f"v{index}": _VERSION}}
    for _ in range(number):
        yield {
            **_step("lists", "GET", f"{place}?limit={dice.randint(1, 4)}"),
            "capture": {"token": "metadata.continue", "listed": _VERSION},
        }
        limit = dice.choice(("&limit=2", "", "&limit=500"))
        extra = dice.choice(("", "", "&resourceVersion=0", "&resourceVersion=${listed}"))
        form = dice.choice(("application/json", _TABLE, _METADATA_LIST, _PROTOBUF))
        yield _step("lists", "GET", f"{place}?continue=${{token}}{limit}{extra}", Accept=form)
        version = dice.choice(("0", "1", "${v0}", "${v4}", "${listed}", "999999999", ""))
        match = dice.choice(("", "Exact", "NotOlderThan", "Odd"))
        query = f"resourceVersion={version}&resourceVersionMatch={match}"
        if version not in ("1", "999999999"):
            yield _step("lists", "GET", f"{place}?{query}{limit}", Accept=form)
        selector = quote(
            dice.choice(("even=1", "n in (1,2),even!=0", "!n", "n", "n>2", "n notin (1)"))
        )
        included = dice.choice(
            ("", "&includeObject=Object", "&includeObject=None", "&includeObject=x")
        )
        yield _step("lists", "GET", f"{place}?labelSelector={selector}{included}", Accept=form)
        yield _watch(dice, place)


def _watch(dice: random.Random, place: str) -> Step:
    version = dice.choice(("", "&resourceVersion=0", "&resourceVersion=${v1}"))
    initial = dice.choice(
        (
            "",
            "&allowWatchBookmarks=true",
            "&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan",
            "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
            "&resourceVersionMatch=NotOlderThan",
        )
    )
    selected = dice.choice(("", "&labelSelector=even%3D1", "&fieldSelector=metadata.name%3Ds1"))
    form = dice.choice(("application/json", _TABLE, _METADATA))
    query = f"watch=1&timeoutSeconds=1{version}{initial}{selected}"
    return _step("watches", "GET", f"{place}?{query}", Accept=form)


_VERSION: Final = "metadata.resourceVersion"


def _deletions(dice: random.Random, number: int) -> Iterator[Step]:
    place = f"{_CORE}/configmaps"
    for _ in range(number):
        for name in ("x", "y"):
            finalizers = {"finalizers": ["example.com/f"]} if dice.random() < 0.2 else {}
            metadata = {"name": name, "labels": {"l": name}, **finalizers}
            step = _step("deletions", "POST", place, {"metadata": metadata})
            yield {**step, "capture": {f"{name}_uid": "metadata.uid", f"{name}_v": _VERSION}}
        preconditions = dice.choice(
            (
                {"uid": "${x_uid}"},
                {"uid": "no"},
                {"resourceVersion": "${x_v}"},
                {"resourceVersion": "1"},
            )
        )
        options: Body = dice.choice(
            (
                {},
                {"preconditions": preconditions},
                {"propagationPolicy": dice.choice(("Foreground", "Background", "Orphan", "Odd"))},
                {"orphanDependents": True},
                {"orphanDependents": False, "propagationPolicy": "Orphan"},
                {"gracePeriodSeconds": dice.choice((0, 5, -1))},
                {"dryRun": ["All"]},
                {"kind": "DeleteOptions", "apiVersion": dice.choice(("v1", "v2", "policy/v1"))},
                {"unknown": 1},
            )
        )
        query = dice.choice(("", "", "?labelSelector=l%3Dx", "?fieldSelector=metadata.name%3Dy"))
        if not query:
            yield _step("deletions", "DELETE", f"{place}/x", options)
        else:
            yield _step("deletions", "DELETE", f"{place}{query}", options)
        yield _step("deletions", "GET", f"{place}?labelSelector=l")
        for name in ("x", "y"):
            gone = {"metadata": {"finalizers": None}}
            yield _patch("deletions", f"{place}/{name}", "merge-patch", gone)
            yield _step("deletions", "DELETE", f"{place}/{name}")


# -- what users may do --------------------------------------------------------------------------


def _access(dice: random.Random, number: int) -> Iterator[Step]:
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    rules = [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create"]},
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["a"]},
    ]
    role = {"metadata": {"name": "r"}, "rules": rules}
    yield _step("access", "POST", f"{rbac}/namespaces/default/roles", role)
    subjects = [
        {"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "Group", "name": "devs", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "ServiceAccount", "name": "robot", "namespace": "default"},
    ]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    binding = {"metadata": {"name": "r"}, "roleRef": reference, "subjects": subjects}
    yield _step("access", "POST", f"{rbac}/namespaces/default/rolebindings", binding)
    for _ in range(number):
        headers = {"Impersonate_User": dice.choice(_USERS)}
        if dice.random() < 0.3:
            headers["Impersonate_Group"] = dice.choice(("devs", "system:authenticated"))
        if dice.random() < 0.1:
            headers["Impersonate_Uid"] = "u"
        resource = dice.choice(("configmaps", "secrets", "secrets/a", "pods", "configmaps/none"))
        space = dice.choice((_CORE, "/api/v1/namespaces/other"))
        review = {"verb": dice.choice(("get", "list", "delete")), "resource": "configmaps"}
        spec = {"resourceAttributes": {**review, "namespace": dice.choice(("default", "other"))}}
        reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        place = f"{_CORE}/configmaps"
        created = {"metadata": {"name": "by-user"}}
        grant = {**binding, "metadata": {"name": "other"}}
        yield dice.choice(
            (
                _step("access", "GET", f"{space}/{resource}", **headers),
                _step("access", "POST", f"{place}?dryRun=All", created, **headers),
                _step("access", "DELETE", f"{place}/none", **headers),
                _step("access", "DELETE", place, **headers),
                _step("access", "GET", f"{place}?watch=1&timeoutSeconds=1", **headers),
                _step("access", "GET", f"{_APPS}/deployments/none/scale", **headers),
                _step("access", "POST", reviews, {"spec": spec}, **headers),
                _step("access", "GET", dice.choice(("/version", "/metrics", "/x")), **headers),
                _step(
                    "access",
                    "POST",
                    f"{rbac}/namespaces/default/rolebindings?dryRun=All",
                    grant,
                    **headers,
                ),
            )
        )
    yield _step("access", "DELETE", f"{rbac}/namespaces/default/roles/r")
    yield _step("access", "DELETE", f"{rbac}/namespaces/default/rolebindings/r")


def _limits(dice: random.Random, number: int) -> Iterator[Step]:
    space = "/api/v1/namespaces/limited"
    yield _step("limits", "POST", "/api/v1/namespaces", {"metadata": {"name": "limited"}})
    limit: Body = {
        "type": "Container",
        "default": {"cpu": "500m"},
        "defaultRequest": {"cpu": "100m", "memory": "64Mi"},
        "max": {"cpu": "1"},
        "min": {"cpu": "10m"},
        "maxLimitRequestRatio": {"memory": "2"},
    }
    limits = [limit, {"type": "Pod", "max": {"memory": "1Gi"}}]
    body = {"metadata": {"name": "l"}, "spec": {"limits": limits}}
    yield _step("limits", "POST", f"{space}/limitranges", body)
    amounts = ("1m", "50m", "1", "2", "64Mi", "2Gi", "-1", "x")
    for _ in range(number):
        containers = []
        for name in "ab"[: dice.randint(1, 2)]:
            container: Body = {"name": name, "image": "i"}
            for part in dice.sample(("requests", "limits"), dice.randint(0, 2)):
                names = dice.sample(("cpu", "memory"), dice.randint(1, 2))
                drawn = {each: dice.choice(amounts) for each in names}
                container.setdefault("resources", {})[part] = drawn
            containers.append(container)
        pod = {"metadata": {"name": "p"}, "spec": {"containers": containers}}
        yield _step("limits", "POST", f"{space}/pods?dryRun=All", pod)
        claim = {"resources": {"requests": {"storage": dice.choice(("1Gi", "0", "-1"))}}}
        modes = dice.choice((["ReadWriteOnce"], ["Odd"], []))
        body = {"metadata": {"name": "c"}, "spec": {**claim, "accessModes": modes}}
        yield _step("limits", "POST", f"{space}/persistentvolumeclaims?dryRun=All", body)
