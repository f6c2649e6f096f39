"""Access reviews, impersonation and tokens of service accounts."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import service_tokens
from apps.cluster.models import Change, Cluster
from apps.cluster.roles import Role
from apps.people import members
from apps.people.tokens import create_token
from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS, node, pod

pytestmark = pytest.mark.django_db

AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
LIST_PODS = {"verb": "list", "resource": "pods", "namespace": "default"}
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
MAY_NOT_LIST = (
    'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace '
    '"default"'
)


def review(kube: Kube, kind: str, spec: Any = None, **options: Any) -> Any:
    """POST a review; the answer."""
    metadata = options.pop("metadata", None)
    group = AUTHENTICATION if kind in ("SelfSubjectReview", "TokenReview") else AUTHORIZATION
    place = "/namespaces/default" if kind.startswith("Local") else ""
    body = {"apiVersion": group.removeprefix("/apis/"), "kind": kind}
    body |= {"spec": spec} if spec is not None else {}
    body |= {"metadata": metadata} if metadata else {}
    return kube.post(f"{group}{place}/{kind.lower()}s", body, **options)


def acting_as(name: str, **more: str) -> dict[str, dict[str, str]]:
    headers = {f"Impersonate-{key}": value for key, value in more.items()}
    return {"headers": {"Impersonate-User": name, **headers}}


def test_users_of_the_site_may_do_everything(kube: Kube) -> None:
    answer = review(kube, "SelfSubjectAccessReview", {"resourceAttributes": LIST_PODS})
    assert answer.status_code == 201
    assert answer.json()["status"]["allowed"] is True
    assert answer.json()["spec"] == {"resourceAttributes": LIST_PODS}
    rules = review(kube, "SelfSubjectRulesReview", {"namespace": "default"}).json()["status"]
    assert {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]} in rules["resourceRules"]
    assert {"verbs": ["*"], "nonResourceURLs": ["*"]} in rules["nonResourceRules"]
    assert rules["incomplete"] is False
    info = review(kube, "SelfSubjectReview").json()["status"]["userInfo"]
    assert (info["username"], info["groups"]) == (
        "alice",
        ["system:masters", "system:authenticated"],
    )


@pytest.mark.parametrize(
    ("subject", "allowed"),
    [
        ({"user": "alice"}, True),
        ({"user": "nobody"}, False),
        ({"user": "nobody", "groups": ["system:masters"]}, True),
        ({"user": "system:serviceaccount:default:builder"}, False),
        ({"user": "system:kube-scheduler"}, True),
        ({"groups": ["system:authenticated"]}, False),
    ],
)
def test_an_access_review_answers_for_the_user_it_names(
    kube: Kube, subject: dict[str, Any], allowed: bool
) -> None:
    spec = {**subject, "resourceAttributes": LIST_PODS}
    for kind in ("SubjectAccessReview", "LocalSubjectAccessReview"):
        assert review(kube, kind, spec).json()["status"]["allowed"] is allowed
    public = {"groups": ["system:authenticated"], "nonResourceAttributes": {"verb": "get"}}
    for path, readable in (("/version", True), ("/apis/apps/v1", True), ("/metrics", False)):
        public["nonResourceAttributes"] = {"verb": "get", "path": path}
        found = review(kube, "SubjectAccessReview", public).json()["status"]["allowed"]
        assert found is readable, path


@pytest.mark.parametrize(
    ("kind", "spec", "status", "message"),
    [
        (
            "SelfSubjectAccessReview",
            {},
            422,
            '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: '
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
        (
            "SubjectAccessReview",
            {"resourceAttributes": LIST_PODS},
            422,
            'spec.user: Invalid value: "": at least one of user or group must be specified',
        ),
        (
            "SubjectAccessReview",
            {"user": "a", "resourceAttributes": {}, "nonResourceAttributes": {}},
            422,
            "cannot be specified in combination with resourceAttributes",
        ),
        (
            "LocalSubjectAccessReview",
            {"user": "a", "resourceAttributes": {**LIST_PODS, "namespace": "other"}},
            422,
            'spec.resourceAttributes.namespace: Invalid value: "other": must match '
            "metadata.namespace",
        ),
        (
            "LocalSubjectAccessReview",
            {"user": "a", "nonResourceAttributes": {"path": "/", "verb": "get"}},
            422,
            "disallowed on this kind of request",
        ),
        ("SelfSubjectRulesReview", {}, 400, "no namespace on request"),
        ("TokenReview", {}, 400, "token is required for TokenReview in authentication"),
        ("SelfSubjectAccessReview", {"resourceAttributes": 1}, 400, "resourceAttributes"),
    ],
)
def test_a_wrong_review_is_refused(
    kube: Kube, kind: str, spec: Any, status: int, message: str
) -> None:
    answer = review(kube, kind, spec)
    assert (answer.status_code, answer.json()["code"]) == (status, status)
    assert message in answer.json()["message"]


def test_reviews_have_no_metadata_and_no_other_verbs(kube: Kube) -> None:
    spec = {"resourceAttributes": LIST_PODS}
    answer = review(kube, "SelfSubjectAccessReview", spec, metadata={"name": "mine"})
    assert answer.status_code == 422
    message = answer.json()["message"]
    assert (
        'metadata: Invalid value: {"name":"mine","managedFields":[{"manager":"unknown"' in message
    )
    place = f"{AUTHORIZATION}/selfsubjectaccessreviews"
    assert kube.get(place).status_code == 405
    assert kube.post(f"{AUTHORIZATION}/localsubjectaccessreviews", {}).status_code == 405


def test_discovery_and_openapi_have_the_reviews(kube: Kube) -> None:
    found = {each["name"]: each for each in kube.get(AUTHORIZATION).json()["resources"]}
    assert found["localsubjectaccessreviews"] == {
        "name": "localsubjectaccessreviews",
        "singularName": "localsubjectaccessreview",
        "namespaced": True,
        "kind": "LocalSubjectAccessReview",
        "verbs": ["create"],
    }
    assert len(found) == 4
    groups = [each["name"] for each in kube.get("/apis").json()["groups"]]
    assert {"authentication.k8s.io", "authorization.k8s.io"} <= {*groups}
    paths = kube.get("/openapi/v3/apis/authorization.k8s.io/v1").json()["paths"]
    assert {*paths["/apis/authorization.k8s.io/v1/subjectaccessreviews"]} == {"post", "parameters"}


def test_a_token_review_says_whose_token_it_is(kube: Kube, key: str) -> None:
    status = review(kube, "TokenReview", {"token": key}).json()["status"]
    assert status["authenticated"] is True
    assert status["user"]["username"] == "alice"
    wrong = review(kube, "TokenReview", {"token": "guessed"}).json()["status"]
    assert wrong == {"user": {}, "error": "invalid bearer token"}


def test_an_impersonated_user_has_the_permissions_of_that_user(kube: Kube) -> None:
    refused = kube.get(PODS, **acting_as("bob"))
    assert (refused.status_code, refused.json()["reason"]) == (403, "Forbidden")
    assert refused.json()["message"] == MAY_NOT_LIST
    assert refused.json()["details"] == {"kind": "pods"}
    assert kube.post(PODS, pod("p1"), **acting_as("bob")).status_code == 403
    assert kube.get("/version", **acting_as("bob")).status_code == 200
    assert kube.get("/metrics", **acting_as("bob")).json()["message"] == (
        'forbidden: User "bob" cannot get path "/metrics"'
    )
    usage = "/apis/metrics.k8s.io/v1beta1"
    assert kube.get(usage, **acting_as("bob")).status_code == 200
    assert kube.get(f"{usage}/pods", **acting_as("bob")).json()["details"] == {
        "group": "metrics.k8s.io",
        "kind": "pods",
    }
    own = review(kube, "SelfSubjectAccessReview", {"resourceAttributes": LIST_PODS})
    assert own.json()["status"]["allowed"] is True
    theirs = review(
        kube, "SelfSubjectAccessReview", {"resourceAttributes": LIST_PODS}, **acting_as("bob")
    )
    assert theirs.json()["status"] == {"allowed": False}
    who = {"Group": "dev,ops", "Uid": "42", "Extra-Scopes": "view"}
    info = review(kube, "SelfSubjectReview", **acting_as("bob", **who)).json()["status"]["userInfo"]
    assert info == {
        "username": "bob",
        "uid": "42",
        "groups": ["dev", "ops", "system:authenticated"],
        "extra": {"scopes": ["view"]},
    }


def test_impersonation_is_recorded_with_both_users(kube: Kube, cluster: Cluster) -> None:
    answer = kube.post(PODS, pod("p1"), **acting_as("bob", Group="system:masters"))
    assert answer.status_code == 201
    assert Change.objects.get(kind="Pod").user == "bob (impersonated by alice)"


def test_impersonation_needs_a_user_and_the_permission(kube: Kube, cluster: Cluster) -> None:
    answer = kube.get(PODS, headers={"Impersonate-Group": "dev"})
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")
    # carol has an account of this site, and later a role in the cluster
    User.objects.create_user("carol")
    assert kube.get(PODS, **acting_as("carol")).status_code == 403
    members.add_member(cluster, user="carol", role=Role.VIEWER, actor="alice")
    assert kube.get(PODS, **acting_as("carol")).status_code == 200
    assert kube.post(PODS, pod("p1"), **acting_as("carol")).status_code == 403


def token_of(cluster: Cluster, **more: Any) -> str:
    """A token of an account that does not exist."""
    account = {"metadata": {"namespace": "default", "name": "builder", "uid": "u-1"}}
    return service_tokens.issue(cluster, account, **{"seconds": 600, **more}).text


def test_a_token_of_no_account_is_refused(kube: Kube, cluster: Cluster, user: User) -> None:
    elsewhere = create_cluster("c2", user=user.username)
    for token in (
        token_of(cluster),
        token_of(cluster) + "x",
        token_of(elsewhere),
        token_of(cluster, seconds=-1),
        token_of(cluster, audiences=["vault"]),
    ):
        client = Kube(token, cluster.name)
        assert client.get(PODS).status_code == 401
        # the pages and the control plane are for users of the site
        assert client.client.get("/api/v1/clusters", headers=client.headers).status_code == 401
        status = review(kube, "TokenReview", {"token": token}).json()["status"]
        assert status["error"].startswith("invalid bearer token: ")


ACCOUNT = {"kind": "ServiceAccount", "namespace": "default", "name": "builder"}


def bind_admin(kube: Kube, subject: dict[str, str]) -> None:
    """Let a subject do everything."""
    role = {"kind": "ClusterRole", "name": "cluster-admin"}
    body = {"metadata": {"name": "everything"}, "roleRef": role, "subjects": [subject]}
    assert kube.post(f"{RBAC}/clusterrolebindings", body).status_code == 201


def test_a_service_account_acts_with_its_token(kube: Kube, cluster: Cluster, user: User) -> None:
    created = kube.post(ACCOUNTS, {"metadata": {"name": "builder"}}).json()
    short = kube.post(f"{ACCOUNTS}/builder/token", {"spec": {"expirationSeconds": 60}})
    assert "may not specify a duration less than 10 minutes" in short.json()["message"]
    answer = kube.post(f"{ACCOUNTS}/builder/token", {"spec": {}})
    assert (answer.status_code, answer.json()["kind"]) == (201, "TokenRequest")
    token = answer.json()["status"]["token"]
    client = Kube(token, cluster.name)
    assert client.post(NODES, node("n1")).status_code == 403
    bind_admin(kube, ACCOUNT)
    assert client.post(NODES, node("n1")).status_code == 201
    assert Change.objects.get(kind="Node").user == "system:serviceaccount:default:builder"
    info = review(client, "SelfSubjectReview").json()["status"]["userInfo"]
    assert info == {
        "username": "system:serviceaccount:default:builder",
        "uid": created["metadata"]["uid"],
        "groups": [
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated",
        ],
    }
    status = review(kube, "TokenReview", {"token": token}).json()["status"]
    assert (status["authenticated"], status["user"]) == (True, info)
    assert Kube(token, create_cluster("c2", user=user.username).name).get(PODS).status_code == 401
    kube.delete(f"{ACCOUNTS}/builder")
    assert client.get(PODS).status_code == 401


def test_default_roles_are_created_once_and_changes_of_them_are_kept(
    kube: Kube, cluster: Cluster
) -> None:
    place = f"{RBAC}/clusterroles"
    view = kube.get(f"{place}/view").json()
    assert {rule["apiGroups"][0] for rule in view["rules"]} >= {"", "apps", "batch"}
    names = [each["metadata"]["name"] for each in kube.get(place).json()["items"]]
    assert {"admin", "cluster-admin", "edit", "view"} <= {*names}
    kube.delete(f"{place}/edit")
    kube.patch(f"{place}/view", {"rules": []})
    assert kube.get(f"{place}/edit").status_code == 404
    assert not kube.get(f"{place}/view").json()["rules"]
    assert len(kube.get(place).json()["items"]) == len(names) - 1


def test_nothing_is_created_for_the_question_what_an_impersonated_user_may_do(
    kube: Kube, cluster: Cluster
) -> None:
    version = Cluster.objects.get().resource_version
    assert kube.get("/api/v1/pods", **acting_as("system:kube-scheduler")).status_code == 200
    assert kube.get("/api/v1/secrets", **acting_as("system:kube-scheduler")).status_code == 403
    assert Cluster.objects.get().resource_version == version


def test_the_role_of_a_user_of_the_site_decides_whatever_is_bound_to_the_name(
    kube: Kube, cluster: Cluster
) -> None:
    User.objects.create_user("carol")
    members.add_member(cluster, user="carol", role=Role.VIEWER, actor="alice")
    bind_admin(kube, {"kind": "User", "name": "carol"})
    assert kube.get(PODS, **acting_as("carol")).status_code == 200
    assert kube.post(PODS, pod("p1"), **acting_as("carol")).status_code == 403


def test_an_operator_gives_no_service_account_more_than_an_operator_has(
    kube: Kube, cluster: Cluster
) -> None:
    otto = User.objects.create_user("otto")
    members.add_member(cluster, user="otto", role=Role.OPERATOR, actor="alice")
    operator = Kube(create_token(otto, "test").key, cluster.name)
    place = f"{RBAC}/namespaces/default/rolebindings"
    for role, status in (("view", 201), ("cluster-admin", 403)):
        reference = {"kind": "ClusterRole", "name": role}
        body = {"metadata": {"name": role}, "roleRef": reference, "subjects": [ACCOUNT]}
        assert operator.post(place, body).status_code == status, role


def test_rules_of_many_combinations_are_refused_without_trying_them(
    kube: Kube, cluster: Cluster
) -> None:
    otto = User.objects.create_user("otto")
    members.add_member(cluster, user="otto", role=Role.OPERATOR, actor="alice")
    operator = Kube(create_token(otto, "test").key, cluster.name)
    many = [f"x{number}" for number in range(2000)]
    rule = {"verbs": many, "apiGroups": [""], "resources": many, "resourceNames": many}
    body = {"metadata": {"name": "many"}, "rules": [rule]}
    refused = operator.post(f"{RBAC}/namespaces/default/roles", body)
    assert (refused.status_code, "in 8000000000 ways" in refused.json()["message"]) == (400, True)
