"""Pictures in an S3 store, for which moto's server is the stand-in."""

import os
import re
import subprocess
import unittest
import urllib.error
import urllib.request

import support

MOTO = os.environ.get("POSTLINE_TEST_MOTO")
ANYBODY = {"Authorization": "AWS4-HMAC-SHA256 Credential=any/20261123/us-east-1/s3/aws4_request, Signature=any"}
DATA = bytes(range(256)) * 40
# One chunk of data, whose checksum a store does not verify.
PNG = b"\x89PNG\r\n\x1a\n" + len(DATA).to_bytes(4, "big") + b"IDAT" + DATA + bytes(4)


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
        support.background(cls.moto.stderr.read)
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
        return self.call("media.create", {"purpose": purpose, "mime_type": "image/png", "bytes": size, **more}, token)

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


if __name__ == "__main__":
    unittest.main()
