from django.db import migrations, models
import django.db.models.deletion

COLUMNS = (
    'version, type, kind, namespace, name, uid, "object", previous_version, at, "user", request_id'
)
SHARED = ", ".join(f"c.{each.strip()}" for each in COLUMNS.split(","))
CREATE = f"""
    CREATE VIEW cluster_history AS
    SELECT id, cluster_id, {COLUMNS} FROM cluster_change
    UNION ALL
    SELECT c.id, f.cluster_id, {SHARED} FROM cluster_forkpoint f
    JOIN cluster_change c ON c.cluster_id = f.ancestor AND c.version <= f.version
    WHERE f.shared
"""


class Migration(migrations.Migration):

    dependencies = [
        ('cluster', '0014_members_of_existing_clusters'),
    ]

    operations = [
        migrations.CreateModel(
            name='ForkPoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ancestor', models.BigIntegerField(db_index=True)),
                ('name', models.CharField(max_length=63)),
                ('version', models.BigIntegerField()),
                ('decision', models.BigIntegerField(null=True)),
                ('at', models.DateTimeField()),
                ('shared', models.BooleanField(default=True)),
                ('cluster', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='cluster.cluster')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'ancestor'), name='unique_fork_point')],
            },
        ),
        migrations.CreateModel(
            name='HistoricChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.BigIntegerField()),
                ('type', models.CharField(choices=[('ADDED', 'Added'), ('MODIFIED', 'Modified'), ('DELETED', 'Deleted')], max_length=8)),
                ('kind', models.CharField(max_length=253)),
                ('namespace', models.CharField(blank=True, max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('uid', models.UUIDField()),
                ('object', models.JSONField()),
                ('previous_version', models.BigIntegerField(null=True)),
                ('at', models.DateTimeField()),
                ('user', models.CharField(max_length=150)),
                ('request_id', models.CharField(blank=True, max_length=64)),
            ],
            options={
                'db_table': 'cluster_history',
                'managed': False,
            },
        ),
        migrations.RunSQL(CREATE, 'DROP VIEW cluster_history'),
    ]
