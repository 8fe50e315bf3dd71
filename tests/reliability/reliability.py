#!/usr/bin/env python3
"""What an engineer asks of a proxy before trusting it, in one run: `./dev reliability [--seed N] [--minutes M] [--only ITEM] [--write]`

Each item runs programs that exist for it, adds up the numbers that they print, and holds them to its targets. Those that measure time run
alone, the others in two lanes. A program that fails, prints no number or is too slow fails its item; so does one that has seen less than it
must. `--minutes` shortens or prolongs all of it (28 is the whole); what must have been seen is scaled with it. `--write` puts the table into
docs/reliability.md. `--targets` prints what has to be built. Logs: build/reliability/. The last line is for machines."""

import argparse
import itertools
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests/mutants")]
import mutants  # noqa: E402

HERE, LOGS = ROOT / "tests/reliability", ROOT / "build/reliability"
RELEASE, ASAN, SCRATCH = ROOT / "build/release", ROOT / "build/asan", ROOT / "build/mutants/tree"
GUARD = RELEASE / "cuckooguard"
PAGE = ROOT / "docs/reliability.md"
BEGIN, END = "<!-- The last run: ./dev reliability --write -->", "<!-- The end of the last run -->"
FULL_MINUTES, MUTANTS = 28, 10
PAIR = re.compile(r"(\w+)=(-?[\w.+-]+)")


class Trouble(Exception):
    pass


class Run:
    """A program that has run: its exit code, what it printed, and of its lines `name: key=value ...` each as a dictionary."""

    running = set()  # what ends with this program

    def __init__(self, words, env=None, timeout=600.0, log="part"):
        self.words, self.env = [str(word) for word in words], env or {}
        self.shown = " ".join([*(f"{key}={value}" for key, value in self.env.items()), *self.words]).replace(f"{ROOT}/", "")
        LOGS.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        process = subprocess.Popen(self.words, cwd=ROOT, env={**os.environ, **{key: str(value) for key, value in self.env.items()}},
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        Run.running.add(process.pid)
        try:
            self.output, _ = process.communicate(timeout=timeout)
            self.code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                self.output, _ = process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                self.output, _ = process.communicate()
            self.code, self.output = 124, self.output + f"\nended after {timeout:.0f} s\n"
        Run.running.discard(process.pid)
        self.seconds = time.monotonic() - began
        with open(LOGS / f"{log}.log", "a") as file:
            file.write(f"$ {self.shown}\n{self.output}\n[{self.code}, {self.seconds:.1f} s]\n\n")

    def lines(self, name):
        return [dict(PAIR.findall(line)) for line in self.output.splitlines() if line.startswith(f"{name}: ")]

    def one(self, name, **fields):
        """The last line of that name with these fields."""
        fitting = [line for line in self.lines(name) if all(line.get(key) == value for key, value in fields.items())]
        if not fitting:
            raise Trouble(f"no line `{name}:` of {self.shown}")
        return fitting[-1]

    def by_proxy(self, name):
        """The last line of that name of each proxy; the guard's has to be there."""
        self.one(name, proxy="guard")
        return {line["proxy"]: line for line in self.lines(name)}

    def number(self, pattern):
        found = re.search(pattern, self.output)
        if not found:
            raise Trouble(f"no `{pattern}` of {self.shown}")
        return float(found.group(1).replace(",", ""))


class Item:
    """A row of the table. `needs` holds a number to its target; `aims` says what the project wants in the end, and does not fail the item."""

    def __init__(self, number, name, done, targets):
        self.number, self.name, self.done, self.targets = number, name, done, targets
        self.problems, self.aims, self.measured, self.others, self.target, self.seconds = [], [], [], {}, [], 0.0

    def check(self, run):
        if run.code != 0:
            self.problems.append(f"exit code {run.code}: `{run.shown}`")
        return run

    def needs(self, what, is_met, target):
        """`what`: as it is shown, with its number."""
        self.measured.append(what)
        if target:
            self.target.append(target)
        if not is_met:
            self.problems.append(f"{what}, and not {target}")

    def aims_at(self, what, is_met):
        if not is_met:
            self.aims.append(what)


def short(number):
    for least, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= least:
            shown = f"{number / (1e3 if letter == 'k' else least):.3g}"
            return f"{shown} {letter}"
    return f"{number:,.0f}"


class Card:
    def __init__(self, seed, minutes):
        self.seed, self.scale = seed, minutes / FULL_MINUTES
        self.seeds = itertools.count(seed * 1_000_000 + 1)
        self.lock = threading.Lock()

    def some(self, full):
        """So much of an amount."""
        return max(1, round(full * self.scale))

    def part(self, item, name, *words, timeout=600.0):
        return item.check(Run([sys.executable, HERE / f"{name}.py", GUARD, "--seed", self.seed, *words], timeout=timeout, log=item.name))

    # --- 1, 2: simulation ---

    def simulation(self, item):
        folder = RELEASE / "tests/simulation"
        kinds = [(folder / "attack_simulation_test", "*nobody*shared", 100), (folder / "attack_simulation_test", "*nobody*pinned", 100),
                 (folder / "simulation_test", "*every_client_sees*", 6), (folder / "simulation_test", "*drained*:*let_go*", 4),
                 (folder / "simulation_test", "*fall_silent*", 2), (folder / "simulation_test", "*what_one_redis*", 4),
                 (folder / "strict_simulation_test", "*", 60), (RELEASE / "tests/fleet/fleet_test", "FleetSimulation.*", 8)]
        total = dict.fromkeys(("commands", "seeds", "virtual_ms", "replies", "answered", "absent", "strict_reads", "checks", "pushes", "let_go"), 0)
        end = time.monotonic() + 60 * 8 * self.scale
        turns = itertools.cycle(kinds)
        tried = 0
        while time.monotonic() < end or tried < len(kinds):
            program, tests, runs = next(turns)
            tried += 1
            runs = max(1, round(runs * min(1.0, 4 * self.scale)))
            first = next(self.seeds) * 1000
            done = item.check(Run([program, "--gtest_brief=1", f"--gtest_filter={tests}"],
                                  {"CUCKOOGUARD_SEED": first, "CUCKOOGUARD_RUNS": runs}, 300, item.name))
            for name, lines in (("simulate", done.lines("simulate")), ("attack", done.lines("attack")), ("strict", done.lines("strict")),
                                ("fleet", done.lines("fleet"))):
                for line in lines:
                    if "runs" not in line:
                        continue
                    total["seeds"] += int(line["runs"])
                    total["commands"] += int(line.get("commands", line.get("reads", 0)))
                    total["strict_reads"] += int(line["reads"]) if name == "strict" else 0
                    for key in ("virtual_ms", "replies", "answered", "absent", "checks", "pushes", "let_go"):
                        total[key] += int(line.get(key, 0))
            if item.problems:
                break
        hours, violations = total["virtual_ms"] / 3.6e6, len(item.problems)
        item.needs(f"{short(total['commands'])} commands", total["commands"] >= 5e6 * self.scale, f"≥ {short(5e6 * self.scale)}")
        item.needs(f"{short(total['seeds'])} seeds", total["seeds"] >= 1000 * self.scale, f"≥ {short(1000 * self.scale)}")
        item.needs(f"{hours:.1f} virtual hours", hours >= 2.5 * self.scale, f"≥ {2.5 * self.scale:.1f}")
        item.needs(f"{violations} violations", violations == 0, "0")
        item.aims_at(f"{short(total['commands'])} of 100 M commands", total["commands"] >= 1e8)
        item.aims_at(f"{short(total['seeds'])} of 100 k seeds", total["seeds"] >= 1e5)
        item.aims_at(f"{hours:.1f} of 250 virtual hours", hours >= 250)
        return total

    def invariants(self, item, total):
        seen = {"rows compared with what followers believe": total["checks"], "strict reads compared with the commits": total["strict_reads"],
                "replies in order, byte for byte those of a model": total["replies"], "answered only where Redis would have": total["answered"],
                "pushes to nobody else": total["pushes"], "clients disconnected between two commands": total["let_go"]}
        for what, count in seen.items():
            item.needs(f"{short(count)} {what}", count > 0, "")
        item.target.append("6 of 6 seen, none broken")

    # --- 3: fuzzing ---

    def fuzzing(self, item):
        programs = sorted((ASAN / "tests/fuzz").glob("*_fuzz"))
        seconds = max(2, round(16 * self.scale))
        executed, slowest, memory = 0, 0, 0
        for program in programs:
            corpus, seeds = ROOT / "build/fuzz/corpus" / program.name, ROOT / "tests/fuzz/seeds" / program.name
            dictionary = ROOT / f"tests/fuzz/{program.name.split('_')[0]}.dict"
            corpus.mkdir(parents=True, exist_ok=True)
            done = item.check(Run([program, f"-max_total_time={seconds}", f"-seed={self.seed}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1",
                                   "-verbosity=0", f"-artifact_prefix={ROOT}/build/fuzz/{program.name}-",
                                   *([f"-dict={dictionary}"] if dictionary.exists() else []), corpus, *([seeds] if seeds.is_dir() else [])],
                                  {"ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1", "UBSAN_OPTIONS": "print_stacktrace=1"},
                                  seconds + 180, item.name))
            executed += int(done.number(r"number_of_executed_units:\s+(\d+)"))
            slowest = max(slowest, int(done.number(r"slowest_unit_time_sec:\s+(\d+)")))
            memory = max(memory, int(done.number(r"peak_rss_mb:\s+(\d+)")))
        crashes = len(item.problems)
        item.needs(f"{len(programs)} targets, {seconds} s each", len(programs) >= 19, "≥ 19")
        item.needs(f"{short(executed)} executions", executed >= 3e5 * self.scale, f"≥ {short(3e5 * self.scale)}")
        item.needs(f"{crashes} crashes, leaks, time-outs", crashes == 0, "0")
        item.needs(f"slowest input below {slowest + 1} s", slowest < 5, "< 5 s")
        item.aims_at(f"{short(executed)} of 300 M executions", executed >= 3e8)
        item.aims_at("which share of each parser's lines is reached is not measured (95 %); an input may take 10 s and 2 GiB (50 ms, 64 MiB)", False)

    # --- 4: bad inputs on sockets ---

    def bad_inputs(self, item):
        wanted = self.some(200_000)
        done = self.part(item, "bad_inputs", "--connections", wanted)
        for name, line in done.by_proxy("bad_inputs").items():
            if name != "guard":
                item.others[name] = (f"{short(int(line['connections']))} connections; good clients: {line['good_errors']} errors; {line['unlike_redis']} replies "
                                     f"unlike Redis's; + {float(line['growth_mib']):.1f} MiB")
            else:
                item.needs(f"{short(int(line['connections']))} connections ({line['per_second']}/s)", int(line["connections"]) >= wanted, f"≥ {short(wanted)}")
                item.needs(f"good clients: {line['good_errors']} errors in {short(int(line['good_commands']))} commands",
                           int(line["good_errors"]) == 0 and int(line["good_commands"]) > 0, "0")
                item.needs(f"{line['unlike_redis']} replies unlike Redis's", int(line["unlike_redis"]) == 0, "0")
                item.needs(f"+ {float(line['growth_mib']):.1f} MiB", float(line["growth_mib"]) <= 16, "≤ 16 MiB")
                item.needs(f"{max(0, int(line['descriptors_left']))} descriptors left", int(line["descriptors_left"]) <= 0, "0")

    # --- 5: real faults ---

    def faults(self, item):
        specs = [("exactness_test", 3), ("redis_topology_test", 12), ("postgres_exactness_test", 3), ("topology_changes_test", 3),
                 ("exactness_restart_test", 3), ("catalogue_changes_test", 5), ("fleet_exactness_test", 2), ("odd_things_test", 0),
                 ("redis_restart_test", 0), ("redis_states_test", 0), ("checkpoint_test", 0), ("hanging_calls_test", 0)]
        end = time.monotonic() + 60 * 7 * self.scale
        turns = itertools.count()
        seen = {"kinds": {}, "tests": 0, "wrong": 0, "rounds": 0}

        def work():
            while True:
                with self.lock:
                    turn = next(turns)
                    program, rounds = specs[turn % len(specs)]
                if item.problems or (turn >= len(specs) and (time.monotonic() > end or rounds == 0)):
                    if item.problems or time.monotonic() > end:
                        return
                    continue
                rounds = max(1, round(rounds * min(1.0, 3 * self.scale)))
                done = Run([RELEASE / "integration" / program, "--gtest_brief=1"], {"CUCKOOGUARD_SEED": self.seed * 1000 + turn,
                                                                                     "CUCKOOGUARD_ROUNDS": rounds}, 600, item.name)
                with self.lock:
                    item.check(done)
                    self.count_faults(program, done, seen)

        workers = [threading.Thread(target=work) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        happened = sum(seen["kinds"].values())
        item.needs(f"{len(seen['kinds'])} kinds", len(seen["kinds"]) >= 40, "≥ 40")
        item.needs(f"{short(happened)} faults in {seen['rounds']} rounds and {seen['tests']} tests", happened > 100 * self.scale, f"> {short(100 * self.scale)}")
        item.needs(f"{seen['wrong']} rows hidden, or filters unlike their tables", seen["wrong"] == 0 and not item.problems, "0")
        item.aims_at("packet loss, EIO, torn renames and a full disk are not among the kinds", False)

    @staticmethod
    def count_faults(program, done, seen):
        about = {"seed", "rounds", "wrong", "transactions", "xa", "followers", "views", "with_window", "keys", "looks", "looks_answered", "answered",
                 "answered_absent", "row", "row_refused", "transaction", "back", "ended", "rows"}
        lines = [line for name in ("exactness", "exactness_restart", "exactness_fleet", "changes", "topology") for line in done.lines(name)]
        for line in lines:
            seen["wrong"] += int(line["wrong"])
            seen["rounds"] += int(line["rounds"])
            for name, count in line.items():
                if name not in about and count.isdigit() and int(count) > 0 and not name.endswith(("_refused", "_failed")):
                    kind = f"{program}: {name}"
                    seen["kinds"][kind] = seen["kinds"].get(kind, 0) + int(count)
        odd = re.findall(r"odd things: (\d+)", done.output)
        if odd:
            seen["kinds"].update({f"odd thing {number}": 1 for number in range(sum(map(int, odd)))})
        ran = re.search(r"\[==========\] (\d+) tests? from", done.output)
        if not lines and not odd:
            seen["tests"] += int(ran.group(1)) if ran else 0
        if not ran:
            raise Trouble(f"no test of {done.shown}")

    def recovery(self, item):
        line = self.part(item, "recovery", "--rounds", self.some(3)).one("recovery")
        item.needs(f"{line['faults']} faults, passing {float(line['passes_ms']) / 1000:.2f} s after one", 0 < float(line["passes_ms"]) <= 1200, "≤ 1.2 s (`max_lag: 1s`)")
        item.needs(f"answering absent keys {float(line['answers_ms']) / 1000:.2f} s after its end", float(line["answers_ms"]) <= 5000, "≤ 5 s")

    # --- 6: look-ups against churn ---

    def churn(self, item):
        wanted = self.some(1_000_000_000)
        done = item.check(Run([RELEASE / "bench/filter_bench", "--keys", 100_000, "--layout", "W12", "--churn", wanted], log=item.name))
        looked, hidden = done.number(r"readers: (\d+) look-ups"), done.number(r"moves: (\d+) hidden")
        changes = done.number(r"(\d+) changes")
        item.needs(f"{short(looked)} look-ups by 4 readers next to {short(changes)} changes", looked >= wanted, f"≥ {short(wanted)}")
        item.needs(f"{hidden:.0f} false negatives", hidden == 0 and "proves nothing" not in done.output, "0")
        item.aims_at("the filter is not rebuilt during this item", False)

    # --- 7: freshness ---

    def history(self, item):
        wanted = self.some(1_000_000)
        done = self.part(item, "history", "--pairs", wanted)
        line = done.one("history")
        item.needs(f"{short(int(line['pairs']))} reads after their commit, {short(int(line['reads']))} in all", int(line["pairs"]) >= wanted, f"≥ {short(wanted)}")
        stale = int(line["stale"])
        # The same without strict: what it sees there shows that it would have seen it here.
        control = Run([sys.executable, HERE / "history.py", GUARD, "--seed", self.seed, "--pairs", 50_000, "--consistency", "max_lag"], log=item.name)
        noticed = int(control.one("history")["stale"])
        crashes = item.check(Run([RELEASE / "integration/strict_reads_test", "--gtest_brief=1", "--gtest_filter=*number*/mariadb_killed:*number*/postgres:"
                                  "*number*/postgres_killed:*number*/fleet_killed"], {"CUCKOOGUARD_ROWS": self.some(1600)}, log=item.name))
        hidden = sum(int(one["hidden"]) for one in crashes.lines("strict"))
        reads = sum(int(one["reads"]) for one in crashes.lines("strict"))
        # Its exit code is also about fresh_ids, which promises nothing on a busy machine.
        lag = Run([RELEASE / "bench/reads_bench", "--reads", max(200, self.some(2000))], log=item.name).one("bench-reads")
        item.needs(f"{short(reads)} next to servers that are killed", reads > 0 and len(crashes.lines("strict")) == 4, "4 kinds of servers")
        item.needs(f"{stale + hidden} stale", stale + hidden == 0, "0")
        item.needs(f"{noticed} noticed without `strict`", noticed > 0, "> 0")
        waited = sum(int(lag[f"wrong_{way}"]) for way in ("wait", "set", "add"))
        item.needs(f"{waited} of {3 * int(lag['reads'])} wrong after GUARD.WAIT, SET and GUARD.ADD without it", waited == 0, "0")
        item.needs(f"a row is seen after {float(lag['lag_p50_ms']):.2f} ms (p50), {float(lag['lag_p99_ms']):.2f} ms (p99) without waiting",
                   float(lag["lag_p99_ms"]) <= 3, "p99 ≤ 3 ms")

    # --- 8: memory ---

    def memory(self, item):
        done = self.part(item, "memory")
        for name, line in done.by_proxy("memory").items():
            largest = float(line["rss_max_mib"])
            if name != "guard":
                ended = "killed at 256 MiB" if line["oom_kills"] != "0" else f"{largest:.0f} MiB at most"
                item.others[name] = (f"{ended}{' by the large value' if line['reached'] == 'large_value' else ''}; {float(line['idle_bytes']):.0f} bytes per idle "
                                     f"client" + (f"; {float(line['after_mib']):.0f} MiB after" if line["reached"] == "all" else ""))
                continue
            size, after, before = float(line["filter_mib"]), float(line["after_mib"]), float(line["before_mib"])
            item.needs(f"{'no' if line['oom_kills'] == '0' else line['oom_kills']} kill for memory" + (" (cgroup of 256 MiB)" if line["cgroup"] == "1" else " (no cgroup)"),
                       line["oom_kills"] == "0" and line["alive"] == "1" and line["reached"] == "all", "none")
            item.needs(f"{largest:.0f} MiB at most with a filter of {size:.0f}", size > 0 and largest <= size + 64, "≤ filter + 64 MiB")
            item.needs(f"{float(line['idle_bytes']):.0f} bytes per idle client ({line['idle']})", float(line["idle_bytes"]) <= 1024 and int(line["idle"]) >= 10_000, "≤ 1 KiB")
            item.needs(f"{after:.0f} MiB after, {before:.0f} before", after <= 1.1 * before, "within 10 %")
            item.aims_at(f"{line['unread_60mb']} of 1,000 clients that do not read ask for 60 MB, the others for 1 MB: Redis would need 60 GB for the rest", False)

    # --- 9: soak ---

    def soak(self, item):
        seconds = self.some(60)
        compared = item.check(Run([RELEASE / "integration/soak/soak", seconds, self.seed], timeout=4 * seconds + 300, log=item.name))
        commands = sum(int(line["commands"]) for line in compared.lines("soak") if "commands" in line)
        wrong = int(compared.one("soak", seconds=str(seconds))["mismatches"])
        done = self.part(item, "soak", "--seconds", self.some(120))
        lines = done.by_proxy("load")
        guard = lines.pop("guard")
        for name, line in lines.items():
            item.others[name] = (f"{float(line['over_redis']):.2f} of Redis; p99 {float(line['p99_over_redis']):.1f} × Redis's; "
                                 f"{float(line['resident_mib']):.0f} MiB, {float(line['mib_per_minute']):+.1f} per minute")
        item.needs(f"{wrong} of {short(commands)} replies unlike Redis's", wrong == 0 and commands > 0, "0")
        if float(guard["over_haproxy"]) > 0:
            item.needs(f"throughput {float(guard['over_haproxy']):.2f} × HAProxy's", float(guard["over_haproxy"]) >= 0.95, "≥ 0.95")
        item.needs(f"{float(guard['over_redis']):.2f} of Redis; p99 {float(guard['p99_over_redis']):.2f} × Redis's", float(guard["p99_over_redis"]) <= 2, "≤ 2")
        growth = float(guard["mib_per_minute"])
        item.needs(f"{float(guard['resident_mib']):.0f} MiB, {growth:+.2f} per minute", growth <= 1, "≤ 1 MiB/min")
        item.aims_at("connections to Redis are cut between rounds of load, not within one (a fault every 10 s)", False)

    # --- 10: restarts ---

    def restarts(self, item):
        wanted = self.some(20)
        done = self.part(item, "restarts", "--restarts", wanted)
        for name, seen in done.by_proxy("restarts").items():
            line = {key: int(value) for key, value in seen.items() if value.isdigit()}
            unanswered = line["unanswered"] + line["unanswered_pausing"]
            if name != "guard":
                item.others[name] = (f"{line['restarts']} {'reloads' if name == 'haproxy' else 'restarts'}: {line['refused']} refused, {unanswered} commands "
                                     f"without a reply, {line['run_unanswered']} of them run")
                continue
            item.needs(f"{line['restarts']} restarts, {line['refused']} connects refused", line["restarts"] >= wanted and line["refused"] == 0, "0 refused")
            item.needs(f"{line['run_unanswered']} of {short(line['commands'])} commands run without a reply",
                       line["run_unanswered"] == 0 and line["wrong"] == 0 and line["connections"] > 32, "0")
            item.measured.append(f"sent and neither run nor replied to: {line['unanswered']} of clients that never pause, {line['unanswered_pausing']} of others")
            item.aims_at(f"{unanswered} commands were on their way when their connection ended; none was run, so that they can be sent again (0)", unanswered == 0)

    # --- 11: can the checks fail? ---

    def chosen_mutants(self):
        return random.Random(self.seed).sample(mutants.MUTANTS, min(MUTANTS, self.some(MUTANTS)))

    def mutants(self, item):
        names = [name for _, name, _, _ in self.chosen_mutants()]
        done = item.check(Run([sys.executable, ROOT / "tests/mutants/mutants.py", SCRATCH, *names], timeout=1800, log=item.name))
        line = done.one("mutants")
        item.needs(f"{line['tried']} of {len(mutants.MUTANTS)} defects made again", int(line["tried"]) == len(names), f"{len(names)}")
        item.needs(f"{line['alive']} not noticed", line["alive"] == "0" and done.output.count(": dead (") == len(names), "0")
        item.done += ": " + ", ".join(f"`{name}`" for name in names)


def all_items(card):
    """Number, name, lane, what is done, and how."""
    return [
        (1, "simulation", "a", "proxy, routing, strict reads and fleets under a virtual clock: cuts, stalls, crashes, moves, attackers", card.simulation),
        (3, "fuzzing", "b", "every parser and state machine, with ASan and UBSan", card.fuzzing),
        (4, "bad inputs", "alone", "each command cut at each byte, wrong lengths, noise; 1,000 slow and 1,000 silent clients; 50 good ones", card.bad_inputs),
        (5, "real faults", "b", "MariaDB, PostgreSQL, Redis and guards: kill, restart, purge, DDL, truncate, move, fail over, cut, lost files", card.faults),
        (5, "recovery", "alone", "MariaDB stopped and killed, Redis killed, the guard killed; the longest times", card.recovery),
        (6, "churn", "a", "look-ups of keys that stay, while others are inserted and deleted at load 0.95", card.churn),
        (7, "freshness", "alone", "rows of MariaDB and PostgreSQL read as soon as their commit has returned, `consistency: strict`", card.history),
        (8, "memory", "alone", "512 MiB through it; 1,000 clients that do not read; idle clients", card.memory),
        (9, "soak", "alone", "each reply compared with Redis's next to hostile clients; then 1,000 clients, pipelines of 1, 16, 64, 60 % absent", card.soak),
        (10, "restarts", "alone", "under the load of 32 clients", card.restarts),
        (11, "mutants", "a", "defects that were once fixed, chosen by the seed, put back in: a test must fail", card.mutants)]


def targets_of(card, names):
    """What is to be built: preset, and targets."""
    release = {"simulation": "simulation_test attack_simulation_test strict_simulation_test fleet_test", "churn": "filter_bench", "soak": "soak",
               "freshness": "strict_reads_test reads_bench",
               "real faults": "exactness_test exactness_restart_test postgres_exactness_test fleet_exactness_test catalogue_changes_test topology_changes_test "
                              "redis_topology_test odd_things_test redis_restart_test redis_states_test checkpoint_test hanging_calls_test"}
    print("release cuckooguard " + " ".join(release[name] for name in names if name in release))
    if "fuzzing" in names:
        print("asan fuzz_programs")
    if "mutants" in names:
        print("mutants " + " ".join(sorted({mutants.killing_runs(killer)[0] for killer, *_ in card.chosen_mutants()})))


def run_item(item, call):
    began = time.monotonic()
    print(f"{item.name} ...", file=sys.stderr, flush=True)
    result = None
    try:
        result = call(item)
    except (Trouble, KeyError, ValueError) as why:
        item.problems.append(f"{type(why).__name__}: {why}")
    item.seconds = time.monotonic() - began
    print(f"{item.name}: {'ok' if not item.problems else 'FAILED'}, {item.seconds:.0f} s", *item.problems, sep="\n  ", file=sys.stderr, flush=True)
    return result


def run_all(card, chosen):
    items, lanes = [], {"a": [], "b": [], "alone": []}
    totals = {}

    def simulate(item, call, second):
        total = run_item(item, call)
        if total:
            card.invariants(second, total)
        else:
            second.problems.append("no simulation")

    for number, name, lane, done, call in chosen:
        item = Item(number, name, done, [])
        items.append(item)
        if name == "simulation":
            second = Item(2, "invariants", "checked after every step of 1, in release", [])
            items.append(second)
            lanes[lane].append(lambda item=item, call=call, second=second: simulate(item, call, second))
        else:
            lanes[lane].append(lambda item=item, call=call: run_item(item, call))
    threads = [threading.Thread(target=lambda lane=lane: [each() for each in lanes[lane]]) for lane in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in lanes["alone"]:
        each()
    return sorted(items, key=lambda item: item.number)


def table(items, card, seconds, minutes):
    rows = ["| | item | what was done | measured | target | HAProxy | twemproxy | |", "|---|---|---|---|---|---|---|---|"]
    for item in items:
        rows.append("| " + " | ".join([str(item.number), item.name, item.done, "; ".join(item.measured), "; ".join(item.target) or "–",
                                       item.others.get("haproxy", "–"), item.others.get("twemproxy", "–"), "ok" if not item.problems else "**failed**"]) + " |")
    rows += ["", f"Seed {card.seed}, {seconds / 60:.1f} minutes on {os.cpu_count()} cores" + ("." if minutes == FULL_MINUTES else f", a run of `--minutes {minutes:g}`.")]
    problems = [f"- {item.number}, {item.name}: {problem}" for item in items for problem in item.problems]
    aims = [f"- {item.number}, {item.name}: {aim}" for item in items for aim in item.aims]
    if problems:
        rows += ["", "What failed:", "", *problems]
    if aims:
        rows += ["", "Not reached of what is aimed at, or not measured:", "", *aims]
    return "\n".join(rows)


def end_all(*_):
    for pid in Run.running:
        os.killpg(pid, signal.SIGTERM)
    os._exit(143)


def main():
    signal.signal(signal.SIGTERM, end_all)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=FULL_MINUTES)
    parser.add_argument("--only", action="append", default=[], help="an item's name, or its number")
    parser.add_argument("--write", action="store_true", help="into docs/reliability.md")
    parser.add_argument("--targets", action="store_true", help="print what has to be built, and end")
    options = parser.parse_args()
    card = Card(options.seed, options.minutes)
    chosen = [row for row in all_items(card) if not options.only or row[1] in options.only or str(row[0]) in options.only]
    if not chosen or any(not any(only in (row[1], str(row[0])) for row in chosen) for only in options.only):
        parser.error("items: " + ", ".join(row[1] for row in all_items(card)))
    if options.targets:
        targets_of(card, [row[1] for row in chosen])
        return 0
    for log in LOGS.glob("*.log"):
        log.unlink()
    began = time.monotonic()
    items = run_all(card, chosen)
    seconds = time.monotonic() - began
    shown = table(items, card, seconds, options.minutes)
    print(shown)
    if options.write:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{shown}\n\n{END}{rest.split(END)[1]}")
    failed = sum(bool(item.problems) for item in items)
    print(f"reliability: seed={options.seed} items={len(items)} passed={len(items) - failed} failed={failed} seconds={seconds:.0f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
