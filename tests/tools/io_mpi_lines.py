#!/usr/bin/env python3
"""The calls of MPI-IO in what tests/tools/io_taker.c wrote, as tests/fixtures/io/mpi/calls.c has them:
   NAME RESULT AT ARGUMENT... with the last part of a path for a file and '-' for no text.
   io_mpi_lines.py TAKEN [--in-force]    with it: the hints in force of each opened file, instead"""
import os, re, sys

TOP = os.path.dirname(os.path.abspath(__file__)) + "/../.."
SIGNATURES = dict(re.findall(r'X\((\w+), \w+, \w+, "([^"]*)"\)', open(TOP + "/schema/iocall.h").read()))


def read(name):
    texts, handles, events, text = {"0": None}, {}, [], None
    for line in open(name, errors="replace").read().split("\n"):
        word = line.split(" ", 2)
        if word[0] == "text" and len(word) == 3:
            text = word[1]
            texts[text] = word[2]
        elif word[0] == "handle":
            handles[word[1]] = line.split(" ")[2]
        elif word[0] in ("event", "mpi", "dropped", "flush"):
            events.append(line.split(" "))
        elif text and line:
            texts[text] += "\n" + line
    return texts, handles, events


def main():
    texts, handles, events = read(sys.argv[1])

    def text(n):
        return texts.get(n) or "-"

    def path(n):
        return os.path.basename(text(n))

    for e in events:
        if e[0] != "event" or not e[1].startswith("MPI_File") or e[3] != "0":
            continue
        name, result, at, args = e[1], e[4], e[5], e[8:]
        given, kind = SIGNATURES[name].split(":")
        show = {"h": lambda n: path(handles.get(n, "0")), "p": path, "t": lambda n: text(n).replace("\n", "|")}
        args = [show.get(letter, str)(a) for letter, a in zip(given, args)]
        if name == "MPI_File_open":
            if "--in-force" in sys.argv:
                print(args[1], args[4])
                continue
            args[4] = "-" if result.startswith("-") else "..."  # whatever they are
        if "--in-force" not in sys.argv:
            if kind == "h" and not result.startswith("-"):
                result = path(handles.get(result, "0"))
            print(name, result, at, *args)


main()
