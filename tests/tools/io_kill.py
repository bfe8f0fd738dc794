"""Programs under the collector io that are killed at any moment: io_kill.py BUILD FOLDER ROUNDS SEED.

In each round the program of tests/fixtures/io/kill.c works for a while and gets SIGKILL; every second round is
captured, too. Every tenth one works until something is left first, however long that takes on a busy machine. Afterwards what was left must be readable and count no more than was begun, and no less than had
come back a while before it was written. Lines "ok - ..." or "not ok - ..."."""
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

BUILD, FOLDER, ROUNDS, SEED = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
# Between taking what has come back and the file's time; and as long as the thread that does so was off its processor,
# or the whole program stood still, which its tally of each 10 ms shows.
MARGIN_NS = 700_000_000
AMID = []  # rounds that were killed within a flush of the capture


class Tally:
    def __init__(self, path, put_off_ns):
        with open(path, "rb") as f:
            data = f.read()
        self.begun_writes, self.begun_reads, self.done_writes, n = struct.unpack_from("<4Q", data)
        self.at = [struct.unpack_from("<2Q", data, 32 + 16 * i) for i in range(n)]
        still_ns = max((b[0] - a[0] for a, b in zip(self.at, self.at[1:])), default=0)
        self.margin_ns = MARGIN_NS + put_off_ns + still_ns

    def done_by(self, real_ns):
        return max((done for at, done in self.at if at <= real_ns), default=0)


def named(folder, pattern):
    return sorted(os.path.join(folder, n) for n in os.listdir(folder) if re.search(pattern, n))


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50)


def newest(files):
    return max(os.stat(f).st_mtime_ns for f in files)


def flush_before(files):
    """When a flush had ended for certain: what is under way is written in turns, so of two files one is whole."""
    ends = [os.stat(f).st_mtime_ns for f in files if "-open" in f]
    return min(ends) if len(ends) == 2 else 0


def picture_faults(tally, logs):
    """Of what the counter left: sentences, and how many writes it counted (None: no picture)."""
    files = named(logs, r"^[^.].*\.roiio$")
    if not files:
        return [], None
    said = run(BUILD + "/tests/tools/iopicture", *files).stdout.split()
    if len(files) != 1 or said[0] not in ("ok", "idle") or len(said) != 8:
        return ["no good picture: %s" % " ".join(said)], None
    final, writes, wbytes, reads, rbytes, opens, dropped = map(int, said[1:])
    lost = tally.done_by(newest(files) - tally.margin_ns) - writes - dropped
    faults = [(final, "says it is final"), (writes > tally.begun_writes, "more writes than there were"),
              (reads > tally.begun_reads, "more reads than there were"), (rbytes != 30 * reads, "bytes of reads"),
              (not 70 * writes <= wbytes <= 100 * writes or wbytes % 10, "bytes of writes"),
              (lost > 0, "%d writes are lost" % lost)]
    return ["picture: " + text for bad, text in faults if bad], writes


def capture_faults(tally, captured):
    files = named(captured, r"\.iocap")
    if not files:
        return [], None
    shown = run(BUILD + "/roimeter", "capture", "--show", captured, "--format", "json")
    if shown.returncode == 2 and len(shown.stderr.splitlines()) == 1 and not any(map(os.path.getsize, files)):
        return [], None  # killed before the first byte, and that is said
    if shown.returncode != 0:
        return ["capture: exit %d: %s" % (shown.returncode, shown.stderr.strip()[-300:])], None
    if json.loads(shown.stdout)["complete"]:
        return ["capture: says it is complete"], None
    writes = reads = odd = 0
    events = run(BUILD + "/roimeter", "capture", "--show", captured, "--events", "--format", "json")
    for line in events.stdout.splitlines():
        e = json.loads(line)
        if e["call"] in ("write", "pwrite"):
            writes += e["count"]
            odd += e["result"] != (100 if e["call"] == "write" else 70)
        elif e["call"] == "pread":
            reads += e["count"]
            odd += e["result"] != 30
    lost = tally.done_by(newest(files) - tally.margin_ns) - writes
    if lost > 0:  # killed within a flush: then what the one before had is there
        AMID.append(captured)
        lost = tally.done_by(flush_before(files) - tally.margin_ns) - writes
    faults = [(events.returncode, "its events end with %d" % events.returncode), (odd, "results that were none"),
              (writes > tally.begun_writes, "more writes than there were"),
              (reads > tally.begun_reads, "more reads than there were"), (lost > 0, "%d writes are lost" % lost)]
    return ["capture: " + text for bad, text in faults if bad], writes


def put_off(pid):
    """How long the collector's thread could run and did not, in ns."""
    ns = 0
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/comm" % (pid, task)) as comm, open("/proc/%d/task/%s/schedstat" % (pid, task)) as stat:
                ns += int(stat.read().split()[1]) if comm.read().strip() == "roimeter" else 0
        except OSError:  # it has just ended, or this kernel does not count
            pass
    return ns


def await_some(at):
    for _ in range(3000):
        if named(at + "/log", r"^[^.].*\.roiio$") and (named(at + "/cap", r"\.iocap") or at.endswith("0")):
            return
        time.sleep(0.01)


def round_of(task):
    number, life_s, pause_us = task
    at = os.path.join(FOLDER, str(number))
    for name in ("log", "cap", "d"):
        os.makedirs(os.path.join(at, name))
    env = dict(os.environ, ROIMETER_LOG=at + "/log", ROIMETER_EXEC="profiled-1", ROIMETER_COLLECT="io",
               LD_PRELOAD="%s/libroimeter-io.so:%s/libroimeter-exit.so" % (BUILD, BUILD))
    if number % 2:
        env["ROIMETER_CAPTURE"] = at + "/cap"
    program = subprocess.Popen([BUILD + "/tests/tools/io_kill", at + "/d", at + "/tally", str(pause_us)], env=env)
    if number % 10 < 2:
        await_some(at)
    time.sleep(life_s)
    put_off_ns = put_off(program.pid)
    program.send_signal(signal.SIGKILL)
    if program.wait() != -signal.SIGKILL:
        return number, life_s, ["the program ended by itself: %d" % program.returncode], None, None
    if not os.path.exists(at + "/tally") or not os.path.getsize(at + "/tally"):
        return number, life_s, [], None, None
    tally = Tally(at + "/tally", put_off_ns)
    faults, counted = picture_faults(tally, at + "/log")
    more, captured = capture_faults(tally, at + "/cap")
    if len(tally.at) and tally.at[-1][0] - tally.at[0][0] > 2_000_000_000 + tally.margin_ns:
        more += ["no picture after two seconds"] * (counted is None)
        more += ["no capture after two seconds"] * (captured is None and number % 2)
    return number, life_s, faults + more, counted, captured


def main():
    chance = random.Random(SEED)
    # Without a pause there is more in the files; with one, more rounds have the time to begin.
    tasks = [(i, chance.choice((0.3, 1.2, 2.9)) * chance.random(), chance.choice((500, 2000))) for i in range(ROUNDS)]
    tasks[:4] = [(i, 3.2 + i / 10, 300 if i < 2 else 0) for i in range(4)]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(round_of, tasks))
    bad = [d for d in done if d[2]]
    for number, life_s, faults, _, _ in bad:
        print("# round %d, killed after %.3f s: %s" % (number, life_s, "; ".join(faults)))
    pictures, captures = sum(d[3] is not None for d in done), sum(d[4] is not None for d in done)
    print("%sok - %d rounds of kills, seed %d: what is left is whole, counts no call that was not, and none is missing "
          "(%d pictures, %d captures)" % ("not " * bool(bad), ROUNDS, SEED, pictures, captures))
    # A flush takes a part of each second, and more of it on a busy machine.
    few = len(AMID) <= 1 + captures // 3
    print("%sok - most are killed outside of a flush of their capture (%d within)" % ("" if few else "not ", len(AMID)))
    enough = pictures >= ROUNDS // 5 and captures >= ROUNDS // 10
    print("%sok - enough rounds left something" % ("" if enough else "not "))
    return 1 if bad or not few or not enough else 0


sys.exit(main())
