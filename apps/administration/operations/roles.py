"""Whether the user of an operation still has the role that it requires."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.contrib.auth.models import User

from apps.cluster.access.gate import check_may_create, require_role
from apps.cluster.errors import ApiError, Forbidden
from apps.cluster.roles import Role
from apps.engine.models import Operation

#: What the kinds of operations in a cluster require; the others create a cluster.
_NEEDED: Final[Mapping[str, Role]] = {
    "bulk": Role.OPERATOR,
    "drain": Role.OPERATOR,
    "export": Role.VIEWER,
    "import": Role.OPERATOR,
    "lab-question": Role.VIEWER,
    "preview": Role.ADMIN,
    "replay": Role.VIEWER,
    "undo": Role.OPERATOR,
}


def check_role(operation: Operation) -> None:
    """Raise Forbidden if the user has lost the role since the operation was started.

    Operations of commands and of service accounts have no user of the site.
    """
    user = User.objects.filter(username=operation.user).first()
    if user is None:
        return
    try:
        if not user.is_active:
            raise Forbidden("the user is no longer active")
        _check(user, operation)
    except ApiError as refusal:
        raise Forbidden(f"{operation.user} may no longer do this: {refusal.message}") from refusal


def _check(user: User, operation: Operation) -> None:
    cluster = operation.cluster
    if operation.kind in _NEEDED and cluster is not None:
        require_role(user, cluster.pk, cluster.name, _NEEDED[operation.kind])
        return
    check_may_create(user)
    if operation.kind == "copy":
        source = operation.arguments["source"]
        require_role(user, source, str(source), Role.VIEWER)
