"""Settings of the test run: the product's own, in a data folder that is thrown away."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

DATA = tempfile.mkdtemp(prefix="schedweb-tests-")
os.chmod(DATA, 0o755)
atexit.register(shutil.rmtree, DATA, ignore_errors=True)
for name in [name for name in os.environ if name.startswith("SCHEDWEB_")]:
    del os.environ[name]
os.environ["SCHEDWEB_DATA"] = DATA
os.environ["SCHEDWEB_SECRET_KEY"] = "nobody's secret, just long enough to keep Django from warning"
# A test's connection must see the test's transaction.
os.environ["SCHEDWEB_CONNECTION_POOL"] = "0"

from schedweb.settings import *  # noqa: E402, F403

# A test's transaction lasts as long as the test.
DATABASES["default"]["OPTIONS"]["options"] = ""  # noqa: F405

# Cheap to compute; the tests make many users.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Tests run the loop themselves; those about the broker start the real thing.
CELERY_BROKER_URL = "memory://"
CELERY_BROKER_TRANSPORT = None
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {}
