"""Server-sent events: each change arrives once and in order, however often the stream is cut."""

import http.client
import queue
import subprocess
import textwrap
import threading
import unittest
import uuid

from support import *


class Changes(unittest.TestCase):
    def test_a_stream_begins_with_a_reset_and_continues_with_each_change(self):
        stream = EventStream(token("bob"))
        self.assertEqual((stream.status, stream.headers["content-type"]), (200, "text/event-stream"))
        events = iter(stream)
        name, cursor, first = next(events)
        self.assertEqual((name, cursor), ("message", first["cursor"]))
        self.assertTrue(first["reset"])
        self.assertEqual(first["me"]["username"], "bob")
        text = f"streamed {uuid.uuid4()}"
        sent = call("messages.send", {"conversation_id": ALICE_BOB, "content": text}, token()).json
        for _, cursor, changes in events:
            self.assertEqual(cursor, changes["cursor"])
            if any(message["seq"] == sent["seq"] for message in changes.get("messages", [])):
                break
        stream.cut()
        # Resumes by the event's id, as browsers do, and by the cursor in the query.
        for resumed in [EventStream(token("bob"), cursor), EventStream(token("bob"), query=f"?cursor={urllib.parse.quote(cursor)}")]:
            _, _, changes = next(iter(resumed))
            self.assertFalse(changes["reset"])
            self.assertEqual(changes.get("messages", []), [])
            resumed.cut()

    def test_typing_is_an_event_without_an_id(self):
        stream = EventStream(token("bob"))
        events = iter(stream)
        _, cursor, _ = next(events)
        self.assertEqual(call("conversations.typing", {"conversation_id": ALICE_BOB}, token()).json, {})
        for name, last, notice in events:
            if name == "typing":
                break
            # Presence changes may come first.
            cursor = last
        self.assertEqual(notice["conversation_id"], ALICE_BOB)
        self.assertEqual((notice["is_typing"], notice["expires_in"]), (True, 6))
        # The cursor stays: typing is ephemeral.
        self.assertEqual(last, cursor)
        stream.cut()

    # Row 63.
    def test_a_hundred_reconnects_under_load_lose_and_duplicate_nothing(self):
        writer, reader = register("Wanda Writer"), register("Rita Reader")
        conversation = call("conversations.open", {"user_id": reader["user_id"]}, writer["access_token"]).json["id"]
        is_over = threading.Event()

        def write():
            number = 0
            while not is_over.is_set():
                number += 1
                sent = call(
                    "messages.send", {"conversation_id": conversation, "content": f"number {number}"},
                    writer["access_token"])
                assert sent.status == 200, sent.body

        writers = [background(write) for _ in range(2)]
        cursor, seen, cuts = None, [], 0
        while cuts < 100:
            stream = EventStream(reader["access_token"], cursor)
            self.assertEqual(stream.status, 200)
            for _, event, changes in stream:
                seen += [message["seq"] for message in changes.get("messages", [])]
                cursor = event
                # Cuts after none, one or a few events, at any byte of the next one.
                if len(seen) % 3 == cuts % 3:
                    break
            stream.cut()
            cuts += 1
        is_over.set()
        for thread in writers:
            thread.join(WAIT)
        kept = [int(row) for row in sql(f"select seq from messages where conversation_id = '{conversation}' order by seq")]
        stream = EventStream(reader["access_token"], cursor)
        for _, _, changes in stream:
            seen += [message["seq"] for message in changes.get("messages", [])]
            if seen and seen[-1] == kept[-1]:
                break
        stream.cut()
        self.assertEqual(seen, kept)

    def test_a_reset_of_several_pages_arrives_as_several_events(self):
        reader = register("Paula Pages")
        writer = register("Will Writer")
        conversations = []
        for _ in range(12):
            other = register("Otto Other")
            conversations.append(
                call("conversations.open", {"user_id": reader["user_id"]}, other["access_token"]).json["id"])
            for _ in range(10):
                params = {"conversation_id": conversations[-1], "content": "x" * 7_900}
                self.assertEqual(call("messages.send", params, other["access_token"]).status, 200)
        events = iter(EventStream(reader["access_token"], query="?messages_per_conversation=20"))
        pages = []
        while not pages or pages[-1]["more"]:
            pages.append(next(events)[2])
        self.assertGreater(len(pages), 1)
        self.assertEqual([page["reset"] for page in pages], [True] + [False] * (len(pages) - 1))
        self.assertEqual(sum(len(page.get("messages", [])) for page in pages), 120)
        # The stream is live after the last page.
        params = {"conversation_id": conversations[0], "content": "after the pages"}
        call("messages.send", params, reader["access_token"])
        self.assertEqual(next(events)[2]["messages"][0]["content"], "after the pages")

    def test_sends_goodbye_when_the_session_ends(self):
        given = register()
        stream = EventStream(given["access_token"])
        events = iter(stream)
        next(events)
        self.assertEqual(call("auth.logout", token=given["access_token"]).status, 200)
        name, _, goodbye = next(events)
        self.assertEqual((name, goodbye["code"], goodbye["reconnect"]), ("goodbye", "session_revoked", False))
        self.assertEqual(list(events), [])
        self.assertEqual(EventStream(given["access_token"]).status, 401)

    def test_rejects_unauthorized_streams_by_status(self):
        self.assertEqual(EventStream().status, 401)
        self.assertEqual(EventStream("nonsense").status, 401)
        self.assertEqual(request("GET", "/v1/changes?messages_per_conversation=101", token=token()).status, 400)
        self.assertEqual(request("GET", "/v1/changes?since=1", token=token()).status, 400)

    def test_an_unknown_field_error_suggests_a_field_or_lists_all(self):
        error = request("GET", "/v1/changes?mesages_per_conversation=0", token=token()).json
        self.assertEqual(
            error["message"],
            '/v1/changes takes no "mesages_per_conversation": did you mean "messages_per_conversation"?')
        self.assertEqual(error["data"]["field"], "mesages_per_conversation")
        self.assertEqual(error["data"]["suggestion"], "messages_per_conversation")
        error = request("GET", "/v1/changes?since=1", token=token()).json
        self.assertEqual(
            error["message"],
            '/v1/changes takes no "since". It takes "cursor", "messages_per_conversation", "ticket".')
        self.assertNotIn("suggestion", error["data"])

    def test_a_ticket_opens_exactly_one_stream(self):
        bearer = token("erin")
        answer = request("POST", "/v1/changes/ticket", {}, bearer)
        self.assertEqual(answer.status, 200)
        ticket = answer.json["ticket"]
        # Neither the ticket nor the database has the token in readable form.
        self.assertNotIn(bearer.split(".")[2], ticket)
        kept = sql(
            "select row_to_json(t) from app.stream_tickets t join user_profiles p on p.id = t.user_id "
            "where p.username = 'erin'")
        self.assertEqual(len(kept), 1)
        self.assertNotIn(ticket, kept[0])
        # A ticket is valid on every node.
        stream = EventStream(query=f"?ticket={ticket}", base=STRICT)
        self.assertEqual(stream.status, 200)
        _, last, first = next(iter(stream))
        self.assertEqual(first["me"]["username"], "erin")
        stream.cut()
        # A cursor, which is no secret, does not make a used ticket valid.
        for used in [ticket, "nonsense", ""]:
            for cursor in [None, first["cursor"], first["cursor"] + "~", last[:-1], last + "0"]:
                self.assertEqual(EventStream(query=f"?ticket={used}", cursor=cursor).status, 401, cursor)
        old = request("POST", "/v1/changes/ticket", {}, bearer).json
        self.assertEqual(old["expires_in"], 30)
        sql("update app.stream_tickets set expires_at = now() - interval '1 second'")
        self.assertEqual(EventStream(query=f"?ticket={old['ticket']}").status, 401)
        self.assertEqual(request("POST", "/v1/changes/ticket", {}).status, 401)

    def test_rejects_fields_that_would_be_ignored(self):
        reader = register("Rita Reader")["access_token"]
        ticket = request("POST", "/v1/changes/ticket", {}, reader).json["ticket"]
        key = {"Idempotency-Key": str(uuid.uuid4())}
        for method, path, body, bearer, headers, field in [
            ("POST", "/v1/changes/ticket", None, reader, key, "Idempotency-Key"),
            ("POST", "/v1/changes/ticket?cursor=a", None, reader, {}, "cursor"),
            ("POST", "/v1/changes/ticket", {"expires_in": 60}, reader, {}, "expires_in"),
            ("GET", "/v1/changes", None, reader, key, "Idempotency-Key"),
            ("GET", f"/v1/changes?ticket={ticket}", None, None, key, "Idempotency-Key"),
            ("GET", f"/v1/changes?ticket={ticket}", None, reader, {}, "ticket"),
            ("GET", f"/v1/changes?ticket={ticket}", None, "nonsense", {}, "ticket"),
        ]:
            with self.subTest(path=path, field=field):
                # Uses http.client, since reading the body of a stream would not end.
                connection = http.client.HTTPConnection(BASE.removeprefix("http://"), timeout=WAIT)
                bearers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
                connection.request(method, path, json.dumps(body) if body else None, {**bearers, **headers})
                answer = connection.getresponse()
                self.assertEqual(answer.status, 400)
                data = json.loads(answer.read())["data"]
                self.assertEqual((data["code"], data["field"]), ("invalid_params", field))
                connection.close()
        for body in [[], [1], "x"]:
            self.assertEqual(request("POST", "/v1/changes/ticket", body, reader).status, 400)
        # The rejected requests have not used the ticket.
        stream = EventStream(query=f"?ticket={ticket}")
        self.assertEqual(stream.status, 200)
        stream.cut()

    # F9.
    def test_a_browser_resumes_at_its_last_event(self):
        reader = register("Rita Reader")
        conversation = call("conversations.open", {"user_id": ALICE}, reader["access_token"]).json["id"]
        ticket = request("POST", "/v1/changes/ticket", {}, reader["access_token"]).json["ticket"]
        stream = EventStream(query=f"?ticket={ticket}")
        _, last, first = next(iter(stream))
        # An id is the cursor and a key that only the stream's client knows.
        self.assertEqual(last.partition("~")[0], first["cursor"])
        self.assertNotIn(ticket, last)
        for number in range(3):
            stream.cut()
            content = f"while it was away {number}"
            call("messages.send", {"conversation_id": conversation, "content": content}, token())
            # Reconnects as EventSource does: to the same URL with the last id, on any node.
            stream = EventStream(query=f"?ticket={ticket}", cursor=last, base=[BASE, STRICT][number % 2])
            self.assertEqual(stream.status, 200)
            _, last, changes = next(iter(stream))
            self.assertFalse(changes["reset"])
            self.assertEqual([message["content"] for message in changes["messages"]], [content])
        stream.cut()
        # Another ticket resumes too, and the query accepts the id as a cursor.
        another = request("POST", "/v1/changes/ticket", {}, reader["access_token"]).json["ticket"]
        query = f"?ticket={another}&cursor={urllib.parse.quote(last)}"
        stream = EventStream(query=query)
        self.assertFalse(next(iter(stream))[2]["reset"])
        stream.cut()
        # A key is valid for its own ticket only, and not after the session has ended.
        self.assertEqual(EventStream(query=f"?ticket={another}", cursor=last).status, 401)
        self.assertEqual(call("auth.logout", token=reader["access_token"]).status, 200)
        self.assertEqual(EventStream(query=f"?ticket={ticket}", cursor=last).status, 401)

    def test_curl_shows_the_stream(self):
        bearer = token("frank")
        process = subprocess.Popen(
            ["curl", "-sSN", BASE + "/v1/changes", "-H", f"Authorization: Bearer {bearer}"], stdout=subprocess.PIPE)
        lines = [process.stdout.readline().decode() for _ in range(4)]
        process.kill()
        process.wait()
        process.stdout.close()
        self.assertEqual((lines[0], lines[3]), ("retry: 1000\n", "\n"))
        self.assertTrue(lines[1].startswith("id: 1/"), lines[1])
        self.assertTrue(lines[2].startswith('data: {"cursor":"'), lines[2][:80])

    # F1, F10.
    def test_common_clients_receive_each_event_immediately(self):
        clients = {
            "requests": """
                with requests.get(url, headers=head, stream=True) as answer:
                    for line in answer.iter_lines(decode_unicode=True):
                        if line.startswith("data: "):
                            emit(line[6:])
                """,
            "sseclient": """
                with requests.get(url, headers=head, stream=True) as answer:
                    for event in sseclient.SSEClient(answer).events():
                        emit(event.data)
                """,
            "httpx_sse": """
                with httpx.Client(timeout=60) as client, httpx_sse.connect_sse(client, "GET", url, headers=head) as source:
                    for event in source.iter_sse():
                        emit(event.data)
                """,
        }
        for name, body in clients.items():
            with self.subTest(name):
                reader = register("Rita Reader")
                conversation = call("conversations.open", {"user_id": ALICE}, reader["access_token"]).json["id"]
                program = "\n".join([
                    f"import sys, requests, sseclient, httpx, httpx_sse", "url, token = sys.argv[1:]",
                    "head = {'Authorization': 'Bearer ' + token, 'Accept': 'text/event-stream'}",
                    "def emit(data): print(data, flush=True)", textwrap.dedent(body)])
                process = subprocess.Popen(
                    [os.environ["POSTLINE_TEST_SSE_PYTHON"], "-c", program, BASE + "/v1/changes", reader["access_token"]],
                    stdout=subprocess.PIPE, text=True)
                received = queue.Queue()
                background(lambda: [received.put(line) for line in process.stdout])
                # Each event is awaited before the next is sent, so a delayed event fails the test.
                first = json.loads(received.get(timeout=WAIT))
                self.assertTrue(first["reset"])
                for number in range(3):
                    call("messages.send", {"conversation_id": conversation, "content": f"at once {number}"}, token())
                    seen = []
                    while f"at once {number}" not in seen:
                        changes = json.loads(received.get(timeout=WAIT))
                        seen += [message["content"] for message in changes.get("messages", [])]
                process.kill()
                process.wait()
                process.stdout.close()

    # F10.
    def test_an_idle_stream_sends_comments_and_cursors(self):
        stream = EventStream(register("Quinn Quiet")["access_token"])
        lines = stream.lines()
        self.assertEqual(next(lines), b"retry: 1000")
        self.assertTrue(next(lines).startswith(b"id: "))
        while next(lines):
            pass
        # The user sees nobody's presence. A comment has no blank line, which ends an event.
        while (line := next(lines)) != b":":
            self.assertRegex(line, rb"^(event: cursor|id: .+|data: \{\"cursor\":.+|)$")
        self.assertNotEqual(next(lines), b"")
        stream.cut()

    # F1.
    def test_a_stream_over_http_1_0_has_no_chunks(self):
        place = urllib.parse.urlsplit(BASE)
        with socket.create_connection((place.hostname, place.port), timeout=WAIT) as peer:
            peer.sendall(f"GET /v1/changes HTTP/1.0\r\nAuthorization: Bearer {token()}\r\n\r\n".encode())
            file = peer.makefile("rb")
            head = b"".join(iter(file.readline, b"\r\n"))
            self.assertNotIn(b"Transfer-Encoding", head)
            self.assertEqual(file.readline(), b"retry: 1000\n")

    # F14.
    def test_sends_goodbye_restored_after_a_restore_or_failover(self):
        stream = EventStream(token())
        events = iter(stream)
        next(events)
        sql("select app.renew_epoch()")
        for name, _, goodbye in events:
            if name == "goodbye":
                break
        self.assertEqual((goodbye["code"], goodbye["reconnect"]), ("restored", True))
        self.assertEqual(list(events), [])


if __name__ == "__main__":
    unittest.main()
