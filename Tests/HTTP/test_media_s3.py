"""Files in an S3 store, for which moto's server is the stand-in."""

import contextlib
import http.server
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.error
import urllib.parse
import urllib.request

import support

ROOT = pathlib.Path(__file__).parents[2]
MOTO = os.environ.get("POSTLINE_TEST_MOTO")
ANYBODY = {"Authorization": "AWS4-HMAC-SHA256 Credential=any/20261123/us-east-1/s3/aws4_request, Signature=any"}
# Else urllib calls it a form, which moto parses.
OCTETS = {"Content-Type": "application/octet-stream"}
DATA = bytes(range(256)) * 40
# One chunk of data, whose checksum a store does not verify.
PNG = b"\x89PNG\r\n\x1a\n" + len(DATA).to_bytes(4, "big") + b"IDAT" + DATA + bytes(4)

PART = 8 << 20
# Three parts, the last one smaller.
LARGE = b"%PDF-1.7" + random.Random(1).randbytes((20 << 20) - 8)


def fetch(method, url, body=None, headers=None):
    asked = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(asked, timeout=support.WAIT) as answer:
            return support.Response(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as error:
        return support.Response(error.code, error.headers, error.read())


class S3Tests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Moto chooses a free port and prints it.
        cls.moto = subprocess.Popen(
            [MOTO, "-p", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"})
        cls.addClassCleanup(cls.moto.stderr.close)
        cls.addClassCleanup(cls.moto.wait)
        cls.addClassCleanup(cls.moto.kill)
        serving = next((found for line in cls.moto.stderr if (found := re.search(r"http://127\.0\.0\.1:\d+", line))), None)
        assert serving, "moto ended before it served"
        # The requests that moto has answered.
        cls.requests = support.Log()
        cls.requests.read(cls.moto.stderr)
        cls.store = serving[0]
        for bucket in ["pictures", "faces"]:
            assert fetch("PUT", f"{cls.store}/{bucket}").status == 200
        # A separate world, since the other nodes store pictures elsewhere and would not remove these.
        cls.settings = [
            "--media-s3-endpoint", cls.store, "--media-s3-bucket", "pictures",
            "--media-s3-public-bucket", "faces", "--media-s3-public-url", f"{cls.store}/faces",
            "--media-s3-access-key-id", "an-id", "--media-s3-secret-access-key", "a-key"]
        cls.http, cls.psql = cls.enterClassContext(support.world(*cls.settings))

    def token(self, name):
        return support.tokens(name, base=self.http)["access_token"]

    def call(self, method, params, token):
        return support.call(method, params, token, base=self.http).json

    def keys(self, bucket):
        listing = fetch("GET", f"{self.store}/{bucket}?list-type=2").body.decode()
        return sorted(part.split("</Key>")[0] for part in listing.split("<Key>")[1:])

    def gone(self, bucket, key):
        support.eventually(lambda: key not in self.keys(bucket), f"{key} to be gone")

    def promise(self, token, purpose="avatar", size=len(PNG), **more):
        return self.call("media.create", {"purpose": purpose, "mime_type": "image/png", "bytes": size} | more, token)

    def put(self, promised, body):
        upload = promised["upload"]
        self.assertTrue(upload["url"].startswith(self.store), "uploads go to the store, not to a node")
        # Moto verifies no signatures, so the node must detect what a real store would reject.
        headers = {**upload["headers"], "Content-Length": str(len(body))}
        return fetch(upload["method"], upload["url"], body, headers)

    def test_an_avatar_is_public_in_the_store_until_it_is_replaced(self):
        token = self.token("alice")
        urls = []
        for _ in range(2):
            promised = self.promise(token)
            self.assertEqual(self.put(promised, PNG).status, 200)
            wear = {"avatar_type": "custom", "media_id": promised["id"]}
            me = self.call("me.set_avatar", wear, token)
            self.assertIn("avatar_url", me, me)
            self.assertEqual(me["avatar_url"], f"{self.store}/faces/avatars/{promised['id']}")
            # Moto requires an object ACL for anonymous reads, where current stores use a bucket policy.
            shown = fetch("GET", me["avatar_url"], headers=ANYBODY)
            self.assertEqual((shown.status, shown.body), (200, PNG))
            self.assertEqual(shown.headers["Content-Type"], "image/png")
            self.assertIn("immutable", shown.headers["Cache-Control"])
            self.assertNotIn(f"uploads/{promised['id']}", self.keys("pictures"))
            urls.append(promised["id"])
        self.gone("faces", f"avatars/{urls[0]}")
        self.assertIn(f"avatars/{urls[1]}", self.keys("faces"))
        self.call("me.set_avatar", {"avatar_type": None}, token)
        self.gone("faces", f"avatars/{urls[1]}")

    # E5.
    def test_doctor_counts_the_files_that_the_bucket_lacks(self):
        def doctor():
            return subprocess.run(
                [support.PROGRAM, "doctor", "--database-url", self.psql[-1], "--admin-database-url", self.psql[-1],
                 *self.settings],
                text=True, capture_output=True, timeout=support.WAIT,
                env={**os.environ, "POSTLINE_JWT_SECRET": "s" * 32}).stdout

        token = self.token("carol")
        promised = self.promise(token)
        self.put(promised, PNG)
        self.call("me.set_avatar", {"avatar_type": "custom", "media_id": promised["id"]}, token)
        # For an hour, what may be uploaded again is due for removal, and is not looked for.
        support.sql(f"delete from app.media_removals where id = '{promised['id']}'", self.psql)
        self.assertRegex(doctor(), r"All of the (\d+) of \1 files")
        kept = f"{self.store}/faces/avatars/{promised['id']}"
        self.assertEqual(fetch("DELETE", kept, headers=ANYBODY).status, 204)
        self.assertRegex(doctor(), rf"1 of the (\d+) of \1 files .* missing .*{promised['id']}")

    def test_a_messages_picture_has_a_signed_url_until_it_is_deleted(self):
        token = self.token("alice")
        promised = self.promise(token, "message", conversation_id=support.ALICE_BOB)
        self.put(promised, PNG)
        sent = self.call(
            "messages.send",
            {"conversation_id": support.ALICE_BOB, "kind": "image", "attachment": {"media_id": promised["id"]}},
            token)
        self.assertEqual(sent["attachment"]["bytes"], len(PNG))
        # A later upload to the same URL is never shown.
        self.put(promised, PNG[:-1] + b"x")
        bob = self.token("bob")
        listed = self.call("media.urls", {"ids": [promised["id"]]}, bob)["media"][0]
        self.assertIn("X-Amz-Signature=", listed["url"])
        self.assertEqual(fetch("GET", listed["url"]).body, PNG)
        carol = self.token("carol")
        self.assertEqual(self.call("media.urls", {"ids": [promised["id"]]}, carol)["media"], [])
        self.call("messages.delete", {"conversation_id": support.ALICE_BOB, "seq": sent["seq"]}, token)
        self.gone("pictures", f"messages/{promised['id']}")
        self.gone("pictures", f"uploads/{promised['id']}")
        # A6: a repeated upload while the URL is valid is not shown, and is removed when the URL has expired.
        self.put(promised, PNG)
        self.assertIn(f"uploads/{promised['id']}", self.keys("pictures"))
        support.sql(f"update app.media_removals set due_at = now() where id = '{promised['id']}'", self.psql)
        self.gone("pictures", f"uploads/{promised['id']}")
        self.assertNotIn(f"messages/{promised['id']}", self.keys("pictures"))

    def test_metadata_are_erased_and_damaged_pictures_refused(self):
        token = self.token("alice")
        text = b"Comment\0secret words"
        comment = len(text).to_bytes(4, "big") + b"tEXt" + text + bytes(4)
        promised = self.promise(token, size=len(PNG) + len(comment))
        self.put(promised, PNG[:8] + comment + PNG[8:])
        me = self.call("me.set_avatar", {"avatar_type": "custom", "media_id": promised["id"]}, token)
        shown = fetch("GET", me["avatar_url"], headers=ANYBODY)
        self.assertEqual(len(shown.body), len(PNG) + len(comment))
        self.assertEqual(shown.body[8 + len(comment):], PNG[8:])
        self.assertNotIn(b"secret", shown.body)
        self.assertEqual(shown.headers["Content-Type"], "image/png")
        self.assertIn("immutable", shown.headers["Cache-Control"])
        self.assertNotIn(f"uploads/{promised['id']}", self.keys("pictures"))
        damaged = PNG[:8] + b"\xff" * (len(PNG) - 8)
        promised = self.promise(token)
        self.put(promised, damaged)
        answer = self.call("me.set_avatar", {"avatar_type": "custom", "media_id": promised["id"]}, token)
        self.assertEqual(answer["data"]["field"], "media_id", answer)
        self.assertNotIn(f"uploads/{promised['id']}", self.keys("pictures"))
        self.assertNotIn(f"avatars/{promised['id']}", self.keys("faces"))

    def test_rejects_and_removes_uploads_that_differ_from_the_request(self):
        token = self.token("alice")
        for body, size in [(PNG, len(PNG) - 1), (b"<svg>" + PNG[5:], len(PNG)), (None, len(PNG))]:
            promised = self.promise(token, size=size)
            if body:
                self.put(promised, body)
            answer = self.call("me.set_avatar", {"avatar_type": "custom", "media_id": promised["id"]}, token)
            self.assertEqual(answer["data"]["field"], "media_id", answer)
            self.assertNotIn(f"uploads/{promised['id']}", self.keys("pictures"))
            self.assertNotIn(f"avatars/{promised['id']}", self.keys("faces"))

    def test_an_unreachable_store_affects_only_uploads(self):
        token = support.tokens("alice")["access_token"]
        with support.node(
                # No server listens on this port.
                "--media-s3-endpoint", "http://127.0.0.1:1", "--media-s3-bucket", "pictures",
                "--media-s3-public-url", "http://127.0.0.1:1", "--media-s3-access-key-id", "an-id",
                "--media-s3-secret-access-key", "a-key") as (_, port, _):
            http = f"http://127.0.0.1:{port}"
            promised = support.call(
                "media.create", {"purpose": "avatar", "mime_type": "image/png", "bytes": 10}, token, base=http).json
            answer = support.call(
                "me.set_avatar", {"avatar_type": "custom", "media_id": promised["id"]}, token, base=http)
            self.assertEqual((answer.status, answer.json["data"]["code"]), (503, "unavailable"))
            self.assertEqual(support.call("me.get", {}, token, base=http).status, 200)

    def begin(self, token):
        """Announces a large file, and returns it and its missing parts."""
        promised = self.promise(
            token, "message", size=len(LARGE), mime_type="application/pdf", conversation_id=support.ALICE_BOB)
        self.assertEqual(promised["upload"]["part_bytes"], PART)
        return promised, self.parts(promised, token)

    def parts(self, promised, token):
        return self.call("media.parts", {"id": promised["id"]}, token)["parts"]

    def put_part(self, part, data=LARGE):
        body = data[part["start"]:part["start"] + part["bytes"]]
        self.assertEqual(fetch("PUT", part["url"], body, OCTETS).status, 200)

    def use(self, promised, token):
        return self.call(
            "messages.send",
            {"conversation_id": support.ALICE_BOB, "kind": "file", "attachments": [{"media_id": promised["id"]}]}, token)

    def partial(self, promised):
        """Returns true if the store has an upload in parts of a file."""
        return promised["id"] in fetch("GET", f"{self.store}/pictures?uploads").body.decode()

    def test_a_large_file_is_uploaded_in_parts_and_continues(self):
        token = self.token("alice")
        promised, parts = self.begin(token)
        self.assertEqual(
            [(part["start"], part["bytes"]) for part in parts], [(0, PART), (PART, PART), (2 * PART, PART // 2)])
        for part in parts:
            self.assertEqual(set(part), {"start", "bytes", "url", "expires_at"})
            self.assertTrue(part["url"].startswith(f"{self.store}/pictures/uploads/{promised['id']}?"), part)
            # A real store accepts no other length.
            self.assertIn("SignedHeaders=content-length%3Bhost", part["url"])
        self.put_part(parts[0])
        # The connection is cut in the middle of a part.
        place = urllib.parse.urlsplit(parts[1]["url"])
        with socket.create_connection((place.hostname, place.port), timeout=support.WAIT) as peer:
            peer.sendall(
                f"PUT {place.path}?{place.query} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {PART}\r\n\r\n".encode()
                + LARGE[PART:PART + 1_000_000])
        # Of other sizes, or beyond the last one: moto takes what a real store refuses.
        self.put_part({**parts[2], "bytes": 1_000})
        self.put_part({**parts[2], "url": parts[2]["url"].replace("partNumber=3", "partNumber=4"), "bytes": 1_000})
        missing = self.parts(promised, token)
        self.assertEqual([part["start"] for part in missing], [PART, 2 * PART])
        refused = self.use(promised, token)
        self.assertEqual(refused["data"]["field"], "attachments[0].media_id", refused)
        for part in missing:
            self.put_part(part)
        self.assertEqual(self.parts(promised, token), [])
        self.assertEqual(self.use(promised, token)["attachments"][0]["bytes"], len(LARGE))
        listed = self.call("media.urls", {"ids": [promised["id"]]}, self.token("bob"))["media"][0]
        self.assertEqual(fetch("GET", listed["url"]).body, LARGE)
        self.assertFalse(self.partial(promised))
        self.assertNotIn(f"uploads/{promised['id']}", self.keys("pictures"))
        # Its URLs take nothing any more. A real store says 404, moto 500.
        self.assertNotEqual(fetch("PUT", parts[0]["url"], LARGE[:PART], OCTETS).status, 200)

    def test_only_its_owner_uploads_a_file_in_parts_until_it_is_used(self):
        token = self.token("alice")
        promised, parts = self.begin(token)
        small = self.promise(token, "message", conversation_id=support.ALICE_BOB)
        self.assertNotIn("part_bytes", small["upload"])

        def code(media_id, token=token):
            return self.call("media.parts", {"id": media_id}, token)["data"]["code"]

        self.assertEqual(code(promised["id"], self.token("bob")), "not_found")
        self.assertEqual(code(promised["id"], self.token("carol")), "not_found")
        self.assertEqual(code("00000000-0000-4000-8000-00000000dead"), "not_found")
        self.assertEqual(code("7"), "invalid_params")
        self.assertEqual(code(small["id"]), "forbidden")
        for part in parts:
            self.put_part(part)
        self.use(promised, token)
        self.assertEqual(code(promised["id"]), "not_found")
        self.assertFalse(self.partial(promised))

    def test_joined_parts_are_checked_like_a_whole_file(self):
        token = self.token("alice")
        promised, parts = self.begin(token)
        for part in parts:
            self.put_part(part, b"<svg>" + LARGE[5:])
        answer = self.use(promised, token)
        self.assertIn("is not application/pdf", answer["message"])
        self.assertFalse(self.partial(promised))
        self.assertNotIn(f"uploads/{promised['id']}", self.keys("pictures"))

    def test_a_large_file_can_be_uploaded_whole(self):
        token = self.token("alice")
        promised, parts = self.begin(token)
        self.put_part(parts[0])
        self.assertEqual(self.put(promised, LARGE).status, 200)
        self.assertEqual(self.use(promised, token)["attachment"]["bytes"], len(LARGE))
        self.assertTrue(self.partial(promised))
        support.sql(f"update app.media_removals set due_at = now() where id = '{promised['id']}'", self.psql)
        support.eventually(lambda: not self.partial(promised), "the parts to be removed")
        listed = self.call("media.urls", {"ids": [promised["id"]]}, token)["media"][0]
        self.assertEqual(fetch("GET", listed["url"]).body, LARGE)

    def test_abandoned_parts_are_removed(self):
        token = self.token("alice")
        promised, parts = self.begin(token)
        self.put_part(parts[0])
        self.assertTrue(self.partial(promised))
        support.sql(
            f"update public.media set created_at = now() - interval '25 hours' where id = '{promised['id']}'", self.psql)
        support.eventually(lambda: not self.partial(promised), "the parts to be removed")
        self.assertNotEqual(fetch("PUT", parts[1]["url"], LARGE[PART:2 * PART], OCTETS).status, 200)
        self.assertEqual(self.call("media.parts", {"id": promised["id"]}, token)["data"]["code"], "not_found")
        self.assertFalse(self.partial(promised))

    def test_parts_continue_at_another_node_after_one_was_killed(self):
        token = support.tokens("alice")["access_token"]
        with support.node(*self.settings) as (process, port, _):
            self.http, common = f"http://127.0.0.1:{port}", self.http
            self.addCleanup(setattr, self, "http", common)
            promised, parts = self.begin(token)
            self.put_part(parts[0])
            process.kill()
            process.wait()
        with support.node(*self.settings) as (_, port, _):
            self.http = f"http://127.0.0.1:{port}"
            # A URL of the killed node is still good.
            self.put_part(parts[1])
            missing = self.parts(promised, token)
            self.assertEqual([part["start"] for part in missing], [2 * PART])
            self.put_part(missing[0])
            self.use(promised, token)
            listed = self.call("media.urls", {"ids": [promised["id"]]}, token)["media"][0]
            self.assertEqual(fetch("GET", listed["url"]).body, LARGE)

    def test_a_store_that_permits_no_parts_takes_files_whole(self):
        token = support.tokens("alice")["access_token"]
        with refusing() as store, support.node(
                "--media-s3-endpoint", store, "--media-s3-bucket", "pictures", "--media-s3-public-url", store,
                "--media-s3-access-key-id", "an-id", "--media-s3-secret-access-key", "a-key") as (_, port, _):
            http = f"http://127.0.0.1:{port}"
            promised = support.call(
                "media.create",
                {"purpose": "message", "mime_type": "application/pdf", "bytes": len(LARGE),
                 "conversation_id": support.ALICE_BOB}, token, base=http).json
            answer = support.call("media.parts", {"id": promised["id"]}, token, base=http)
            self.assertEqual((answer.status, answer.json["data"]["code"]), (403, "forbidden"))

    def test_the_client_packages_continue_after_a_kill(self):
        programs = {
            "javascript": ["node", str(ROOT / "clients/javascript/tests/support/client-program.js")],
            "swift": [str(pathlib.Path(support.PROGRAM).with_name("client-program"))],
        }
        size = 5 * PART + 1
        for library, program in programs.items():
            with self.subTest(library), tempfile.TemporaryDirectory() as folder, \
                    support.node(*self.settings) as (_, port, log):
                program = [*program, folder, log.search(r"serving lines.* port=(\d+)")[1], str(port)]
                with Client(program) as client:
                    client.call("signIn", email="alice@example.com", password=support.PASSWORD)
                    begin = len(self.requests)
                    client.call("sendFiles", conversation=support.ALICE_BOB, files=[
                        {"type": "application/pdf", "name": "a.pdf", "begin": "%PDF-1.7", "bytes": size}])
                    support.eventually(lambda: self.stored(begin), "the first part")
                with Client(program) as client:
                    support.eventually(lambda: client.call("state")["pending"] == 0, "the message")
                bearer = support.tokens("bob")["access_token"]
                base = f"http://127.0.0.1:{port}"
                message = support.call(
                    "messages.list", {"conversation_id": support.ALICE_BOB, "limit": 1}, bearer, base=base
                ).json["messages"][0]
                self.assertEqual(message["attachment"]["bytes"], size)
                media_id = message["attachment"]["media_id"]
                url = support.call("media.urls", {"ids": [media_id]}, bearer, base=base).json["media"][0]["url"]
                self.assertEqual(fetch("GET", url).body, b"%PDF-1.7" + b"x" * (size - 8))
                # No part was stored twice, but for one whose response the killed program did not get.
                parts = self.stored(0, media_id)
                self.assertEqual(set(parts), set("123456"))
                self.assertLessEqual(len(parts), 7)
                self.assertEqual(parts.count("1"), 1)

    def stored(self, begin, media_id=""):
        """Returns the numbers of the parts that the store has taken, from a request on."""
        found = (
            re.search(rf'"PUT \S*/uploads/{media_id}\S*[?&]partNumber=(\d+)\S* HTTP/1.1" 200', line)
            for line in list(self.requests)[begin:])
        return [match[1] for match in found if match]


class Client:
    """A client program of Tests/Conformance, which is killed at the end."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def call(self, action, **params):
        self.process.stdin.write(json.dumps({"id": 1, "do": action, **params}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "result" in answer, answer
        return answer["result"]


@contextlib.contextmanager
def refusing():
    """Runs a store that refuses every request, and yields its URL."""
    class Refusal(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(403)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusal) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


if __name__ == "__main__":
    unittest.main()
