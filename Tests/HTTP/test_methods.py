"""The methods over HTTP: the results of the line protocol, with HTTP statuses."""

import gzip
import http.client
import json
import unittest
import zlib
import uuid

from support import *


class Methods(unittest.TestCase):
    # Covers A32.
    def test_each_method_has_the_same_result_over_line_post_and_rpc(self):
        line, bearer = LineClient(), token()
        line.call("session.authenticate", {"access_token": bearer})
        cases = [
            ("me.get", {}), ("avatars.list", {}), ("conversations.list", {}), ("conversations.list", {"limit": 1}),
            ("messages.list", {"conversation_id": ALICE_BOB, "limit": 3}), ("profiles.get", {"ids": [ALICE, BOB]}),
            ("profiles.search", {"query": "bob"}), ("conversations.get", {"conversation_id": ALICE_BOB}),
            ("conversations.open", {"user_id": BOB, "profiles": True}),
            # Errors are the same, too.
            ("me.update", {"displayName": "x"}), ("profiles.get", {"username": "nobody.there"}),
            ("conversations.get", {"conversation_id": str(uuid.uuid4())}), ("no.such", {}),
            ("messages.send", {"conversation_id": ALICE_BOB}), ("me.update", {"if_version": 0, "bio": "x"}),
        ]
        paths = request("GET", "/v1/openapi.json").json["paths"]
        methods = sorted(path[len("/v1/"):] for path in paths if path.startswith("/v1/") and "." in path)
        methods.remove("openapi.json")
        self.assertGreater(len(methods), 40)
        cases += [(method, {"no_such_param": 1}) for method in methods]
        for method, params in cases:
            with self.subTest(method=method, params=params):
                on_line = line.call(method, params)
                posted = call(method, params, bearer)
                envelope = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
                rpc = request("POST", "/v1/rpc", envelope, bearer)
                self.assertEqual(rpc.status, 200)
                self.assertEqual(rpc.json["id"], 7)
                if "result" in on_line:
                    self.assertEqual(posted.status, 200)
                    self.assertEqual(posted.json, on_line["result"])
                    self.assertEqual(rpc.json["result"], on_line["result"])
                else:
                    self.assertGreaterEqual(posted.status, 400)
                    self.assertEqual(posted.json, on_line["error"])
                    self.assertEqual(rpc.json["error"], on_line["error"])
        line.close()

    def test_http_and_line_clients_see_each_others_messages(self):
        text = f"over HTTP {uuid.uuid4()}"
        sent = call("messages.send", {"conversation_id": ALICE_BOB, "content": text}, token()).json
        line = LineClient()
        line.call("session.authenticate", {"access_token": token("bob")})
        newest = line.call("messages.list", {"conversation_id": ALICE_BOB, "limit": 1})["result"]["messages"]
        self.assertEqual([message["content"] for message in newest], [text])
        self.assertEqual(newest[0]["seq"], sent["seq"])
        line.close()

    # Covers A32.
    def test_errors_have_their_status_and_the_error_object(self):
        bearer = token()
        cases = [
            (400, "invalid_params", call("me.update", {"phone": "1"}, bearer)),
            (400, "parse_error", request("POST", "/v1/me.get", b"{", bearer)),
            (400, "invalid_utf8", request("POST", "/v1/me.get", b'{"a":"\xff"}', bearer)),
            (400, "invalid_request", request("POST", "/v1/me.get", b"[1]", bearer)),
            (401, "unauthenticated", call("me.get")),
            (401, "invalid_token", call("me.get", token="nonsense")),
            (401, "invalid_token", call("me.get", headers={"Authorization": "Basic eA=="})),
            (401, "invalid_credentials", call("auth.login", {"email": "alice@example.com", "password": "wrong one"})),
            (403, "forbidden", call("conversations.update", {"conversation_id": ALICE_BOB, "title": "x"}, bearer)),
            (404, "not_found", call("conversations.get", {"conversation_id": str(uuid.uuid4())}, bearer)),
            (404, "unknown_method", call("me.gett", token=bearer)),
            (404, "not_found", request("GET", "/nowhere")),
            (405, "invalid_request", request("GET", "/v1/me.get", token=bearer)),
            (409, "username_taken", call("me.change_username", {"username": "bob"}, bearer)),
            (409, "version_conflict", call("me.update", {"bio": "x", "if_version": 0}, bearer)),
            (413, "line_too_long", request("POST", "/v1/me.get", b" " * 70_000, bearer)),
        ]
        for status, code, answer in cases:
            with self.subTest(status=status, code=code):
                self.assertEqual(answer.status, status, answer.body)
                self.assertEqual(answer.json["data"]["code"], code)
                self.assertIn("retryable", answer.json["data"])
                self.assertTrue(answer.json["message"].endswith((".", "?")), answer.json["message"])
                self.assertEqual(answer.headers["Content-Type"], "application/json")
                if status == 401:
                    self.assertIn("Bearer", answer.headers["WWW-Authenticate"])

    def test_a_rate_limited_request_has_retry_after(self):
        answers = [call("auth.guest", base=STRICT) for _ in range(8)]
        refused = [answer for answer in answers if answer.status == 429]
        self.assertTrue(refused)
        self.assertEqual(int(refused[0].headers["Retry-After"]), refused[0].json["data"]["retry_after"])

    def test_an_idempotency_key_stores_a_send_once(self):
        bearer, key = token(), str(uuid.uuid4())
        params = {"conversation_id": ALICE_BOB, "content": f"once {key}"}
        first = call("messages.send", params, bearer, headers={"Idempotency-Key": key})
        again = call("messages.send", params, bearer, headers={"Idempotency-Key": f'"{key}"'})
        self.assertEqual((first.status, again.status), (200, 200))
        self.assertEqual(first.json["seq"], again.json["seq"])
        self.assertEqual(sql(f"select count(*) from messages where content = 'once {key}'"), ["1"])
        other = call("messages.send", {**params, "content": "other"}, bearer, headers={"Idempotency-Key": key})
        self.assertEqual(other.json["data"]["code"], "client_id_reused")
        unnamed = call("messages.send", {**params, "client_id": None}, bearer, headers={"Idempotency-Key": key})
        self.assertEqual(unnamed.json["seq"], first.json["seq"])
        crossed = call(
            "messages.send", {**params, "client_id": str(uuid.uuid4())}, bearer, headers={"Idempotency-Key": key})
        self.assertEqual(crossed.status, 400)
        self.assertEqual(call("messages.send", params, bearer, headers={"Idempotency-Key": "x"}).status, 400)

    # Defect F16: the examples of the specification, section 7, and similar ones with Postline's methods.
    def test_rpc_conforms_to_the_examples_of_the_specification(self):
        def failed(code, id=None):
            return {"id": id, "code": code}

        for text, expected in [
            ('{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}', failed(-32601, 1)),
            ('{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}',
             failed(-32601, 3)),
            ('{"jsonrpc": "2.0", "method": "server.info", "params": [], "id": 4}', {"id": 4}),
            ('{"jsonrpc": "2.0", "method": "server.info", "params": {}, "id": 4}', {"id": 4}),
            ('{"jsonrpc": "2.0", "method": "server.info", "id": 4}', {"id": 4}),
            ('{"jsonrpc": "2.0", "method": "server.info", "params": [1], "id": 4}', failed(-32602, 4)),
            ('{"jsonrpc": "2.0", "method": "auth.login", "params": [], "id": 4}', failed(-32602, 4)),
            ('{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', None),
            ('{"jsonrpc": "2.0", "method": "foobar"}', None),
            ('{"jsonrpc": "2.0", "method": "foobar", "id": "1"}', failed(-32601, "1")),
            ('{"jsonrpc": "2.0", "method": "foobar", "params": [], "id": "1"}', failed(-32601, "1")),
            ('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', failed(-32700)),
            ('{"jsonrpc": "2.0", "method": 1, "params": "bar"}', failed(-32600)),
            ('[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method"]',
             failed(-32700)),
            ("[]", failed(-32600)),
            ("[1]", [failed(-32600)]),
            ("[1,2,3]", [failed(-32600)] * 3),
            ('[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, '
             '{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}, '
             '{"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"}, '
             '{"foo": "boo"}, '
             '{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"}, '
             '{"jsonrpc": "2.0", "method": "server.info", "id": "9"}]',
             [failed(-32601, "1"), failed(-32601, "2"), failed(-32600), failed(-32601, "5"), {"id": "9"}]),
            ('[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]}, '
             '{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]', None),
        ]:
            with self.subTest(text):
                answer = request("POST", "/v1/rpc", text.encode())

                def outcome(one):
                    self.assertEqual(one["jsonrpc"], "2.0")
                    self.assertEqual(len(set(one) & {"result", "error"}), 1)
                    error = {"code": one["error"]["code"]} if "error" in one else {}
                    return {"id": one["id"], **error}

                if expected is None:
                    self.assertEqual((answer.status, answer.body), (204, b""))
                elif isinstance(expected, list):
                    self.assertEqual([outcome(one) for one in answer.json], expected)
                else:
                    self.assertEqual(outcome(answer.json), expected)

    def test_rpc_answers_batches_in_order_without_notifications(self):
        bearer = token()
        batch = [
            {"jsonrpc": "2.0", "id": "a", "method": "me.get"}, {"jsonrpc": "2.0", "method": "me.get"},
            {"jsonrpc": "2.0", "id": 2, "method": "no.such"}, 5,
        ]
        answers = request("POST", "/v1/rpc", batch, bearer).json
        self.assertEqual([answer["id"] for answer in answers], ["a", 2, None])
        self.assertEqual(answers[0]["result"]["id"], ALICE)
        nothing = request("POST", "/v1/rpc", {"jsonrpc": "2.0", "method": "me.get"}, bearer)
        self.assertEqual((nothing.status, nothing.body), (204, b""))
        whole = request("POST", "/v1/rpc", [{"jsonrpc": "2.0", "id": 1, "method": "me.get"}] * 51, bearer).json
        self.assertEqual(whole["error"]["data"]["code"], "invalid_request")

    def test_an_ended_session_is_rejected_on_a_kept_connection(self):
        given = tokens("carol")
        connection = http.client.HTTPConnection(BASE.removeprefix("http://"), timeout=WAIT)
        bearer = {"Authorization": f"Bearer {given['access_token']}"}

        def ask(method):
            connection.request("POST", f"/v1/{method}", headers=bearer)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

        self.assertEqual(ask("me.get")[0], 200)
        self.assertEqual(call("auth.logout", token=given["access_token"]).status, 200)
        # The database's notification ends the session within 5 s on every connection.
        refused = eventually(
            lambda: next((body for status, body in [ask("me.get")] if status == 401), None), "the end of the session")
        self.assertEqual(refused["data"]["code"], "session_revoked")
        # The same connection can be used with another token.
        bearer["Authorization"] = f"Bearer {token('bob')}"
        self.assertEqual(ask("me.get")[1]["username"], "bob")
        connection.close()

    def test_public_methods_ignore_an_expired_token(self):
        with node("--access-token-seconds", "1") as (_, port, _):
            base = f"http://127.0.0.1:{port}"
            given = tokens("frank", base)
            events = list(EventStream(given["access_token"], base=base))
            self.assertEqual(events[-1][2]["code"], "token_expired")
            old = given["access_token"].rsplit(".", 1)[0] + ".AAAA"
            for token in [given["access_token"], old]:
                self.assertEqual(call("server.info", token=token, base=base).status, 200)
                batch = [{"jsonrpc": "2.0", "id": 1, "method": "server.info"}]
                self.assertEqual(request("POST", "/v1/rpc", batch, token, base=base).status, 200)
            self.assertEqual(call("me.get", token=old, base=base).json["data"]["code"], "invalid_token")
            renewed = call("auth.refresh", {"refresh_token": given["refresh_token"]}, old, base=base)
            self.assertEqual(renewed.status, 200, renewed.body)
            self.assertEqual(call("me.get", token=renewed.json["access_token"], base=base).status, 200)

    def test_rejects_ignored_queries_and_keys_with_advice(self):
        bearer = token()
        body = {"conversation_id": ALICE_BOB}
        query = request("POST", "/v1/messages.list?limit=2", body, bearer)
        self.assertEqual((query.status, query.json["data"]["field"]), (400, "limit"))
        self.assertIn("body", query.json["message"])
        self.assertEqual(request("POST", "/v1/rpc?a=b", {}, bearer).json["data"]["field"], "a")
        key = {"Idempotency-Key": str(uuid.uuid4())}
        send = {"jsonrpc": "2.0", "id": 1, "method": "messages.send", "params": {**body, "content": "x"}}
        for path, params in [("/v1/rpc", send), ("/v1/me.update", {"bio": "x"})]:
            answer = request("POST", path, params, bearer, headers=key)
            self.assertEqual((answer.status, answer.json["data"]["field"]), (400, "Idempotency-Key"))
        self.assertEqual(
            request("POST", "/v1/messages.send", {**body, "content": "x"}, bearer, headers={"Idempotency-Key": "x"})
            .json["data"]["field"], "Idempotency-Key")

    def test_errors_of_first_requests_give_advice(self):
        def message(*arguments):
            return curl(*arguments).json["message"]

        self.assertIn("Authorization: Bearer", message(BASE + "/v1/me.get", "-d", "{}"))
        self.assertIn("into the body", message(BASE + "/v1/profiles.search?query=bob"))
        self.assertIn("did you mean /v1/me.get?", message(BASE + "/v1/me/get", "-d", "{}"))
        self.assertIn("operations port", message(BASE + "/healthz"))
        self.assertIn("Send JSON", message(BASE + "/v1/me.update", "-H", f"Authorization: Bearer {token()}", "-d", "bio=x"))


class Headers(unittest.TestCase):
    # Row 62.
    def test_allows_only_the_configured_origins(self):
        named, other = "https://app.example.com", "https://evil.example.com"
        preflight = {
            "Origin": named, "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        }
        allowed = request("OPTIONS", "/v1/me.get", base=STRICT, headers=preflight)
        self.assertEqual(allowed.status, 204)
        self.assertEqual(allowed.headers["Access-Control-Allow-Origin"], named)
        self.assertIn("POST", allowed.headers["Access-Control-Allow-Methods"])
        self.assertIn("Authorization", allowed.headers["Access-Control-Allow-Headers"])
        self.assertIn("Origin", allowed.headers["Vary"])
        refused = request("OPTIONS", "/v1/me.get", base=STRICT, headers={**preflight, "Origin": other})
        self.assertIsNone(refused.headers["Access-Control-Allow-Origin"])
        answer = call("server.info", base=STRICT, headers={"Origin": named})
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], named)
        # A response that a cache keeps for one origin must not be used for another, or for none.
        for origin in [{}, {"Origin": other}]:
            answer = call("server.info", base=STRICT, headers=origin)
            self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])
            self.assertIn("Origin", answer.headers["Vary"])
        # The page can read the response to a request that is rejected before its body is read.
        large = call("server.info", {"x": "x" * 70_000}, base=STRICT, headers={"Origin": named})
        self.assertEqual((large.status, large.headers["Access-Control-Allow-Origin"]), (413, named))
        # No origin is allowed by default.
        self.assertIsNone(call("server.info", headers={"Origin": named}).headers["Access-Control-Allow-Origin"])

    def test_every_response_has_nosniff_and_no_store(self):
        for answer in [call("server.info"), request("GET", "/nowhere"), call("me.get")]:
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(answer.headers["Cache-Control"], "no-store")

    def test_compresses_large_responses_on_request(self):
        bearer = token()
        plain = call("conversations.list", token=bearer)
        packed = curl(
            BASE + "/v1/conversations.list", "-X", "POST", "-H", f"Authorization: Bearer {bearer}", "-H",
            "Accept-Encoding: gzip")
        self.assertEqual(packed.headers["content-encoding"], "gzip")
        self.assertIn("Accept-Encoding", packed.headers["vary"])
        self.assertEqual(json.loads(gzip.decompress(packed.body)), plain.json)
        # A response of several pieces, whose compressed length is not known in advance.
        lists = [{"jsonrpc": "2.0", "id": number, "method": "conversations.list"} for number in range(50)]
        batch = [BASE + "/v1/rpc", "-d", json.dumps(lists), "-H", f"Authorization: Bearer {bearer}"]
        whole = curl(*batch).body
        self.assertGreater(len(whole), 1 << 17)
        for coding, unpack in [("gzip", gzip.decompress), ("deflate", zlib.decompress)]:
            packed = curl(*batch, "-H", f"Accept-Encoding: {coding}")
            self.assertEqual((packed.headers["content-encoding"], packed.headers["transfer-encoding"]), (coding, "chunked"))
            self.assertLess(len(packed.body), len(whole) // 4)
            self.assertEqual(unpack(packed.body), whole)
        # HTTP/1.0 has no chunks.
        old = curl("-0", *batch, "-H", "Accept-Encoding: gzip")
        self.assertEqual((old.body, "content-encoding" in old.headers), (whole, False))
        # The document is compressed once.
        document = request("GET", "/v1/openapi.json").body
        for coding, unpack in [("gzip", gzip.decompress), ("deflate", zlib.decompress)] * 2:
            packed = curl(BASE + "/v1/openapi.json", "-H", f"Accept-Encoding: {coding}")
            self.assertEqual((packed.headers["content-encoding"], packed.headers["vary"]), (coding, "Accept-Encoding"))
            self.assertLess(len(packed.body), len(document) // 4)
            self.assertEqual(unpack(packed.body), document)
        small = curl(BASE + "/v1/server.info", "-X", "POST", "-H", "Accept-Encoding: gzip")
        self.assertNotIn("content-encoding", small.headers)

    def test_a_path_lists_its_methods(self):
        answer = request("OPTIONS", "/v1/me.get")
        self.assertEqual((answer.status, answer.headers["Allow"]), (204, "POST, OPTIONS"))
        refused = request("DELETE", "/v1/me.get")
        self.assertEqual((refused.status, refused.headers["Allow"]), (405, "POST, OPTIONS"))
        head = curl("-I", BASE + "/v1/openapi.json")
        self.assertEqual((head.status, head.body), (200, b""))

    def test_uses_the_client_address_of_a_trusted_proxy(self):
        # Each client address has its own limit of six sign-ins a minute.
        for host in range(1, 5):
            address = {"X-Forwarded-For": f"10.9.9.9, 192.0.2.{host}"}
            self.assertEqual([call("auth.guest", base=STRICT, headers=address).status for _ in range(4)], [200] * 4)
        # An address that the client adds itself has no effect: the last one before the proxy counts.
        answers = [
            call("auth.guest", base=STRICT, headers={"X-Forwarded-For": f"198.51.100.{host}, 192.0.2.77"}).status
            for host in range(12)
        ]
        self.assertIn(429, answers)
        # E33. All spellings of an address are one address.
        answers = [
            call("auth.guest", base=STRICT, headers={"X-Forwarded-For": address}).status
            for address in ["192.0.2.99", "::ffff:192.0.2.99", "192.0.2.99, ::ffff:10.1.1.1", "::FFFF:C000:263"] * 3
        ]
        self.assertEqual(answers, [200] * 6 + [429] * 6)
        # The other node trusts no proxy.
        self.assertEqual(call("server.info", headers={"X-Forwarded-For": "nonsense"}).status, 200)


if __name__ == "__main__":
    unittest.main()
