from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("controlplane", "0027_days_in_order")]

    operations = [
        migrations.AddField(
            model_name="seriescursor",
            name="next_at",
            field=models.DateTimeField(null=True),
        ),
    ]
