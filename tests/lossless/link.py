"""A line between an agent and the daemon that a test can cut: a TCP relay on loopback.

    pass    as a line should be
    refuse  nobody listens: connections are reset as soon as they come
    hole    a cut cable: connections come, no byte gets through, nobody is told
    once    one answer is swallowed: the daemon has the batch, the agent does not know; then as pass
"""
import selectors
import socket
import threading


class Link:
    def __init__(self, port):
        """port: where the daemon listens, on 127.0.0.1."""
        self.target = port
        self.mode = "pass"
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.pairs = {}  # socket -> the other side's
        self.lock = threading.Lock()
        self.select = selectors.DefaultSelector()
        self.select.register(self.listener, selectors.EVENT_READ)
        self.ends = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def set(self, mode):
        with self.lock:
            # Bytes that fell into the hole are missing: such a connection can't go on.
            lost = self.mode == "hole" and mode != "hole"
            self.mode = mode
            if mode == "refuse" or lost:
                for s in list(self.pairs):
                    self.drop(s)

    def cut(self):
        """Ends every connection, in the middle of whatever was going on."""
        with self.lock:
            for s in list(self.pairs):
                self.drop(s)

    def close(self):
        self.ends = True
        self.thread.join(5)
        self.cut()
        self.listener.close()

    def drop(self, s):
        if s not in self.pairs:
            return
        other = self.pairs.pop(s)
        for one in (s, other):
            if one is None:
                continue
            self.pairs.pop(one, None)
            try:
                self.select.unregister(one)
            except (KeyError, ValueError):
                pass
            # A reset, not an end: nothing that is on its way is delivered.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            one.close()

    def accept(self):
        s, _ = self.listener.accept()
        if self.mode == "refuse":
            self.pairs[s] = None
            self.drop(s)
            return
        try:
            other = socket.create_connection(("127.0.0.1", self.target), timeout=2)
        except OSError:
            self.pairs[s] = None
            self.drop(s)
            return
        for one, its in ((s, other), (other, s)):
            self.pairs[one] = its
            self.select.register(one, selectors.EVENT_READ, "up" if one is s else "down")

    def move(self, s, way):
        if s not in self.pairs:
            return
        try:
            data = s.recv(65536)
        except OSError:
            data = b""
        if data and way == "down" and self.mode == "once":
            self.mode = "pass"
            data = b""
        if not data:
            self.drop(s)
        elif self.mode != "hole":
            try:
                self.pairs[s].settimeout(2)
                self.pairs[s].sendall(data)
            except OSError:
                self.drop(s)

    def run(self):
        while not self.ends:
            for key, _ in self.select.select(0.05):
                with self.lock:
                    if key.fileobj is self.listener:
                        self.accept()
                    else:
                        self.move(key.fileobj, key.data)
