"""The groups of users of the site, for site admins."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from apps.cluster.errors import AlreadyExists, BadRequest, Invalid
from apps.dashboard.forms.groups import GroupForm, GroupUsersForm
from apps.dashboard.forms.object_form import show_error
from apps.dashboard.rendering import Request, posted, render_page, site_page
from apps.people import accounts, groups


@require_http_methods(["GET", "POST"])
@site_page
def all_groups(request: Request) -> HttpResponse:
    """The list; POST creates one."""
    names = accounts.user_names()
    form = GroupForm(names, posted(request)[0])
    if request.method == "POST" and form.is_valid():
        try:
            name = groups.create_group(**form.cleaned_data).name
            messages.success(request, f"Group {name} created.")
            return redirect("groups")
        except (AlreadyExists, Invalid) as refusal:
            show_error(form, refusal)
    rows = []
    for group in groups.list_groups():
        users = groups.users_of(group)
        change = GroupUsersForm(names, initial={"users": users}, auto_id=f"group-{group.pk}-%s")
        rows.append((group.pk, group.name, users, change))
    context = {"form": form, "groups": rows}
    return render_page(request, "groups", context, status=422 if form.errors else 200)


@require_POST
@site_page
def change_group(request: Request, number: int) -> HttpResponse:
    """Apply `action`: set the users, or delete the group."""
    group = groups.group_numbered(number)
    match request.POST.get("action", ""):
        case "set":
            groups.set_users(group, request.POST.getlist("users"))
            messages.success(request, f"Users of group {group.name} changed.")
        case "delete":
            groups.delete_group(group)
            messages.success(request, f"Group {group.name} deleted.")
        case action:
            raise BadRequest(f"unknown action {action!r}")
    return redirect("groups")
