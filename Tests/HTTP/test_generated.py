"""Clients that common generators make of the OpenAPI document: each is made, and those whose language is here are
compiled or imported. The Python ones do twenty calls at a node."""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import *

TOOLS = os.environ["POSTLINE_TEST_GENERATORS"]
"""The `bin` of the virtual environment that has the generators."""

BUILD_WAIT = 1_200
"""How long a generator or a compiler may take, in seconds."""

# What each Python client does, by its own `call` of a method with params: twenty calls.
STEPS = '''
def steps(base, call, authorize):
    info = call("server.info")
    assert info["server"] == "postline" and isinstance(info["features"], list)
    assert len(call("avatars.list")["avatars"]) > 0
    tokens = call("auth.guest", full_name="Gen Erated")
    authorize(tokens["access_token"])
    me = call("me.get")
    assert me["full_name"] == "Gen Erated" and me["bio"] is None
    me = call("me.update", bio="Made by a generator.", language_code="en")
    assert me["bio"] == "Made by a generator."
    assert call("me.update", bio=None)["bio"] is None
    assert call("me.update_physical", height_cm=170.5)["physical"]["height_cm"] == 170.5
    assert call("me.set_avatar", avatar_type="built_in", avatar_id="fox")["avatar_id"] == "fox"
    assert call("me.set_avatar", avatar_type=None)["avatar_id"] is None
    alice = call("profiles.get", username="alice")
    assert alice["username"] == "alice"
    assert call("profiles.search", query="alice")["profiles"][0]["id"] == alice["id"]
    conversation = call("conversations.open", user_id=alice["id"])
    assert conversation["kind"] == "direct" and conversation["muted_until"] is None
    sent = call("messages.send", conversation_id=conversation["id"], content="Hello \\U0001f600")
    assert sent["seq"] == 1 and sent["attachment"] is None
    edited = call("messages.edit", conversation_id=conversation["id"], seq=1, content="Hello again")
    assert edited["edited_at"] is not None
    assert call("messages.list", conversation_id=conversation["id"], limit=10)["messages"][0]["content"] == "Hello again"
    assert call("messages.mark_read", conversation_id=conversation["id"], seq=1)["last_read_seq"] == 1
    page = call("conversations.list", limit=5)
    assert page["conversations"][0]["id"] == conversation["id"] and page["next"] is None
    assert call("messages.delete", conversation_id=conversation["id"], seq=1)["content"] is None
    assert call("presence.get", user_ids=[alice["id"]])["presence"][0]["user_id"] == alice["id"]
    assert call("auth.logout")["revoked"] == 1
'''

OPENAPI_GENERATOR = STEPS + '''
import json, sys
sys.path.insert(0, sys.argv[2])
import openapi_client

client = openapi_client.ApiClient(openapi_client.Configuration(host=sys.argv[1]))
apis = [value(client) for name, value in vars(openapi_client).items() if name.endswith("Api")]

def call(method, **params):
    name = method.replace(".", "_")
    work = next(getattr(api, name) for api in apis if hasattr(api, name))
    model = "".join(part.capitalize() for part in name.split("_")) + "Request"
    if not hasattr(openapi_client, model):
        answer = work() if not params else work(body=params)
    else:
        answer = work(getattr(openapi_client, model).from_dict(params))
    return json.loads(json.dumps(client.sanitize_for_serialization(answer)))

def authorize(token):
    client.configuration.access_token = token

steps(sys.argv[1], call, authorize)
'''

OPENAPI_PYTHON_CLIENT = STEPS + '''
import importlib, sys
sys.path.insert(0, sys.argv[2])
from client import AuthenticatedClient, Client

client = Client(base_url=sys.argv[1])

def call(method, **params):
    name = method.replace(".", "_")
    module = importlib.import_module(f"client.api.{method.split('.')[0]}.{name}")
    hints = getattr(module.sync_detailed, "__annotations__")
    body = {}
    if "body" in hints:
        models = importlib.import_module("client.models")
        model = getattr(models, "".join(part.capitalize() for part in name.split("_")) + "Body", None)
        body = {"body": model.from_dict(params)}
    answer = module.sync_detailed(client=client, **body)
    assert answer.status_code == 200, answer.content
    return answer.parsed.to_dict()

def authorize(token):
    global client
    client = AuthenticatedClient(base_url=sys.argv[1], token=token)

steps(sys.argv[1], call, authorize)
'''

AIOPENAPI3 = STEPS + '''
import sys
import aiopenapi3

api = aiopenapi3.OpenAPI.load_sync(sys.argv[1] + "/v1/openapi.json")

def call(method, **params):
    request = api.createRequest((f"/v1/{method}", "post"))
    return request(data=params).model_dump(mode="json", by_alias=True)

def authorize(token):
    api.authenticate(bearer=token)

steps(sys.argv[1], call, authorize)
'''


def run(*arguments, **options):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=BUILD_WAIT, **options)


class GeneratedClients(unittest.TestCase):
    # Defect F6.
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.document = os.path.join(cls.folder, "openapi.json")
        with open(cls.document, "wb") as file:
            file.write(request("GET", "/v1/openapi.json").body)

    def tool(self, name, *needs):
        """A program of the tools', or a skip that says why."""
        path = os.path.join(TOOLS, name)
        for need in [path, *needs]:
            if not shutil.which(need):
                self.skipTest(f"{os.path.basename(need)} is not installed")
        return path

    def done(self, done):
        self.assertEqual(done.returncode, 0, done.stdout[-4_000:] + done.stderr[-4_000:])
        return done.stdout + done.stderr

    def generated(self, generator):
        """The folder of a client that openapi-generator makes."""
        tool, folder = self.tool("openapi-generator-cli", "java"), os.path.join(self.folder, generator)
        told = self.done(run(tool, "generate", "-i", self.document, "-g", generator, "-o", folder))
        self.assertNotIn("not yet supported", told)
        return folder

    def script(self, text, *arguments):
        path = os.path.join(self.folder, f"{self.id().rpartition('.')[2]}.py")
        with open(path, "w") as file:
            file.write(text)
        self.done(run(self.tool("python"), path, BASE, *arguments))

    def test_the_document_is_valid(self):
        self.tool("openapi-spec-validator")
        done = run(os.path.join(TOOLS, "python"), "-m", "openapi_spec_validator", self.document)
        self.done(done)

    def test_python_of_openapi_generator(self):
        self.script(OPENAPI_GENERATOR, self.generated("python"))

    def test_python_of_openapi_python_client(self):
        told = self.done(run(
            self.tool("openapi-python-client"), "generate", "--path", self.document, "--meta", "none",
            "--output-path", os.path.join(self.folder, "client"), cwd=self.folder))
        self.assertNotIn("will not be generated", told)
        self.assertNotIn("Unable to", told)
        self.script(OPENAPI_PYTHON_CLIENT, self.folder)

    def test_python_of_aiopenapi3(self):
        self.tool("aiopenapi3")
        self.script(AIOPENAPI3)

    def test_swift_of_openapi_generator_compiles(self):
        self.tool("python", "swiftc")
        files = glob.glob(self.generated("swift6") + "/Sources/**/*.swift", recursive=True)
        self.assertGreater(len(files), 50)
        self.done(run("swiftc", "-typecheck", "-swift-version", "6", *files))

    def test_typescript_of_openapi_generator_compiles(self):
        self.tool("python", "tsc")
        files = glob.glob(self.generated("typescript-fetch") + "/**/*.ts", recursive=True)
        self.assertGreater(len(files), 50)
        self.done(run(
            "tsc", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2020", "--module", "esnext",
            "--moduleResolution", "node", *files))


if __name__ == "__main__":
    unittest.main()
