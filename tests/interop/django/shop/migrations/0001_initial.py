from django.db import migrations, models


class Migration(migrations.Migration):
    # a project's own migrations may stand on Penstock's schema
    dependencies = [("penstock", "0001_schema")]
    operations = [
        migrations.CreateModel(
            "Order",
            [("id", models.AutoField(primary_key=True, serialize=False)), ("name", models.CharField(max_length=100))],
        )
    ]
