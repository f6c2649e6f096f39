from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("controlplane", "0019_loop_failures")]

    operations = [
        migrations.AddField(
            model_name="operation",
            name="renewed_at",
            field=models.DateTimeField(null=True),
        ),
    ]
