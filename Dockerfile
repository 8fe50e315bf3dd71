# The guard, and its demo, on Debian 12:
#   docker build -t cuckooguard .               the guard; give it a configuration at /etc/cuckooguard/cuckooguard.yaml
#   docker build -t cuckooguard-demo --target demo .
# Stop it with more time than its `drain_timeout` (10s) takes, after which Docker would kill it: docker run --stop-timeout 20.
# docker-compose.yml builds and runs both, and an application on Django beside them.

FROM debian:bookworm-slim AS build
WORKDIR /cuckooguard
# By itself, so that a change of the code does not install everything again.
COPY dev ./
RUN ./dev setup
COPY . .
RUN ./dev build release cuckooguard cuckooguard_demo

# What both programs need to run. libmariadb3 brings the plugins by which MySQL 8 and later log users in.
FROM debian:bookworm-slim AS runtime
RUN apt-get update -qq \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    ca-certificates libfmt9 libhiredis0.14 libmariadb3 libprometheus-cpp-core1.0 libspdlog1.10 libsqlite3-0 libssl3 libsystemd0 libyaml-cpp0.7 libzstd1 zlib1g \
  && rm -rf /var/lib/apt/lists/* \
  && groupadd --system -K SYS_GID_MAX=65532 --gid 65532 cuckooguard \
  && useradd --system -K SYS_UID_MAX=65532 --uid 65532 --gid 65532 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin cuckooguard \
  && install -d -o cuckooguard -g cuckooguard -m 0700 /var/lib/cuckooguard

FROM runtime AS demo
COPY --from=build /cuckooguard/build/release/cuckooguard_demo /usr/local/bin/
USER cuckooguard
ENTRYPOINT ["cuckooguard_demo"]

# An application on Django, for the demo; it needs nothing of the guard's.
FROM debian:bookworm-slim AS framework
RUN apt-get update -qq \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-django-redis python3-mysqldb \
  && rm -rf /var/lib/apt/lists/*
COPY integration/frameworks/django_redis/attack.py integration/frameworks/django_redis/shop.py /usr/local/lib/shop/
USER 65532:65532
ENTRYPOINT ["python3", "-B", "/usr/local/lib/shop/attack.py"]

# The last stage is what `docker build .` makes.
FROM runtime AS guard
COPY LICENSE NOTICE packaging/debian/copyright /usr/share/doc/cuckooguard/
COPY --from=build /cuckooguard/build/release/cuckooguard /usr/local/bin/
USER cuckooguard
VOLUME /var/lib/cuckooguard
EXPOSE 6380
# The guard forwards PING, so that it is well as long as Redis is. Where `listen` is another port, or has `tls`, say so with
# docker run --health-cmd: `cuckooguard ping --tls --cacert FILE ADDRESS`, with `client_ca` also --cert and --key.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["cuckooguard", "ping", "127.0.0.1:6380"]
ENTRYPOINT ["cuckooguard"]
CMD ["--config", "/etc/cuckooguard/cuckooguard.yaml"]
