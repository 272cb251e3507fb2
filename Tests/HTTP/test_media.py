"""Files in a node's folder over real sockets: byte ranges, headers, quotas and resumed uploads."""

import http.client
import json
import pathlib
import socket
import unittest
import urllib.parse

import support
from support import ALICE_BOB, call, curl, raw

FOLDER = pathlib.Path(support.SETTINGS).parent / "media"
DATA = b"%PDF-1.7" + bytes(n % 251 for n in range(299_992))
NAME = "Überblick “1”.pdf"


def create(bearer, size=len(DATA), mime_type="application/pdf", **more):
    answer = call("media.create", {
        "purpose": "message", "mime_type": mime_type, "bytes": size, "conversation_id": ALICE_BOB, **more}, bearer)
    assert answer.status == 200, answer.body
    return answer.json


def target(url):
    place = urllib.parse.urlsplit(url)
    return f"{place.path}?{place.query}" if place.query else place.path


def ask(method, url, *fields, body=b"", base=support.BASE):
    """Sends a request, and returns status, headers with lower-case names, and body."""
    head = [f"{method} {target(url)} HTTP/1.1", "Host: localhost", "Connection: close", *fields]
    answer = raw(("\r\n".join(head) + "\r\n\r\n").encode() + body, base=base)
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    return support.Response(int(lines[0].split()[1]), headers, body)


def put(url, body, *fields):
    return ask("PUT", url, f"Content-Length: {len(body)}", *fields, body=body)


def send(bearer, media_id, kind="file"):
    answer = call("messages.send", {
        "conversation_id": ALICE_BOB, "kind": kind, "attachments": [{"media_id": media_id}]}, bearer)
    assert answer.status == 200, answer.body
    return answer.json


def url_of(bearer, media_id):
    return call("media.urls", {"ids": [media_id]}, bearer).json["media"][0]["url"]


class Ranges(unittest.TestCase):
    """RFC 9110, section 14."""

    @classmethod
    def setUpClass(cls):
        cls.bearer = support.token("alice")
        promised = create(cls.bearer, name=NAME)
        assert put(promised["upload"]["url"], DATA).status == 204
        send(cls.bearer, promised["id"])
        cls.id = promised["id"]
        cls.url = url_of(support.token("bob"), promised["id"])

    def test_a_whole_file_names_its_length_tag_and_ranges(self):
        for method in ["GET", "HEAD"]:
            answer = ask(method, self.url)
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.body, DATA if method == "GET" else b"")
            self.assertEqual(answer.headers["content-length"], str(len(DATA)))
            self.assertEqual(answer.headers["accept-ranges"], "bytes")
            self.assertEqual(answer.headers["etag"], f'"{self.id}"')
            self.assertEqual(answer.headers["content-type"], "application/pdf")
            self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
            self.assertEqual(answer.headers["content-security-policy"], "default-src 'none'; sandbox")
            self.assertEqual(
                answer.headers["content-disposition"],
                "attachment; filename=\"_berblick _1_.pdf\"; filename*=UTF-8''%C3%9Cberblick%20%E2%80%9C1%E2%80%9D.pdf")

    def test_one_range_is_answered_with_that_part(self):
        length = len(DATA)
        for field, first, last in [
            ("bytes=0-0", 0, 0), ("bytes=0-1", 0, 1), ("bytes=5-9", 5, 9), ("bytes=100-", 100, length - 1),
            ("bytes=-1", length - 1, length - 1), ("bytes=-7", length - 7, length - 1),
            (f"bytes=0-{length * 2}", 0, length - 1), (f"bytes=-{length * 2}", 0, length - 1),
            (f"bytes={length - 1}-", length - 1, length - 1), ("bytes=65530-196613", 65_530, 196_613),
            ("BYTES=1-2", 1, 2), ("bytes= 1-2 ", 1, 2), ("bytes=0-99999999999999999999999", 0, length - 1),
        ]:
            with self.subTest(field):
                answer = ask("GET", self.url, f"Range: {field}")
                self.assertEqual(answer.status, 206)
                self.assertEqual(answer.headers["content-range"], f"bytes {first}-{last}/{length}")
                self.assertEqual(answer.headers["content-length"], str(last + 1 - first))
                self.assertEqual(answer.body, DATA[first:last + 1])

    def test_a_range_beyond_the_end_cannot_be_satisfied(self):
        for field in [f"bytes={len(DATA)}-", f"bytes={len(DATA)}-{len(DATA) + 5}", "bytes=-0",
                      "bytes=99999999999999999999999-"]:
            with self.subTest(field):
                answer = ask("GET", self.url, f"Range: {field}")
                self.assertEqual(answer.status, 416)
                self.assertEqual(answer.headers["content-range"], f"bytes */{len(DATA)}")
                self.assertEqual(json.loads(answer.body)["data"]["code"], "invalid_request")

    def test_other_ranges_are_ignored(self):
        for fields in [
            ["Range: bytes=9-5"], ["Range: bytes=a-b"], ["Range: bytes=-"], ["Range: bytes="], ["Range: items=0-5"],
            ["Range: 0-5"], ["Range: bytes=0-1,4-5"], ["Range: bytes=+1-2"], ["Range: bytes=1--2"],
            ["Range: bytes=0-1", "Range: bytes=4-5"], ["Range:"],
        ]:
            with self.subTest(fields):
                answer = ask("GET", self.url, *fields)
                self.assertEqual((answer.status, answer.body), (200, DATA))
        # RFC 9110 defines ranges for GET only.
        answer = ask("HEAD", self.url, "Range: bytes=0-1")
        self.assertEqual((answer.status, answer.headers["content-length"]), (200, str(len(DATA))))

    def test_if_range_gives_the_part_of_the_same_file_only(self):
        for condition, status in [
            (f'"{self.id}"', 206), (f'W/"{self.id}"', 200), ('"other"', 200), (self.id, 200),
            ("Wed, 21 Oct 2015 07:28:00 GMT", 200),
        ]:
            with self.subTest(condition):
                answer = ask("GET", self.url, "Range: bytes=0-9", f"If-Range: {condition}")
                self.assertEqual(answer.status, status)
                self.assertEqual(answer.body, DATA[:10] if status == 206 else DATA)

    def test_a_file_that_a_client_has_is_not_sent_again(self):
        for tags in [f'"{self.id}"', f'W/"{self.id}"', f'"x", "{self.id}"', "*"]:
            with self.subTest(tags):
                for method in ["GET", "HEAD"]:
                    answer = ask(method, self.url, f"If-None-Match: {tags}", "Range: bytes=0-5")
                    self.assertEqual((answer.status, answer.body), (304, b""))
                    self.assertEqual(answer.headers["etag"], f'"{self.id}"')
        self.assertEqual(ask("GET", self.url, 'If-None-Match: "x"').status, 200)

    def test_parts_on_one_connection_make_the_whole(self):
        place = urllib.parse.urlsplit(support.BASE)
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=support.WAIT)
        received = b""
        while len(received) < len(DATA):
            connection.request("GET", target(self.url), headers={
                "Range": f"bytes={len(received)}-{len(received) + 99_999}", "If-Range": f'"{self.id}"'})
            answer = connection.getresponse()
            self.assertEqual(answer.status, 206)
            received += answer.read()
        connection.close()
        self.assertEqual(received, DATA)

    def test_an_altered_address_gives_no_range(self):
        for wrong in [
            self.url.replace("signature=", "signature=00"), self.url.replace("application%2Fpdf", "text%2Fhtml"),
        ]:
            self.assertEqual(ask("GET", wrong, "Range: bytes=0-5").status, 404)

    def test_curl_continues_a_download(self):
        answer = curl("-r", "299000-", self.url)
        self.assertEqual((answer.status, answer.body), (206, DATA[299_000:]))


def other_node():
    """Runs another node of the same folder."""
    return support.node("--media-dir", str(FOLDER), "--media-url", support.BASE, "--media-min-free-bytes", "0")


class Resumed(unittest.TestCase):
    """An upload that was interrupted continues where it stopped."""

    @classmethod
    def setUpClass(cls):
        cls.bearer = support.token("alice")

    def begin(self, size=len(DATA), mime_type="application/pdf"):
        promised = create(self.bearer, size, mime_type, name="a.pdf")
        return promised["id"], promised["upload"]["url"]

    def offset(self, url, base=support.BASE):
        answer = ask("HEAD", url, base=base)
        self.assertEqual((answer.status, answer.body), (200, b""))
        return int(answer.headers["upload-offset"]), answer.headers["upload-complete"]

    def part(self, url, first, last, data=None, total=len(DATA), base=support.BASE):
        body = DATA[first:last + 1] if data is None else data
        return ask("PUT", url, f"Content-Length: {len(body)}", f"Content-Range: bytes {first}-{last}/{total}",
                   body=body, base=base)

    def cut(self, url, body, base=support.BASE, sent=100_000):
        """Sends the begin of an upload, and returns the open connection once the node has stored it."""
        place = urllib.parse.urlsplit(base)
        peer = socket.create_connection((place.hostname, place.port), timeout=support.WAIT)
        peer.sendall(
            f"PUT {target(url)} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body[:sent])
        # HEAD would end the upload.
        stored = FOLDER / "incoming" / urllib.parse.urlsplit(url).path.split("/")[-1]
        support.eventually(
            lambda: stored.exists() and stored.stat().st_size == sent, "the node to store what was sent")
        return peer

    def rest(self, url):
        """Continues an upload once the node permits it."""
        support.eventually(lambda: self.part(url, 100_000, len(DATA) - 1).status == 204, "the upload to continue")

    def check(self, media_id):
        send(self.bearer, media_id)
        self.assertEqual(ask("GET", url_of(self.bearer, media_id)).body, DATA)

    def test_a_cut_connection(self):
        media_id, url = self.begin()
        self.assertEqual(self.offset(url), (0, "?0"))
        self.cut(url, DATA).close()
        self.assertEqual(self.offset(url), (100_000, "?0"))
        # The node may not know yet that the connection is gone.
        self.rest(url)
        self.assertEqual(self.offset(url), (len(DATA), "?1"))
        self.check(media_id)
        # The address accepts nothing more.
        self.assertEqual(put(url, DATA).status, 409)
        self.assertEqual(self.part(url, 0, len(DATA) - 1).status, 409)

    def test_parts_in_order_make_the_file(self):
        media_id, url = self.begin()
        for first in range(0, len(DATA), 70_000):
            last = min(first + 70_000, len(DATA)) - 1
            answer = self.part(url, first, last)
            isLast = last == len(DATA) - 1
            self.assertEqual(answer.status, 204 if isLast else 202, answer.body)
            if not isLast:
                self.assertEqual(answer.headers["upload-offset"], str(last + 1))
        self.check(media_id)

    def test_a_part_elsewhere_is_refused_and_changes_nothing(self):
        media_id, url = self.begin()
        self.assertEqual(self.part(url, 0, 999).status, 202)
        for first, last in [(0, 999), (500, 1_499), (1_001, 2_000), (2_000, len(DATA) - 1)]:
            answer = self.part(url, first, last)
            self.assertEqual(answer.status, 409)
            self.assertIn(b"continues at byte 1000", answer.body)
        for field in ["bytes 1000-1999/5", "bytes 1000-1999/*", "bytes 1999-1000/300000", "bytes */300000",
                      "bytes 1000-300000/300000", "items 1000-1999/300000", "bytes 1000-1999", "bytes=1000-1999/300000",
                      "bytes -1--1/300000", "bytes 99999999999999999999-1/300000", ""]:
            with self.subTest(field):
                answer = ask("PUT", url, "Content-Length: 1000", f"Content-Range: {field}", body=bytes(1000))
                self.assertEqual(answer.status, 400)
                self.assertEqual(json.loads(answer.body)["data"]["field"], "Content-Range")
        answer = ask("PUT", url, "Content-Length: 10", "Content-Range: bytes 1000-1999/300000", body=bytes(10))
        self.assertEqual(answer.status, 400)
        self.assertEqual(self.offset(url), (1_000, "?0"))
        # A whole upload begins anew.
        self.assertEqual(put(url, DATA).status, 204)
        self.check(media_id)

    def test_a_wrong_file_in_parts_is_refused_and_removed(self):
        _, url = self.begin()
        wrong = b"<html>" + bytes(len(DATA) - 6)
        self.assertEqual(self.part(url, 0, 99_999, wrong[:100_000]).status, 202)
        answer = self.part(url, 100_000, len(DATA) - 1, wrong[100_000:])
        self.assertEqual(answer.status, 400)
        self.assertIn(b"by its first bytes", answer.body)
        self.assertEqual(self.offset(url), (0, "?0"))
        self.assertEqual(put(url, DATA).status, 204)

    def test_a_forged_address_says_nothing(self):
        _, url = self.begin()
        for wrong in [
            url.replace("signature=", "signature=0"), url.replace("bytes=300000", "bytes=300001"), url + "&x=1",
            url.split("?")[0],
        ]:
            self.assertEqual(ask("HEAD", wrong).status, 404)
            self.assertIn(self.part(wrong, 0, 9).status, [400, 403])

    def test_a_picture_is_sent_whole(self):
        # Its metadata is erased while it arrives.
        png = b"\x89PNG\r\n\x1a\n" + (280_000).to_bytes(4, "big") + b"IDAT" + bytes(280_000) + bytes(4)
        _, url = self.begin(len(png), "image/png")
        place = urllib.parse.urlsplit(support.BASE)
        with socket.create_connection((place.hostname, place.port), timeout=support.WAIT) as peer:
            peer.sendall(
                f"PUT {target(url)} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(png)}\r\n\r\n".encode()
                + png[:1000])
        self.assertEqual(self.offset(url), (0, "?0"))
        self.assertEqual(self.part(url, 1_000, len(png) - 1, png[1000:], len(png)).status, 409)
        answer = self.part(url, 0, 999, png[:1000], len(png))
        self.assertEqual(answer.status, 400)
        self.assertIn(b"a picture is not sent in parts", answer.body)
        # The node may not know yet that the connection is gone.
        support.eventually(
            lambda: self.part(url, 0, len(png) - 1, png, len(png)).status == 204, "the upload")

    # Covers what a crash of a node leaves.
    def test_a_killed_node(self):
        media_id, url = self.begin()
        with other_node() as (process, port, _):
            base = f"http://127.0.0.1:{port}"
            peer = self.cut(url, DATA, base, sent=200_000)
            # Another node of the folder knows how much has arrived, and may not write.
            self.assertEqual(self.offset(url), (200_000, "?0"))
            self.assertEqual(self.part(url, 200_000, len(DATA) - 1).status, 409)
            process.kill()
            process.wait()
            peer.close()
        self.assertEqual(self.offset(url), (200_000, "?0"))
        self.assertEqual(self.part(url, 200_000, len(DATA) - 1).status, 204)
        self.check(media_id)

    def test_two_uploads_at_once(self):
        media_id, url = self.begin()
        peer = self.cut(url, DATA)
        # Bytes have arrived within the last seconds, so it is not taken for dead.
        self.assertEqual(self.part(url, 100_000, len(DATA) - 1).status, 409)
        peer.sendall(DATA[100_000:])
        self.assertIn(b"204", peer.recv(65_536).split(b"\r\n")[0])
        peer.close()
        self.check(media_id)

    def test_the_question_how_much_has_arrived_ends_the_upload(self):
        media_id, url = self.begin()
        with self.cut(url, DATA) as peer:
            self.assertEqual(self.offset(url), (100_000, "?0"))
            self.assertEqual(self.part(url, 100_000, len(DATA) - 1).status, 204)
            peer.sendall(DATA[100_000:100_010])
            self.assertIn(b"Ask by HEAD how much has arrived", peer.recv(65_536))
        self.check(media_id)

    def test_the_question_does_not_end_an_upload_at_another_node(self):
        media_id, url = self.begin()
        with other_node() as (_, port, _):
            with self.cut(url, DATA, f"http://127.0.0.1:{port}") as peer:
                self.assertEqual(self.offset(url), (100_000, "?0"))
                peer.sendall(DATA[100_000:])
                self.assertIn(b"204", peer.recv(65_536).split(b"\r\n")[0])
        self.check(media_id)

    def test_an_upload_that_has_stalled_gives_way(self):
        media_id, url = self.begin()
        peer = self.cut(url, DATA)
        self.rest(url)
        peer.close()
        self.check(media_id)


if __name__ == "__main__":
    unittest.main()
