from django.db import migrations

from apps.cluster.partitions.division import keep_days_in_order


class Migration(migrations.Migration):

    dependencies = [
        ('controlplane', '0026_opinions_in_other_orders'),
    ]

    operations = [
        migrations.RunPython(
            keep_days_in_order("controlplane_schedulingdecision"), migrations.RunPython.noop, elidable=False
        ),
        migrations.RunPython(
            keep_days_in_order("controlplane_queuemove"), migrations.RunPython.noop, elidable=False
        ),
    ]
