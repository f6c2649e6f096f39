"""manage.py user and manage.py token."""

from __future__ import annotations

import sys
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from apps.people.authentication import InvalidCredentials, authenticate
from apps.people.models import AuditEntry
from tests.people.test_accounts import use_link

pytestmark = pytest.mark.django_db(transaction=True)


def run(*words: str) -> str:
    output = StringIO()
    call_command(*words, stdout=output, stderr=StringIO())
    return output.getvalue().strip()


def test_users_and_tokens_are_managed_by_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("through the glass\n"))
    run("user", "create", "alice", "--site-admin", "--email", "alice@example.test")
    alice = User.objects.get()
    assert alice.is_superuser and alice.check_password("through the glass")
    key = run("token", "create", "--user", "alice", "--name", "ci", "--days", "7", "--read-only")
    assert authenticate({"authorization": f"Bearer {key}"}) == alice
    assert key not in run("token", "list", "--user", "alice")
    with pytest.raises(CommandError, match="already exists"):
        run("token", "create", "--user", "alice", "--name", "ci")
    run("token", "delete", "--user", "alice", "--name", "ci")
    with pytest.raises(InvalidCredentials):
        authenticate({"authorization": f"Bearer {key}"})
    link = run("user", "invite", "bob")
    use_link(link[link.index("/set-password/") :])
    assert User.objects.get(username="bob").has_usable_password()
    for verb in ("add-site-admin", "deactivate", "activate", "remove-site-admin", "sign-out"):
        run("user", verb, "bob")
    assert "/set-password/" in run("user", "reset", "bob")
    with pytest.raises(CommandError, match="last active site admin"):
        run("user", "deactivate", "alice")
    with pytest.raises(CommandError, match="not found"):
        run("user", "reset", "nobody")
    assert [line.split("\t")[:2] for line in run("user", "list").splitlines()] == [
        ["alice", "active, site admin"],
        ["bob", "active"],
    ]
    by_command = AuditEntry.objects.filter(user="command line")
    assert by_command.filter(action="user-deactivated", target="bob").count() == 1


def test_a_weak_password_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("12345678\n"))
    with pytest.raises(CommandError, match="too common"):
        run("user", "create", "alice")
    assert not User.objects.exists()
