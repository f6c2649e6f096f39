"""manage.py token: create, list and delete the tokens of a user."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.administration.management.command import ControlPlaneCommand
from apps.people import tokens
from apps.people.accounts import user_named


class Command(ControlPlaneCommand):
    help = "Create, list and delete the tokens of a user. A token is printed only once."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="print a new token")
        create.add_argument("--user", required=True)
        create.add_argument("--name", required=True, help="unique among the user's tokens")
        create.add_argument("--days", type=int, help="it expires after so many days")
        create.add_argument("--read-only", action="store_true", help="it only reads")
        create.add_argument(
            "--cluster", action="append", help="a cluster that it reaches, repeated; default: all"
        )
        verbs.add_parser("list", help="list tokens").add_argument("--user", required=True)
        delete = verbs.add_parser("delete", help="delete a token")
        delete.add_argument("--user", required=True)
        delete.add_argument("--name", required=True)

    def run(self, **options: Any) -> None:
        user = user_named(options["user"])
        match options["verb"]:
            case "create":
                created = tokens.create_token(
                    user,
                    options["name"],
                    clusters=options["cluster"],
                    read_only=options["read_only"],
                    expires_at=tokens.in_days(options["days"]),
                )
                self.stdout.write(created.key)
            case "list":
                for token in tokens.list_tokens(user):
                    expiry = f"{token.expiry:%Y-%m-%d %H:%M}" if token.expiry else "never"
                    self.stdout.write(f"{token.name}\t{token.token_key}...\texpires {expiry}")
            case _:
                tokens.delete_token(user, tokens.find_token_named(user, options["name"]).pk)
                self.stdout.write(f"Deleted the token {options['name']}.")
