from django.db import migrations

from apps.cluster.partitions.division import divide_by_days


class Migration(migrations.Migration):

    dependencies = [
        ('controlplane', '0001_initial'),
    ]

    operations = [
        migrations.RunPython(
            divide_by_days('controlplane_schedulingdecision'),
            migrations.RunPython.noop,
            elidable=False,
        ),
    ]
