"""manage.py user: create, invite, reset, activate, deactivate and list users."""

from __future__ import annotations

import getpass
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from apps.administration.management.command import ControlPlaneCommand
from apps.people import accounts, sessions, throttling
from apps.people.mail import send_link


class Command(ControlPlaneCommand):
    help = "Create, invite, reset, activate, deactivate and list the users of this site."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="list all users")
        for verb, about in (
            ("create", "create a user; the password is read from standard input"),
            ("invite", "create a user, and print a link with which the user sets a password"),
        ):
            new = verbs.add_parser(verb, help=about)
            new.add_argument("name")
            new.add_argument("--email", default="")
            new.add_argument("--site-admin", action="store_true")
        for verb, about in (
            ("reset", "print a link with which the user sets a new password"),
            ("activate", "let the user sign in again"),
            ("deactivate", "sign the user out, and reject the user's tokens"),
            ("add-site-admin", "let the user administer the site"),
            ("remove-site-admin", "the user administers the site no longer"),
            ("sign-out", "end all sessions of the user"),
            ("unblock", "allow sign-ins after too many failed ones"),
        ):
            verbs.add_parser(verb, help=about).add_argument("name")

    def run(self, **options: Any) -> None:
        verb = options["verb"]
        if verb == "list":
            self._list()
        elif verb in ("create", "invite"):
            self._add(verb, options)
        else:
            self._change(verb, options["name"])

    def _list(self) -> None:
        for user in accounts.list_users():
            words = ["active" if user.is_active else "inactive"]
            words += ["site admin"] if user.is_superuser else []
            last = f"{user.last_login:%Y-%m-%d %H:%M}" if user.last_login else "never signed in"
            self.stdout.write(f"{user.username}\t{', '.join(words)}\t{last}\t{user.email}".rstrip())

    def _add(self, verb: str, options: dict[str, Any]) -> None:
        about = {"email": options["email"], "site_admin": options["site_admin"]}
        if verb == "create":
            accounts.create_user(options["name"], _read_password(), **about)
            self.stdout.write(f"Created the user {options['name']}.")
        else:
            self._print(accounts.invite_user(options["name"], **about))

    def _change(self, verb: str, name: str) -> None:
        user = accounts.user_named(name)
        match verb:
            case "reset":
                self._print(accounts.reset_user(user))
                return
            case "activate" | "deactivate":
                accounts.set_active(user, verb == "activate")
            case "sign-out":
                sessions.end_sessions(user)
            case "unblock":
                throttling.unblock(name)
            case _:
                accounts.set_site_admin(user, verb == "add-site-admin")
        self.stdout.write(f"Done: {verb} {name}.")

    def _print(self, link: accounts.PasswordLink) -> None:
        url = settings.PUBLIC_HTTPS_URL + link.path
        self.stdout.write(url)
        sent = " It was sent by mail." if send_link(link, url) else ""
        until = f"{link.expires_at:%Y-%m-%d %H:%M} UTC"
        self.stderr.write(f"The link works once, until {until}.{sent}")


def _read_password() -> str:
    if sys.stdin.isatty():
        return getpass.getpass("Password: ")
    return sys.stdin.readline().rstrip("\n")
