"""The secrets of webhooks are encrypted with the key of the site."""

from typing import Any

from django.db import migrations

from apps.engine.encrypted import EncryptedField, encrypt


def encrypt_secrets(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT id, secret FROM controlplane_webhook")
        for number, secret in cursor.fetchall():
            cursor.execute(
                "UPDATE controlplane_webhook SET secret = %s WHERE id = %s",
                [encrypt(secret), number],
            )


class Migration(migrations.Migration):
    dependencies = [("controlplane", "0024_group_and_device_gates")]

    operations = [
        migrations.AlterField(model_name="webhook", name="secret", field=EncryptedField()),
        migrations.RunPython(encrypt_secrets),
    ]
