"""The wiring of schedweb: settings, URLs, Celery, the web front and the embedded services.

Contains no scheduling code, and no app imports it.
"""

#: The release; pyproject.toml has the same.
VERSION = "1.0.0"
