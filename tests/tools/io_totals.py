"""What an importer says of logs and traces, against numbers that are known: io_totals.py FORMAT FOLDER < JSON.

FORMAT is darshan or recorder; FOLDER has expected.json; the JSON is what --totals prints of what lies there.
A line "ok - ..." or "not ok - ..." for each log."""
import json
import os
import sys

# Darshan's own parser does not turn round the last three times of POSIX records of version 1 and 3 on
# big-endian logs (nor the size that goes with one of them): what it prints of these is no number.
UNTURNED = {"POSIX_F_META_TIME", "POSIX_F_MAX_READ_TIME", "POSIX_F_MAX_WRITE_TIME", "POSIX_MAX_READ_TIME_SIZE",
            "POSIX_MAX_WRITE_TIME_SIZE"}


def near(got, wanted):
    if isinstance(wanted, float):
        return got is not None and abs(got - wanted) <= 2e-6 + 1e-9 * abs(wanted)
    return got == wanted


def differences_darshan(got, wanted):
    for key in ("log_version", "endian", "compression", "bytes", "nprocs", "start_time", "end_time", "modules"):
        if got.get(key) != wanted[key]:
            yield key, got.get(key), wanted[key]
    if abs(got["run_time"] - wanted["run_time"]) > 1e-4:
        yield "run_time", got["run_time"], wanted["run_time"]
    for key in ("dxt", "heatmap_sum"):
        if (got.get(key) or None) != (wanted.get(key) or None):
            yield key, got.get(key), wanted.get(key)
    for module, n in wanted["distinct_record_ids"].items():
        if module in ("POSIX", "MPI-IO", "STDIO", "DXT_POSIX", "DXT_MPIIO", "HEATMAP", "LUSTRE"):
            if got["distinct_record_ids"].get(module) != n:
                yield "distinct ids of " + module, got["distinct_record_ids"].get(module), n
    unturned = wanted["endian"] == "big" and wanted["modules"].get("POSIX", {}).get("ver", 4) < 4
    for name in set(wanted["total"]) | set(got["total"]):
        if unturned and name in UNTURNED:
            continue
        a, b = got["total"].get(name), wanted["total"].get(name)
        if b is None or not near(a, b):
            yield name, a, b


def differences_recorder(got, wanted):
    for key in ("layout", "nprocs", "events_per_rank", "functions", "posix_bytes_read", "posix_bytes_written",
                "cst_entries", "grammar"):
        if got.get(key) != wanted[key]:
            yield key, got.get(key), wanted[key]
    for key in ("first_start", "last_end"):
        for rank, (a, b) in enumerate(zip(got[key], wanted[key])):
            if abs(a - b) > 1e-7:
                yield "%s of rank %d" % (key, rank), a, b
    if abs(got["time_resolution"] - wanted["time_resolution"]) > 1e-15:
        yield "time_resolution", got["time_resolution"], wanted["time_resolution"]


def main():
    kind, folder = sys.argv[1:3]
    with open(os.path.join(folder, "expected.json")) as f:
        expected = json.load(f)
    logs = {os.path.basename(log["file"].rstrip("/")): log for log in json.load(sys.stdin)["logs"]}
    differences = {"darshan": differences_darshan, "recorder": differences_recorder}[kind]
    for name, wanted in sorted(expected.items()):
        if name not in logs:
            print("not ok - %s: is not there" % name)
            continue
        bad = list(differences(logs[name], wanted))
        print("%s - every number of %s" % ("not ok" if bad else "ok", name))
        for key, a, b in bad[:8]:
            print("# %s: got %s, wanted %s" % (key, a, b))


main()
