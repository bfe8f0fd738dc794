#!/usr/bin/env python3
"""What the collector io costs beside single calls (io_calls): a shell script that starts short commands, a program that forks
short children, and calls of MPI. Each with the collector and without, by turns; CPU time of all processes for the first two,
wall time between two ranks for the last. What there is no MPI for is left out.

    NAME RATIO [LEAST MOST] +MORE unit (BASE unit) goal G ok|missed"""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

BUILD = os.environ.get("B", "build/release")
ROUNDS = 5
PROCESSES = 40

PING_PONG = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#define N 20000
#define WRITES 2000
int main(int argc, char **argv)
{
	int rank;
	double x = 1, begin;
	char bytes[64] = "";
	MPI_File f;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int round = 0; round < 2; round++) {
		MPI_Barrier(MPI_COMM_WORLD);
		begin = MPI_Wtime();
		for (int i = 0; i < N; i++) {
			if (rank == 0) MPI_Send(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
			MPI_Recv(&x, 1, MPI_DOUBLE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			if (rank == 1) MPI_Send(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
		}
		if (rank == 0 && round) printf("message %.9g\n", (MPI_Wtime() - begin) / N / 2 * 1e9);
	}
	MPI_File_open(MPI_COMM_SELF, argv[1 + rank], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	for (int round = 0; round < 2; round++) {
		begin = MPI_Wtime();
		for (int i = 0; i < WRITES; i++) MPI_File_write_at(f, 64 * i, bytes, 64, MPI_BYTE, MPI_STATUS_IGNORE);
		if (rank == 0 && round) printf("write_at %.9g\n", (MPI_Wtime() - begin) / WRITES * 1e9);
	}
	MPI_File_close(&f);
	MPI_Finalize();
	return 0;
}
"""


def with_io(folder):
    log = tempfile.mkdtemp(dir=folder)
    return {"ROIMETER_LIBRARY": BUILD + "/libroimeter.so", "ROIMETER_LOG": log, "ROIMETER_EXEC": "profiled-1",
            "ROIMETER_COLLECT": "io", "LD_PRELOAD": "%s/libroimeter-io.so:%s/libroimeter-exit.so" % (BUILD, BUILD)}


def cpu_ms(command, more):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=dict(os.environ, **more), check=True, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def line(name, pairs, unit, goal):
    """pairs: without, with."""
    ratios = sorted(b / a for a, b in pairs)
    base = statistics.median(a for a, _ in pairs)
    more = statistics.median(b - a for a, b in pairs)
    print("%s %.3g [%.3g %.3g] %+.3g %s (%.3g %s) goal %+g %s" %
          (name, statistics.median(ratios), ratios[0], ratios[-1], more, unit, base, unit, goal,
           "ok" if more <= goal else "missed"), flush=True)
    return more > goal


def processes(folder):
    missed = False
    for name, command, goal in (("io_short_commands", "/bin/true", 1), ("io_forked_children", "(echo x >/dev/null)", 1)):
        loop = "i=0; while [ $i -lt %d ]; do %s; i=$((i+1)); done" % (PROCESSES, command)
        pairs = []
        for _ in range(ROUNDS):
            pairs.append(tuple(cpu_ms(["/bin/sh", "-c", loop], more) / PROCESSES for more in ({}, with_io(folder))))
        missed |= line(name, pairs, "ms CPU a process", goal)
    return missed


def mpi(folder):
    cc, run = shutil.which("mpicc.openmpi"), shutil.which("mpiexec.openmpi")
    if not cc or not run:
        print("# MPI is left out: there is no Open MPI")
        return False
    source, program = folder + "/pingpong.c", folder + "/pingpong"
    with open(source, "w") as f:
        f.write(PING_PONG)
    subprocess.run([cc, "-O2", "-o", program, source], check=True)
    allow = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    seen = {}
    for _ in range(ROUNDS):
        for env in ({}, with_io(folder)):
            words = ["env"] + ["%s=%s" % kv for kv in env.items()]
            out = subprocess.run([run, "-n", "2"] + words + [program, folder + "/a", folder + "/b"],
                                 env=dict(os.environ, **allow), stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout
            for text in out.splitlines():
                name, ns = text.split()
                seen.setdefault(name, []).append(float(ns))
    missed = line("io_mpi_message_8_bytes", list(zip(seen["message"][::2], seen["message"][1::2])), "ns a message", 200)
    missed |= line("io_mpi_write_at_64_bytes", list(zip(seen["write_at"][::2], seen["write_at"][1::2])), "ns a call", 1000)
    return missed


def main():
    if not os.path.exists(BUILD + "/libroimeter-io.so"):
        print("# left out: there is no libroimeter-io.so")
        return 0
    folder = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    try:
        missed = processes(folder)
        missed |= mpi(folder)
    finally:
        shutil.rmtree(folder)
    return missed


sys.exit(main())
