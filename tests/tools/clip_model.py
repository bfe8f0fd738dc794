"""clip_model.py CLIP_CASES CASES SEED: random marks and operations of some processes, each nanosecond
looked at by itself, against what core/flow.h and core/picture.h say (tests/tools/clip_cases.c).

Times are small, so that edges meet: sets of whole nanoseconds are all the arithmetic there is."""
import fractions
import json
import random
import subprocess
import sys

CATEGORIES = 8
SIZELESS = (0, 7)  # compute, other
REGION, END, EXCLUDE, EXCLUDE_END = range(4)


def runs(points):
    """How many stretches a set of nanoseconds has."""
    return sum(1 for t in points if t - 1 not in points)


def span(begin, end):
    return set(range(begin, end))


class Process:
    def __init__(self, dice, number):
        self.dice = dice
        self.node = dice.choice("ab") if dice.random() < 0.3 else "a"
        self.slots = 16 if dice.random() < 0.3 else 4096
        self.top = dice.choice((30, 120, 400))
        self.base = dice.choice((1, 1000, 7 * 10**9))
        self.devices = [f"g{k}" for k in range(dice.randint(1, 3))]
        dice.shuffle(self.devices)
        self.lines = [f"process {self.node} {self.slots}"]
        self.lines += [f"device {d} {d}" for d in self.devices]
        self.gross, self.windows = set(), set()
        self.open_from = None  # of a stretch that is still open at the end
        self.ops, self.calls = [], []  # in the order in which they are told
        ops = [self.one_op() for _ in range(dice.choice((0, 1, 5, 40, 80)))]
        calls = [self.one_call() for _ in range(dice.choice((0, 0, 3, 20)))]
        if dice.random() < 0.5:
            self.with_ranges(ops, calls)
        else:
            self.with_marks(ops, calls)

    def time(self):
        return self.base + self.dice.randint(0, self.top)

    def one_op(self):
        begin = self.time()
        length = self.dice.choice((0, 0, -3, 1, 1, 2, 7, 20, self.top))
        return ("op", begin, begin + length, self.dice.choice((-1, 0, 1, 3, 10, 4097)),
                self.dice.randrange(len(self.devices)), self.dice.choice("klm"), self.dice.randrange(CATEGORIES))

    def one_call(self):
        begin = self.time()
        return ("call", begin, begin + self.dice.choice((0, 1, 5, 30)), self.dice.randrange(2))

    def tell(self, what):
        self.lines.append(" ".join(str(x) for x in what))
        if what[0] == "op":
            self.ops.append(what)
        elif what[0] == "call":
            self.calls.append(what)

    def with_ranges(self, ops, calls):
        """All windows first, in any order; then the operations, in any order, some of them too late."""
        excludes = set()
        for _ in range(self.dice.choice((0, 1, 2, 6))):
            exclude = self.dice.random() < 0.4
            begin, end = self.time(), self.time()
            self.lines.append(f"range {int(exclude)} {begin} {end}")
            (excludes if exclude else self.gross).update(span(begin, end))
        self.windows = self.gross - excludes
        told = ops + calls
        if self.dice.random() < 0.5:
            told.sort(key=lambda x: x[1])
        else:
            self.dice.shuffle(told)
        self.order = []
        for what in told:
            self.order.append(what)
            self.tell(what)
            if self.dice.random() < 0.03:
                before = self.time()
                self.order.append(("settle", before))
                self.lines.append(f"settle {before}")

    def with_marks(self, ops, calls):
        """As in a running program: marks in their order, operations when they end. Nothing is late."""
        self.slots = 4096
        self.lines[0] = f"process {self.node} {self.slots}"
        events = []
        for _ in range(self.dice.choice((0, 2, 8, 20))):
            events.append((self.time(), 0, ("mark", self.dice.choice((0, 0, 1, 1, 2, 3)))))
        for what in ops + calls:
            events.append((max(what[1], what[2]), 1, what))
        events.sort(key=lambda e: e[:2])
        region = exclude = 0
        since = None
        self.order = []
        for at, _, what in events:
            if what[0] != "mark":
                self.order.append(what)
                self.tell(what)
                continue
            mark = what[1]
            self.lines.append(f"mark {mark} {at}")
            if (mark != REGION and not region) or (mark == EXCLUDE_END and not exclude):
                continue  # it means nothing
            if since is not None and region:
                self.add(since, at, exclude)
            since = at
            if mark == REGION:
                region += 1
            elif mark == END:
                region -= 1
                exclude = exclude if region else 0
            elif mark == EXCLUDE:
                exclude += 1
            else:
                exclude -= 1
        if region:
            ends = [max(o[1], o[2]) for o in self.ops if o[2] > o[1]] + [c[2] for c in self.calls]
            last = max(ends + [since])
            self.add(since, last, exclude)
            self.open_from = None if exclude else since

    def add(self, begin, end, exclude):
        self.gross |= span(begin, end)
        if not exclude:
            self.windows |= span(begin, end)

    def late_ones(self):
        """Places of operations that come when something behind them is final already."""
        waiting, folded, late = [], None, set()

        def fold(entry):
            nonlocal folded
            if folded is not None and entry[0] < folded:
                late.add(entry[1])
            else:
                folded = entry[0]

        for i, what in enumerate(self.order):
            if what[0] == "settle":
                waiting.sort()
                while waiting and waiting[0][0] < what[1]:
                    fold(waiting.pop(0))
                folded = what[1] if folded is None else max(folded, what[1])
                continue
            entry = (what[1], i)
            if folded is not None and entry[0] < folded:
                late.add(i)
            elif len(waiting) == self.slots:
                waiting.sort()
                if entry[0] <= waiting[0][0]:
                    fold(entry)
                else:
                    fold(waiting.pop(0))
                    waiting.append(entry)
            else:
                waiting.append(entry)
        return late


def sums():
    return {"time": [0] * CATEGORIES, "ops": [0] * CATEGORIES, "bytes": [None if c in SIZELESS else fractions.Fraction(0) for c in range(CATEGORIES)],
            "union": [0] * CATEGORIES, "busy": 0, "op_sum": 0, "device_busy": 0, "untimed": 0}


def expect(processes):
    found = [p for p in processes if p.gross]
    out = {"found": int(bool(found)), "processes": len(found), "nodes": len({p.node for p in processes}),
           "entries": max((runs(p.gross) for p in found), default=0),
           "wall": max((len(p.windows) for p in found), default=0),
           "excluded": max((len(p.gross - p.windows) for p in found), default=0),
           "roi": sums(), "whole": sums(), "late": 0, "closed": 0, "with_work": 0,
           "calls": [0] * 4, "whole_calls": [0] * 4}
    tables = {"roi": {}, "whole": {}}
    devices = {}
    gap = [0, 0, 0]
    job = {}
    for p in processes:
        late = p.late_ones()
        out["late"] += sum(1 for i in late if p.order[i][0] == "op" and p.order[i][2] > p.order[i][1])
        busy = {}  # (device, category): nanoseconds
        for d in p.devices:
            devices.setdefault((p.node, d), {})[id(p)] = (set(), set())
        for i, what in enumerate(p.order):
            if what[0] == "call":
                begin, end, sync = what[1:]
                inside = begin in p.windows if begin < end else begin in p.windows or begin - 1 in p.windows
                inside = (inside or p.open_from in (begin, end)) and span(begin, end) <= p.windows
                for key in ("whole_calls",) + (("calls",) if inside else ()):
                    n = out[key]
                    n[0] += 1
                    n[1] += end - begin
                    n[2] += sync
                    n[3] += (end - begin) * sync
            if what[0] != "op":
                continue
            begin, end, size, device, name, category = what[1:]
            if end <= begin:
                out["whole"]["untimed"] += 1
                still_open = p.gross and p.open_from is not None and begin >= p.open_from
                out["roi"]["untimed"] += bool(begin in p.windows or still_open)
                continue
            points = span(begin, end)
            for scope, part in (("whole", points), ("roi", points & p.windows)):
                if not part:
                    continue
                s = out[scope]
                s["time"][category] += len(part)
                s["ops"][category] += 1
                s["op_sum"] += len(part)
                if size < 0:
                    s["bytes"][category] = None
                elif s["bytes"][category] is not None:
                    s["bytes"][category] += fractions.Fraction(size * len(part), len(points))
                tables[scope].setdefault(f"{name} {category}", []).append(len(part))
            if i not in late:
                busy.setdefault((p.devices[device], category), set()).update(points)
        all_busy = set().union(*busy.values()) if busy else set()
        for (device, category), points in busy.items():
            out["whole"]["union"][category] += len(points)
            out["roi"]["union"][category] += len(points & p.windows)
            for k, part in enumerate((points, points & p.windows)):
                devices[(p.node, device)][id(p)][k].update(part)
        for d in p.devices:
            out["whole"]["device_busy"] += len(devices[(p.node, d)][id(p)][0])
            out["roi"]["device_busy"] += len(devices[(p.node, d)][id(p)][1])
        out["whole"]["busy"] += len(all_busy)
        out["roi"]["busy"] += len(all_busy & p.windows)
        job.setdefault(p.node, [set(), set()])
        job[p.node][0] |= p.windows
        job[p.node][1] |= all_busy & p.windows
        idle = p.windows - all_busy
        in_sync = set().union(*(span(c[1], c[2]) for c in p.calls if c[3]), set())
        in_call = set().union(*(span(c[1], c[2]) for c in p.calls if not c[3]), set())
        gap[0] += len(idle)
        gap[1] += len(idle & in_sync)
        gap[2] += len((idle & in_call) - in_sync)
        out["with_work"] += any(span(o[1], o[2]) & p.windows for o in p.ops)
    out["window"] = sum(len(w) for w, _ in job.values()) if found else 0
    out["job_busy"] = sum(len(b) for _, b in job.values())
    out["gap"], out["gap_sync"], out["gap_api"] = gap if found else [None] * 3
    out["devices"] = {}
    shares, idle, finite = [], 0, True
    for (node, d), of in devices.items():
        whole = [len(w) for w, _ in of.values()]
        united = set().union(*(r for _, r in of.values()))
        window = len(job[node][0]) if found else None
        out["devices"][f"{node} {d}"] = {
            "busy": len(united), "processes": sum(1 for _, r in of.values() if r),
            "process_busy": sum(len(r) for _, r in of.values()), "window": window,
            "whole": sum(whole) if sum(map(bool, whole)) <= 1 else None, "whole_sum": sum(whole),
            "whole_processes": sum(map(bool, whole))}
        if any(whole) and found:
            finite = finite and window > 0
            shares.append(len(united) / window if window else 0)
            idle += window - len(united)
    known = bool(shares) and finite
    out["busy_frac_mean"] = sum(shares) / len(shares) if known else None
    out["idle"] = idle if known else None
    table = tables["roi" if found else "whole"]
    out["table"] = {k: {"count": len(v), "total": sum(v), "min": min(v), "max": max(v)} for k, v in table.items()}
    return out


def differences(ours, theirs, path=""):
    if isinstance(ours, dict):
        if set(ours) != set(theirs):
            yield f"{path}: {sorted(ours)} and {sorted(theirs)}"
            return
        for k in ours:
            yield from differences(ours[k], theirs[k], f"{path}.{k}")
    elif isinstance(ours, list):
        for i, (a, b) in enumerate(zip(ours, theirs)):
            yield from differences(a, b, f"{path}[{i}]")
    elif isinstance(ours, fractions.Fraction) and theirs is not None:
        # rounded once; a sum of doubles may be on the other side of a half
        if abs(theirs - ours) > fractions.Fraction(1, 2) + fractions.Fraction(1, 10**6):
            yield f"{path}: {float(ours)} expected, {theirs}"
    elif (ours is None) != (theirs is None) or (ours is not None and abs(ours - theirs) > 1e-12):
        yield f"{path}: {ours} expected, {theirs}"


def main():
    program, cases, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    bad = 0
    batch = 200
    for start in range(0, cases, batch):
        made = []
        for k in range(start, min(cases, start + batch)):
            dice = random.Random(seed * 1000003 + k)
            made.append([Process(dice, i) for i in range(dice.randint(1, 4))])
        text = "".join("\n".join(line for p in ps for line in p.lines) + "\nmerge\n" for ps in made)
        answer = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout
        for k, (ps, said) in enumerate(zip(made, answer.splitlines(), strict=True), start):
            got = json.loads(said)
            for key, name in (("devices", "id"), ("table", "name")):
                got[key] = {x.pop(name): x for x in got[key]}
            ours = expect(ps)
            if not ours["found"]:  # nothing is said of a region that was not there
                ours["roi"], got["roi"] = None, None
            wrong = list(differences(ours, got))
            if wrong:
                bad += 1
                if bad <= 3:
                    print(f"case {k}: " + "; ".join(wrong[:6]))
                    print("\n".join(line for p in ps for line in p.lines))
    print(f"{cases} cases, {bad} differ")
    return bad > 0


sys.exit(main())
