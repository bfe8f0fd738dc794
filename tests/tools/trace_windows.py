"""Every window of every expected file, through the program: its segments are planted into a copy of the
trace as ranges of each process, the copy is imported, and the record is compared to the nanosecond.

    trace_windows.py ROIMETER FOLDER_OF_TRACES SCRATCH FORMAT:NAME...
"""
import gzip
import json
import os
import sqlite3
import subprocess
import sys

PROGRAM, FOLDER, SCRATCH = sys.argv[1:4]
CATEGORIES = ("compute", "copy_h2d", "copy_d2h", "copy_d2d", "copy_other", "fill", "collective", "other")


def ns(seconds):
    return None if seconds is None else round(seconds * 1e9)


def plain(name):
    path = os.path.join(FOLDER, name)
    return gzip.open(path).read() if name.endswith(".gz") else open(path, "rb").read()


# ---- ranges planted ---------------------------------------------------------------------------------


def plant_nsys(path, spans):
    db = sqlite3.connect(path)
    tables = {r[0] for r in db.execute("select name from sqlite_master")}
    if "NVTX_EVENTS" not in tables:
        db.execute("create table NVTX_EVENTS (start, end, eventType, text, globalTid)")
    pids = [0]
    if "globalPid" in {r[1] for r in db.execute("pragma table_info(CUPTI_ACTIVITY_KIND_KERNEL)")}:
        pids = [r[0] for r in db.execute("select distinct globalPid from CUPTI_ACTIVITY_KIND_KERNEL")]
    for pid in pids:
        for name, b, e in spans:
            db.execute(
                "insert into NVTX_EVENTS (start, end, eventType, text, globalTid) values (?, ?, 59, ?, ?)",
                (b, e, name, pid + 1),
            )
    db.commit()


def plant_rocpd(path, spans):
    db = sqlite3.connect(path)
    names = [r[0] for r in db.execute("select name from sqlite_master where type = 'table'")]
    region = next(n for n in names if n.startswith("rocpd_region"))
    string = next(n for n in names if n.startswith("rocpd_string"))
    ids = {}
    for name, b, e in spans:
        if name not in ids:
            ids[name] = db.execute(f"insert into {string} (string) values (?)", (name,)).lastrowid
        db.execute(
            f"insert into {region} (nid, pid, tid, start, end, name_id) values (1, 1, 1, ?, ?, ?)",
            (b, e, ids[name]),
        )
    db.commit()


def plant_rpd(path, spans):
    db = sqlite3.connect(path)
    pid = db.execute("select pid from rocpd_api limit 1").fetchone()[0]

    def text(value):
        row = db.execute("select id from rocpd_string where string = ?", (value,)).fetchone()
        return row[0] if row else db.execute("insert into rocpd_string (string) values (?)", (value,)).lastrowid

    for name, b, e in spans:
        db.execute(
            "insert into rocpd_api (pid, tid, start, end, apiName_id, args_id) values (?, 1, ?, ?, ?, ?)",
            (pid, b, e, text("UserMarker"), text(name)),
        )
    db.commit()


def plant_json(path, spans):
    document = json.load(open(path))
    tool = document["rocprofiler-sdk-tool"][0]
    for i, (name, b, e) in enumerate(spans):
        tool["strings"]["marker_api"].append({"key": 1 << 40 | i, "value": name})
        tool["buffer_records"]["marker_api"].append(
            {"start_timestamp": b, "end_timestamp": e, "correlation_id": {"internal": 1 << 40 | i}}
        )
    json.dump(document, open(path, "w"))


def plant_kineto(path, spans):
    """In front of all events, as PyTorch writes an annotation: microseconds with three decimals."""
    text = open(path, encoding="utf-8").read()
    at = text.index("[", text.index('"traceEvents"')) + 1 if text.lstrip()[0] == "{" else text.index("[") + 1
    events = [
        '{"ph": "X", "cat": "user_annotation", "name": "%s", "pid": 1, "tid": %d, "ts": %d.%03d, "dur": %d.%03d}, '
        % (name, i, b // 1000, b % 1000, (e - b) // 1000, (e - b) % 1000)
        for i, (name, b, e) in enumerate(spans)
    ]
    open(path, "w", encoding="utf-8").write(text[:at] + "".join(events) + text[at:])


def plant_xplane(path, spans):
    """One more plane /host:CPU behind the others, with a line of one thread."""

    def varint(n):
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])

    def number(field, n):
        return varint(field << 3) + varint(n)

    def nested(field, content):
        return varint(field << 3 | 2) + varint(len(content)) + content

    names = sorted({name for name, _, _ in spans})
    line = nested(2, b"python")
    for name, b, e in spans:
        event = number(1, 1 + names.index(name)) + number(2, b * 1000) + number(3, (e - b) * 1000)
        line += nested(4, event)
    plane = nested(2, b"/host:CPU") + nested(3, line)
    for i, name in enumerate(names):
        meta = number(1, 1 + i) + nested(2, name.encode())
        plane += nested(4, number(1, 1 + i) + nested(2, meta))
    with open(path, "ab") as f:
        f.write(nested(1, plane))


def plant(name, path, spans):
    if name.startswith("kineto"):
        plant_kineto(path, spans)
    elif name.startswith("xplane"):
        plant_xplane(path, spans)
    elif name.startswith("nsys"):
        plant_nsys(path, spans)
    elif name.startswith("rocpd"):
        plant_rocpd(path, spans)
    elif name.startswith("rpd"):
        plant_rpd(path, spans)
    else:
        plant_json(path, spans)


# ---- what comes out ------------------------------------------------------------------------------------


def record_of(kind, path, *more):
    out = subprocess.run(
        [PROGRAM, "import", kind, path, "--dry-run", "--format", "json", *more], capture_output=True, text=True
    )
    if out.returncode:
        raise AssertionError(f"exit {out.returncode}: {out.stderr.strip()}")
    records = json.loads(out.stdout)["records"]
    if len(records) != 1:
        raise AssertionError(f"{len(records)} records")
    return records[0]


def compare(window, sums, per_device, wrong, cut, no_bytes):
    def same(what, got, wanted):
        if got != wanted:
            wrong.append(f"{what}: {got}, expected {wanted}")

    same("process_device_busy_s", ns(sums["process_device_busy_s"]), window["busy_ns"])
    same("op_time_sum_s", ns(sums["op_time_sum_s"]), window["sum_ns"])
    same("device_overlap_s", ns(sums["device_overlap_s"]), window["overlap_ns"])
    for c in CATEGORIES:
        wanted = window["categories"].get(c)
        if sums[c + "_s"] is None:
            if wanted and wanted["ops_touching"]:
                wrong.append(f"{c} is null")
            continue
        wanted = wanted or {"time_ns": 0, "union_ns": 0, "ops_touching": 0, "bytes": 0}
        same(c + "_s", ns(sums[c + "_s"]), wanted["time_ns"])
        same(c + "_ops", sums[c + "_ops"], wanted["ops_touching"])
        if c + "_busy_s" in sums:
            same(c + "_busy_s", ns(sums[c + "_busy_s"]), wanted["union_ns"])
        if not cut and not no_bytes and c.startswith("copy") and sums[c + "_bytes"] is not None:
            same(c + "_bytes", sums[c + "_bytes"], wanted["bytes"])
    busy = {d["device"]: ns(d["busy_s"]) for d in per_device or [] if d["busy_s"]}
    wanted = {k: v for k, v in window["busy_ns_by_device"].items() if v}
    same("per_device", sorted(busy.values()), sorted(wanted.values()))


def check(kind, name):
    expected = json.load(open(os.path.join(FOLDER, "expected", name + ".json")))
    path = os.path.join(SCRATCH, os.path.basename(name).removesuffix(".gz"))
    no_bytes = name.startswith("rpd")
    for window in expected["windows"]:
        wrong = []
        try:
            if os.path.exists(path):
                os.unlink(path)
            spans = window["segments_ns"]
            if any(isinstance(x, str) for s in spans for x in s):
                continue  # a list that is cut where it is expected
            with open(path, "wb") as f:
                f.write(plain(name))
            cut = window["ops_started"] != window["ops_touching"] or window["name"] != "whole"
            if name.endswith(".csv"):  # no ranges can be planted: the whole of it
                if window["name"] != "whole":
                    continue
                whole = record_of(kind, path)["context"]["whole_process"]
                compare(window, whole, whole.get("per_device"), wrong, cut, no_bytes)
            else:
                plant(name, path, [("roimeter:roi", b, e) for b, e in spans])
                record = record_of(kind, path)
                wall = ns(record["roi"]["profiled_wall_s"])
                if wall != window["wall_ns"]:
                    wrong.append(f"roi.profiled_wall_s: {wall}, expected {window['wall_ns']}")
                compare(window, record["device"], record["device"]["per_device"], wrong, cut, no_bytes)
        except (AssertionError, KeyError, TypeError) as e:
            wrong.append(repr(e))
        sentence = f"{name}: {window['name']}"
        print(("not ok - " if wrong else "ok - ") + sentence, flush=True)
        for line in wrong:
            print("# " + line)


# ---- ranges that are there -----------------------------------------------------------------------------


def glob_of(text):
    return "".join("[" + c + "]" if c in "*?[" else "\\\\" if c == "\\" else c for c in text)


def check_ranges(kind, name):
    """The file as it is, packed, with --range: the region is a stretch of its time line, and what all
    devices did then is in it, whose ever the range is."""
    expected = json.load(open(os.path.join(FOLDER, "expected", name + ".json")))
    for window in expected["windows"]:
        if not window["name"].startswith("marker:"):
            continue
        wrong = []
        try:
            title = window["name"][7:]
            record = record_of(kind, os.path.join(FOLDER, name), "--range", glob_of(title))
            device = record["device"]
            compare(window, device, device["per_device"], wrong, True, True)
            if ns(record["roi"]["profiled_wall_s"]) != window["wall_ns"]:
                wrong.append(f"roi: {record['roi']['profiled_wall_s']}, expected {window['wall_ns']} ns")
        except (AssertionError, KeyError, TypeError) as e:
            wrong.append(repr(e))
        print(("not ok - " if wrong else "ok - ") + f"{name}: --range '{window['name'][7:]}'", flush=True)
        for line in wrong:
            print("# " + line)


# ---- rows in no order --------------------------------------------------------------------------------------


def shuffled(rows):
    """Two processes, more operations than wait for each other, written in no order at all: the record is
    that of the same rows in order, and what it must be."""
    import random

    random.seed(7)
    ops = []
    for i in range(rows):
        begin = 1000 * i + random.randrange(3000)
        ops.append((begin, begin + random.randrange(1, 4000), i % 3 % 2))
    records = []
    for order in ("sorted", "shuffled"):
        path = os.path.join(SCRATCH, order + ".sqlite")
        if order == "shuffled":
            random.shuffle(ops)
        db = sqlite3.connect(path)
        db.execute("create table StringIds (id integer primary key, value)")
        db.execute("insert into StringIds values (1, 'k'), (2, 'cudaDeviceSynchronize')")
        db.execute("create table CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, globalPid, demangledName)")
        db.execute("create table CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, nameId)")
        db.execute("create table NVTX_EVENTS (start, end, eventType, text, globalTid)")
        for b, e, p in ops:
            db.execute("insert into CUPTI_ACTIVITY_KIND_KERNEL values (?, ?, ?, ?, 1)", (b, e, p, (7 + p) << 24))
            db.execute("insert into CUPTI_ACTIVITY_KIND_RUNTIME values (?, ?, ?, 2)", (b, b + 500, (7 + p) << 24 | 1))
        for p in range(2):
            for b, e in ((0, 300 * rows), (400 * rows, 900 * rows)):
                db.execute("insert into NVTX_EVENTS values (?, ?, 59, 'roimeter:roi', ?)", (b, e, (7 + p) << 24))
        db.commit()
        db.close()
        records.append(record_of("nsys", path))
        os.unlink(path)
    wrong = []
    for block in ("device", "gap", "runtime_api"):
        if records[0][block] != records[1][block]:
            wrong.append(f"{block}: {records[1][block]}, in order {records[0][block]}")
    busy = 0
    for p in range(2):
        end = 0
        for b, e, q in sorted(ops):
            for wb, we in ((0, 300 * rows), (400 * rows, 900 * rows)) if q == p else ():
                b2, e2 = max(b, wb, end), min(e, we)
                if e2 > b2:
                    busy += e2 - b2
            end = max(end, e) if q == p else end
    got = ns(records[1]["device"]["process_device_busy_s"])
    if got != busy:
        wrong.append(f"busy: {got}, expected {busy}")
    if records[1]["device"]["late_ops"]:
        wrong.append(f"late_ops: {records[1]['device']['late_ops']}")
    print(("not ok - " if wrong else "ok - ") + f"{rows} rows in no order are as good as in order", flush=True)
    for line in wrong:
        print("# " + line[:2000])


for word in sys.argv[4:]:
    if word.startswith("shuffled:"):
        shuffled(int(word[9:]))
        continue
    check(*word.split(":", 1))
    if not word.endswith((".csv", "handmade.sqlite.gz")):
        check_ranges(*word.split(":", 1))
