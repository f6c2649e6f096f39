from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("controlplane", "0009_find_by_request")]

    operations = [
        migrations.RenameModel("SchedulerProfile", "ConfigurationRevision"),
        migrations.AlterModelOptions(
            "configurationrevision",
            {"verbose_name": "scheduler profiles", "verbose_name_plural": "scheduler profiles"},
        ),
    ]
