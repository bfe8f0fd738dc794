"""What a record of tests/device/run must say.

look.py exact RECORD COMPUTE COPIES REGIONS PROCESSES   of the probe: is it exact?
look.py events RECORD FILE                              of a load: do the collector and CUDA's events agree?
"""
import json
import sys


def record_of(path):
    text = json.load(open(path))
    return text["records"][0] if "records" in text else text


def exact(r, compute, copies, regions, processes):
    d, roi = r["device"], r["roi"]
    want = {"compute_ops": compute, "copy_d2d_ops": copies, "copy_h2d_ops": 0, "copy_d2h_ops": 0,
            "copy_other_ops": 0, "fill_ops": 0, "untimed_ops": 0, "dropped_ops": 0, "late_ops": 0,
            "processes_with_device_work": processes}
    bad = [f"{k} {d.get(k)}, not {v}" for k, v in want.items() if d.get(k) != v]
    if d.get("incomplete") is not False:
        bad.append(f"incomplete {d.get('incomplete')}")
    # Entries are those of one process, as all of them have the same.
    if roi["entries"] != regions or roi["processes"] != processes:
        bad.append(f"entries {roi['entries']} of {roi['processes']} processes, not {regions} of {processes}")
    if not (roi["excluded_s"] or 0) > 0:
        bad.append("nothing is excluded")
    clean, profiled = roi["wall_s"], roi["profiled_wall_s"]
    if profiled is None or abs(profiled - clean) > max(0.02, clean / 2):
        bad.append(f"profiled {profiled} s, clean {clean} s")
    if not 0 < d["busy_s"] <= processes * (profiled or 0) * 1.0001:
        bad.append(f"busy {d['busy_s']} s of {processes} times {profiled} s")
    print(json.dumps({"clean_s": clean, "profiled_s": profiled, "busy_s": d["busy_s"]}))
    return bad


def events(r, path):
    d, roi, bad = r["device"], r["roi"], []
    line = json.loads(open(path).readlines()[-1])  # of the execution with the collector
    ops, theirs = line["operations"], line["events_s"]
    # Events stand about each operation, or about all of them: their times hold the way from one to the
    # next as well. With the collector that is some microseconds each, and more from an engine to another.
    each = ops <= 64
    ours = d["op_time_sum_s"] if each else d["busy_s"]
    slack = 0.02 * theirs + ops * (25e-6 if each else 3e-6)
    clean, profiled = roi["wall_s"], roi["profiled_wall_s"]
    print(json.dumps({"load": line["load"], "operations": ops, "collector_s": ours, "events_s": theirs,
                      "clean_s": clean, "profiled_s": profiled,
                      "inflation": profiled / clean if profiled else None,
                      "per_operation_s": (profiled - clean) / ops if profiled else None,
                      "collector_cpu_s": r["observer"].get("collector_cpu_s")}))
    total = sum(d.get(k) or 0 for k in ("compute_ops", "copy_h2d_ops", "copy_d2h_ops"))
    if total != ops or d.get("dropped_ops") or d.get("untimed_ops"):
        bad.append(f"{total} operations in the region, {ops} were launched; dropped {d.get('dropped_ops')}, "
                   f"untimed {d.get('untimed_ops')}")
    if not -slack <= theirs - ours <= (slack if each else theirs):
        bad.append(f"collector {ours:.6f} s, events {theirs:.6f} s, slack {slack:.6f} s")
    return bad


def main(how, path, *rest):
    r = record_of(path)
    if r["status"] != "ok" or not r.get("device"):
        why = [c["text"] for c in r.get("caveats", []) if "device" in c["text"] or "collector" in c["text"]]
        return [f"status {r['status']}: {r.get('status_text') or ''} {'; '.join(why)}"]
    return exact(r, *map(int, rest)) if how == "exact" else events(r, *rest)


sys.exit("; ".join(main(*sys.argv[1:])) or 0)
