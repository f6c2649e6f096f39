from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("cluster", "0005_retention")]

    operations = [
        migrations.AddField("cluster", "admission_version", models.BigIntegerField(default=0)),
    ]
