"""The paths of documents in OpenAPI v3: of versions, groups, lists of resources, the site."""

from __future__ import annotations

from typing import Any, Final

from apps.api.kubernetes.openapi_paths import REFUSED, SENT, ref, tag_of

Body = dict[str, Any]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_VERSIONS: Final = "get available API versions"
#: Place -> tag, description and id of what it answers, its definition, and its media types.
_FIXED: Final = {
    ".well-known/openid-configuration": (
        "WellKnown",
        "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
        "getServiceAccountIssuerOpenIDConfiguration",
        "",
        ("application/json",),
    ),
    "api": ("core", _VERSIONS, "getCoreAPIVersions", f"{_META}.APIVersions", SENT),
    "apis": ("apis", _VERSIONS, "getAPIVersions", f"{_META}.APIGroupList", SENT),
    "openid/v1/jwks": (
        "openid",
        "get service account issuer OpenID JSON Web Key Set (contains public token verification "
        "keys)",
        "getServiceAccountIssuerOpenIDKeyset",
        "",
        ("application/jwk-set+json",),
    ),
    "version": (
        "version",
        "get the version information for this server",
        "getCodeVersion",
        "io.k8s.apimachinery.pkg.version.Info",
        ("application/json",),
    ),
}
#: Those that have a document of their own in every cluster.
PLACES: Final = tuple(_FIXED)


def definition_at(place: str) -> str:
    """The name of the definition of what a place answers; "" for a text.

    A place is one of `PLACES`, a group (`apis/apps`), or a group and version.
    """
    fixed = _FIXED.get(place)
    if fixed is not None:
        return fixed[3]
    is_group = place.startswith("apis/") and place.count("/") == 1
    return f"{_META}.{'APIGroup' if is_group else 'APIResourceList'}"


def path_of(place: str) -> Body:
    """The path of what a place answers, with its operation."""
    fixed = _FIXED.get(place)
    if fixed is None:
        root, _, rest = place.partition("/")
        group, _, version = rest.partition("/") if root == "apis" else ("", "", rest)
        tag, called = tag_of(group, version)
        said = ("available resources", "Resources") if version else ("information of a group", "")
        described = f"get {said[0]}", f"get{called}API{said[1] or 'Group'}"
        fixed = (tag, *described, definition_at(place), SENT)
    tag, description, identifier, definition, media_types = fixed
    schema = ref(definition) if definition else {"type": "string"}
    operation = {
        "tags": [tag],
        "description": description,
        "operationId": identifier,
        "responses": {
            "200": {
                "description": "OK",
                "content": {media_type: {"schema": schema} for media_type in media_types},
            },
            **REFUSED,
        },
    }
    return {f"/{place}/": {"get": operation}}
