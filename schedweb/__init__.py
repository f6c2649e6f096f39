"""The wiring of schedweb: settings, URLs, Celery, the web front and the embedded services.

Nothing here knows anything about scheduling, and no app imports it.
"""
