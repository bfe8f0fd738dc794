"""What a round should have left in the daemon: the programs of the round, what each of them really
marked (by its own count, which a kill leaves behind), and the comparison with what is stored."""
import json
import os
import signal
import struct
import subprocess


class Truth:
    """The file that tests/lossless/marks.c counts in."""

    def __init__(self, path):
        self.path = path

    def read(self):
        """begun, ended, steps, finished; None: the program never came to its first line."""
        try:
            with open(self.path, "rb") as f:
                return struct.unpack("<4Q", f.read(32))
        except (OSError, struct.error):
            return None


class Job:
    """Processes that make one run."""

    def __init__(self, name, folder, build):
        self.name = name
        self.truths, self.processes, self.killed = [], [], set()
        self.folder = folder
        self.marks = os.path.join(build, "tests", "lossless", "marks")

    def truth(self, rank):
        return os.path.join(self.folder, f"{self.name}.{rank}.truth")

    def kill(self, k):
        if self.processes[k].poll() is None:
            self.processes[k].send_signal(signal.SIGKILL)
            self.killed.add(k)

    def over(self):
        return all(p.poll() is not None for p in self.processes)

    def wait(self):
        for p in self.processes:
            p.wait(60)


class Ambient(Job):
    """Started by anyone under an agent's environment file, as one launch of `world` processes."""

    def start(self, agents, random, env):
        self.entries = random.randint(1, 40)
        self.steps = random.choice([0, 0, 3, 50])
        pause = random.choice([0, 200, 2000, 8000])
        for rank, agent in enumerate(agents):
            self.truths.append(Truth(self.truth(rank)))
            own = env | {"ROIMETER_AGENT": agent.socket}
            if len(agents) > 1:
                own |= {"PMIX_NAMESPACE": "launch-" + self.name, "PMIX_RANK": str(rank),
                        "OMPI_COMM_WORLD_RANK": str(rank),
                        "OMPI_COMM_WORLD_SIZE": str(len(agents))}
            self.processes.append(subprocess.Popen(
                [self.marks, self.truth(rank), str(self.entries), str(self.steps), str(pause),
                 self.name], env=own, stdin=subprocess.DEVNULL))

    def check(self, stored):
        """stored: records that name this job. A sentence for each thing that is not as it was."""
        wrong = []
        truths = [t.read() for t in self.truths]
        marked = [t for t in truths if t and t[0]]
        # Killed between its log and its first mark a process may or may not have left one.
        if not marked:
            if len(stored) > 1:
                wrong.append(f"{len(stored)} runs of a launch that marked nothing")
            return wrong
        if len(stored) != 1:
            return [f"{len(stored)} runs, wanted 1: {[r['run_id'] for r in stored]}"]
        record = stored[0]
        if record["kind"] != "ambient":
            wrong.append(f"its kind is {record['kind']}")
        got = sorted(r["entries"] or 0 for r in record["ranks"])
        # A kill may fall between the mark and the program's own count of it.
        low = sorted(t[1] for t in marked)
        high = sorted(min(t[1] + 1, t[0]) if not t[3] else t[1] for t in marked)
        got = [0] * (len(low) - len(got)) + got
        if len(got) > len(truths):
            wrong.append(f"{len(got)} processes of {len(truths)}")
        got = got[len(got) - len(low):]
        if any(g < lo or g > hi for g, lo, hi in zip(got, low, high)):
            wrong.append(f"entries {got}, marked {low} to {high}")
        if any(r["lost"] for r in record["ranks"]):
            wrong.append("a process lost entries")
        return wrong


def without_agent(record):
    """What the agent cost is known to the daemon alone."""
    own = dict(record)
    own["observer"] = {k: v for k, v in record["observer"].items()
                       if k not in ("agent_cpu_s", "wakeups")}
    own["nulls"] = [n for n in record["nulls"] if n["field"] != "observer.agent_cpu_s"]
    return own


class Measured(Job):
    """`roimeter run --server`; what the runner prints is what is to be stored."""

    def start(self, agents, random, env):
        self.agent = agents[0]
        self.env = env | {"ROIMETER_AGENT": self.agent.socket,
                          "XDG_STATE_HOME": os.path.join(self.folder, self.name + ".state"),
                          "XDG_DATA_HOME": os.path.join(self.folder, self.name + ".data")}
        self.out = os.path.join(self.folder, self.name + ".json")
        self.err = os.path.join(self.folder, self.name + ".err")
        self.command = [os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(self.marks))),
                                     "roimeter"), "run",
                        "--server", f"http://127.0.0.1:{self.agent.link.port}",
                        "--app", "marks", "--case", self.name, "--warmup",
                        str(random.randint(0, 1)), "--clean", str(random.randint(1, 3)),
                        "--format", "json"]
        self.program = ["--", self.marks, self.truth(0), str(random.randint(1, 30)),
                        str(random.choice([0, 5])), str(random.choice([0, 500, 3000])), self.name]
        self.run([])

    def run(self, more):
        with open(self.out, "wb") as out, open(self.err, "ab") as err:
            self.processes.append(subprocess.Popen(self.command + more + self.program,
                                                   env=self.env, stdin=subprocess.DEVNULL,
                                                   stdout=out, stderr=err))

    def hand_over(self):
        """A runner that found no agent keeps what it measured until it is told to go on."""
        if self.killed or self.processes[-1].returncode != 3:
            return False
        self.run(["--resume"])
        self.processes[-1].wait(60)
        return True

    def printed(self):
        with open(self.out, encoding="utf-8") as f:
            text = f.read()
        return json.loads(text)["records"] if text.strip() else []

    def check(self, stored):
        if self.killed:
            # Not announced yet, or ended for it.
            if len(stored) > 1:
                return [f"{len(stored)} runs of one runner that was killed"]
            return [f"the runner was killed, and its run says {r['status']}" for r in stored
                    if r["status"] not in ("interrupted", "ok")]
        code = self.processes[-1].returncode
        if code != 0:
            with open(self.err, encoding="utf-8") as f:
                return [f"the runner ended with {code}: {f.read()[-400:]}"]
        printed = self.printed()
        if len(stored) != 1:
            return [f"{len(stored)} runs, wanted the one that the runner printed"]
        told, kept = without_agent(printed[0]), without_agent(stored[0])
        differ = [k for k in told if told[k] != kept.get(k)]
        return [f"stored and printed differ in {differ}"] if differ else []
