"""What the HTTP tests share. They run against real nodes, which scripts/test-http starts and names in the environment."""

import contextlib
import itertools
import json
import logging
import os
import re
import shlex
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

# That a test takes its time is nothing to tell.
logging.getLogger("asyncio").setLevel(logging.ERROR)

BASE = os.environ["POSTLINE_TEST_HTTP"]
"""The dev world's node, without rate limits: `http://127.0.0.1:PORT`."""

STRICT = os.environ["POSTLINE_TEST_HTTP_STRICT"]
"""A second node over the same database: with rate limits, one foreign origin, a trusted proxy, and no console."""

LINES = os.environ["POSTLINE_TEST_LINES"]
"""The line port of the first: `127.0.0.1:PORT`."""

PSQL = json.loads(os.environ["POSTLINE_TEST_PSQL"])
"""The command that asks the database as its owner."""

PROGRAM = os.environ["POSTLINE_TEST_PROGRAM"]
SETTINGS = os.environ["POSTLINE_TEST_SETTINGS"]
"""What a node of a test's own is started by, over the dev world's database."""

PASSWORD = "postline-dev"
ALICE_BOB = "d0000000-0000-4000-8000-000000000001"
ALICE = "a11ce000-0000-4000-8000-000000000001"
BOB = "b0b00000-0000-4000-8000-000000000002"
WAIT = 240
"""The watchdog of every wait, in seconds: after so long something hangs, on the slowest machine. Not a promise."""


def eventually(condition, what):
    """Waits for a condition that no event announces, evaluating it every 20 ms, and returns what it gave."""
    end = time.monotonic() + WAIT
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {WAIT} s for {what}"
        time.sleep(0.02)
    return value


class Answer:
    """What came back over HTTP."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)


def request(method, path, body=None, token=None, base=BASE, headers=None):
    """One request on a connection of its own."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    head = {"Content-Type": "application/json"} if data is not None else {}
    if token:
        head["Authorization"] = f"Bearer {token}"
    head.update(headers or {})
    asked = urllib.request.Request(base + path, data=data, method=method, headers=head)
    try:
        with urllib.request.urlopen(asked, timeout=WAIT) as answer:
            return Answer(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.headers, error.read())


def call(method, params=None, token=None, **options):
    return request("POST", f"/v1/{method}", params or {}, token, **options)


def tokens(name="alice", base=BASE):
    answer = call("auth.login", {"email": f"{name}@example.com", "password": PASSWORD}, base=base)
    assert answer.status == 200, answer.body
    return answer.json


def token(name="alice", base=BASE):
    return tokens(name, base)["access_token"]


def register(name="Sam Stranger"):
    """A new user: the tokens."""
    answer = call("auth.register", {"email": f"{uuid.uuid4()}@new.example.com", "password": PASSWORD, "full_name": name})
    assert answer.status == 200, answer.body
    return answer.json


def sql(text, psql=PSQL):
    """Asks the database as its owner: the rows, a line each."""
    done = subprocess.run(psql + ["-qAtc", text], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def curl(*arguments, base=BASE):
    """What curl prints with `-i`: the status, the headers in lower case, and the body."""
    done = subprocess.run(["curl", "-sSi", "--max-time", str(WAIT), *arguments], capture_output=True, check=True)
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    while head.startswith(b"HTTP/1.1 100"):
        head, _, body = body.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    return Answer(int(lines[0].split()[1]), headers, body)


def raw(data, base=BASE):
    """Sends bytes as they are, and gives all that comes until the server closes."""
    place = urllib.parse.urlsplit(base)
    with socket.create_connection((place.hostname, place.port), timeout=WAIT) as peer:
        try:
            peer.sendall(data)
        except OSError:
            pass
        received = b""
        while True:
            try:
                piece = peer.recv(65_536)
            except ConnectionResetError:
                return received
            if not piece:
                return received
            received += piece


class Line:
    """A client of the line protocol over TCP."""

    def __init__(self):
        host, _, port = LINES.partition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=WAIT)
        self.file = self.socket.makefile("rw", encoding="utf-8", newline="\n")
        self.numbers = itertools.count(1)
        self.hello = json.loads(self.file.readline())

    def call(self, method, params=None):
        number = next(self.numbers)
        self.file.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}) + "\n")
        self.file.flush()
        while True:
            line = json.loads(self.file.readline())
            if line.get("id") == number:
                return line

    def close(self):
        self.socket.close()


class Events:
    """A client of /v1/changes: events as they come, on a connection that can be cut."""

    def __init__(self, token=None, cursor=None, query="", base=BASE, ticket=None):
        place = urllib.parse.urlsplit(base)
        self.socket = socket.create_connection((place.hostname, place.port), timeout=WAIT)
        head = [f"GET /v1/changes{query} HTTP/1.1", f"Host: {place.netloc}", "Accept: text/event-stream"]
        if token:
            head.append(f"Authorization: Bearer {token}")
        if cursor:
            head.append(f"Last-Event-ID: {cursor}")
        self.socket.sendall(("\r\n".join(head) + "\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while line := self.file.readline().strip():
            name, _, value = line.decode().partition(": ")
            self.headers[name.lower()] = value

    def lines(self):
        """The lines of the stream, out of the chunks in which they come."""
        rest = b""
        while size := int(self.file.readline() or b"0", 16):
            *lines, rest = (rest + self.file.read(size)).split(b"\n")
            self.file.readline()
            yield from lines

    def __iter__(self):
        """Each event: (name, id, data)."""
        name, number, data = "message", None, []
        for line in self.lines():
            line = line.decode()
            if not line:
                if data:
                    yield name, number, json.loads("\n".join(data))
                name, data = "message", []
                continue
            field, _, value = line.partition(": ")
            if field == "data":
                data.append(value)
            elif field == "id":
                number = value
            elif field == "event":
                name = value

    def cut(self):
        """Ends the connection as a lost network does."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


def background(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


class Log(list):
    """What a node logs, line by line; whole once its reader has ended."""

    reader = None

    def read(self, stream):
        self.reader = background(lambda: self.extend(stream))


def stop(process, log):
    """Tells a node to stop, and returns its whole log once it has ended."""
    process.send_signal(signal.SIGTERM)
    assert process.wait(WAIT) == 0, "".join(log)
    log.reader.join(WAIT)
    return log


@contextlib.contextmanager
def node(*arguments):
    """A node of its own over the dev world's database: its process, the port of HTTP, and what it logs, line by line."""
    process = subprocess.Popen(
        [PROGRAM, "serve", "--config", SETTINGS, "--port", "0", "--http-port", "0", "--operations-port", "off",
         "--rate-limits", "off", *arguments], stderr=subprocess.PIPE, text=True)
    # It is read to its end, so that the node never waits for that.
    log = Log()
    try:
        for line in process.stderr:
            log.append(line)
            if found := re.search(r"serving HTTP.* port=(\d+)", line):
                log.read(process.stderr)
                yield process, int(found[1]), log
                break
        else:
            raise AssertionError("".join(log))
    finally:
        process.kill()
        process.wait()
        if log.reader:
            log.reader.join(WAIT)
        process.stderr.close()


@contextlib.contextmanager
def world(*arguments):
    """A dev world of its own, with a database of its own: where its HTTP port is, and the command for its database."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        process = subprocess.Popen(
            [PROGRAM, "dev", "--directory", f"{directory}/dev", "--port", "0", "--http-port", "0",
             "--operations-port", "off", "--rate-limits", "off", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        told, reader = {}, None
        try:
            for line in process.stdout:
                name, _, value = line.strip().partition(": ")
                told[name] = value
                if name == "psql":
                    reader = background(process.stdout.read)
                    yield told["console"].rstrip("/"), shlex.split(value)
                    break
            else:
                raise AssertionError("the world does not begin")
        finally:
            # As Ctrl-C does, so that its database ends with it.
            process.send_signal(signal.SIGINT)
            process.wait(WAIT)
            if reader:
                reader.join(WAIT)
            process.stdout.close()
