from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("controlplane", "0026_opinions_in_other_orders")]

    operations = [
        migrations.AddField(
            model_name="seriescursor",
            name="next_at",
            field=models.DateTimeField(null=True),
        ),
    ]
