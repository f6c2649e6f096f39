from django.db import migrations, models

KINDS = (
    "csidriver csinode csistoragecapacity daemonset deployment event job lease namespace node "
    "persistentvolume persistentvolumeclaim pod poddisruptionbudget priorityclass replicaset "
    "replicationcontroller resourcequota runtimeclass service statefulset storageclass "
    "volumeattachment"
).split()

# Rows of up to half a page are stored as they are: compressing a pod of 2 KB, once for its row and
# once for the log, took as long as everything else in the statement that creates it.
WHOLE = "ALTER TABLE cluster_{0} SET (toast_tuple_target = 4080)"
COMPRESSED = "ALTER TABLE cluster_{0} RESET (toast_tuple_target)"


class Migration(migrations.Migration):
    dependencies = [("cluster", "0006_admission_version")]

    operations = [
        *(
            migrations.AlterField(
                kind,
                "cluster",
                models.ForeignKey(
                    "cluster.cluster", models.CASCADE, db_constraint=False, db_index=False
                ),
            )
            for kind in KINDS
        ),
        migrations.RunSQL(
            [WHOLE.format(table) for table in ("pod", "change")],
            [COMPRESSED.format(table) for table in ("pod", "change")],
        ),
    ]
