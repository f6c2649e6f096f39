"""Tokens of earlier versions remain valid; their text is replaced by its digest.

Until now each user administered the site and every cluster, and keeps that.
"""

from typing import Any

from django.db import migrations
from django.db.migrations.operations import RunPython

_HASH = """
    INSERT INTO people_accesstoken (token_key, digest, created, name, read_only, user_id)
    SELECT left(key, 8), encode(sha512(convert_to(key, 'UTF8')), 'hex'), created, 'token', false,
        user_id
    FROM authtoken_token
"""


def take_over(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("UPDATE auth_user SET is_superuser = true, is_staff = true")
        cursor.execute("SELECT to_regclass('authtoken_token')")
        if cursor.fetchone() == (None,):
            return
        cursor.execute(_HASH)
        cursor.execute("DROP TABLE authtoken_token")


class Migration(migrations.Migration):
    dependencies = [("people", "0001_access_tokens")]

    operations = [RunPython(take_over, RunPython.noop)]
