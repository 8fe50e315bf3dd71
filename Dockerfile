# The guard, and its demo, on Debian 12:
#   docker build -t cuckooguard .               the guard; give it a configuration at /etc/cuckooguard/cuckooguard.yaml
#   docker build -t cuckooguard-demo --target demo .
# (A Docker before 23 builds the demo for the first, too, unless DOCKER_BUILDKIT=1 is in the environment.)
# What `cuckooguard --version` and the image's labels say of its commit, which the context does not have:
#   docker build -t cuckooguard --build-arg COMMIT="$(git describe --always --dirty --abbrev=12 --exclude='*')" .
# The same base every time, by the digest that `docker image inspect --format '{{.RepoDigests}}' debian:bookworm-slim` prints once
# you have pulled it; none stands here, since it would keep Debian's security updates out until somebody changes it:
#   docker build -t cuckooguard --build-arg BASE=debian:bookworm-slim@sha256:... .
# Stop it with more time than its `drain_timeout` (10s) takes, after which Docker would kill it: docker run --stop-timeout 20.
# docker-compose.yml builds and runs both, and an application on Django beside them.
ARG BASE=debian:bookworm-slim
ARG COMMIT=unknown

FROM ${BASE} AS build
WORKDIR /cuckooguard
# By itself, so that a change of the code does not install everything again.
COPY dev ./
RUN ./dev setup
COPY CMakeLists.txt CMakePresets.json ./
COPY src src/
RUN ./dev build release cuckooguard

# Another commit of the same sources compiles one file.
FROM build AS program
ARG COMMIT
RUN CUCKOOGUARD_COMMIT="$COMMIT" ./dev build release cuckooguard \
  && DESTDIR=/installed cmake --install build/release --strip

FROM build AS demo-program
COPY tests tests/
COPY integration integration/
COPY demo demo/
RUN ./dev build release cuckooguard_demo && strip build/release/cuckooguard_demo

# What both programs need to run. libmariadb3 brings the plugins by which MySQL 8 and later log users in.
FROM ${BASE} AS runtime
RUN apt-get update -qq \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    ca-certificates libfmt9 libhiredis0.14 libmariadb3 libpq5 libprometheus-cpp-core1.0 librdkafka1 libsimdjson14 libsqlite3-0 libssl3 libsystemd0 libyaml-cpp0.7 libzstd1 zlib1g \
  && rm -rf /var/lib/apt/lists/* \
  && groupadd --system -K SYS_GID_MAX=65532 --gid 65532 cuckooguard \
  && useradd --system -K SYS_UID_MAX=65532 --uid 65532 --gid 65532 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin cuckooguard \
  && install -d -o cuckooguard -g cuckooguard -m 0700 /var/lib/cuckooguard
# By number, which Kubernetes can see not to be root's (runAsNonRoot).
USER 65532:65532

FROM runtime AS demo
COPY --from=demo-program /cuckooguard/build/release/cuckooguard_demo /usr/local/bin/
ENTRYPOINT ["cuckooguard_demo"]

# An application on Django, for the demo; it needs nothing of the guard's.
FROM ${BASE} AS framework
RUN apt-get update -qq \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-django-redis python3-mysqldb \
  && rm -rf /var/lib/apt/lists/*
COPY integration/frameworks/django_redis/attack.py integration/frameworks/django_redis/shop.py /usr/local/lib/shop/
USER 65532:65532
ENTRYPOINT ["python3", "-B", "/usr/local/lib/shop/attack.py"]

# The last stage is what `docker build .` makes.
FROM runtime AS guard
COPY LICENSE NOTICE packaging/debian/copyright /usr/share/doc/cuckooguard/
COPY --from=program /installed/usr/bin/cuckooguard /usr/local/bin/
VOLUME /var/lib/cuckooguard
EXPOSE 6380
# The guard's own health: that of Redis is not its matter, and a restart would not mend it. Where `listen` is another port, or has
# `tls`, say so with docker run --health-cmd: `cuckooguard ping --alive --tls --cacert FILE ADDRESS`, with `client_ca` also --cert and --key.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["cuckooguard", "ping", "--alive", "127.0.0.1:6380"]
ENTRYPOINT ["cuckooguard"]
CMD ["--config", "/etc/cuckooguard/cuckooguard.yaml"]
ARG COMMIT
LABEL org.opencontainers.image.title="Cuckoo Guard" \
  org.opencontainers.image.description="Keeps reads of rows that do not exist away from Redis and the database behind it" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="0.1.0" \
  org.opencontainers.image.revision="${COMMIT}"
