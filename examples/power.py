"""The largest eigenvalue of a matrix by power iteration, in plain Python.

    power.py        with POWER_N, POWER_ROUNDS and POWER_SAVE_EVERY in the environment

The matrix has min(i, j) in row i and column j; its largest eigenvalue is known:
1 / (2 - 2 cos(pi / (2 n + 1))). Every few rounds the vector is saved, as a long computation would
to be able to go on later; that is excluded from the region.
"""

import array
import math
import operator
import os
import sys
import tempfile
import time

import roimeter


def setting(name, otherwise):
    text = os.environ.get(name, "")
    return int(text) if text else otherwise


def multiply(rows, x):
    return [sum(map(operator.mul, row, x)) for row in rows]


def save(file, x):
    file.seek(0)
    array.array("d", x).tofile(file)
    file.flush()


def main():
    n = setting("POWER_N", 300)
    rounds = setting("POWER_ROUNDS", 60)
    save_every = setting("POWER_SAVE_EVERY", 10)
    if n < 2 or rounds < 1:
        print("power: wants POWER_N of 2 or more and POWER_ROUNDS of 1 or more", file=sys.stderr)
        return 2

    rows = [array.array("d", [min(i, j) for j in range(1, n + 1)]) for i in range(1, n + 1)]
    x = [1.0] * n
    value = 0.0
    saving_s = 0.0
    print(f"power: {n} x {n}, {rounds} rounds")

    with tempfile.TemporaryFile() as file, roimeter.region():
        start_s = time.perf_counter()
        for i in range(1, rounds + 1):
            y = multiply(rows, x)
            value = sum(map(operator.mul, x, y)) / sum(map(operator.mul, x, x))
            length = math.sqrt(sum(map(operator.mul, y, y)))
            x = [component / length for component in y]
            roimeter.step()
            if save_every and i % save_every == 0:
                with roimeter.exclude():
                    save_start_s = time.perf_counter()
                    save(file, x)
                    saving_s += time.perf_counter() - save_start_s
        region_s = time.perf_counter() - start_s - saving_s

    wanted = 1 / (2 - 2 * math.cos(math.pi / (2 * n + 1)))
    error = abs(value / wanted - 1)
    good = error < 1e-9
    verdict = "good" if good else "WRONG"
    print(f"check: {value:.9f} of {wanted:.9f}, off by {error:.2g}: {verdict}")
    print(f"rate: {2 * n * n * rounds / region_s / 1e6:.6f} MFLOP/s")
    print(f"region time: {region_s:.9f} s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
