"""manage.py members CLUSTER: list, add, change and remove members; visibility and owner."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.administration.management.command import USER, ControlPlaneCommand
from apps.cluster.models import Cluster, Membership
from apps.cluster.roles import MEMBER_ROLES, Visibility, role_named
from apps.people import members


class Command(ControlPlaneCommand):
    help = "List the members of a cluster; add, change or remove one; change who sees it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("cluster")
        parser.add_argument("--user", default="", help="the user to add, change or remove")
        parser.add_argument("--group", default="", help="or the group of users")
        roles = [role.label for role in MEMBER_ROLES]
        parser.add_argument("--role", choices=[*roles, "none"], help="its role; none: remove it")
        parser.add_argument("--visibility", choices=Visibility.values)
        parser.add_argument("--owner", help="the user who administers the cluster")

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["cluster"])
        if options["visibility"]:
            members.set_visibility(cluster, options["visibility"], actor=USER)
        if options["owner"]:
            members.set_owner(cluster, options["owner"], actor=USER)
        if options["user"] or options["group"]:
            if not options["role"]:
                raise CommandError("--role is required with --user and --group")
            self._set_role(cluster, options["user"], options["group"], options["role"])
        access = members.get_access(cluster)
        owner = access.owner.username if access.owner else "none"
        self.stdout.write(f"visibility {access.visibility}, owner {owner}")
        for member in members.list_members(cluster):
            kind = "group" if member.group else "user"
            self.stdout.write(f"{kind} {members.name_of(member)}: {member.get_role_display()}")

    def _set_role(self, cluster: Cluster, user: str, group: str, name: str) -> None:
        """Add the member, or change or remove the present one."""
        present = self._find(cluster, user, group)
        role = role_named(name)
        if role is None:
            if present is None:
                raise CommandError(f"{user or group} is not a member of {cluster.name}")
            members.remove_member(cluster, present.pk, actor=USER)
        elif present is None:
            members.add_member(cluster, user=user, group=group, role=role, actor=USER)
        else:
            members.change_role(cluster, present.pk, role=role, actor=USER)

    @staticmethod
    def _find(cluster: Cluster, user: str, group: str) -> Membership | None:
        for member in members.list_members(cluster):
            if members.name_of(member) == (user or group) and bool(member.user) == bool(user):
                return member
        return None
