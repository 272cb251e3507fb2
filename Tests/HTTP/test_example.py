"""The Python client of docs/http.md runs as documented."""

import importlib.util
import pathlib
import subprocess
import sys
import unittest
import unittest.mock
import uuid

from support import *

EXAMPLE = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "client.py"


def module():
    spec = importlib.util.spec_from_file_location("client", EXAMPLE)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class PythonClient(unittest.TestCase):
    def test_registers_sends_and_reads(self):
        done = subprocess.run([sys.executable, EXAMPLE, BASE], capture_output=True, text=True, timeout=WAIT)
        self.assertEqual((done.returncode, done.stdout), (0, "1 Robin Ray: Sent from Python.\n"), done.stderr)

    def test_has_each_method_and_raises_errors(self):
        example = module()
        client = example.Postline(BASE + "/")
        self.assertEqual(client.paths["messages.send"], "/v1/messages.send")
        with self.assertRaises(example.Refused) as refused:
            client.call("me.get")
        self.assertEqual(refused.exception.data["code"], "unauthenticated")
        client.token = token()
        self.assertEqual(client.call("me.get")["id"], ALICE)
        text = f"from Python {uuid.uuid4()}"
        sent = client.call("messages.send", conversation_id=ALICE_BOB, content=text)
        read = client.call("messages.list", conversation_id=ALICE_BOB, after_seq=sent["seq"] - 1, limit=1)
        self.assertEqual(read["messages"][0]["content"], text)

    # Defect E30.
    def test_sends_the_longest_texts_of_any_script(self):
        client = module().Postline(BASE)
        client.token = token()
        for text in ["\U0001f600" * 8_000, "\u00e9" * 8_000, "\u738b" * 8_000, "\u0928\u093f" * 4_000, "a" * 8_000]:
            sent = client.call("messages.send", conversation_id=ALICE_BOB, content=text)
            self.assertEqual(sent["content"], text)

    def test_waits_for_retry_after_when_rate_limited(self):
        example = module()
        client = example.Postline(STRICT)
        with unittest.mock.patch("time.sleep") as sleep, self.assertRaises(example.Refused) as refused:
            while True:
                client.call("auth.guest")
        self.assertEqual(refused.exception.data["code"], "rate_limited")
        waits = [call.args[0] for call in sleep.call_args_list]
        self.assertTrue(waits and all(seconds > 0 for seconds in waits), waits)


if __name__ == "__main__":
    unittest.main()
