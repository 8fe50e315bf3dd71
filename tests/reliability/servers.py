"""Real servers for `./dev reliability`: Redis, the guard, HAProxy and twemproxy in front of it, MariaDB; what a process holds, and a cgroup
that bounds it."""

import argparse
import contextlib
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DEMO = pathlib.Path(__file__).resolve().parents[2] / "demo"
sys.path.insert(0, str(DEMO))
from filters import Client, free_port, is_listening  # noqa: E402

MIB = 1 << 20
PROXIES = ("guard", "haproxy", "twemproxy")
PROGRAMS = {"haproxy": "/usr/sbin/haproxy", "twemproxy": "/usr/sbin/nutcracker"}
FIRST_ROW = 10**12  # ids of rows; those that begin with another digit are nobody's


def haproxy_configuration(redis_port, port, most_clients, more=""):
    """`more`: lines of its section `global`."""
    return f"""global
  maxconn {most_clients}
  nbthread 1
{more}defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen redis
  bind 127.0.0.1:{port}
  server redis 127.0.0.1:{redis_port}
"""


def twemproxy_configuration(redis_port, port):
    return f"""redis:
  listen: 127.0.0.1:{port}
  hash: fnv1a_64
  distribution: ketama
  redis: true
  backlog: 1024
  auto_eject_hosts: false
  servers:
   - 127.0.0.1:{redis_port}:1
"""


def arguments(*more):
    """Of each part: the guard's program, a seed, and the proxies to look at. (name, default) of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("guard")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="guard, haproxy or twemproxy")
    for name, default in more:
        parser.add_argument("--" + name, type=type(default), default=default)
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # servers end, too
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    present = [name for name in PROXIES if name not in PROGRAMS or os.path.exists(PROGRAMS[name])]
    chosen.proxies = [name for name in present if not chosen.only or name == chosen.only]
    return chosen


def until(is_so, what, patience=60.0):
    end = time.monotonic() + patience
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit(f"not within {patience:.0f} s: {what}")
        time.sleep(0.01)


class Cgroup:
    """A memory limit for one process, by cgroup v1 or v2, if this user may make one: else `words` is empty and nothing is bounded."""

    def __init__(self, name, limit):
        self.words, self.folder = [], None
        v2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
        folder = pathlib.Path("/sys/fs/cgroup" if v2 else "/sys/fs/cgroup/memory") / f"cuckooguard-{name}-{os.getpid()}"
        self.peak_file, self.limit_file = ("memory.peak", "memory.max") if v2 else ("memory.max_usage_in_bytes", "memory.limit_in_bytes")
        self.kills_file = "memory.events" if v2 else "memory.oom_control"
        try:
            folder.mkdir()
            self.folder = folder
            (folder / self.limit_file).write_text(str(limit))
            self.words = ["sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$@"', "sh"]
        except OSError as why:
            print(f"no cgroup, only what is resident is measured: {why}", file=sys.stderr)
            self.remove()

    def peak(self):
        return int((self.folder / self.peak_file).read_text()) if self.words else 0

    def kills(self):
        if not self.words:
            return 0
        return sum(int(line.split()[1]) for line in (self.folder / self.kills_file).read_text().splitlines() if line.startswith("oom_kill "))

    def remove(self):
        if self.folder:
            with contextlib.suppress(OSError):
                self.folder.rmdir()
            self.folder = None
            self.words = []


class Process:
    def __init__(self, words, port, log, **options):
        self.words, self.port, self.options = words, port, options
        self.log = open(log, "ab")
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words, stdout=self.log, stderr=self.log, **self.options)

    def start_again(self):
        self.process.wait()
        self.start()
        return self.wait_until_it_listens()

    def wait_until_it_listens(self):
        until(lambda: is_listening(self.port) or not self.is_alive(), f"{self.words[0]} listens")
        if not self.is_alive():
            raise SystemExit(f"{' '.join(self.words)} does not start: {pathlib.Path(self.log.name).read_text()[-2000:]}")
        return self

    @property
    def pid(self):
        return self.process.pid

    def is_alive(self):
        return self.process.poll() is None

    def end(self, patience=30):
        if self.is_alive():
            self.process.terminate()
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode

    def client(self):
        return Client(self.port)

    # Of twemproxy and the guard one process; of HAProxy in master-worker mode that is its master.
    def status(self, field):
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
        return 0

    def resident(self):
        """Resident pages of its own: those of programs and libraries come with the first use of their code."""
        for line in pathlib.Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Anonymous:"):
                return int(line.split()[1]) * 1024
        return 0

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class World:
    """A folder, a Redis, and what is started in front of it. All of it ends with the `with`."""

    def __init__(self, guard):
        self.program = os.path.abspath(guard)
        self.folder = tempfile.mkdtemp(prefix="reliability-")
        self.running = []

    def __enter__(self):
        self.redis = self.started(["redis-server", "--port", "PORT", "--bind", "127.0.0.1", "--save", "", "--dir", self.folder, "--protected-mode", "no",
                                   "--maxclients", "15000", "--tcp-backlog", "4096", "--proto-max-bulk-len", "1gb"], "redis")
        return self

    def __exit__(self, *_):
        for process in reversed(self.running):
            process.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def started(self, words, name, port=0, **options):
        port = port or free_port()
        process = Process([word.replace("PORT", str(port)) for word in words], port, f"{self.folder}/{name}.log", **options)
        self.running.append(process)
        return process.wait_until_it_listens()

    def write(self, name, text):
        path = f"{self.folder}/{name}"
        pathlib.Path(path).write_text(text)
        return path

    def guard_yaml(self, source="", more="", filter_settings="{ }", **namespace):
        """For `source`, or a file of rows."""
        source = source or f"type: file, path: {self.folder}/rows"
        settings = {"mode": "enforce", "absent_reply": "nil", "fresh_ids": "0", "overlay": "{ pass_at_start: false }",
                    "verify_sample": "0%", "consistency": "max_lag", **namespace}
        listed = ", ".join(f"{key}: {value}" for key, value in settings.items())
        table = "" if "type: file" in source else ", table: users"
        return (f"upstream: 127.0.0.1:{self.redis.port}\nworkers: 1\n{more}sources: {{ shop: {{ {source} }} }}\nnamespaces:\n"
                f'  users: {{ keys: "user:{{id:uint64}}", source: {{ from: shop{table} }}, filter: {filter_settings}, {listed} }}\n')

    def proxy(self, name, yaml="", cgroup=None, master=False):
        """One of PROXIES; `yaml` is a guard's. `master`: HAProxy as it is reloaded."""
        words = cgroup.words if cgroup else []
        if name == "guard":
            path = self.write("guard.yaml", yaml or self.guard_yaml())
            return self.started([*words, self.program, "--config", path, "--listen", "127.0.0.1:PORT"], name)
        port = free_port()
        if name == "haproxy":
            more = f"  hard-stop-after 2s\n  stats socket {self.folder}/haproxy.sock level admin expose-fd listeners\n"
            path = self.write("haproxy.cfg", haproxy_configuration(self.redis.port, port, 9000, more))
            words = [*words, PROGRAMS[name], *(["-W"] if master else []), "-db", "-f", path]
        else:
            path = self.write("twemproxy.yml", twemproxy_configuration(self.redis.port, port))
            words = [*words, PROGRAMS[name], "-c", path, "-a", "127.0.0.1", "-s", str(free_port()), "-o", f"{self.folder}/nutcracker.log"]
        return self.started(words, name, port)

    def wait_until_absent_keys_are_answered(self, guard, key=f"user:{2 * FIRST_ROW}"):
        client = guard.client()
        until(lambda: client.call("GUARD.CHECK", key) == [0], "the guard answers absent keys")


def line(name, **values):
    """One for machines: the last line of a part."""
    shown = {key: f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else value for key, value in values.items()}
    print(f"{name}: " + " ".join(f"{key}={value}" for key, value in shown.items()), flush=True)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0
