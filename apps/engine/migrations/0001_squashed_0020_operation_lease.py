"""The migrations up to 0020 as one, for a new database: they would render all models 80 times."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
import uuid
from django.db import migrations, models

from apps.cluster.partitions.division import divide_by_days


class Migration(migrations.Migration):

    replaces = [
        ('controlplane', '0001_initial'),
        ('controlplane', '0002_ledger_by_days'),
        ('controlplane', '0003_find_decisions'),
        ('controlplane', '0004_operations'),
        ('controlplane', '0005_metrics'),
        ('controlplane', '0006_queue_history'),
        ('controlplane', '0007_retention'),
        ('controlplane', '0008_find_by_namespace'),
        ('controlplane', '0009_find_by_request'),
        ('controlplane', '0010_configuration_revision'),
        ('controlplane', '0011_slim_indexes'),
        ('controlplane', '0012_revision_names_and_drafts'),
        ('controlplane', '0013_series'),
        ('controlplane', '0014_ledger_workload'),
        ('controlplane', '0015_saved_views'),
        ('controlplane', '0016_webhooks'),
        ('controlplane', '0017_second_opinion'),
        ('controlplane', '0018_permit_waits'),
        ('controlplane', '0019_loop_failures'),
        ('controlplane', '0020_operation_lease'),
    ]

    initial = True

    dependencies = [
        ('cluster', '0011_beta_node_labels'),
    ]

    operations = [
        migrations.CreateModel(
            name='Heartbeat',
            fields=[
                ('name', models.CharField(max_length=100, primary_key=True, serialize=False)),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='LoopLease',
            fields=[
                ('cluster', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='cluster.cluster')),
                ('holder', models.CharField(blank=True, max_length=100)),
                ('epoch', models.BigIntegerField(default=0)),
                ('expires_at', models.DateTimeField(null=True)),
                ('consumed_version', models.BigIntegerField(default=0)),
                ('profile_revision', models.PositiveIntegerField(default=1)),
                ('move_request_cycle', models.BigIntegerField(default=0)),
                ('scheduling_cycle', models.BigIntegerField(default=0)),
                ('failure', models.TextField(db_default='', default='')),
                ('failures', models.PositiveIntegerField(db_default=0, default=0)),
            ],
        ),
        migrations.CreateModel(
            name='NodeTable',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.BinaryField(max_length=32)),
                ('names', models.BinaryField()),
                ('cluster', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='cluster.cluster')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'digest'), name='unique_node_table')],
            },
        ),
        migrations.CreateModel(
            name='QueueEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pod_uid', models.UUIDField()),
                ('namespace', models.CharField(max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('queue', models.CharField(choices=[('active', 'activeQ'), ('backoff', 'backoffQ'), ('unschedulable', 'unschedulable'), ('gated', 'gated')], max_length=16)),
                ('attempts', models.IntegerField(default=0)),
                ('timestamp', models.DateTimeField()),
                ('backoff_expiry', models.DateTimeField(null=True)),
                ('unschedulable_plugins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), default=list, size=None)),
                ('pending_plugins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), default=list, size=None)),
                ('gated_by', models.CharField(blank=True, max_length=100)),
                ('nominated_node', models.CharField(blank=True, max_length=253)),
                ('state', models.JSONField()),
                ('cluster', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='cluster.cluster')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('queue', 'backoff')), fields=['backoff_expiry'], name='queue_backoff'), models.Index(fields=['cluster', 'queue', 'timestamp'], name='queue_order')],
                'constraints': [models.UniqueConstraint(fields=('cluster', 'pod_uid'), name='unique_queue_entry')],
            },
        ),
        migrations.CreateModel(
            name='SchedulingDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pod_uid', models.UUIDField()),
                ('namespace', models.CharField(max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('attempt', models.PositiveIntegerField()),
                ('at', models.DateTimeField()),
                ('profile_revision', models.PositiveIntegerField()),
                ('scheduler_name', models.CharField(max_length=253)),
                ('result', models.CharField(choices=[('scheduled', 'Scheduled'), ('unschedulable', 'Unschedulable'), ('error', 'Error')], max_length=16)),
                ('node', models.CharField(blank=True, max_length=253)),
                ('nominated_node', models.CharField(blank=True, max_length=253)),
                ('message', models.TextField(blank=True)),
                ('post_filter_message', models.TextField(blank=True, default='')),
                ('unschedulable_plugins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), default=list, size=None)),
                ('nodes', models.PositiveIntegerField()),
                ('feasible_nodes', models.PositiveIntegerField()),
                ('tied_nodes', models.PositiveIntegerField()),
                ('total_score', models.BigIntegerField(null=True)),
                ('cluster_version', models.BigIntegerField()),
                ('sequence', models.PositiveIntegerField()),
                ('duration_us', models.PositiveIntegerField()),
                ('request_id', models.CharField(blank=True, max_length=64)),
                ('columns', models.BinaryField()),
                ('cluster', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='cluster.cluster')),
                ('node_table', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='controlplane.nodetable')),
                ('reasons', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                ('victims', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=317), default=list, size=None)),
                ('workload', models.CharField(blank=True, db_default='', default='', max_length=317)),
            ],
            options={
                'indexes': [django.contrib.postgres.indexes.GinIndex(condition=models.Q(('unschedulable_plugins', []), _negated=True), fields=['unschedulable_plugins', 'reasons', 'victims'], name='decision_rejections'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector('message', 'post_filter_message', config='simple'), condition=models.Q(('message', ''), _negated=True), name='decision_words'), models.Index(fields=['cluster', 'id'], include=('node_table',), name='decision_newest'), models.Index(fields=['pod_uid', 'id'], name='decision_of_pod'), models.Index(fields=['cluster', 'name', 'id'], name='decision_of_name_prefix', opclasses=['int8_ops', 'varchar_pattern_ops', 'int8_ops']), models.Index(condition=models.Q(('request_id', ''), _negated=True), fields=['request_id', 'id'], name='decision_request'), models.Index(fields=['cluster', 'namespace', 'id'], name='decision_namespace'), models.Index(condition=models.Q(('node', ''), _negated=True), fields=['cluster', 'node', 'id'], name='decision_on_some_node'), models.Index(fields=['cluster', 'at'], name='decision_time'), models.Index(fields=['cluster', 'result', 'id'], name='decision_result'), models.Index(fields=['cluster', 'profile_revision', 'id'], name='decision_revision'), models.Index(condition=models.Q(('scheduler_name', 'default-scheduler'), _negated=True), fields=['cluster', 'scheduler_name', 'id'], name='decision_other_profile'), models.Index(condition=models.Q(('attempt__gt', 1)), fields=['cluster', 'attempt', 'id'], name='decision_retries'), models.Index(condition=models.Q(('workload', ''), _negated=True), fields=['cluster', 'workload', 'id'], name='decision_workload')],
            },
        ),
        migrations.CreateModel(
            name='Operation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=32)),
                ('title', models.CharField(max_length=300)),
                ('arguments', models.JSONField(default=dict)),
                ('payload', models.BinaryField(null=True)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('succeeded', 'Succeeded'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='waiting', max_length=16)),
                ('done', models.BigIntegerField(default=0)),
                ('total', models.BigIntegerField(default=0)),
                ('message', models.TextField(blank=True)),
                ('cause', models.TextField(blank=True)),
                ('output', models.BinaryField(null=True)),
                ('output_name', models.CharField(blank=True, max_length=100)),
                ('cancel_requested', models.BooleanField(default=False)),
                ('worker', models.CharField(blank=True, max_length=100)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('user', models.CharField(max_length=150)),
                ('request_id', models.CharField(blank=True, max_length=64)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('cluster', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, to='cluster.cluster')),
                ('renewed_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__in', ('waiting', 'running'))), fields=['id'], name='operation_unfinished'), models.Index(fields=['cluster', '-id'], name='operation_of_cluster')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('kind', 'drain'), ('state__in', ('waiting', 'running'))), fields=('cluster',), name='one_drain_a_cluster')],
            },
        ),
        migrations.CreateModel(
            name='SchedulerMetrics',
            fields=[
                ('cluster', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='cluster.cluster')),
                ('series', models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name='QueueActivation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pod_uid', models.UUIDField()),
                ('user', models.CharField(max_length=150)),
                ('request_id', models.CharField(blank=True, max_length=64)),
                ('cluster', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='cluster.cluster')),
            ],
            options={
                'indexes': [models.Index(fields=['cluster', 'id'], name='activation_of_cluster')],
            },
        ),
        migrations.CreateModel(
            name='QueueMove',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pod_uid', models.UUIDField()),
                ('namespace', models.CharField(max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('at', models.DateTimeField()),
                ('source', models.CharField(blank=True, choices=[('', 'outside'), ('active', 'activeQ'), ('backoff', 'backoffQ'), ('unschedulable', 'unschedulable'), ('gated', 'gated'), ('in_flight', 'in flight')], max_length=16)),
                ('target', models.CharField(blank=True, choices=[('', 'outside'), ('active', 'activeQ'), ('backoff', 'backoffQ'), ('unschedulable', 'unschedulable'), ('gated', 'gated'), ('in_flight', 'in flight')], max_length=16)),
                ('event', models.CharField(max_length=100)),
                ('plugin', models.CharField(blank=True, max_length=100)),
                ('hint', models.CharField(blank=True, max_length=8)),
                ('reason', models.TextField(blank=True)),
                ('attempt', models.PositiveIntegerField()),
                ('cluster', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='cluster.cluster')),
            ],
            options={
                'indexes': [models.Index(fields=['cluster', 'id'], name='move_newest'), models.Index(fields=['pod_uid', 'id'], name='move_of_pod'), models.Index(fields=['cluster', 'name', 'id'], name='move_of_name'), models.Index(condition=models.Q(('event__in', ('Done', 'Pop', 'UnschedulablePodAdd')), _negated=True), fields=['cluster', 'event', 'id'], name='move_by_event'), models.Index(condition=models.Q(('plugin', ''), _negated=True), fields=['cluster', 'plugin', 'id'], name='move_by_plugin')],
            },
        ),
        migrations.CreateModel(
            name='PastCluster',
            fields=[
                ('id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('uid', models.UUIDField()),
                ('name', models.CharField(max_length=63)),
                ('created_at', models.DateTimeField()),
                ('deleted_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('user', models.CharField(blank=True, max_length=150)),
                ('tie_break', models.CharField(max_length=16)),
                ('seed', models.BigIntegerField()),
                ('resource_version', models.BigIntegerField()),
            ],
            options={
                'indexes': [models.Index(fields=['name', '-deleted_at'], name='past_cluster_name')],
            },
        ),
        migrations.CreateModel(
            name='VersionMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('version', models.BigIntegerField()),
                ('cluster', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='cluster.cluster')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'day'), name='unique_version_mark')],
            },
        ),
        migrations.CreateModel(
            name='SchedulerProfile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.PositiveIntegerField()),
                ('configuration', models.TextField()),
                ('legacy', models.BooleanField(default=False)),
                ('active', models.BooleanField(default=False)),
                ('note', models.CharField(blank=True, max_length=200)),
                ('user', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('cluster', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='cluster.cluster')),
                ('name', models.CharField(blank=True, max_length=63)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'revision'), name='unique_revision'), models.UniqueConstraint(condition=models.Q(('active', True)), fields=('cluster',), name='one_active_revision'), models.UniqueConstraint(condition=models.Q(('name', ''), _negated=True), fields=('cluster', 'name'), name='unique_revision_name')],
                'verbose_name': 'scheduler profiles',
                'verbose_name_plural': 'scheduler profiles',
            },
        ),
        # its sequence keeps the name that backups have
        migrations.RenameModel('SchedulerProfile', 'ConfigurationRevision'),
        migrations.CreateModel(
            name='ConfigurationDraft',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=63)),
                ('configuration', models.TextField()),
                ('legacy', models.BooleanField(default=False)),
                ('note', models.CharField(blank=True, max_length=200)),
                ('user', models.CharField(max_length=150)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('cluster', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='cluster.cluster')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'name'), name='unique_draft_name')],
            },
        ),
        migrations.CreateModel(
            name='SeriesCursor',
            fields=[
                ('cluster', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='cluster.cluster')),
                ('sampled_at', models.DateTimeField()),
                ('version', models.BigIntegerField(default=-1)),
                ('metrics_xid', models.BigIntegerField(default=0)),
                ('decision_id', models.BigIntegerField(default=0)),
                ('move_id', models.BigIntegerField(default=0)),
                ('baseline', models.BinaryField(default=b'')),
            ],
        ),
        migrations.CreateModel(
            name='SeriesBucket',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('resolution', models.PositiveIntegerField()),
                ('start', models.DateTimeField()),
                ('until', models.DateTimeField(null=True)),
                ('figures', models.BinaryField()),
                ('nodes', models.BinaryField(null=True)),
                ('cluster', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='cluster.cluster')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'resolution', 'start'), name='unique_series_bucket')],
            },
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.CharField(max_length=150)),
                ('name', models.CharField(max_length=100)),
                ('query', models.JSONField(default=dict)),
                ('shared', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('cluster', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='cluster.cluster')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'user', 'name'), name='unique_saved_view')],
            },
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(max_length=2000)),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), size=None)),
                ('secret', models.CharField(max_length=100)),
                ('enabled', models.BooleanField(default=True)),
                ('user', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('decision_position', models.BigIntegerField(default=0)),
                ('collected_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('cluster_paused', models.BooleanField(default=False)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='cluster.cluster')),
            ],
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4)),
                ('events', models.JSONField()),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('succeeded', 'Succeeded'), ('failed', 'Failed')], default='waiting', max_length=16)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('next_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(null=True)),
                ('status_code', models.PositiveSmallIntegerField(null=True)),
                ('duration_ms', models.PositiveIntegerField(null=True)),
                ('answer', models.TextField(blank=True)),
                ('cluster', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='cluster.cluster')),
                ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='controlplane.webhook')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['next_at'], name='delivery_waiting')],
            },
        ),
        migrations.CreateModel(
            name='SecondOpinion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.BigIntegerField()),
                ('at', models.DateTimeField()),
                ('recorded_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('pod_uid', models.UUIDField()),
                ('namespace', models.CharField(max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('user', models.CharField(blank=True, max_length=150)),
                ('profile_revision', models.PositiveIntegerField()),
                ('scheduler_name', models.CharField(max_length=253)),
                ('verdict', models.CharField(choices=[('same-node', 'same node'), ('tie', 'node with the same score'), ('other-node', 'another node has more points'), ('node-rejected', 'the node is rejected'), ('unschedulable', 'no node is feasible'), ('not-sampled', 'not sampled')], max_length=16)),
                ('guest_node', models.CharField(max_length=253)),
                ('node', models.CharField(blank=True, max_length=253)),
                ('message', models.TextField(blank=True)),
                ('comparison', models.JSONField(null=True)),
                ('nodes', models.PositiveIntegerField()),
                ('feasible_nodes', models.PositiveIntegerField()),
                ('tied_nodes', models.PositiveIntegerField()),
                ('cluster', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='cluster.cluster')),
            ],
            options={
                'indexes': [models.Index(fields=['cluster', 'verdict', '-id'], name='opinion_by_verdict')],
                'constraints': [models.UniqueConstraint(fields=('cluster', 'version'), name='one_opinion_a_binding')],
            },
        ),
        migrations.CreateModel(
            name='PermitWait',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pod_uid', models.UUIDField()),
                ('node', models.CharField(max_length=253)),
                ('plugins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), size=None)),
                ('since', models.DateTimeField()),
                ('deadline', models.DateTimeField()),
                ('cluster', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='cluster.cluster')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'pod_uid'), name='unique_permit_wait')],
            },
        ),
        *(
            migrations.RunPython(divide_by_days(table), migrations.RunPython.noop, elidable=False)
            for table in ('controlplane_schedulingdecision', 'controlplane_queuemove')
        ),
    ]
