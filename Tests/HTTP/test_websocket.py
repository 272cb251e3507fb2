"""The line protocol over WebSocket, with the websockets library, and with raw frames that no library sends."""

import asyncio
import base64
import json
import os
import re
import socket
import struct
import unittest
import uuid

import websockets

from support import *

URL = BASE.replace("http://", "ws://") + "/v1/line"


class Client:
    """A connection that returns the responses to requests, and keeps the pushes between them."""

    def __init__(self, socket):
        self.socket = socket
        self.pushes = []
        self.number = 0

    async def line(self):
        return json.loads(await asyncio.wait_for(self.socket.recv(), WAIT))

    async def call(self, method, params=None):
        self.number += 1
        number = self.number
        await self.socket.send(
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}))
        while True:
            line = await self.line()
            if line.get("id") == number:
                return line
            self.pushes.append(line)

    async def push(self, wanted):
        while True:
            for line in self.pushes:
                if wanted(line):
                    return line
            self.pushes = [await self.line()]


async def connect(bearer=None, url=URL, **options):
    client = Client(await websockets.connect(url, max_size=None, **options))
    client.hello = await client.line()
    if bearer:
        answer = await client.call("session.authenticate", {"access_token": bearer})
        assert "result" in answer, answer
    return client


def frame(opcode, payload=b"", fin=True, masked=True, rsv=0, length=None):
    """Returns a client's frame (RFC 6455, section 5.2)."""
    first = (0x80 if fin else 0) | rsv << 4 | opcode
    count = len(payload) if length is None else length
    mask_bit = 0x80 if masked else 0
    head = (
        struct.pack("!BB", first, mask_bit | count) if count < 126
        else struct.pack("!BBH", first, mask_bit | 126, count) if count < 65_536
        else struct.pack("!BBQ", first, mask_bit | 127, count))
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


class RawWebSocket:
    """A WebSocket for raw frames."""

    def __init__(self, before=b""):
        place = urllib.parse.urlsplit(BASE)
        self.socket = socket.create_connection((place.hostname, place.port), timeout=WAIT)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            before + (
                f"GET /v1/line HTTP/1.1\r\nHost: {place.netloc}\r\nUpgrade: websocket\r\nConnection: keep-alive, "
                f"Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
        self.bytes = b""
        while b" 101 " not in self.bytes or b"\r\n\r\n" not in self.bytes[self.bytes.index(b" 101 "):]:
            piece = self.socket.recv(65_536)
            assert piece, self.bytes
            self.bytes += piece
        start = self.bytes.index(b" 101 ")
        self.bytes = self.bytes[self.bytes.index(b"\r\n\r\n", start) + 4:]

    def frame(self):
        """Returns the next frame as (opcode, payload, fin), or None at the end of the connection."""
        def take(count):
            while len(self.bytes) < count:
                piece = self.socket.recv(65_536)
                if not piece:
                    return None
                self.bytes += piece
            taken, self.bytes = self.bytes[:count], self.bytes[count:]
            return taken

        head = take(2)
        if head is None:
            return None
        count = head[1] & 0x7F
        if count == 126:
            count = struct.unpack("!H", take(2))[0]
        elif count == 127:
            count = struct.unpack("!Q", take(8))[0]
        return head[0] & 0xF, take(count), bool(head[0] & 0x80)

    def message(self):
        text = b""
        while True:
            opcode, payload, fin = self.frame()
            if opcode in (0, 1):
                text += payload
                if fin:
                    return json.loads(text)

    def close_code(self):
        while (frame := self.frame()) is not None:
            if frame[0] == 8:
                return struct.unpack("!H", frame[1][:2])[0]
        return None


def request_text(method, number=1):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method}).encode()


class WebSocket(unittest.IsolatedAsyncioTestCase):
    async def test_a_websocket_has_the_same_responses_as_a_line(self):
        bearer = token()
        line = LineClient()
        client = await connect(bearer, subprotocols=["postline.v1"])
        self.assertEqual(client.socket.subprotocol, "postline.v1")
        self.assertEqual(client.hello, line.hello)
        line.call("session.authenticate", {"access_token": bearer})
        for method, params in [
            ("me.get", {}), ("conversations.list", {}), ("messages.list", {"conversation_id": ALICE_BOB}),
            ("no.such", {}), ("me.update", {"phone": "x"}),
        ]:
            self.assertEqual({**await client.call(method, params), "id": 0}, {**line.call(method, params), "id": 0})
        line.close()
        await client.socket.close()

    async def test_pushes_changes_and_resumes_at_the_cursor(self):
        bob, alice = await connect(token("bob")), await connect(token("alice"))
        cursor = (await bob.call("sync.open"))["result"]["cursor"]
        texts = [f"pushed {uuid.uuid4()}" for _ in range(5)]
        for text in texts:
            await alice.call("messages.send", {"conversation_id": ALICE_BOB, "content": text})
        seen = []
        while texts[-1] not in seen:
            push = await bob.push(lambda line: line.get("method") == "changes")
            bob.pushes.remove(push)
            seen += [message["content"] for message in push["params"].get("messages", [])]
        self.assertEqual(seen, texts)
        await bob.socket.close()
        bob = await connect(token("bob"))
        changes = (await bob.call("sync.open", {"cursor": cursor}))["result"]
        self.assertFalse(changes["reset"])
        self.assertEqual([message["content"] for message in changes["messages"]], texts)
        await bob.socket.close()
        await alice.socket.close()

    # Row 61.
    async def test_reassembles_fragments_with_pings_between_them(self):
        client = await connect()

        async def pieces():
            for letter in json.dumps({"jsonrpc": "2.0", "id": "ü😀", "method": "server.info"}, ensure_ascii=False):
                yield letter

        await client.socket.send(pieces())
        self.assertEqual((await client.line())["id"], "ü😀")
        pong = await client.socket.ping(b"x" * 125)
        await asyncio.wait_for(pong, WAIT)
        await client.socket.close()

        bare = RawWebSocket()
        self.assertEqual(bare.message()["method"], "server.hello")
        # The message is split within a code point, has a ping between its fragments, and is sent byte by byte.
        text = json.dumps({"jsonrpc": "2.0", "id": "😀", "method": "server.info"}, ensure_ascii=False).encode()
        cut = text.index("😀".encode()) + 2
        data = frame(1, text[:cut], fin=False) + frame(9, b"ping") + frame(0, text[cut:])
        bare.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in data:
            bare.socket.sendall(bytes([byte]))
        self.assertEqual(bare.frame()[:2], (10, b"ping"))
        self.assertEqual(bare.message()["id"], "😀")
        bare.socket.close()

    async def test_upgrades_a_connection_after_other_requests(self):
        # Proxies send upgrades over kept connections.
        before = f"POST /v1/server.info HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n".encode()
        bare = RawWebSocket(before * 2)
        self.assertEqual(bare.message()["method"], "server.hello")
        bare.socket.sendall(frame(1, request_text("server.info")))
        self.assertEqual(bare.message()["id"], 1)
        bare.socket.close()

    # Row 61.
    async def test_invalid_frames_close_with_their_code(self):
        cases = {
            "binary": (1003, frame(2, b"x")),
            "not masked": (1002, frame(1, b"{}", masked=False)),
            "a reserved bit": (1002, frame(1, b"{}", rsv=4)),
            "an opcode that is none": (1002, frame(3, b"x")),
            "a continuation of nothing": (1002, frame(0, b"x")),
            "a message within a message": (1002, frame(1, b"x", fin=False) + frame(1, b"x")),
            "a long ping": (1002, frame(9, b"x" * 126)),
            "a ping in pieces": (1002, frame(9, b"x", fin=False)),
            "not UTF-8": (1007, frame(1, b'"\xff"')),
            "not UTF-8 at its end": (1007, frame(1, b'"\xf0\x9f', fin=False) + frame(0, b'"')),
            "a surrogate": (1007, frame(1, b'"\xed\xa0\x80"')),
            "too long": (1009, frame(1, b" " * 65_537)),
            "too long by its head alone": (1009, frame(1, b"", length=1 << 40)),
            "too long in pieces": (1009, frame(1, b" " * 60_000, fin=False) + frame(0, b" " * 60_000)),
        }
        for name, (code, data) in cases.items():
            with self.subTest(name):
                bare = RawWebSocket()
                bare.message()
                bare.socket.sendall(data)
                self.assertEqual(bare.close_code(), code)
                bare.socket.close()

    async def test_accepts_the_longest_message_and_answers_invalid_ones(self):
        client = await connect()
        text = request_text("server.info").decode()
        await client.socket.send(text + " " * (65_536 - len(text)))
        self.assertEqual((await client.line())["id"], 1)
        await client.socket.send("{nope")
        self.assertEqual((await client.line())["error"]["data"]["code"], "parse_error")
        await client.socket.send("")
        await client.socket.send("[]")
        self.assertEqual((await client.line())["error"]["data"]["code"], "invalid_request")
        await client.socket.close()
        self.assertEqual(client.socket.close_code, 1000)

    # Row 61.
    async def test_answers_pending_requests_before_the_close_frame(self):
        bare = RawWebSocket()
        bare.message()
        requests = b"".join(frame(1, request_text("server.info", number)) for number in range(1, 41))
        bare.socket.sendall(requests + frame(8, struct.pack("!H", 1000)))
        self.assertEqual([bare.message()["id"] for _ in range(40)], list(range(1, 41)))
        self.assertEqual(bare.close_code(), 1000)
        self.assertIsNone(bare.frame())
        bare.socket.close()

    async def test_an_ended_session_closes_its_connection_with_the_reason(self):
        given = tokens("dave")
        client = await connect(given["access_token"])
        self.assertEqual(call("auth.logout", token=given["access_token"]).status, 200)
        goodbye = await client.line()
        self.assertEqual((goodbye["method"], goodbye["params"]["code"]), ("server.goodbye", "session_revoked"))
        with self.assertRaises(websockets.ConnectionClosed) as closed:
            await client.line()
        self.assertEqual(closed.exception.rcvd.code, 1008)

    # F14.
    async def test_closes_with_restored_after_a_restore_or_failover(self):
        client = await connect(token("dave"))
        await client.call("sync.open")
        sql("select app.renew_epoch()")
        while (goodbye := await client.line()).get("method") != "server.goodbye":
            pass
        self.assertEqual((goodbye["params"]["code"], goodbye["params"]["reconnect"]), ("restored", True))
        with self.assertRaises(websockets.ConnectionClosed) as closed:
            await client.line()
        self.assertEqual(closed.exception.rcvd.code, 1_012)

    async def test_a_client_that_does_not_read_is_bounded(self):
        # The line server's tests check this too, since the connection behind the framing is the same.
        bare = RawWebSocket()
        bare.message()
        bare.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        bare.socket.settimeout(5)
        batch = frame(1, json.dumps([json.loads(request_text("avatars.list", n)) for n in range(50)]).encode())
        with self.assertRaises((TimeoutError, ConnectionError)):
            for _ in range(100_000):
                bare.socket.sendall(batch)
        self.assertEqual(call("server.info").status, 200)
        bare.socket.close()

    async def test_a_flood_of_small_frames_ends_the_connection(self):
        for name, flood in [("pings", frame(9, b"")), ("pongs", frame(10, b"")), ("empty messages", frame(1, b"")),
                            ("empty fragments", frame(0, b"", fin=False)), ("fragments", frame(0, b" ", fin=False)),
                            ("line ends", frame(1, b"\n")), ("more line ends", frame(1, b"\r\n\n"))]:
            with self.subTest(name):
                bare = RawWebSocket()
                bare.message()
                first = frame(1, b"{", fin=False) if "fragments" in name else b""
                bare.socket.sendall(first + flood * 1_000)
                try:
                    opcode, payload = bare.frame()[:2]
                    while opcode == 10:
                        opcode, payload = bare.frame()[:2]
                    self.assertEqual((opcode, payload[:2]), (8, (1008).to_bytes(2, "big")))
                except ConnectionResetError:
                    pass  # The rest of the flood arrived after the close, so the system reset the connection.
                bare.socket.close()

    async def test_unread_pongs_do_not_accumulate(self):
        bare = RawWebSocket()
        bare.message()
        bare.socket.settimeout(10)
        flood = frame(9, b"x" * 125) * 1_000
        try:
            for _ in range(200):
                bare.socket.sendall(flood)
        except (TimeoutError, ConnectionError):
            pass
        self.assertEqual(call("server.info").status, 200)
        bare.socket.close()

    # Row 62.
    async def test_checks_origin_and_subprotocol_before_the_upgrade(self):
        strict = STRICT.replace("http://", "ws://") + "/v1/line"
        for origin, taken in [("https://app.example.com", True), (STRICT, True), ("https://evil.example.com", False)]:
            with self.subTest(origin):
                if taken:
                    client = await connect(url=strict, origin=origin)
                    await client.socket.close()
                else:
                    with self.assertRaises(websockets.InvalidStatusCode) as refused:
                        await connect(url=strict, origin=origin)
                    self.assertEqual(refused.exception.status_code, 403)
        with self.assertRaises(websockets.InvalidStatusCode) as refused:
            await connect(subprotocols=["mqtt"])
        self.assertEqual(refused.exception.status_code, 400)
        plain = request("GET", "/v1/line")
        self.assertEqual((plain.status, plain.headers["Sec-WebSocket-Version"]), (426, "13"))


if __name__ == "__main__":
    unittest.main()
