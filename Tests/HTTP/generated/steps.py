"""The twenty calls that each generated Python client makes; main.swift and main.ts make the same."""


def steps(call, authorize):
    """Makes the calls by a `call` of a method with its params, and gives `authorize` the access token."""
    info = call("server.info")
    assert info["server"] == "postline" and isinstance(info["features"], list)
    assert len(call("avatars.list")["avatars"]) > 0
    tokens = call("auth.guest", full_name="Gen Erated")
    authorize(tokens["access_token"])
    me = call("me.get")
    assert me["full_name"] == "Gen Erated" and me["bio"] is None
    me = call("me.update", bio="Made by a generator.", language_code="en")
    assert me["bio"] == "Made by a generator."
    assert call("me.update", full_name="Gen Erator")["full_name"] == "Gen Erator"
    assert call("me.update_physical", height_cm=170.5)["physical"]["height_cm"] == 170.5
    assert call("me.set_avatar", avatar_type="built_in", avatar_id="fox")["avatar_id"] == "fox"
    assert call("me.set_avatar", avatar_type=None)["avatar_id"] is None
    alice = call("profiles.get", username="alice")
    assert alice["username"] == "alice"
    assert call("profiles.search", query="alice")["profiles"][0]["id"] == alice["id"]
    conversation = call("conversations.open", user_id=alice["id"])
    assert conversation["kind"] == "direct" and conversation["muted_until"] is None
    sent = call("messages.send", conversation_id=conversation["id"], content="Hello \U0001f600")
    assert sent["seq"] == 1 and sent["attachment"] is None
    edited = call("messages.edit", conversation_id=conversation["id"], seq=1, content="Hello again")
    assert edited["edited_at"] is not None
    page = call("messages.list", conversation_id=conversation["id"], limit=10)
    assert page["messages"][0]["content"] == "Hello again"
    assert call("messages.mark_read", conversation_id=conversation["id"], seq=1)["last_read_seq"] == 1
    page = call("conversations.list", limit=5)
    assert page["conversations"][0]["id"] == conversation["id"] and page["next"] is None
    assert call("messages.delete", conversation_id=conversation["id"], seq=1)["content"] is None
    assert call("presence.get", user_ids=[alice["id"]])["presence"][0]["user_id"] == alice["id"]
    assert call("auth.logout")["revoked"] == 1
