# The gateway as a container image; docs/how-to/container.md says how to run it.
#
#   podman build --format docker -t sayso .      (plain OCI images have no health check)
#   docker build -t sayso .
#
# BASE is any image with Python 3.11 or newer and its venv module.
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
RUN python3 -m venv /opt/sayso
COPY requirements.lock ./
RUN /opt/sayso/bin/python -m pip install --quiet --require-hashes --no-deps --no-compile \
    --requirement requirements.lock
COPY . ./
# What builds does not run: the image has no pip and no build backend.
RUN /opt/sayso/bin/python -m pip install --quiet --no-deps --no-build-isolation --no-compile . \
    && /opt/sayso/bin/python -m pip uninstall --quiet --yes \
        editables hatchling pathspec pluggy setuptools trove-classifiers pip \
    && /opt/sayso/bin/python -m compileall -q /opt/sayso/lib

FROM ${BASE}
# A fixed uid: files of a volume keep their owner from one image to the next.
RUN groupadd --gid 10001 sayso \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/sayso \
        --shell /usr/sbin/nologin sayso \
    && install -d -o sayso -g sayso -m 0700 /var/lib/sayso
COPY --from=build /opt/sayso /opt/sayso
# Settings and state are in the volume; everything else may be read-only, with a /tmp in memory.
ENV PATH=/opt/sayso/bin:/usr/local/bin:/usr/bin:/bin \
    SAYSO_HOME=/var/lib/sayso \
    LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
WORKDIR /var/lib/sayso
VOLUME /var/lib/sayso
STOPSIGNAL SIGTERM
# Exit code 1 where no gateway answers or a part of it fails: store, disk, channel, gate proof, lockdown.
HEALTHCHECK --interval=30s --timeout=15s --start-period=60s --retries=3 CMD ["sayso", "status"]
ENTRYPOINT ["sayso"]
CMD ["serve"]
