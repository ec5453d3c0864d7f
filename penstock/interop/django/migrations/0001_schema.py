from typing import ClassVar

from django.db import migrations, models

from penstock.interop.django.models import PERMISSIONS, Job, view_name
from penstock.interop.django.schema import make_schema


class Migration(migrations.Migration):
    # by a connection of its own, which would wait for this one's locks
    atomic = False

    dependencies: ClassVar[list[tuple[str, str]]] = []
    operations: ClassVar = [
        migrations.RunPython(make_schema, migrations.RunPython.noop),
        # the view is the schema's own, which says what columns it has: to Django the model never changes
        migrations.CreateModel(
            name="Job",
            fields=[(field.name, field.clone()) for field in Job._meta.get_fields() if isinstance(field, models.Field)],
            options={
                "managed": False,
                "db_table": view_name(),
                "default_permissions": ("view",),
                "permissions": PERMISSIONS,
            },
        ),
    ]
