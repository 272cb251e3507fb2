"""Behaviour that depends on settings: TLS, the PROXY header, limits, shutdown and token lifetimes."""

import asyncio
import contextlib
import json
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

import websockets

from support import *


HEADERS_OPTION = "extra_headers" if int(websockets.version.version.split(".")[0]) < 14 else "additional_headers"
"""The parameter of `websockets.connect` for headers, which version 14 renamed."""


@contextlib.contextmanager
def certificate():
    """Creates a self-signed certificate for localhost, and yields its path and that of its key."""
    with tempfile.TemporaryDirectory() as folder:
        paths = f"{folder}/cert.pem", f"{folder}/key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
             "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", paths[0],
             "-keyout", paths[1]], check=True, capture_output=True)
        yield paths


def proxy_header(address, port=4711):
    """Returns a PROXY header (version 2) for a client at an IPv4 address."""
    return (
        b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c" + socket.inet_aton(address) + socket.inet_aton("127.0.0.1")
        + port.to_bytes(2, "big") + (7433).to_bytes(2, "big"))


class Nodes(unittest.TestCase):
    def test_counts_connections_of_a_trusted_proxy_by_forwarded_address(self):
        async def hello(port, address):
            """Connects by WebSocket, and returns the connection and the method of the first message."""
            line = await websockets.connect(
                f"ws://127.0.0.1:{port}/v1/line", **{HEADERS_OPTION: {"X-Forwarded-For": address}})
            return line, json.loads(await line.recv())["method"]

        async def talk(port):
            methods = []
            lines = []
            for address in ["198.51.100.1"] * 4 + ["198.51.100.2"]:
                line, method = await hello(port, address)
                lines.append(line)
                methods.append(method)
            self.assertEqual(methods, ["server.hello"] * 3 + ["server.goodbye", "server.hello"])
            await lines[0].close()
            # The place is free once the node has noticed.
            async with asyncio.timeout(WAIT):
                while (await hello(port, "198.51.100.1"))[1] != "server.hello":
                    pass

        options = ["--max-connections-per-address", "3"]
        with node(*options, "--http-trusted-proxies", "127.0.0.1/32") as (_, port, _), contextlib.ExitStack() as kept:
            request = f"POST /v1/server.info HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 2\r\n\r\n{{}}"
            for _ in range(10):
                peer = kept.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WAIT))
                peer.sendall(request.encode())
                self.assertTrue(peer.recv(4_096).startswith(b"HTTP/1.1 200 "))
            asyncio.run(talk(port))
        with node(*options) as (_, port, _), contextlib.ExitStack() as kept:
            answers = []
            for _ in range(4):
                peer = kept.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WAIT))
                peer.sendall(request.encode())
                answers.append(peer.recv(4_096)[9:12])
            self.assertEqual(answers, [b"200"] * 3 + [b"503"])

    # Covers A32.
    def test_serves_everything_over_tls(self):
        with certificate() as (cert, key), node("--tls-certificate", cert, "--tls-key", key) as (_, port, _):
            base = f"https://localhost:{port}"
            trusted = ssl.create_default_context(cafile=cert)
            answer = urllib.request.urlopen(
                urllib.request.Request(base + "/v1/server.info", data=b"{}", method="POST"), context=trusted, timeout=WAIT)
            self.assertEqual(json.loads(answer.read())["server"], "postline")

            async def talk():
                async with websockets.connect(f"wss://localhost:{port}/v1/line", ssl=trusted, max_size=None) as line:
                    self.assertEqual(json.loads(await line.recv())["method"], "server.hello")
                    await line.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "server.info"}))
                    self.assertEqual(json.loads(await line.recv())["id"], 1)

            asyncio.run(talk())
            with socket.create_connection(("localhost", port), timeout=WAIT) as plain:
                peer = trusted.wrap_socket(plain, server_hostname="localhost")
                peer.sendall(
                    f"GET /v1/changes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token()}\r\n\r\n".encode())
                received = b""
                while b"\ndata: " not in received:
                    received += peer.recv(65_536)
                self.assertTrue(received.startswith(b"HTTP/1.1 200 "))
            # F12.
            offer = ssl.create_default_context(cafile=cert)
            offer.set_alpn_protocols(["h2", "http/1.1"])
            with socket.create_connection(("localhost", port), timeout=WAIT) as plain:
                peer = offer.wrap_socket(plain, server_hostname="localhost")
                self.assertEqual(peer.selected_alpn_protocol(), "http/1.1")
            for suite, good in [
                ("ECDHE-ECDSA-AES128-GCM-SHA256", True), ("ECDHE-ECDSA-AES256-GCM-SHA384", True),
                ("ECDHE-ECDSA-CHACHA20-POLY1305", True), ("ECDHE-ECDSA-AES128-SHA", False),
                ("ECDHE-ECDSA-AES256-SHA", False), ("ECDHE-ECDSA-AES128-SHA256", False),
            ]:
                with self.subTest(suite), socket.create_connection(("localhost", port), timeout=WAIT) as plain:
                    old = ssl.create_default_context(cafile=cert)
                    old.maximum_version = ssl.TLSVersion.TLSv1_2
                    old.set_ciphers(suite)
                    try:
                        peer = old.wrap_socket(plain, server_hostname="localhost")
                        self.assertTrue(good and peer.cipher()[0] == suite)
                    except ssl.SSLError:
                        self.assertFalse(good)
            # The TLS port does not serve plain HTTP.
            with socket.create_connection(("localhost", port), timeout=WAIT) as plain:
                plain.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                self.assertNotIn(b"HTTP/1.1", plain.recv(1_024))

    def test_uses_the_client_address_of_the_proxy_header(self):
        strict = ["--proxy-protocol", "on", "--rate-limits", "on", "--sign-ins-per-minute", "2"]
        with node(*strict) as (_, port, _):
            def guest(address):
                with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as peer:
                    ask = b"POST /v1/auth.guest HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    for piece in [proxy_header(address)[:9], proxy_header(address)[9:] + ask[:5], ask[5:]]:
                        peer.sendall(piece)
                        time.sleep(0)
                    return peer.makefile("rb").readline().split()[1]

            self.assertEqual([guest("192.0.2.1") for _ in range(3)], [b"200", b"200", b"429"])
            self.assertEqual(guest("192.0.2.2"), b"200")
            # A connection without the header gets no response.
            with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as peer:
                peer.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" + b" " * 20)
                with contextlib.suppress(ConnectionError):
                    self.assertEqual(peer.recv(1_024), b"")

    def test_rejects_connections_beyond_the_limit(self):
        with node("--max-connections", "3") as (_, port, _):
            base = f"http://127.0.0.1:{port}"
            peers = [socket.create_connection(("127.0.0.1", port), timeout=WAIT) for _ in range(3)]
            for peer in peers:
                peer.sendall(b"POST /v1/server.info HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
                self.assertIn(b"200", peer.recv(65_536))
            refused = call("server.info", base=base)
            self.assertEqual((refused.status, refused.json["data"]["code"]), (503, "unavailable"))
            self.assertIsNotNone(refused.headers["Retry-After"])
            for peer in peers:
                peer.close()
            eventually(lambda: call("server.info", base=base).status == 200, "room for another connection")

    def test_a_stopping_node_completes_requests_and_says_goodbye(self):
        with node() as (process, port, log):
            base = f"http://127.0.0.1:{port}"
            stream = EventStream(token(), base=base)
            events = iter(stream)
            next(events)

            async def stop():
                async with websockets.connect(f"ws://127.0.0.1:{port}/v1/line") as line:
                    await line.recv()
                    # Creating a guest takes a moment, so the node stops while requests are pending.
                    for number in range(20):
                        await line.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "auth.guest" if not number else "me.get"}))
                    process.send_signal(signal.SIGTERM)
                    said = []
                    try:
                        while True:
                            said.append(json.loads(await asyncio.wait_for(line.recv(), WAIT)))
                    except websockets.ConnectionClosed as closed:
                        return said, closed.rcvd.code

            said, code = asyncio.run(stop())
            answered = [line["id"] for line in said if "id" in line]
            self.assertEqual(answered, list(range(len(answered))))
            self.assertEqual(said[-1]["params"]["code"], "shutting_down")
            self.assertEqual(code, 1001)
            name, _, goodbye = next(event for event in events if event[0] == "goodbye")
            self.assertEqual((goodbye["code"], goodbye["reconnect"]), ("shutting_down", True))
            self.assertEqual(process.wait(WAIT), 0, "".join(log))

    def test_stops_cleanly_while_clients_connect(self):
        for _ in range(5):
            with node() as (process, port, log):
                is_over = threading.Event()

                def knock():
                    while not is_over.is_set():
                        with contextlib.suppress(OSError):
                            with socket.create_connection(("127.0.0.1", port), timeout=1) as peer:
                                peer.sendall(b"GET /v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n")
                                peer.recv(100)

                knockers = [background(knock) for _ in range(8)]
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(WAIT), 0, "".join(log))
                is_over.set()
                for knocker in knockers:
                    knocker.join(WAIT)

    def test_a_port_in_use_ends_the_node_with_an_error(self):
        with node() as (_, port, _):
            for command in [
                ["serve", "--config", SETTINGS, "--port", "0", "--http-port", str(port), "--operations-port", "off"],
                ["dev", "--directory", os.path.dirname(SETTINGS) + "/../another", "--port", "0", "--http-port",
                 str(port), "--operations-port", "off"],
            ]:
                done = subprocess.run([PROGRAM, *command], capture_output=True, text=True, timeout=WAIT)
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"Cannot listen on 127.0.0.1, port {port}: the port is in use.", done.stderr)

    def test_an_expired_token_ends_its_stream(self):
        with node("--access-token-seconds", "2") as (_, port, _):
            base = f"http://127.0.0.1:{port}"
            short = token("frank", base)
            stream = EventStream(short, base=base)
            events = list(stream)
            self.assertEqual(events[-1][0], "goodbye")
            self.assertEqual((events[-1][2]["code"], events[-1][2]["reconnect"]), ("token_expired", True))
            stream.cut()


if __name__ == "__main__":
    unittest.main()
