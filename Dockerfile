# The live service: docs/guides/container.md says how to run it.
#
# The pinned versions of constraints.txt are for this Python.
FROM python:3.11-slim AS build

# The CPU build of torch: the default one brings gigabytes of CUDA libraries.
ENV PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/if2net
WORKDIR /source
# The dependencies are a layer of their own, which a change of the code leaves as it is.
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY if2net/version.py if2net/version.py
RUN touch if2net/__init__.py \
    && /opt/if2net/bin/pip install --constraint constraints.txt '.[serve,images,tables]' \
    && /opt/if2net/bin/pip uninstall --yes if2net
COPY if2net if2net
RUN /opt/if2net/bin/pip install --no-deps .

FROM python:3.11-slim
LABEL org.opencontainers.image.title="if2net" \
      org.opencontainers.image.description="A classifier that keeps learning new classes, as a service" \
      org.opencontainers.image.licenses="Apache-2.0"
# A user without a name, a shell or a home folder. The number lets Kubernetes see that it is not root.
RUN install --directory --owner=10001 --group=10001 --mode=0750 /models
COPY --from=build /opt/if2net /opt/if2net
# The root file system may be read-only: pip has compiled the bytecode, and whatever needs a home folder gets /tmp.
ENV PATH=/opt/if2net/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp
USER 10001:10001
VOLUME /models
EXPOSE 8000
# A start reads the model and replays its log. After that, a server that does not answer is unhealthy.
HEALTHCHECK --start-period=60s --interval=15s --timeout=5s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/v2/health/ready', timeout=4)"]
# SIGTERM lets the service write a snapshot before it ends.
STOPSIGNAL SIGTERM
ENTRYPOINT ["if2net", "serve"]
CMD ["/models/model.if2", "--host", "0.0.0.0", "--port", "8000"]
