"""Support of the HTTP tests. scripts/test-http starts real nodes, and passes their addresses in the environment."""

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

# Suppresses warnings about slow callbacks.
logging.getLogger("asyncio").setLevel(logging.ERROR)

BASE = os.environ["POSTLINE_TEST_HTTP"]
"""The dev world's node, without rate limits: `http://127.0.0.1:PORT`."""

STRICT = os.environ["POSTLINE_TEST_HTTP_STRICT"]
"""A second node over the same database: with rate limits, one foreign origin, a trusted proxy, and no console."""

LINES = os.environ["POSTLINE_TEST_LINES"]
"""The line port of the dev world's node: `127.0.0.1:PORT`."""

PSQL = json.loads(os.environ["POSTLINE_TEST_PSQL"])
"""The psql command that connects as the database's owner."""

PROGRAM = os.environ["POSTLINE_TEST_PROGRAM"]
SETTINGS = os.environ["POSTLINE_TEST_SETTINGS"]
"""The program and the settings file for a test's own node over the dev world's database."""

PASSWORD = "postline-dev"
ALICE_BOB = "d0000000-0000-4000-8000-000000000001"
ALICE = "a11ce000-0000-4000-8000-000000000001"
BOB = "b0b00000-0000-4000-8000-000000000002"
WAIT = 600
"""The watchdog of every wait, in seconds. It expires only if something hangs, even on the slowest machine."""


def eventually(condition, what):
    """Polls a condition every 20 ms until it is true, and returns its value. For conditions without an event."""
    end = time.monotonic() + WAIT
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {WAIT} s for {what}"
        time.sleep(0.02)
    return value


class Response:
    """An HTTP response."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)


def request(method, path, body=None, token=None, base=BASE, headers=None):
    """Sends a request on a new connection, and returns the response."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    head = {"Content-Type": "application/json"} if data is not None else {}
    if token:
        head["Authorization"] = f"Bearer {token}"
    head.update(headers or {})
    asked = urllib.request.Request(base + path, data=data, method=method, headers=head)
    try:
        with urllib.request.urlopen(asked, timeout=WAIT) as answer:
            return Response(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as error:
        return Response(error.code, error.headers, error.read())


def call(method, params=None, token=None, **options):
    return request("POST", f"/v1/{method}", params or {}, token, **options)


def tokens(name="alice", base=BASE):
    answer = call("auth.login", {"email": f"{name}@example.com", "password": PASSWORD}, base=base)
    assert answer.status == 200, answer.body
    return answer.json


def token(name="alice", base=BASE):
    return tokens(name, base)["access_token"]


def register(name="Sam Stranger"):
    """Registers a new user, and returns the tokens."""
    answer = call("auth.register", {"email": f"{uuid.uuid4()}@new.example.com", "password": PASSWORD, "full_name": name})
    assert answer.status == 200, answer.body
    return answer.json


def sql(text, psql=PSQL):
    """Runs a statement as the database's owner, and returns the rows, one line each."""
    done = subprocess.run(psql + ["-qAtc", text], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def curl(*arguments, base=BASE):
    """Runs curl, and returns the response with the header names in lower case."""
    done = subprocess.run(["curl", "-sSi", "--max-time", str(WAIT), *arguments], capture_output=True, check=True)
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    while head.startswith(b"HTTP/1.1 100"):
        head, _, body = body.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    return Response(int(lines[0].split()[1]), headers, body)


def raw(data, base=BASE):
    """Sends raw bytes, and returns everything the server sends until it closes."""
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


class LineClient:
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


class EventStream:
    """A client of /v1/changes. Its connection can be cut."""

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
        """Yields the lines of the chunked stream."""
        rest = b""
        while size := int(self.file.readline() or b"0", 16):
            *lines, rest = (rest + self.file.read(size)).split(b"\n")
            self.file.readline()
            yield from lines

    def __iter__(self):
        """Yields each event as (name, id, data)."""
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
        """Closes the connection without ending the request."""
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
    """The log lines of a node, complete once the reader has ended."""

    reader = None

    def read(self, stream):
        self.reader = background(lambda: self.extend(stream))

    def search(self, pattern):
        """Waits for a line that matches a pattern, and returns the match."""
        return eventually(lambda: next(filter(None, (re.search(pattern, line) for line in self)), None), pattern)


def stop(process, log):
    """Stops a node, and returns its complete log."""
    process.send_signal(signal.SIGTERM)
    assert process.wait(WAIT) == 0, "".join(log)
    log.reader.join(WAIT)
    return log


@contextlib.contextmanager
def node(*arguments):
    """Starts a node over the dev world's database, and yields its process, its HTTP port and its log."""
    process = subprocess.Popen(
        [PROGRAM, "serve", "--config", SETTINGS, "--port", "0", "--http-port", "0", "--operations-port", "off",
         "--rate-limits", "off", *arguments], stderr=subprocess.PIPE, text=True)
    # The log is read to its end, so that the node never blocks on the pipe.
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
    """Starts a dev world with its own database, and yields its HTTP address and its psql command."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        process = subprocess.Popen(
            [PROGRAM, "dev", "--directory", f"{directory}/dev", "--port", "0", "--http-port", "0",
             "--operations-port", "off", "--rate-limits", "off", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        printed, reader = {}, None
        try:
            for line in process.stdout:
                name, _, value = line.strip().partition(": ")
                printed[name] = value
                if name == "psql":
                    reader = background(process.stdout.read)
                    yield printed["console"].rstrip("/"), shlex.split(value)
                    break
            else:
                raise AssertionError("the world does not begin")
        finally:
            # The signal of Ctrl-C, which also stops the database.
            process.send_signal(signal.SIGINT)
            process.wait(WAIT)
            if reader:
                reader.join(WAIT)
            process.stdout.close()
