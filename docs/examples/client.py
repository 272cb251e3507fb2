"""A client of Postline's HTTP side, made from its OpenAPI document, with Python's standard library alone.

    python3 docs/examples/client.py http://127.0.0.1:7433

It registers a user, finds Alice, writes to her and reads the conversation.
"""
import json
import sys
import time
import urllib.error
import urllib.request
import uuid


class Refused(Exception):
    """The error object of docs/protocol.md, section 2."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.data = error["data"]


class Postline:
    def __init__(self, base):
        self.base = base.rstrip("/")
        self.token, self.paths = None, {}
        for path, item in self.request("GET", "/v1/openapi.json")["paths"].items():
            if "post" in item:
                self.paths[item["post"]["operationId"]] = path

    def call(self, operation, **params):
        return self.request("POST", self.paths[operation], params)

    def request(self, method, path, params=None, tries=4):
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        # As UTF-8: escaped, a text can be six times as long, and longer than the server takes.
        body = None if params is None else json.dumps(params, ensure_ascii=False).encode()
        asked = urllib.request.Request(self.base + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                refused, wait = Refused(json.load(error)), int(error.headers.get("Retry-After", 0))
            if not 0 < wait < 60 or tries == 1:
                raise refused from None
            time.sleep(wait)
            return self.request(method, path, params, tries - 1)


if __name__ == "__main__":
    client = Postline(sys.argv[1])
    account = {"email": f"{uuid.uuid4()}@example.com", "password": "postline-dev", "full_name": "Robin Ray"}
    client.token = client.call("auth.register", **account)["access_token"]
    alice = client.call("profiles.get", username="alice")
    conversation = client.call("conversations.open", user_id=alice["id"])["id"]
    client.call("messages.send", conversation_id=conversation, client_id=str(uuid.uuid4()), content="Sent from Python.")
    for message in client.call("messages.list", conversation_id=conversation)["messages"]:
        print(message["seq"], message["sender"]["full_name"] + ":", message["content"])
