"""The limits of HTTP requests, and the rejection of ambiguous requests."""

import re
import socket
import time
import unittest

from support import *

HOST = "Host: " + BASE.removeprefix("http://")


def ask(*lines, body=b""):
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class Bounds(unittest.TestCase):
    # Row 59.
    def test_rejects_requests_that_proxies_read_differently_and_closes(self):
        cases = {
            "a length beside chunks": ask(
                "POST /v1/server.info HTTP/1.1", HOST, "Content-Length: 2", "Transfer-Encoding: chunked",
                body=b"0\r\n\r\n"),
            "two lengths": ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length: 2", "Content-Length: 3", body=b"{}"),
            "a second Host": ask("POST /v1/server.info HTTP/1.1", HOST, "Host: other.example.com", "Content-Length: 0"),
            "no Host": ask("POST /v1/server.info HTTP/1.1", "Content-Length: 0"),
            "a bare LF": f"POST /v1/server.info HTTP/1.1\n{HOST}\n\n".encode(),
            "a bare CR": f"POST /v1/server.info HTTP/1.1\r\n{HOST}\r\nX: a\rY: b\r\n\r\n".encode(),
            "a folded header": ask("POST /v1/server.info HTTP/1.1", HOST, "X: a", " b"),
            "a length that is none": ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length: +2", body=b"{}"),
            "a chunk size that is none": ask(
                "POST /v1/server.info HTTP/1.1", HOST, "Transfer-Encoding: chunked", body=b"xx\r\n"),
            "a space before the colon": ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length : 2", body=b"{}"),
            "no HTTP": b'{"jsonrpc":"2.0","id":1,"method":"server.info"}\n',
            "an escape that is no UTF-8": ask("POST /v1/%ff HTTP/1.1", HOST, "Content-Length: 0"),
        }
        follow = ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length: 0")
        for name, data in cases.items():
            with self.subTest(name):
                answer = raw(data + follow)
                self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer[:200])
                self.assertEqual(answer.count(b"HTTP/1.1 "), 1, answer)

    def test_names_the_line_port_to_a_line_client(self):
        answer = raw(b'{"jsonrpc":"2.0","id":1,"method":"server.info"}\n')
        self.assertIn(b"The line protocol has its own port", answer)

    # Row 59.
    def test_limits_the_size_of_heads_and_bodies(self):
        cases = {
            b"HTTP/1.1 431 ": [
                ask("GET / HTTP/1.1", HOST, "X: " + "a" * 20_000),
                ask("GET / HTTP/1.1", HOST, *[f"X-{index}: a" for index in range(150)]),
            ],
            b"HTTP/1.1 413 ": [
                ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length: 65537"),
                ask("POST /v1/server.info HTTP/1.1", HOST, "Transfer-Encoding: chunked", body=b"11000\r\n" + b" " * 0x11000),
            ],
        }
        for status, requests in cases.items():
            for data in requests:
                with self.subTest(status=status, data=data[:80]):
                    answer = raw(data)
                    self.assertTrue(answer.startswith(status))
                    self.assertIn(b"X-Content-Type-Options: nosniff\r\n", answer)
                    self.assertIn(b"Cache-Control: no-store\r\n", answer)

    def test_accepts_a_body_up_to_the_limit_in_any_pieces(self):
        place = urllib.parse.urlsplit(BASE)
        with socket.create_connection((place.hostname, place.port), timeout=WAIT) as peer:
            data = ask("POST /v1/server.info HTTP/1.1", HOST, "Connection: close", "Content-Length: 65536", body=b"{" + b" " * 65_534 + b"}")
            for start in range(0, len(data), 4_001):
                peer.sendall(data[start : start + 4_001])
            self.assertTrue(peer.recv(100).startswith(b"HTTP/1.1 200 "))
        for byte in range(2):
            # Sends the request byte by byte.
            with socket.create_connection((place.hostname, place.port), timeout=WAIT) as peer:
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for piece in ask("POST /v1/server.info HTTP/1.1", HOST, "Connection: close", "Content-Length: 2", body=b"{}"):
                    peer.sendall(bytes([piece]))
                self.assertTrue(peer.recv(100).startswith(b"HTTP/1.1 200 "))

    def test_answers_pipelined_requests_in_order(self):
        one = ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length: 0")
        missing = ask("POST /v1/no.such HTTP/1.1", HOST, "Content-Length: 0")
        last = ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length: 0", "Connection: close")
        answer = raw((one + missing) * 200 + last)
        statuses = re.findall(rb"HTTP/1\.1 (\d+) ", answer)
        self.assertEqual(statuses, [b"200", b"404"] * 200 + [b"200"])

    # Row 60.
    def test_times_out_half_sent_requests_while_serving_others(self):
        place = urllib.parse.urlsplit(BASE)
        whole = ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length: 0")
        cases = [
            (b"", b"POST /v1/me.get HTTP/1.1\r\nHost: a\r\nX", b""),
            (whole, b"POST /v1/me.get HTT", b"HTTP/1.1 408 "),
            (whole, ask("POST /v1/me.get HTTP/1.1", HOST, "Content-Length: 9") + b"{", b"HTTP/1.1 408 "),
        ]
        peers = []
        for before, half, last in cases:
            peer = socket.create_connection((place.hostname, place.port), timeout=WAIT)
            if before:
                peer.sendall(before)
                self.assertIn(b"200 OK", peer.recv(65_536))
            peer.sendall(half)
            peers.append((peer, last))
        self.assertEqual(call("server.info").status, 200)
        for peer, last in peers:
            received = b""
            while piece := peer.recv(65_536):
                received += piece
            self.assertTrue(received.startswith(last), received)
            peer.close()

    # Row 59.
    def test_accepts_absolute_targets(self):
        answer = raw(ask(f"POST {BASE}/v1/server.info HTTP/1.1", HOST, "Content-Length: 0", "Connection: close"))
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer)

    def test_responses_to_head_have_no_content(self):
        for accepted in ["gzip", "deflate", "identity"]:
            head = ask("HEAD /v1/openapi.json HTTP/1.1", HOST, f"Accept-Encoding: {accepted}")
            answer = raw(head + ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length: 0", "Connection: close"))
            first, _, rest = answer.partition(b"\r\n\r\n")
            self.assertTrue(first.startswith(b"HTTP/1.1 200 "), answer)
            self.assertTrue(rest.startswith(b"HTTP/1.1 200 "), rest[:200])
            length = int(re.search(rb"(?i)content-length: (\d+)", first)[1])
            self.assertEqual(length, len(curl(BASE + "/v1/openapi.json", "-H", f"Accept-Encoding: {accepted}").body))
        for path in ["/v1/changes", "/v1/line"]:
            self.assertEqual(curl("-I", BASE + path, "-H", f"Authorization: Bearer {token()}").status, 405)

    def test_an_ignored_upgrade_keeps_the_connection_open(self):
        for lines in [
            ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"],
            ["Connection: Upgrade", "Upgrade: websocket"],
        ]:
            follow = ask("POST /v1/no.such HTTP/1.1", HOST, "Content-Length: 0", "Connection: close")
            answer = raw(ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length: 2", *lines, body=b"{}") + follow)
            self.assertEqual(re.findall(rb"HTTP/1\.1 (\d+) ", answer), [b"200", b"404"])

    def test_the_last_response_arrives_whatever_follows_its_request(self):
        for tail in [b"GET / HTTP/1.1\r\n", b"nonsense\r\n\r\n", b"\r\n", ask("GET / HTTP/1.1", HOST)]:
            for last in [
                ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length: 0", "Connection: close"),
                ask("POST /v1/server.info HTTP/1.0", "Content-Length: 0"),
            ]:
                with self.subTest(tail=tail, last=last[:40]):
                    answer = raw(last + tail)
                    self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer)
                    self.assertEqual(answer.count(b"HTTP/1.1 "), 1)

    # Row 54.
    def test_a_client_that_does_not_read_gets_one_response(self):
        bearer = register()["access_token"]
        place = urllib.parse.urlsplit(BASE)
        peer = socket.socket()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        peer.settimeout(3)
        peer.connect((place.hostname, place.port))
        one = ask("GET /v1/openapi.json HTTP/1.1", HOST)
        sent = 0
        try:
            while sent < 64 << 20:
                sent += peer.send(one * 100)
        except (TimeoutError, ConnectionError):
            pass
        # The client can send what the kernels of both sides buffer, and one read of the server.
        self.assertLess(sent, 16 << 20)
        self.assertEqual(call("me.get", token=bearer).status, 200)
        peer.close()

    def test_a_batch_response_is_bounded_and_marks_requests_not_executed(self):
        writer = register("Bea Batch")
        other = register("Otto Other")
        conversation = call("conversations.open", {"user_id": other["user_id"]}, writer["access_token"]).json["id"]
        for _ in range(90):
            params = {"conversation_id": conversation, "content": "\x01" * 7_900}
            self.assertEqual(call("messages.send", params, writer["access_token"]).status, 200)
        batch = [
            {"jsonrpc": "2.0", "id": number, "method": "messages.list", "params": {"conversation_id": conversation, "limit": 90}}
            for number in range(50)
        ]
        answer = request("POST", "/v1/rpc", batch, writer["access_token"])
        self.assertLess(len(answer.body), 9 << 20)
        answers = answer.json
        self.assertEqual([each["id"] for each in answers], list(range(50)))
        self.assertIn("result", answers[0])
        self.assertEqual(answers[-1]["error"]["data"]["code"], "unavailable")

    def test_sends_100_continue_when_expected(self):
        answer = curl(BASE + "/v1/server.info", "-H", "Expect: 100-continue", "-d", "{}" + " " * 2_000)
        self.assertEqual(answer.status, 200)


if __name__ == "__main__":
    unittest.main()
