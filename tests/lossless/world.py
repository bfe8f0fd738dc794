"""The programs of a round: a daemon, agents, and the lines between them, each of which can be
killed, stopped, filled up, cut or set to another time, and brought back."""
import json
import os
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

from link import Link

TOKEN = "writing-token-of-a-test-0123456789"


def free_port():
    """One that the kernel gives to no connection by itself: a daemon that is started anew has it still."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        low = int(f.read().split()[0])
    ports = list(range(max(1024, low - 16000), low)) or [0]
    random.shuffle(ports)
    for port in ports:
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
            return s.getsockname()[1]
    raise AssertionError("there is no free port")


def wait_until(what, seconds, condition):
    """Answers as soon as condition does; fails with the sentence after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen within {seconds} s")
        time.sleep(0.02)


class Program:
    """One that runs until it is told otherwise."""

    def __init__(self, folder, name, argv, env):
        self.argv, self.env = argv, env
        self.log = open(os.path.join(folder, name + ".log"), "ab")
        self.process = None

    def start(self):
        if self.process is None:
            self.process = subprocess.Popen(self.argv, env=self.env, stdin=subprocess.DEVNULL,
                                            stdout=self.log, stderr=self.log)

    def kill(self, sig=signal.SIGKILL):
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(sig)
            self.process.wait(30)
            self.process = None

    def pause(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)

    def died(self):
        """Its exit code where it ended by itself, which none should."""
        return None if self.process is None else self.process.poll()


class Disk:
    """A small file system that can be filled; a plain folder where none may be mounted."""

    def __init__(self, path, size):
        os.makedirs(path, exist_ok=True)
        self.path = path
        self.filler = os.path.join(path, "filler")
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", path]
        self.small = subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def fill(self, leave=0):
        """All but so many bytes."""
        if not self.small:
            return
        try:
            room = os.statvfs(self.path)
            with open(self.filler, "wb") as f:
                left = room.f_bavail * room.f_frsize - leave
                while left > 0:
                    left -= f.write(b"x" * min(left, 65536))
        except OSError:
            pass

    def empty(self):
        if os.path.exists(self.filler):
            os.truncate(self.filler, 0)
            os.unlink(self.filler)

    def done(self):
        if self.small:
            subprocess.run(["umount", "-l", self.path], check=False)


class Clock:
    """What the programs take for the time of day: the machine's, some seconds off. Only with
    libfaketime; the clocks that never step stay as they are."""

    def __init__(self, folder, library):
        self.file = os.path.join(folder, "clock")
        self.library = library
        self.step(0)

    def step(self, seconds):
        with open(self.file + ".new", "w", encoding="ascii") as f:
            f.write(f"{seconds:+d}\n")
        os.replace(self.file + ".new", self.file)

    def env(self):
        if not self.library:
            return {}
        return {"LD_PRELOAD": self.library, "FAKETIME_TIMESTAMP_FILE": self.file,
                "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


class Agent:
    """greedy: it samples far more than its small spool holds while the daemon is away, so that it
    has to drop context, and count."""

    def __init__(self, world, name, greedy):
        folder = os.path.join(world.folder, name)
        self.disk = Disk(os.path.join(folder, "disk"), "8m")
        self.socket = os.path.join(folder, "run", "agent.sock")
        os.makedirs(os.path.dirname(self.socket))
        self.link = Link(world.port)
        self.world = world
        config = os.path.join(folder, "agent.ini")
        with open(config, "w", encoding="ascii") as f:
            f.write(f"[agent]\nsocket = {self.socket}\nsnapshot = 0.2\nprogress = 0.2\nforget = 1\n"
                    f"[server]\nurl = http://127.0.0.1:{self.link.port}\n"
                    f"token_file = {world.token}\nconnect = 0.5\nstall = 0.5\nretry_max = 0.3\n"
                    f"[spool]\nfolder = {self.disk.path}/spool\nage = 0.1\n"
                    f"max_bytes = {131072 if greedy else 2097152}\ncontext_age = 0.02\n"
                    f"[sample]\nperiod = {0.1 if greedy else 1}\nprocess_period = 0.1\nquiet = no\nidle = yes\n")
        self.last_seq = None
        argv = [os.path.join(world.build, "roimeter-agent"), "--config", config]
        self.program = Program(folder, "agent", argv, world.env | world.clock.env())

    def status(self):
        r = subprocess.run([world_tool(self.world, "roimeter"), "agent-status", "--socket",
                            self.socket, "--format", "json"], env=self.world.env,
                           capture_output=True, timeout=20, check=False)
        return json.loads(r.stdout) if r.returncode == 0 else None

    def has_nothing(self):
        """Everything that it had taken in when it was asked first is with the daemon. It goes on sampling: on a slow
        machine there is always some more."""
        s = self.status()
        if s is None or s["processes"] or s["runs"]:
            self.last_seq = None
            return False
        if self.last_seq is None:
            self.last_seq = s["spool"]["next_seq"] - 1
        return s["spool"]["acked_seq"] >= self.last_seq


def world_tool(world, name):
    return os.path.join(world.build, name)


class World:
    def __init__(self, folder, build, faketime=None):
        self.folder, self.build = folder, build
        self.env = dict(os.environ)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.clock = Clock(folder, faketime)
        self.token = os.path.join(folder, "token")
        with open(os.open(self.token, os.O_WRONLY | os.O_CREAT, 0o600), "w",
                  encoding="ascii") as f:
            f.write(TOKEN + "\n")
        self.disk = Disk(os.path.join(folder, "db"), "256m")
        config = os.path.join(folder, "daemon.ini")
        with open(config, "w", encoding="ascii") as f:
            f.write(f"[http]\nlisten = 127.0.0.1:{self.port}\n"
                    f"[store]\ndb = {self.disk.path}/r.db\n"
                    f"[auth]\nwrite_tokens = {self.token}\n"
                    "[assembly]\nwait = 2\n[log]\naccess = no\n")
        self.daemon = Program(folder, "daemon",
                              [world_tool(self, "roimeterd"), "--config", config],
                              self.env | self.clock.env())
        self.agents = [Agent(self, "a", False), Agent(self, "b", True)]

    def start(self):
        for p in self.programs():
            p.start()

    def programs(self):
        return [self.daemon] + [a.program for a in self.agents]

    def heal(self):
        """Everything is as it should be again, whatever was done to it."""
        self.disk.empty()
        for a in self.agents:
            a.disk.empty()
            a.link.set("pass")
        for p in self.programs():
            if p.died() is not None:
                raise AssertionError(f"{p.argv[0]} ended by itself with {p.died()}")
            p.go_on()
            p.start()

    def get(self, path):
        with urllib.request.urlopen(self.url + "/api/v1/" + path, timeout=20) as answer:
            return json.load(answer)

    def answers(self):
        try:
            with urllib.request.urlopen(self.url + "/health", timeout=2):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def close(self):
        for p in self.programs():
            p.kill(signal.SIGTERM)
        for a in self.agents:
            a.link.close()
            a.disk.done()
        self.disk.done()
