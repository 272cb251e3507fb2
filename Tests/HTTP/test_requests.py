"""The strict parsing of HTTP/1.1: the status of each request, and whether its connection stays open."""

import base64
import os
import socket
import struct
import unittest

from support import *

PLACE = urllib.parse.urlsplit(BASE)
HOST = f"Host: {PLACE.netloc}"
INFO = "POST /v1/server.info HTTP/1.1"
KEY = "Sec-WebSocket-Key: " + base64.b64encode(bytes(16)).decode()
UPGRADE = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
KEPT, CLOSED = True, False
FOLLOW = f"POST /v1/me.get HTTP/1.1\r\n{HOST}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
"""A request whose status is always 401."""


def ask(*lines, body=b""):
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def info(*fields, body=b""):
    return ask(INFO, HOST, *fields, body=body)


def hosts(value):
    return ask(INFO, f"Host: {value}", "Content-Length: 0")


def chunked(body, *fields):
    return info("Transfer-Encoding: chunked", *fields, body=body)


def encoded(coding, *others):
    return info(f"Transfer-Encoding:{coding}", *others, body=b"2\r\n{}\r\n0\r\n\r\n")


ROWS = [
    # The request line.
    ("a plain request", info("Content-Length: 2", body=b"{}"), 200, KEPT),
    ("empty lines before a request", b"\r\n\r\n" + info("Content-Length: 0"), 200, KEPT),
    ("a bare LF before the request line", b"\n" + info("Content-Length: 0"), 400, CLOSED),
    ("a bare CR before the request line", b"\r" + info("Content-Length: 0"), 400, CLOSED),
    ("a LF and CR before the request line", b"\n\r\n" + info("Content-Length: 0"), 400, CLOSED),
    ("a space before the request line", b" " + info("Content-Length: 0"), 400, CLOSED),
    ("two spaces before the target", ask("POST  /v1/server.info HTTP/1.1", HOST), 400, CLOSED),
    ("two spaces before the version", ask("POST /v1/server.info  HTTP/1.1", HOST), 400, CLOSED),
    ("a space behind the version", ask("POST /v1/server.info HTTP/1.1 ", HOST), 400, CLOSED),
    ("a tab for a space", ask("POST\t/v1/server.info HTTP/1.1", HOST), 400, CLOSED),
    ("no version", ask("GET /v1/openapi.json", HOST), 400, CLOSED),
    # RFC 9110, section 2.5: a higher minor version counts as 1.1.
    *[(f"version {version}", ask(f"POST /v1/server.info HTTP/{version}", HOST, "Content-Length: 0"), 200, KEPT)
      for version in ["1.2", "1.9"]],
    ("chunks in version 1.2", ask("POST /v1/server.info HTTP/1.2", HOST, "Transfer-Encoding: chunked", body=b"2\r\n{}\r\n0\r\n\r\n"), 200, KEPT),
    ("version 1.2 that is not to be kept", ask("POST /v1/server.info HTTP/1.2", HOST, "Connection: close", "Content-Length: 0"), 200, CLOSED),
    ("no Host in version 1.2", ask("POST /v1/server.info HTTP/1.2", "Content-Length: 0"), 400, CLOSED),
    *[(f"version {version}", ask(f"GET / HTTP/{version}", HOST), 505, CLOSED) for version in ["2.0", "2.1", "3.0", "9.9"]],
    *[(f"version {version!r}", ask(f"GET / HTTP/{version}", HOST), 400, CLOSED) for version in [
        "", "0.9", "0.0", "1", "1.", ".1", "1.10", "01.1", "10.1", "2", "20", "1.1.1", "1,1", "-1.1", "1.a", "\xb9.1"]],
    ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, CLOSED),
    ("a version in lower case", ask("GET / http/1.1", HOST), 400, CLOSED),
    ("a method in lower case", ask("post /v1/server.info HTTP/1.1", HOST), 400, CLOSED),
    ("a target with a control character", ask("GET /\x01 HTTP/1.1", HOST), 400, CLOSED),
    ("a target with a byte past ASCII", ask("GET /\xe9 HTTP/1.1", HOST), 400, CLOSED),
    ("an absolute target", ask(f"POST {BASE}/v1/server.info HTTP/1.1", HOST, "Content-Length: 0"), 200, KEPT),
    ("an absolute target with a user", ask("POST http://u@a/v1/server.info HTTP/1.1", HOST), 400, CLOSED),
    ("an absolute target without a host", ask("POST http:///v1/server.info HTTP/1.1", HOST), 400, CLOSED),
    ("an absolute target with a wrong port", ask("POST http://a:b/v1/server.info HTTP/1.1", HOST), 400, CLOSED),
    ("OPTIONS of the server", ask("OPTIONS * HTTP/1.1", HOST), 204, KEPT),
    ("OPTIONS of a path", ask("OPTIONS /v1/server.info HTTP/1.1", HOST), 204, KEPT),
    ("an asterisk with another method", ask("GET * HTTP/1.1", HOST), 400, CLOSED),
    ("a target with a fragment", ask("POST /v1/server.info#a HTTP/1.1", HOST, "Content-Length: 0"), 400, CLOSED),
    ("CONNECT", ask("CONNECT a:80 HTTP/1.1", HOST), 400, CLOSED),
    # Host (RFC 9112, section 3.2, and RFC 3986, section 3.2).
    *[(f"Host {value!r}", hosts(value), 200, KEPT) for value in [
        "a", "a:80", "A.Example.COM:443", "a.", "1.2.3.4", "1.2.3.4:80", "[::1]", "[::1]:80", "[::ffff:1.2.3.4]:80",
        "a_b", "a-b", "%41", "a:", "xn--mller-kva.example", "  a  ", "\ta\t"]],
    *[(f"Host {value!r}", hosts(value), 400, CLOSED) for value in [
        "a/b", "u@a", "a, b", "a b", "a:80:80", "[::1", "::1", "[::1]a", "[]", "[a]", "[1.2.3.4]", "[::1%25eth0]",
        "a:b", "a:+80", "a:-1", "a:65536", "a:999999999999999999999", ":80", "a?b", "a#b", "a\\b", "<a>", "a%", "a%4",
        "a%zz", "\xe9", "a\x00", "http://a", "a\"b", "a^b", "a|b", "a`b", "{a}"]],
    ("no Host", ask(INFO, "Content-Length: 0"), 400, CLOSED),
    ("two Hosts", info("Host: b", "Content-Length: 0"), 400, CLOSED),
    ("two Hosts alike", info(HOST, "Content-Length: 0"), 400, CLOSED),
    ("no Host in HTTP/1.0", ask("POST /v1/server.info HTTP/1.0", "Content-Length: 0"), 200, CLOSED),
    ("HTTP/1.0 that is to be kept", ask("POST /v1/server.info HTTP/1.0", "Connection: keep-alive", "Content-Length: 0"), 200, KEPT),
    ("a wrong Host in HTTP/1.0", ask("POST /v1/server.info HTTP/1.0", "Host: a b", "Content-Length: 0"), 400, CLOSED),
    # Fields (RFC 9112, section 5).
    ("a space before the colon", info("Content-Length : 2", body=b"{}"), 400, CLOSED),
    ("a tab before the colon", info("Content-Length\t: 2", body=b"{}"), 400, CLOSED),
    ("a space before a name", info(" X: a"), 400, CLOSED),
    ("a folded field", info("X: a", "\tb"), 400, CLOSED),
    ("a space before the first field", ask(INFO, " X: a", HOST), 400, CLOSED),
    ("a field without a colon", info("X"), 400, CLOSED),
    ("a field without a name", info(": a"), 400, CLOSED),
    ("a name with a character that no token has", info("X(Y): a"), 400, CLOSED),
    ("a name past ASCII", info("X\xe9: a"), 400, CLOSED),
    ("a NUL in a value", info("X: a\x00b"), 400, CLOSED),
    ("an escape in a value", info("X: a\x1bb"), 400, CLOSED),
    ("a DEL in a value", info("X: a\x7fb"), 400, CLOSED),
    ("a tab in a value", info("X: a\tb", "Content-Length: 0"), 200, KEPT),
    ("a byte past ASCII in a value", info("X: \xe9", "Content-Length: 0"), 200, KEPT),
    # Swift compares strings with such runs in quadratic time.
    *[(f"a long run of accents in {name}", info(f"{name}: a" + "\xcc\x81" * 129), 400, CLOSED)
      for name in ["X", "Accept-Encoding", "Connection", "Upgrade", "Origin", "Transfer-Encoding", "X-Forwarded-For"]],
    ("a short run of accents in a value", info("X: a" + "\xcc\x81" * 128, "Content-Length: 0"), 200, KEPT),
    *[(f"a long run of accents in a target: {path}", ask(f"GET {path} HTTP/1.1", HOST), 400, CLOSED)
      for path in ["/" + "%CC%81" * 129, "/v1/changes?" + "%CC%81" * 129 + "=a", "/v1/changes?cursor=" + "%CC%81" * 129]],
    ("an empty value", info("X:", "Content-Length: 0"), 200, KEPT),
    ("a bare LF between fields", f"{INFO}\r\n{HOST}\nX: a\r\n\r\n".encode(), 400, CLOSED),
    ("a bare CR in a value", info("X: a\rb"), 400, CLOSED),
    ("a bare LF at the head's end", f"{INFO}\r\n{HOST}\r\n\n".encode(), 400, CLOSED),
    ("101 fields", info(*[f"X-{index}: a" for index in range(100)]), 431, CLOSED),
    ("a head of 17 KiB", info("X: " + "a" * 17_000), 431, CLOSED),
    # Content-Length.
    *[(f"Content-Length{value!r}", info(f"Content-Length:{value}", body=b"{}"), 200, KEPT)
      for value in ["2", " 2", " 2 ", " 2\t", "\t2 \t ", " 002"]],
    *[(f"Content-Length{value!r}", info(f"Content-Length:{value}", body=b"{}"), 400, CLOSED)
      for value in ["", " ", " +2", " -2", " 0x2", " 2,2", " 2, 2", " 2 2", " 2.0", " 2a", " 1_0", " \xb2", " " + "9" * 40]],
    ("two lengths", info("Content-Length: 2", "Content-Length: 3", body=b"{}"), 400, CLOSED),
    ("two lengths alike", info("Content-Length: 2", "Content-Length: 2", body=b"{}"), 400, CLOSED),
    ("a length past the bound", info("Content-Length: 65537"), 413, CLOSED),
    ("a length far past the bound", info("Content-Length: 9223372036854775807"), 413, CLOSED),
    # Transfer-Encoding (RFC 9112, sections 6.1 and 6.3).
    *[(f"Transfer-Encoding{value!r}", encoded(value), 200, KEPT) for value in [" chunked", "chunked", " Chunked ", "\tCHUNKED\t"]],
    *[(f"Transfer-Encoding{value!r}", encoded(value), 501, CLOSED) for value in [
        " gzip, chunked", " x, chunked", " identity, chunked", " deflate,chunked", " chunked, chunked", " gzip;q=1, chunked"]],
    *[(f"Transfer-Encoding{value!r}", encoded(value), 400, CLOSED) for value in [
        "", " ", " ,", " identity", " gzip", " chunked, gzip", " chunked, identity", " xchunked", " chunked;q=1",
        " \"chunked\"", " chunked,", " chun\xe2\x84\xaaed"]],
    ("two fields, of which one is not known", encoded(" gzip", "Transfer-Encoding: chunked"), 501, CLOSED),
    ("chunked in two fields", encoded(" chunked", "Transfer-Encoding: chunked"), 501, CLOSED),
    ("chunked beside an empty field", encoded(" chunked", "Transfer-Encoding:"), 400, CLOSED),
    ("a length beside chunks", encoded(" chunked", "Content-Length: 2"), 400, CLOSED),
    ("chunks in HTTP/1.0", ask("POST /v1/server.info HTTP/1.0", HOST, "Transfer-Encoding: chunked", body=b"0\r\n\r\n"), 400, CLOSED),
    # Chunks (RFC 9112, section 7.1).
    ("chunks", chunked(b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"), 200, KEPT),
    ("a size with zeros before it", chunked(b"0002\r\n{}\r\n000\r\n\r\n"), 200, KEPT),
    ("an extension", chunked(b"2;a=b;c=\"d e\"\r\n{}\r\n0;x\r\n\r\n"), 200, KEPT),
    ("white space before an extension", chunked(b"2 ;a\r\n{}\r\n0\r\n\r\n"), 200, KEPT),
    ("a trailer", chunked(b"2\r\n{}\r\n0\r\nX: a\r\n\r\n"), 200, KEPT),
    ("a size that is none", chunked(b"xx\r\n"), 400, CLOSED),
    ("a size with a sign", chunked(b"+2\r\n{}\r\n0\r\n\r\n"), 400, CLOSED),
    ("a size with a prefix", chunked(b"0x2\r\n{}\r\n0\r\n\r\n"), 400, CLOSED),
    ("an empty size", chunked(b"\r\n{}\r\n0\r\n\r\n"), 400, CLOSED),
    ("a space before a size", chunked(b" 2\r\n{}\r\n0\r\n\r\n"), 400, CLOSED),
    ("a space behind a size", chunked(b"2 \r\n{}\r\n0\r\n\r\n"), 400, CLOSED),
    ("a size past 64 bits", chunked(b"10000000000000002\r\n{}\r\n0\r\n\r\n"), 400, CLOSED),
    ("a size past the bound", chunked(b"10001\r\n"), 413, CLOSED),
    ("a size that ends with a bare LF", chunked(b"2\n{}\r\n0\r\n\r\n"), 400, CLOSED),
    ("a bare CR in an extension", chunked(b"2;a\rb\r\n{}\r\n0\r\n\r\n"), 400, CLOSED),
    ("a chunk longer than its size", chunked(b"1\r\n{}\r\n0\r\n\r\n"), 400, CLOSED),
    ("a chunk that ends with a bare LF", chunked(b"2\r\n{}\n0\r\n\r\n"), 400, CLOSED),
    ("an extension of 2 KiB", chunked(b"2;" + b"a" * 2_048 + b"\r\n{}\r\n0\r\n\r\n"), 413, CLOSED),
    ("an extension of 128 MiB", chunked(b"2;" + b"a" * (1 << 27) + b"\r\n{}\r\n0\r\n\r\n"), 413, CLOSED),
    ("extensions of 1 MiB in all", chunked((b"1;" + b"a" * 900 + b"\r\n \r\n") * 1_200 + b"0\r\n\r\n"), 413, CLOSED),
    ("as many chunks as are allowed", chunked(b"1\r\n{\r\n" + b"1\r\n \r\n" * 1_277 + b"1\r\n}\r\n0\r\n\r\n"), 200, KEPT),
    ("one chunk more", chunked(b"1\r\n{\r\n" + b"1\r\n \r\n" * 1_278 + b"1\r\n}\r\n0\r\n\r\n"), 413, CLOSED),
    ("chunks of one byte", chunked(b"1\r\n \r\n" * 65_000), 413, CLOSED),
    ("a folded trailer", chunked(b"2\r\n{}\r\n0\r\nX: a\r\n b\r\n\r\n"), 400, CLOSED),
    ("a trailer of 17 KiB", chunked(b"2\r\n{}\r\n0\r\nX: " + b"a" * 17_000 + b"\r\n\r\n"), 431, CLOSED),
    ("101 trailers", chunked(b"2\r\n{}\r\n0\r\n" + b"X: a\r\n" * 101 + b"\r\n"), 431, CLOSED),
    # Upgrades (RFC 9110, section 7.8, and RFC 6455, section 4.2).
    ("an upgrade without a key", ask("GET /v1/line HTTP/1.1", HOST, *UPGRADE), 400, KEPT),
    *[(f"key {value!r}", ask("GET /v1/line HTTP/1.1", HOST, *UPGRADE, f"Sec-WebSocket-Key: {value}"), 400, KEPT) for value in [
        "", "AAAA", "a b", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZWE=", "!" * 24]],
    ("two keys", ask("GET /v1/line HTTP/1.1", HOST, *UPGRADE, KEY, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="), 400, KEPT),
    ("another version", ask("GET /v1/line HTTP/1.1", HOST, *UPGRADE[:2], "Sec-WebSocket-Version: 8", KEY), 426, KEPT),
    ("no upgrade", ask("GET /v1/line HTTP/1.1", HOST), 426, KEPT),
    ("an upgrade to another protocol", ask("GET /v1/line HTTP/1.1", HOST, "Upgrade: h2c", "Connection: Upgrade"), 426, KEPT),
    ("an upgrade with a Kelvin sign", ask("GET /v1/line HTTP/1.1", HOST, "Upgrade: websoc\xe2\x84\xaaet", *UPGRADE[1:], KEY), 426, KEPT),
    ("a host with a Kelvin sign", ask(INFO, "Host: \xe2\x84\xaax", "Content-Length: 0"), 400, CLOSED),
    ("an upgrade in HTTP/1.0", ask("GET /v1/line HTTP/1.0", HOST, *UPGRADE, KEY), 426, CLOSED),
    ("an upgrade that no path takes", info("Upgrade: h2c", "Connection: Upgrade", "Content-Length: 2", body=b"{}"), 200, KEPT),
    # Single-value headers.
    ("two kinds of authorization", ask("POST /v1/me.get HTTP/1.1", HOST, "Authorization: Bearer a", "Authorization: Bearer b", "Content-Length: 0"), 400, KEPT),
    ("one authorization twice", ask("POST /v1/me.get HTTP/1.1", HOST, "Authorization: Bearer a", "Authorization: Bearer a", "Content-Length: 0"), 401, KEPT),
    *[(f"two values of {name}", ask(line, HOST, f"{name}: a", f"{name}: b", "Content-Length: 0"), 400, KEPT)
      for name in ["Idempotency-Key", "Last-Event-ID", "Content-Type"]
      for line in ["POST /v1/messages.send HTTP/1.1", "GET /v1/changes HTTP/1.1", "PUT /api/users/me HTTP/1.1"]],
    ("one key in two ways", ask("POST /v1/messages.send HTTP/1.1", HOST, "Idempotency-Key: a", "idempotency-key: A", "Content-Length: 0"), 400, KEPT),
    # Keys, queries and bodies that the path does not read.
    *[(f"a key: {line}", ask(f"{line} HTTP/1.1", HOST, "Idempotency-Key: 5e0a7b1c-93d4-4a5e-8f21-0c6a4d2b9e77", "Content-Length: 0"), 400, KEPT)
      for line in ["GET /v1/openapi.json", "HEAD /v1/openapi.json", "GET /v1/changes?ticket=a", "GET /v1/line", "POST /v1/rpc",
                   "POST /v1/server.info", "GET /", "GET /console/app.js", "GET /console/config.json",
                   "GET /v1/media/5e0a7b1c-93d4-4a5e-8f21-0c6a4d2b9e77", "POST /api/v1/auth/guest"]],
    ("a key of an upload", ask("PUT /v1/media/5e0a7b1c-93d4-4a5e-8f21-0c6a4d2b9e77 HTTP/1.1", HOST, "Idempotency-Key: a", "Content-Length: 0"), 400, CLOSED),
    ("a field of an upload's query twice", ask("PUT /v1/media/5e0a7b1c-93d4-4a5e-8f21-0c6a4d2b9e77?expires=1&expires=2 HTTP/1.1", HOST, "Content-Length: 0"), 400, CLOSED),
    ("an upload without a key", ask("PUT /v1/media/5e0a7b1c-93d4-4a5e-8f21-0c6a4d2b9e77 HTTP/1.1", HOST, "Content-Length: 0"), 403, CLOSED),
    *[(f"a query: {line}", ask(f"{line} HTTP/1.1", HOST, "Content-Length: 0"), 400, KEPT)
      for line in ["GET /v1/openapi.json?a=1", "GET /v1/openapi.json?a", "GET /v1/line?token=a", "POST /v1/rpc?a=1",
                   "POST /v1/server.info?a=1", "GET /v1/changes?ticket=a&a=1", "POST /api/v1/auth/guest?a=1"]],
    *[(f"a query that is empty, or of a page: {line}", ask(f"{line} HTTP/1.1", HOST), 200, KEPT)
      for line in ["GET /v1/openapi.json?", "GET /?utm_source=a", "GET /console/app.js?v=1", "GET /console/client/index.js"]],
    *[(f"a body: {line}", ask(f"{line} HTTP/1.1", HOST, "Content-Length: 2", body=b"{}"), 400, KEPT)
      for line in ["GET /v1/openapi.json", "GET /v1/changes?ticket=a", "GET /v1/line", "GET /"]],
    ("a ticket beside a token", ask("GET /v1/changes?ticket=a HTTP/1.1", HOST, "Authorization: Bearer a"), 400, KEPT),
    # Authentication comes first.
    *[(f"without a token: {line}", ask(f"{line} HTTP/1.1", HOST, "Idempotency-Key: a", "Content-Length: 0"), 401, KEPT)
      for line in ["POST /v1/me.get?a=1", "GET /v1/changes?a=1", "POST /v1/changes/ticket?a=1", "GET /api/users/me?a=1"]],
    # Repeated fields of the query.
    *[(f"a query's field twice: {path}", ask(f"GET {path} HTTP/1.1", HOST), 400, KEPT) for path in [
        "/v1/changes?cursor=a&cursor=b", "/v1/changes?cursor=a&cursor=a", "/v1/changes?cursor=a&%63ursor=b",
        "/v1/changes?ticket=a&ticket=b", "/v1/changes?messages_per_conversation=1&messages_per_conversation=1",
        "/api/v1/conversations?limit=1&limit=2", "/api/v1/users/search?q=a&q=b", "/api/chats/conversations?limit=1&limit=2",
        "/v1/media/5e0a7b1c-93d4-4a5e-8f21-0c6a4d2b9e77?expires=1&expires=2&signature=00"]],
]


def status_and_end(data, pieces):
    """Sends a request in pieces and then another. Returns the first status, and whether the second got a response."""
    with socket.create_connection((PLACE.hostname, PLACE.port), timeout=WAIT) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for start in range(0, len(data), pieces):
                peer.sendall(data[start : start + pieces])
            peer.sendall(FOLLOW)
        except OSError:
            pass
        received = b""
        try:
            while piece := peer.recv(65_536):
                received += piece
        except ConnectionResetError:
            pass
    statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", received)]
    return statuses[0], len(statuses) == 2 and statuses[1] == 401


class Requests(unittest.TestCase):
    # A11, B2, B8, E32, E33, F2, F3, F4, F5, F8.
    def test_each_request_has_its_status_and_connection_state(self):
        self.assertGreater(len(ROWS), 60)
        for name, data, status, kept in ROWS:
            with self.subTest(name):
                self.assertEqual(status_and_end(data, 1 << 16), (status, kept))

    def test_requests_in_single_bytes_have_the_same_result(self):
        for name, data, status, kept in ROWS:
            if len(data) < 1_000:
                with self.subTest(name):
                    self.assertEqual(status_and_end(data, 1), (status, kept))

    # A11.
    def test_answers_frames_in_the_same_packet_as_the_upgrade(self):
        def frame(opcode, payload):
            return bytes([0x80 | opcode, 0x80 | len(payload)]) + bytes(4) + payload

        asked = b'{"jsonrpc":"2.0","id":7,"method":"server.info"}'
        data = ask("GET /v1/line HTTP/1.1", HOST, *UPGRADE, KEY) + frame(1, asked) + frame(8, struct.pack("!H", 1_000))
        before = info("Content-Length: 0")
        for sent in [data, before + data, before * 3 + data]:
            answer = raw(sent)
            self.assertIn(b"HTTP/1.1 101 ", answer)
            self.assertIn(b'"method":"server.hello"', answer)
            self.assertIn(b'{"jsonrpc":"2.0","id":7,"result":{"server":"postline"', answer)

    def test_a_rejected_upload_names_the_invalid_field(self):
        line = "PUT /v1/media/5e0a7b1c-93d4-4a5e-8f21-0c6a4d2b9e77{} HTTP/1.1"
        for query, fields, named in [
            ("?expires=1&expires=2", [], b"expires"), ("", ["Idempotency-Key: a"], b"Idempotency-Key"),
            ("", ["Content-Type: image/png", "Content-Type: image/jpeg"], b"Content-Type"),
        ]:
            with self.subTest(named):
                answer = raw(ask(line.format(query), HOST, "Content-Length: 0", *fields))
                self.assertIn(b'"code":"invalid_params"', answer)
                self.assertIn(b'"field":"' + named + b'"', answer)


class Keys(unittest.TestCase):
    # B2, B3.
    def test_a_key_is_one_uuid_with_or_without_quotes(self):
        bearer = token()
        key = "5e0a7b1c-93d4-4a5e-8f21-0c6a4d2b9e7"
        rows = [
            ([f"{key}1"], 200), ([f'"{key}2"'], 200), ([f" {key}3\t"], 200), ([f"{key}4", f"{key}4"], 200),
            ([f'"{key}'], 400), ([f'{key}5"'], 400), ([f'"{key}5'], 400), ([f'""{key}5""'], 400), ([f"'{key}5'"], 400),
            ([f'{key[:8]}"{key[8:]}5'], 400), (['"'], 400), (['""'], 400), ([""], 400), ([f"{key}5, {key}5"], 400),
            ([f"{key}5", f"{key}6"], 400), ([f"{key}5", f'"{key}5"'], 400), ([f"{key}a", f"{key}A"], 400),
            ([f"{{{key}5}}"], 400),
        ]
        for keys, status in rows:
            for path in ["/v1/messages.send", f"/api/v1/conversations/{ALICE_BOB}/messages"]:
                with self.subTest(keys=keys, path=path):
                    params = {"content": "Once."} | ({} if path.startswith("/api") else {"conversation_id": ALICE_BOB})
                    body = json.dumps(params).encode()
                    fields = [f"Idempotency-Key: {value}" for value in keys]
                    answer = raw(ask(
                        f"POST {path} HTTP/1.1", HOST, f"Authorization: Bearer {bearer}", f"Content-Length: {len(body)}",
                        "Connection: close", *fields, body=body))
                    self.assertEqual(int(answer.split()[1]), status, answer)


class Bearers(unittest.TestCase):
    def test_malformed_tokens_are_invalid_and_do_not_crash(self):
        for header in [b'{"alg":"HS256","x":1e19}', b'{"alg":"HS256","x":' + b"[" * 400 + b"]" * 400 + b"}"]:
            value = base64.urlsafe_b64encode(header).decode().rstrip("=") + ".e30.eHg"
            answer = raw(ask("POST /v1/me.get HTTP/1.1", HOST, f"Authorization: Bearer {value}", "Content-Length: 2",
                             "Connection: close", body=b"{}"))
            self.assertIn(b"401", answer.split(b"\r\n")[0])
            self.assertIn(b'"code":"invalid_token"', answer)

    # RFC 6750, section 2.1.
    def test_a_token_has_equals_signs_only_at_its_end(self):
        bearer = token()
        for value, status in [
            (f"Bearer {bearer}", 200), (f"bearer {bearer}", 200), (f"BEARER   {bearer}", 200),
            (f"Bearer {bearer[:-2]}={bearer[-2:]}", 401), (f"Bearer {bearer[:-1]}=={bearer[-1:]}", 401),
            (f"Bearer {bearer.replace('.', '=.')}", 401), (f"Bearer ={bearer}", 401), ("Bearer =", 401), ("Bearer ", 401),
            ("Bearer", 401), ("", 401), (f"Bearer\t{bearer}", 401), (f"Bearer {bearer},", 401), (f'Bearer "{bearer}"', 401),
            (f"Bearer {bearer} a", 401), (f"Bearer {bearer}\xe9", 401), (f"Token {bearer}", 401), (bearer, 401),
        ]:
            with self.subTest(value.replace(bearer, "TOKEN")):
                answer = raw(ask(
                    "POST /v1/me.get HTTP/1.1", HOST, f"Authorization: {value}", "Content-Length: 0", "Connection: close"))
                self.assertEqual(int(answer.split()[1]), status, answer)
                if status == 401:
                    self.assertIn(b'"code":"invalid_token"', answer)
                    # The header is malformed, which differs from an unknown token.
                    self.assertIn(b"Authorization must be", answer)


if __name__ == "__main__":
    unittest.main()
