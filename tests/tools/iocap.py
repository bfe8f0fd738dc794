#!/usr/bin/env python3
"""A capture's calls, a line of JSON each, as `roimeter capture --show DIR --events --format json`:
written from docs/capture.md alone, so that the page and the program hold each other. The list of calls is
schema/iocall.h's."""
import heapq
import json
import os
import re
import struct
import sys

M64 = (1 << 64) - 1
HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../schema/iocall.h")
FIXED_VALUES = (1, 3, 4, 8)
HANDLES = 65535


def signed(x):
    x &= M64
    return x - (1 << 64) if x >> 63 else x


def unzigzag(x):
    return signed((x >> 1) ^ -(x & 1))


def xxh64(data, seed):
    p1, p2, p3, p4, p5 = (11400714785074694791, 14029467366897019727, 1609587929392839161,
                          9650029242287828579, 2870177450012600261)

    def rol(x, r):
        return ((x << r) | (x >> (64 - r))) & M64

    def mix(acc, lane):
        return rol((acc + lane * p2) & M64, 31) * p1 & M64
    n, at = len(data), 0
    if n >= 32:
        v = [(seed + p1 + p2) & M64, (seed + p2) & M64, seed & M64, (seed - p1) & M64]
        for at in range(0, n - 31, 32):
            v = [mix(a, b) for a, b in zip(v, struct.unpack_from("<4Q", data, at))]
        at = n // 32 * 32
        h = (rol(v[0], 1) + rol(v[1], 7) + rol(v[2], 12) + rol(v[3], 18)) & M64
        for x in v:
            h = ((h ^ mix(0, x)) * p1 + p4) & M64
    else:
        h = (seed + p5) & M64
    h = (h + n) & M64
    while at + 8 <= n:
        h = (rol(h ^ mix(0, struct.unpack_from("<Q", data, at)[0]), 27) * p1 + p4) & M64
        at += 8
    if at + 4 <= n:
        h = (rol(h ^ struct.unpack_from("<I", data, at)[0] * p1 & M64, 23) * p2 + p3) & M64
        at += 4
    for byte in data[at:]:
        h = rol(h ^ byte * p5 & M64, 11) * p1 & M64
    h = (h ^ h >> 33) * p2 & M64
    h = (h ^ h >> 29) * p3 & M64
    return h ^ h >> 32


class In:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        part = self.data[self.at:self.at + n]
        if len(part) != n:
            raise ValueError("cut")
        self.at += n
        return part

    def rest(self):
        return self.take(len(self.data) - self.at)

    def varint(self):
        x = shift = 0
        while True:
            byte = self.take(1)[0]
            x |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return x

    def signed(self):
        return unzigzag(self.varint())

    def name(self):
        n = self.varint()
        return self.take(n - 1).decode() if n else None

    def column(self):
        n = self.varint()
        if not n:
            return []
        mode = self.varint()
        if mode == 1:
            return [self.varint()] * n
        if mode == 2:
            return [self.varint() for _ in range(n)]
        own, last = [], 0
        if mode == 4:
            for _ in range(self.varint()):
                last += self.varint()
                own.append(last)
        return self.rans(n, own)

    def rans(self, n, own):
        token, frequency, begin, t = [], {}, {}, 0
        for _ in range(self.varint()):
            t += self.varint()
            frequency[t], begin[t] = self.varint(), len(token)
            token += [t] * frequency[t]
        assert len(token) == 16384
        words = self.take(self.varint())
        low, low_at = int.from_bytes(self.take(self.varint()), "little"), 0
        x, at, out = struct.unpack_from("<Q", words)[0], 8, []
        for _ in range(n):
            slot = x & 16383
            t = token[slot]
            x = frequency[t] * (x >> 14) + slot - begin[t]
            if x < 1 << 31:
                x = x << 32 | struct.unpack_from("<I", words, at)[0]
                at += 4
            if t < 64:
                out.append(t)
            elif t >= 1920:
                out.append(own[t - 1920])
            else:
                e, m = (t - 64) // 32 + 6, (t - 64) % 32
                bits = low >> low_at & ((1 << (e - 5)) - 1)
                low_at += e - 5
                out.append(1 << e | m << (e - 5) | bits)
        return out


def blocks(data, at):
    """(type, stream, items, payload), and where the last good one ended."""
    out = []
    while at + 16 <= len(data):
        kind, stream, size, items, told = struct.unpack_from("<HHIII", data, at)
        payload = data[at + 16:at + 16 + size]
        seed = struct.unpack_from("<Q", data, at)[0] ^ items << 32
        if len(payload) != size or xxh64(payload, seed & M64) & 0xffffffff != told:
            break
        out.append((kind, stream, items, payload))
        at += 16 + size
    return out, at


# ---- calls ----

def read_calls():
    text = open(HEADER).read()
    closing, calls = {}, {}
    for first, family in ((1, "POSIX"), (128, "STDIO"), (192, "AIO"), (256, "MPIIO")):
        body = text.split("#define IO_CALLS_%s(X)" % family)[1].split("\n\n")[0]
        for i, (name, kind, letters) in enumerate(
                re.findall(r'X\((\w+), \w+, IO_(\w+), "([^"]*)"\)', body)):
            calls[first + i] = (name, kind, letters)
    return calls


CALLS = read_calls()


class Shape:
    def __init__(self, call):
        self.name, self.kind, letters = CALLS.get(call, ("?", "", "iiiiii:i"))
        self.arguments, self.result = letters.split(":")
        self.shown = self.arguments if call in CALLS else ""
        first = self.arguments.find
        self.handle, self.offset, self.whence, self.asked = (first("h"), first("o"), first("w"),
                                                             first("n"))
        n = len(self.arguments)
        self.order = [i for i in range(n) if self.arguments[i] != "o"]
        self.order += [i for i in range(n) if self.arguments[i] == "o"]
        self.order += list(range(n, 9))
        self.track = {"READ": 0, "COPY": 0, "WRITE": 1}.get(self.kind, 2)
        self.moves = self.kind in ("READ", "WRITE")

    def column(self, field):
        if field == 7:
            return 5
        result = field == 6
        letter = self.result if result else self.arguments[field] if field < len(self.arguments) else ""
        if letter == "h":
            return 2
        if letter and letter in "pt":
            return 3
        if result:
            return 4
        return {"n": 0, "o": 1}.get(letter, 6)


class Event:
    def __init__(self, signature, thread):
        self.call, self.depth, self.thread = signature[0], signature[1], thread
        self.value = [0] * 9  # arguments, result, at, count
        self.begin = self.end = 0


class Model:
    def __init__(self, stream):
        self.most = 1024 if stream else 16384
        self.places, self.place_of = [], {}
        self.newest_handle = self.newest_text = self.last_place = 0
        self.free = []

    def slot(self, s, e):
        if s.handle < 0:
            return None
        place = self.place_of.get(e.value[s.handle] & 0xffffffff)
        return None if place is None else self.places[place]

    def bind(self, handle):
        if not handle:
            return
        place = heapq.heappop(self.free) if self.free else len(self.places)
        if place == self.most:
            self.places, self.place_of, self.free, place = [], {}, [], 0
        new = {"handle": handle, "position": 0, "tracks": [[0, 0, 0, 0] for _ in range(3)]}
        if place == len(self.places):
            self.places.append(new)
        else:
            self.places[place] = new
        self.place_of[handle] = place

    def release(self, handle):
        place = self.place_of.pop(handle, None)
        if place is not None:
            self.places[place]["handle"] = 0
            heapq.heappush(self.free, place)

    def base(self, s, e, field):
        column = s.column(field)
        slot = self.slot(s, e)
        if column == 2:
            return self.newest_handle + 1
        if column == 3:
            return self.newest_text + 1
        if column == 1:
            away = s.whence >= 0 and e.value[s.whence] != 0
            return slot["tracks"][s.track][0] if slot and field == s.offset and not away else 0
        if column == 5:
            return slot["position"] if slot else 0
        if column == 4:
            return e.value[s.asked] if s.result == "n" and s.asked >= 0 else 0
        return 0

    def expect(self, s, e, field, how, value, next_value):
        slot = self.slot(s, e)
        if how == 0:
            return -1 if field == 7 else 0
        if how == 1:
            return value
        if how == 2:
            return self.base(s, e, field) + next_value(s.column(field))
        if how in (3, 4):
            return self.places[value + (self.last_place if how == 4 else 0)]["handle"]
        if how == 5:
            return self.base(s, e, field)
        if how == 6 and field == 7:
            return slot["position"]
        if how in (6, 7):
            offset, end, _, stride = slot["tracks"][s.track]
            return end if how == 6 else offset + stride
        if how == 8:
            return self.base(s, e, field) + value
        if field == 7:
            return e.value[s.offset]
        if s.result == "n":
            return e.value[s.asked]
        if s.whence >= 0 and e.value[s.whence] == 1:
            return slot["position"] + e.value[s.offset]
        return e.value[s.offset]

    def tell(self, s, e):
        v = e.value
        for i, letter in enumerate(s.arguments):
            number = v[i] & 0xffffffff
            if letter == "h":
                if number not in self.place_of:
                    self.bind(number)
                self.newest_handle = max(self.newest_handle, number)
                if i == s.handle and number:
                    self.last_place = self.place_of[number]
            elif letter in "pt":
                self.newest_text = max(self.newest_text, number)
        slot = self.slot(s, e)
        if slot:
            self.tell_access(s, v, slot)
        if s.kind == "CLOSE" and s.handle >= 0:
            self.release(v[s.handle] & 0xffffffff)
        if s.result == "h" and v[6] > 0:
            made = v[6] & 0xffffffff
            self.release(made)
            self.bind(made)
            self.newest_handle = max(self.newest_handle, made)

    def tell_access(self, s, v, slot):
        if s.offset >= 0 and (s.whence < 0 or v[s.whence] == 0):
            track = slot["tracks"][s.track]
            delta = signed(v[s.offset] - track[0])
            if delta == track[2]:
                track[3] = delta
            n = max(v[6], 0) if s.moves else v[s.asked] if s.asked >= 0 else 0
            track[:3] = [v[s.offset], signed(v[s.offset] + n), delta]
        if s.moves and s.offset < 0 and v[6] >= 0 and v[7] >= 0:
            slot["position"] = signed(v[7] + v[6] * (v[8] or 1))
        if s.whence >= 0 and s.result == "o" and v[6] >= 0:
            slot["position"] = v[6]


# ---- a process ----

class Process:
    def __init__(self, path):
        self.path = path
        self.texts, self.infos, self.signatures, self.streams = {}, [], [], {}
        self.counts = {}
        data = open(path, "rb").read()
        if data[:8] == b"roicapa\n":
            listed, end = self.alike(data)
        else:
            assert data[:8] == b"roicap1\n", path
            listed, end = blocks(data, 8)
        for block in listed:
            self.block(*block)
        self.under_way(end)
        self.shapes = {}

    def alike(self, data):
        listed, end = blocks(data, 8)
        folder = os.path.dirname(self.path)
        base, _ = blocks(open(os.path.join(folder, listed[0][3].decode()), "rb").read(), 8)
        out = []
        for kind, stream, items, payload in listed[1:]:
            if kind == 10:
                p = In(payload)
                kind = p.varint()
                of, made = In(base[p.varint()][3]), b""
                while p.at < len(payload):
                    copy, leave, put = p.varint(), p.varint(), p.varint()
                    made += of.take(copy) + p.take(put)
                    of.take(leave)
                payload = made + of.rest()
            out.append((kind, stream, items, payload))
        return out, end

    def under_way(self, end):
        best = (0, b"")
        for name in (self.path + "-open0", self.path + "-open1"):
            data = open(name, "rb").read() if os.path.exists(name) else b""
            if len(data) < 32 or data[:8] != b"roicapo\n":
                continue
            turn, n, told = struct.unpack_from("<QQQ", data, 8)
            if xxh64(data[32:32 + n], (turn ^ n << 32) & M64) == told and turn > best[0]:
                best = (turn, data[32:32 + n])
        listed, _ = blocks(best[1], 0)
        wanted = None
        for kind, _, _, payload in listed:
            if kind == 8:
                p = In(payload)
                wanted = [p.varint() for _ in range(3)][2]
        if wanted is None or wanted > end:
            return
        for kind, stream, items, payload in listed:
            if kind in (2, 3, 4, 6, 7):
                p = In(payload)
                if p.varint() != self.counts.get((kind, stream), 0):
                    continue
                payload = p.rest()
            self.block(kind, stream, items, payload, True)

    def block(self, kind, stream, items, payload, open_=False):
        p = In(payload)
        self.counts[kind, stream] = self.counts.get((kind, stream), 0) + 1
        if kind == 1:
            self.pid, self.parent, self.rank, self.real = (p.signed(), p.signed(), p.signed(),
                                                           p.signed())
            self.timed, self.step = p.varint(), p.varint()
            self.host, self.program, self.source = p.name(), p.name(), p.name()
        elif kind == 2:
            self.read_texts(*[p.column() for _ in range(4)])
        elif kind == 3:
            path = inode = device = 0
            for _ in range(items):
                path += p.signed()
                kind_of, interface, flags = p.varint(), p.varint(), p.signed()
                device ^= p.varint()
                inode += p.signed()
                self.infos.append((path, kind_of >> 1, kind_of & 1, interface, flags))
        elif kind == 4:
            for _ in range(items):
                call, depth, how = p.varint(), p.varint(), p.varint()
                hows = [how >> 4 * i & 15 for i in range(9)]
                self.signatures.append((call, depth, hows,
                                        [p.signed() if h in FIXED_VALUES else 0 for h in hows]))
        elif kind in (5, 6, 7):
            s = self.streams.setdefault(stream, {"segments": [], "n": 0, 6: [], 7: []})
            if kind != 5:
                s[kind].append(payload)
                return
            first, n, thread, is_list = p.varint(), p.varint(), p.varint(), p.varint()
            if open_ and first != s["n"]:
                return
            assert first == s["n"]
            s["n"] += n
            lengths = None if is_list else p.column()
            s["segments"].append((thread, lengths, p.column(), p.column()))

    def read_texts(self, numbers, prefixes, suffixes, more):
        number, last, at = 0, b"", 0
        for n, prefix, suffix in zip(numbers, prefixes, suffixes):
            number += unzigzag(n) + 1
            last = last[:prefix] + bytes(more[at:at + suffix])
            at += suffix
            self.texts[number] = last

    # ---- symbols ----

    def symbols(self, s):
        for _, lengths, items, times in s["segments"]:
            begins, at = [], 0
            for n in lengths or [len(items)]:
                begins.append((at, at + n))
                at += n
            stack = [[begins[0][0], begins[0][1], begins[0][0], 1]]  # at, end, begin, left
            while stack:
                top = stack[-1]
                if top[0] == top[1]:
                    top[3] -= 1
                    top[0] = top[2]
                    if not top[3]:
                        stack.pop()
                    continue
                item, n = items[top[0]], times[top[0]] + 1
                top[0] += 1
                if item & 1:
                    begin, end = begins[item >> 1]
                    stack.append([begin, end, begin, n])
                else:
                    for _ in range(n):
                        yield item >> 1

    @staticmethod
    def columns(payloads, which):
        for payload in payloads:
            p = In(payload)
            yield from [p.column() for _ in range(which + 1)][which]

    def times(self, s):
        end = 0
        for payload in s[7]:
            p = In(payload)
            for gap, length in zip(p.column(), p.column()):
                begin = (end + unzigzag(gap)) & M64
                if begin:
                    end = begin + (length - 1 if length else 0) & M64
                yield begin if length else 0, end if length else 0

    def events(self, stream):
        s = self.streams[stream]
        values = [self.columns(s[6], k) for k in range(7)]
        times = self.times(s)
        model = Model(stream)
        thread = s["segments"][0][0] if s["segments"] else 0

        def next_value(column):
            return unzigzag(next(values[column]))
        for symbol in self.symbols(s):
            signature = self.signatures[symbol]
            call, _, hows, fixed = signature
            if call == 0 and hows[0] == 2 and hows[1] == 0:
                thread = (thread + next_value(6)) & 0xffffffff
                continue
            shape = self.shapes.setdefault(call, Shape(call))
            e = Event(signature, thread)
            for field in shape.order:
                e.value[field] = signed(model.expect(shape, e, field, hows[field], fixed[field],
                                                     next_value))
            e.value[8] &= 0xffffffff
            model.tell(shape, e)
            if self.timed:
                e.begin, e.end = (x * self.step & M64 for x in next(times))
            yield e

    def line(self, e):
        shape = self.shapes[e.call]
        args = []
        for letter, v in zip(shape.shown, e.value):
            text = self.texts.get(v) if letter in "pt" and v > 0 else None
            args.append(v if text is None else text.decode())
        timed = self.timed and e.begin
        return json.dumps({
            "rank": self.rank if self.rank >= 0 else None, "pid": self.pid, "thread": e.thread,
            "call": shape.name, "depth": e.depth, "args": args, "result": e.value[6],
            "at": e.value[7] if e.value[7] >= 0 else None,
            "begin_ns": e.begin if timed else None, "end_ns": e.end if timed else None,
            "count": max(e.value[8], 1)}, separators=(",", ":"), ensure_ascii=False)

    def merged(self):
        """By begin; what has the same, or none, by the number of its stream."""
        heads = []
        for stream in sorted(k for k in self.streams if k != HANDLES):
            events = self.events(stream)
            first = next(events, None)
            if first:
                heads.append((first.begin, stream, first, events))
        heapq.heapify(heads)
        while heads:
            _, stream, e, events = heads[0]
            yield e
            following = next(events, None)
            if following:
                heapq.heapreplace(heads, (following.begin, stream, following, events))
            else:
                heapq.heappop(heads)


def main():
    where = sys.argv[1]
    paths = [where] if os.path.isfile(where) else [os.path.join(where, n) for n in os.listdir(where)
                                                   if n.endswith(".iocap")]
    for p in sorted(map(Process, paths), key=lambda p: (p.rank, p.path.encode())):
        for e in p.merged():
            print(p.line(e))


if __name__ == "__main__":
    main()
