from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("cluster", "0018_cluster_is_fork")]

    operations = [
        migrations.AddField("cluster", "has_default_policy", models.BooleanField(default=False)),
    ]
