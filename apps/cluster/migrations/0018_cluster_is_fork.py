from django.db import migrations, models

MARK = """
    UPDATE cluster_cluster c SET is_fork = true
    WHERE EXISTS (SELECT 1 FROM cluster_forkpoint f WHERE f.cluster_id = c.id)
"""


class Migration(migrations.Migration):
    dependencies = [("cluster", "0017_events_last_seen_first")]

    operations = [
        migrations.AddField("cluster", "is_fork", models.BooleanField(default=False)),
        migrations.RunSQL(MARK, migrations.RunSQL.noop),
    ]
