"""Delivered marks over streams, requests and lines: a device acknowledges, and the other members are told."""

import unittest
import uuid

from support import *


def people(*names):
    """Registers users, and returns their tokens."""
    return [register(f"{name} Delivered") for name in names]


def send(conversation, sender):
    return call("messages.send", {"conversation_id": conversation, "content": f"{uuid.uuid4()}"}, sender["access_token"]).json["seq"]


def direct(one, other):
    return call("conversations.open", {"user_id": other["user_id"]}, one["access_token"]).json["id"]


def cursor_with(events, conversation, seq):
    """Reads a stream up to a message, and returns the cursor after it."""
    for _, cursor, changes in events:
        if (conversation, seq) in [(each["conversation_id"], each["seq"]) for each in changes.get("messages", [])]:
            return cursor


def marks(events):
    """Yields the delivered marks of a stream."""
    for _, _, changes in events:
        for mark in changes.get("delivered", []):
            yield mark["conversation_id"], mark["user_id"], mark["last_delivered_seq"]


class Delivered(unittest.TestCase):
    # Row 65a.
    def test_tells_the_sender_what_a_device_has_acknowledged(self):
        sender, receiver = people("Sandra", "Rolf")
        conversation = direct(sender, receiver)
        watcher = EventStream(sender["access_token"])
        watched = iter(watcher)
        next(watched)
        stream = EventStream(receiver["access_token"])
        events = iter(stream)
        next(events)

        # By a request with the cursor of a stream.
        first = send(conversation, sender)
        cursor = cursor_with(events, conversation, first)
        self.assertEqual(sql(f"select count(*) from public.delivered_marks where conversation_id = '{conversation}'"), ["0"])
        self.assertEqual(call("sync.ack", {"cursor": cursor}, receiver["access_token"]).json, {})
        self.assertEqual(next(marks(watched)), (conversation, receiver["user_id"], first))

        # By a stream that resumes.
        second = send(conversation, sender)
        cursor = cursor_with(events, conversation, second)
        stream.cut()
        stream = EventStream(receiver["access_token"], cursor)
        self.assertEqual(next(marks(watched)), (conversation, receiver["user_id"], second))
        stream.cut()

        # By a line.
        third = send(conversation, sender)
        client = LineClient()
        self.assertIn("delivered", client.hello["params"]["features"])
        client.call("session.authenticate", {"access_token": receiver["access_token"]})
        page = client.call("sync.open")["result"]
        self.assertIn(third, [message["seq"] for message in page["messages"]])
        self.assertEqual(client.call("sync.ack", {"cursor": page["cursor"]})["result"], {})
        self.assertEqual(next(marks(watched)), (conversation, receiver["user_id"], third))
        client.close()

        # What was read was delivered, and is told once.
        fourth = send(conversation, sender)
        call("messages.mark_read", {"conversation_id": conversation, "seq": fourth}, receiver["access_token"])
        shown = call("conversations.get", {"conversation_id": conversation}, sender["access_token"]).json["members"]
        self.assertEqual({member["user_id"]: member["last_delivered_seq"] for member in shown}[receiver["user_id"]], fourth)
        stored = sql(f"select last_delivered_seq from public.delivered_marks where conversation_id = '{conversation}'")
        self.assertEqual(stored, [str(third)])
        watcher.cut()

    # Row 65a.
    def test_tells_neither_the_user_itself_nor_strangers(self):
        sender, receiver, stranger = people("Sven", "Rita", "Stella")
        conversation = direct(sender, receiver)
        streams = [EventStream(each["access_token"]) for each in (sender, receiver, stranger)]
        watched, own, others = (iter(stream) for stream in streams)
        for events in (watched, own, others):
            next(events)
        seq = send(conversation, sender)
        call("sync.ack", {"cursor": cursor_with(own, conversation, seq)}, receiver["access_token"])
        # A stranger's cursor acknowledges nothing of it.
        page = call("sync.open", {}, stranger["access_token"]).json
        call("sync.ack", {"cursor": page["cursor"]}, stranger["access_token"])
        self.assertEqual(next(marks(watched)), (conversation, receiver["user_id"], seq))
        for events, user in ((own, receiver), (others, stranger)):
            text = f"Fence {uuid.uuid4()}"
            call("me.update", {"full_name": text}, user["access_token"])
            for _, _, changes in events:
                self.assertNotIn("delivered", changes)
                if changes.get("me", {}).get("full_name") == text:
                    break
        for stream in streams:
            stream.cut()

    def test_large_groups_have_no_marks(self):
        owner, member = people("Olga", "Max")
        ids = sql("insert into auth.users (id, is_anonymous) select gen_random_uuid(), true from generate_series(1, 31) returning id")
        group = call("conversations.create_group", {"title": "Large", "member_ids": [member["user_id"], *ids]}, owner["access_token"]).json
        self.assertEqual(len(group["members"]), 33)
        conversation = direct(owner, member)
        watcher, stream = EventStream(owner["access_token"]), EventStream(member["access_token"])
        watched, events = iter(watcher), iter(stream)
        next(watched), next(events)
        for _ in range(2):
            send(group["id"], owner)
            seq = send(conversation, owner)
            call("sync.ack", {"cursor": cursor_with(events, conversation, seq)}, member["access_token"])
            self.assertEqual(next(marks(watched)), (conversation, member["user_id"], seq))
        self.assertEqual(sql(f"select count(*) from public.delivered_marks where conversation_id = '{group['id']}'"), ["0"])
        watcher.cut()
        stream.cut()

    def test_other_cursors_acknowledge_nothing(self):
        (user,) = people("Otto")
        for cursor in ("", "x", "1/e/9:9:/000000000000"):
            self.assertEqual(call("sync.ack", {"cursor": cursor}, user["access_token"]).json, {})
        self.assertEqual(call("sync.ack", {}, user["access_token"]).status, 400)
        self.assertEqual(call("sync.ack", {"cursor": "x"}).status, 401)


if __name__ == "__main__":
    unittest.main()
