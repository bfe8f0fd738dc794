"""Nothing lost, nothing twice: rounds of marked programs on two agents and a daemon, with kills, cut
lines, full disks and stepping clocks in between. After each round what is stored is compared with
what the programs marked, by their own count.

    rounds.py --build DIR --folder DIR [--rounds N] [--seed N] [--faketime LIBRARY]

A seed makes the same round again: programs, faults and their times (not how the threads of the
machine meet)."""
import argparse
import random
import sys
import threading
import time

from model import Ambient, Measured
from world import World, wait_until

ROUND_S = 0.7
LONG_S = 3
STEPS = [-86400, -3600, -2, 3, 3600, 86400 * 3]


class Round:
    def __init__(self, world, number, seed, may_step):
        self.world, self.number = world, number
        self.random = random.Random(f"{seed}.{number}")
        self.may_step = may_step
        self.jobs, self.faults = [], []

    def plan_jobs(self):
        r, a = self.random, self.world.agents
        for _ in range(r.randint(1, 3)):
            self.jobs.append((Ambient, [r.choice(a)]))
        if r.random() < 0.6:
            self.jobs.append((Ambient, [r.choice(a) for _ in range(r.randint(2, 4))]))
        if r.random() < 0.7:
            self.jobs.append((Measured, [r.choice(a)]))

    def plan_faults(self):
        """(when, sentence, what to do)"""
        r, w = self.random, self.world
        for _ in range(r.choice([0, 1, 2, 2, 3, 4])):
            at = r.uniform(0, ROUND_S)
            agent = r.choice(w.agents)
            back = r.uniform(0.05, 0.5)
            kind = r.choice(["agent", "agent", "daemon", "daemon", "stop", "cut", "once", "refuse",
                             "hole", "spool", "db", "clock", "stop daemon"])
            if kind == "agent":
                self.fault(at, "agent killed", agent.program.kill)
                self.fault(at + back, "agent back", agent.program.start)
            elif kind == "daemon":
                self.fault(at, "daemon killed", w.daemon.kill)
                self.fault(at + back, "daemon back", w.daemon.start)
            elif kind == "stop":
                self.fault(at, "agent stopped", agent.program.pause)
                self.fault(at + back, "agent goes on", agent.program.go_on)
            elif kind == "stop daemon":
                self.fault(at, "daemon stopped", w.daemon.pause)
                self.fault(at + back, "daemon goes on", w.daemon.go_on)
            elif kind == "cut":
                self.fault(at, "line cut", agent.link.cut)
            elif kind in ("once", "refuse", "hole"):
                self.fault(at, f"line {kind}", lambda a=agent, k=kind: a.link.set(k))
                self.fault(at + back, "line good", lambda a=agent: a.link.set("pass"))
            elif kind == "spool":
                left = r.choice([0, 4096, 65536, 200000])
                self.fault(at, f"spool full but {left}", lambda a=agent, n=left: a.disk.fill(n))
                self.fault(at + back, "spool has room", agent.disk.empty)
            elif kind == "db":
                left = r.choice([0, 8192, 65536])
                self.fault(at, f"database full but {left}", lambda n=left: w.disk.fill(n))
                self.fault(at + back, "database has room", w.disk.empty)
            elif self.may_step:
                step = r.choice(STEPS)
                self.fault(at, f"clock {step:+d} s", lambda n=step: w.clock.step(n))
        if r.random() < 0.1:
            self.fault(0, "daemon away for the round", w.daemon.kill)
        elif r.random() < 0.05:  # longer than the smaller spool
            self.fault(0, "daemon away for long", w.daemon.kill)
            self.fault(LONG_S, "daemon back", w.daemon.start)
            if r.random() < 0.5:
                self.fault(0.1, "spool full", w.agents[1].disk.fill)
                self.fault(LONG_S - 0.5, "spool has room", w.agents[1].disk.empty)

    def fault(self, at, sentence, do):
        self.faults.append((at, sentence, do))

    def plan_kills(self, jobs):
        for job in jobs:
            for k in range(len(job.processes)):
                if self.random.random() < 0.25:
                    self.fault(self.random.uniform(0, ROUND_S), f"{job.name} killed",
                               lambda j=job, k=k: j.kill(k))

    def play(self):
        self.plan_jobs()
        self.plan_faults()
        started = []
        for k, (kind, agents) in enumerate(self.jobs):
            job = kind(f"r{self.number}j{k}", self.world.folder, self.world.build)
            job.start(agents, self.random, self.world.env)
            started.append(job)
        self.plan_kills(started)
        begin = time.monotonic()
        for at, _, do in sorted(self.faults, key=lambda f: f[0]):
            time.sleep(max(0, begin + at - time.monotonic()))
            do()
        self.world.heal()
        for job in started:
            job.wait()
        return started

    def story(self):
        return "; ".join(f"{at:.2f} {what}" for at, what, _ in sorted(self.faults,
                                                                      key=lambda f: f[0]))


def wait_for_all(world):
    """Those that were started may be on their way still; who marks where no agent listens is told to nobody."""
    wait_until("the daemon answering", 60, world.answers)
    for agent in world.agents:
        wait_until(f"agent of {agent.socket} answering", 60, lambda a=agent: a.status() is not None)


def settle(world, jobs):
    """Everything has arrived, and every run that can be closed is."""
    wait_for_all(world)
    for job in jobs:
        if isinstance(job, Measured):
            job.hand_over()
    for agent in world.agents:
        agent.last_seq = None
        wait_until(f"agent of {agent.socket} handing over all it has", 60, agent.has_nothing)
    wait_until("closing all runs", 60, lambda: open_runs(world) == 0)


def open_runs(world):
    import urllib.request
    with urllib.request.urlopen(world.url + "/metrics", timeout=20) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("roimeterd_runs_open "):
                return float(line.split()[1])
    raise AssertionError("/metrics has no roimeterd_runs_open")


def stored_runs(world):
    """Every record that is stored, by run id."""
    ids, cursor = [], ""
    while cursor is not None:
        page = world.get("runs?limit=1000" + (f"&cursor={cursor}" if cursor else ""))
        ids += [r["run_id"] for r in page["runs"]]
        cursor = page["next"]
    if len(ids) != len(set(ids)):
        raise AssertionError("a run is listed twice")
    return ids


def name_of(record):
    argv = record["inputs"]["argv"] or [""]
    return argv[-1]


class Checker:
    """Remembers what was stored before, so that each round looks at what is new only; and nothing
    that was stored may go away or change without a reason."""

    def __init__(self, world):
        self.world, self.known = world, {}
        self.lost = self.gaps = 0  # what had to be dropped, and was counted

    def look(self):
        for run_id in stored_runs(self.world):
            if run_id not in self.known:
                self.known[run_id] = self.world.get(f"runs/{run_id}")

    def check(self, jobs):
        self.look()
        wrong = []
        for job in jobs:
            stored = [r for r in self.known.values() if name_of(r) == job.name]
            wrong += [f"{job.name}: {text}" for text in job.check(stored)]
        return wrong + self.check_ledger()

    def check_ledger(self):
        """Marks are never lost; what is missing of the rest is exactly what was told as lost."""
        wrong = []
        for agent in self.world.agents:
            wrong += self.check_counts(agent)
        spools = self.world.get("ledger")["spools"]
        for spool in spools:
            if not spool["marks_complete"]:
                wrong.append(f"ledger: marks are missing: {spool['why']}")
            for loss in spool["lost"]:
                if loss["what"] != "context" or not loss["why"]:
                    wrong.append(f"ledger: lost {loss}")
            for gap in spool["missing"]:
                if gap["what"] != "context" or not gap["final"]:
                    wrong.append(f"ledger: missing {gap}")
        return wrong


    def check_counts(self, agent):
        """What an agent counted as lost is what the daemon was told, to the last sample: soon, since the agent may
        have dropped some more meanwhile, which it tells once a second."""
        def counts(losses):
            return sorted((x["what"], x["why"], x["count"]) for x in losses)

        def differ():
            spools = self.world.get("ledger")["spools"]
            status = agent.status()
            if status is None:
                return None, [], f"ledger: the agent of {agent.socket} does not answer"
            told = [s for s in spools if s["spool"] == status["spool"]["id"]]
            if len(told) != 1:
                return status, told, f"ledger: {len(told)} spools of agent {status['agent']}"
            if counts(told[0]["lost"]) != counts(status["losses"]):
                return status, told, (f"ledger: told {counts(told[0]['lost'])}, "
                                      f"counted {counts(status['losses'])}")
            return status, told, None

        end = time.monotonic() + 30
        status, told, wrong = differ()
        while wrong and time.monotonic() < end:
            time.sleep(0.2)
            status, told, wrong = differ()
        if wrong:
            return [wrong]
        self.lost = max(self.lost, sum(x["count"] for x in status["losses"]))
        self.gaps = max(self.gaps, sum(g["batches"] for g in told[0]["missing"]))
        return []


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--folder", required=True)
    p.add_argument("--rounds", type=int, default=100)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--faketime")
    o = p.parse_args()
    threading.excepthook = lambda a: (sys.__excepthook__(a.exc_type, a.exc_value, a.exc_traceback))
    world = World(o.folder, o.build, o.faketime)
    world.start()
    wait_for_all(world)
    checker = Checker(world)
    bad = 0
    try:
        for n in range(o.first, o.first + o.rounds):
            one = Round(world, n, o.seed, bool(o.faketime))
            jobs = one.play()
            try:
                settle(world, jobs)
                wrong = checker.check(jobs)
            except AssertionError as e:
                wrong = [str(e)]
            told = f"round {n} (seed {o.seed}): {len(jobs)} launches; {one.story() or 'no fault'}"
            if wrong:
                bad += 1
                print(f"not ok - {told}")
                for text in wrong:
                    print(f"# {text}")
            else:
                print(f"ok - {told}")
            sys.stdout.flush()
            if bad > 2:
                break
        print(f"# {checker.lost} frames and {checker.gaps} batches of context were dropped, and counted")
    finally:
        world.close()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
