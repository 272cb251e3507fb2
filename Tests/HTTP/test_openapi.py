"""The OpenAPI document, checked against the server by schemathesis."""

import os
import subprocess
import unittest

from support import *

SCHEMATHESIS = os.environ["POSTLINE_TEST_SCHEMATHESIS"]
CHECKS = ",".join(
    "not_a_server_error status_code_conformance content_type_conformance response_schema_conformance "
    "response_headers_conformance".split())


def run(*arguments, token):
    """Sends requests that the document allows, and checks each response against it."""
    return subprocess.run(
        [SCHEMATHESIS, "run", BASE + "/v1/openapi.json", "--checks", CHECKS, "--seed", "7", "--no-color",
         "-H", f"Authorization: Bearer {token}", *arguments],
        capture_output=True, text=True)


class OpenAPI(unittest.TestCase):
    # Covers D30.
    def test_describes_exactly_the_existing_methods(self):
        document = request("GET", "/v1/openapi.json").json
        self.assertEqual(document["openapi"], "3.0.3")
        for path in ["/v1/media/{id}", "/v1/changes", "/v1/rpc", "/v1/openapi.json"]:
            self.assertIn(path, document["paths"])
        for path, item in document["paths"].items():
            for method in item:
                with self.subTest(path):
                    asked = path.replace("{id}", ALICE_BOB)
                    allowed = request("OPTIONS", asked).headers["Allow"].split(", ")
                    self.assertIn(method.upper(), allowed)
                    if path.startswith("/v1/") and method == "post" and "." in path and path != "/v1/openapi.json":
                        answer = call(path.removeprefix("/v1/"))
                        self.assertNotEqual(answer.status, 404, answer.body)

    # Covers D30.
    def test_every_response_is_documented_and_not_a_server_error(self):
        # Streams have no end, so test_changes tests them. The next test has the methods that end the session.
        done = run(
            "--max-examples", "12", "--exclude-path", "/v1/changes", "--exclude-operation-id", "me.delete",
            "--exclude-operation-id", "auth.logout", "--exclude-operation-id", "auth.change_password",
            "--exclude-operation-id", "post_api_v1_auth_logout", token=register()["access_token"])
        self.assertEqual(done.returncode, 0, done.stdout[-6_000:] + done.stderr[-2_000:])

    def test_documents_the_methods_that_end_the_session(self):
        for method in ["me.delete", "auth.logout", "auth.change_password", "post_api_v1_auth_logout"]:
            with self.subTest(method):
                done = run("--max-examples", "5", "--include-operation-id", method, token=register()["access_token"])
                self.assertEqual(done.returncode, 0, done.stdout[-6_000:] + done.stderr[-2_000:])


if __name__ == "__main__":
    unittest.main()
