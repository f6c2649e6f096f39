"""manage.py group: create, change, delete and list groups of users."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.administration.management.command import ControlPlaneCommand
from apps.people import groups


class Command(ControlPlaneCommand):
    help = "Create, change, delete and list the groups of users of this site."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="list all groups with their users")
        for verb, about in (
            ("create", "create a group of these users"),
            ("set", "replace the users of a group"),
        ):
            changed = verbs.add_parser(verb, help=about)
            changed.add_argument("name")
            changed.add_argument("users", nargs="*")
        verbs.add_parser("delete", help="delete a group; its users remain").add_argument("name")

    def run(self, **options: Any) -> None:
        match options["verb"]:
            case "list":
                for group in groups.list_groups():
                    users = ", ".join(groups.users_of(group)) or "no users"
                    self.stdout.write(f"{group.name}\t{users}")
                return
            case "create":
                groups.create_group(options["name"], options["users"])
            case "set":
                groups.set_users(groups.group_named(options["name"]), options["users"])
            case "delete":
                groups.delete_group(groups.group_named(options["name"]))
        self.stdout.write(f"Done: {options['verb']} {options['name']}.")
