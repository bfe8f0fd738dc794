"""What a pair of marks costs in Python, against two time.monotonic_ns() beside it.

    marker_py.py             off and on, against the goal
    marker_py.py pairs       one of them, by the environment (used by the former)

Slices of pairs and slices of the floor take turns; a figure is the median of their ratio."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

B = os.environ.get("B", "build/release")
ROUNDS, SLICE = 61, 4000


def pairs(n):
    from roimeter import begin, end
    for _ in range(n):
        begin()
        end()


def floor(n):
    from time import monotonic_ns
    for _ in range(n):
        monotonic_ns()
        monotonic_ns()


def empty(n):
    for _ in range(n):
        pass


def measure():
    sys.path.insert(0, os.path.join(B, "python"))
    clock = time.thread_time_ns
    ratios = []
    pairs(SLICE)
    for _ in range(ROUNDS):
        t = [clock()]
        for part in (pairs, floor, empty):
            part(SLICE)
            t.append(clock())
        took = [b - a for a, b in zip(t, t[1:])]
        ratios.append((took[0] - took[2]) / (took[1] - took[2]))
    print(statistics.median(ratios), min(ratios), max(ratios))


def line(name, folder, goal):
    env = dict(os.environ, ROIMETER_LIBRARY=os.path.abspath(os.path.join(B, "libroimeter.so")))
    env.pop("ROIMETER_LOG", None)
    if folder:
        env["ROIMETER_LOG"] = folder
    said = subprocess.run([sys.executable, __file__, "pairs"], env=env, check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    value, low, high = map(float, said.split())
    verdict = f"  goal {goal} {'ok' if value <= goal else 'missed'}"
    print(f"{name:34s} {value:7.4f} [{low:.4f} {high:.4f}]{verdict}", flush=True)


def main():
    if sys.argv[1:] == ["pairs"]:
        return measure()
    module = os.path.join(B, "python", "roimeter.abi3.so")
    if not os.path.exists(module):
        print(f"left out: no {module}")
        return None
    folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        print("# a begin()/end() pair; 1 = two time.monotonic_ns(); the loop itself taken off both")
        line("marker_py_off", None, 0.5)
        line("marker_py_on", folder, 0.5)
    finally:
        shutil.rmtree(folder)
    return None


if __name__ == "__main__":
    sys.exit(main())
