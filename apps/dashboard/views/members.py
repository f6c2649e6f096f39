"""The members of a cluster, and who sees it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from apps.cluster.errors import AlreadyExists, BadRequest, NotFound
from apps.cluster.models import Cluster
from apps.cluster.roles import MEANINGS, MEMBER_ROLES, Role, role_named
from apps.dashboard.forms.members import MemberForm, VisibilityForm
from apps.dashboard.rendering import Request, cluster_page, posted, render_page
from apps.people import members


@require_http_methods(["GET", "POST"])
@cluster_page
def member_list(request: Request, cluster: Cluster) -> HttpResponse:
    """The members; POST adds one."""
    form = MemberForm(posted(request)[0])
    if request.method == "POST" and form.is_valid():
        user, group = form.cleaned_data["user"], form.cleaned_data["group"]
        role = _read_role(form.cleaned_data["role"])
        try:
            members.add_member(
                cluster, user=user, group=group, role=role, actor=request.user.get_username()
            )
        except NotFound:
            field = "user" if user else "group"
            form.add_error(field, f"There is no {field} with this name.")
        except AlreadyExists:
            form.add_error("user" if user else "group", "This is a member already.")
        else:
            messages.success(request, f"{user or group} is now {role.label} of {cluster.name}.")
            return redirect("members", cluster=cluster.name)
    access = members.get_access(cluster)
    context = {
        "cluster": cluster,
        "access": access,
        "members": members.list_members(cluster),
        "roles": [(role, MEANINGS[role]) for role in Role],
        "member_roles": MEMBER_ROLES,
        "form": form,
        "visibility": VisibilityForm(initial={"visibility": access.visibility}),
    }
    return render_page(request, "members", context, status=422 if form.errors else 200)


@require_POST
@cluster_page
def change_member(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """Give a member another `role`, or remove it if there is none."""
    actor = request.user.get_username()
    if name := request.POST.get("role", ""):
        role = _read_role(name)
        member = members.change_role(cluster, number, role=role, actor=actor)
        text = f"{members.name_of(member)} is now {role.label} of {cluster.name}."
    else:
        name = members.remove_member(cluster, number, actor=actor)
        text = f"{name} is no longer a member of {cluster.name}."
    messages.success(request, text)
    return redirect("members", cluster=cluster.name)


@require_POST
@cluster_page
def set_visibility(request: Request, cluster: Cluster) -> HttpResponse:
    value = request.POST.get("visibility", "")
    members.set_visibility(cluster, value, actor=request.user.get_username())
    messages.success(request, f"The visibility of {cluster.name} has been updated.")
    return redirect("members", cluster=cluster.name)


def _read_role(name: str) -> Role:
    role = role_named(name)
    if role is None:
        raise BadRequest(f"role: {name!r} is not the role of a member")
    return role
