# Until now every user administered every cluster. The active users of this day still do; new users
# see the clusters of this day as viewers.

from django.db import migrations

ACCESS = """
    INSERT INTO cluster_clusteraccess (cluster_id, name, visibility)
    SELECT id, name, 'everyone' FROM cluster_cluster
    UNION ALL SELECT id, name, 'everyone' FROM controlplane_pastcluster
"""
MEMBERS = """
    INSERT INTO cluster_membership (cluster_id, user_id, role, added_at, added_by)
    SELECT a.cluster_id, u.id, 3, now(), 'upgrade'
    FROM cluster_clusteraccess a CROSS JOIN auth_user u WHERE u.is_active AND NOT u.is_superuser
"""


class Migration(migrations.Migration):

    dependencies = [
        ('cluster', '0013_roles'),
        ('controlplane', '0020_operation_lease'),
    ]

    operations = [
        migrations.RunSQL([ACCESS, MEMBERS], migrations.RunSQL.noop),
    ]
