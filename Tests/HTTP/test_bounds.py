"""What a client of HTTP can cost is bounded, and what could be read in two ways is refused."""

import re
import socket
import time
import unittest

from support import *

HOST = "Host: " + BASE.removeprefix("http://")


def ask(*lines, body=b""):
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class Bounds(unittest.TestCase):
    def test_what_a_proxy_might_read_otherwise_is_refused_and_ends_the_connection(self):
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
            "an absolute target": ask(f"POST {BASE}/v1/server.info HTTP/1.1", HOST, "Content-Length: 0"),
            "an escape that is no UTF-8": ask("POST /v1/%ff HTTP/1.1", HOST, "Content-Length: 0"),
        }
        follow = ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length: 0")
        for name, data in cases.items():
            with self.subTest(name):
                answer = raw(data + follow)
                self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer[:200])
                self.assertEqual(answer.count(b"HTTP/1.1 "), 1, answer)

    def test_heads_and_bodies_have_a_largest_size(self):
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

    def test_a_body_is_taken_up_to_the_bound_in_whatever_pieces(self):
        place = urllib.parse.urlsplit(BASE)
        with socket.create_connection((place.hostname, place.port), timeout=WAIT) as peer:
            data = ask("POST /v1/server.info HTTP/1.1", HOST, "Connection: close", "Content-Length: 65536", body=b"{" + b" " * 65_534 + b"}")
            for start in range(0, len(data), 4_001):
                peer.sendall(data[start : start + 4_001])
            self.assertTrue(peer.recv(100).startswith(b"HTTP/1.1 200 "))
        for byte in range(2):
            # Byte by byte, with the head cut anywhere.
            with socket.create_connection((place.hostname, place.port), timeout=WAIT) as peer:
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for piece in ask("POST /v1/server.info HTTP/1.1", HOST, "Connection: close", "Content-Length: 2", body=b"{}"):
                    peer.sendall(bytes([piece]))
                self.assertTrue(peer.recv(100).startswith(b"HTTP/1.1 200 "))

    def test_pipelined_requests_are_answered_in_order_and_a_flood_of_them_too(self):
        one = ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length: 0")
        missing = ask("POST /v1/no.such HTTP/1.1", HOST, "Content-Length: 0")
        last = ask("POST /v1/server.info HTTP/1.1", HOST, "Content-Length: 0", "Connection: close")
        answer = raw((one + missing) * 200 + last)
        statuses = re.findall(rb"HTTP/1\.1 (\d+) ", answer)
        self.assertEqual(statuses, [b"200", b"404"] * 200 + [b"200"])

    def test_half_a_head_or_body_ends_in_its_time_and_keeps_nobody_out(self):
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

    def test_a_request_that_expects_it_is_told_to_continue(self):
        answer = curl(BASE + "/v1/server.info", "-H", "Expect: 100-continue", "-d", "{}" + " " * 2_000)
        self.assertEqual(answer.status, 200)


if __name__ == "__main__":
    unittest.main()
