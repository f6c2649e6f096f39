from django.db import migrations

from apps.cluster.partitions.division import keep_days_in_order


class Migration(migrations.Migration):

    dependencies = [
        ('people', '0006_openid_groups'),
    ]

    operations = [
        migrations.RunPython(
            keep_days_in_order("people_auditentry"), migrations.RunPython.noop, elidable=False
        ),
    ]
