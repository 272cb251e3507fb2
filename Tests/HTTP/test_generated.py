"""Clients that common generators create from the OpenAPI document. Each is compiled or imported, and makes the twenty
calls of `generated/` against a node."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import *

TOOLS = os.environ["POSTLINE_TEST_GENERATORS"]
"""The `bin` directory of the virtual environment with the generators and the imports of their Python clients."""

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "generated")
QUICK_JAVA = "-XX:TieredStopAtLevel=1"
"""Java without its optimizing compiler, which costs a generator more than it saves: 6.8 s of CPU became 3.5 s."""
BUILD_WAIT = 1_200
"""The watchdog of generators and compilers, in seconds."""


def run(*arguments, **options):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=BUILD_WAIT, **options)


def tail(text):
    """Returns the errors of a long output, and its end."""
    errors = [line for line in text.splitlines() if "error" in line.lower()]
    return "\n".join(errors[:20]) + "\n…\n" + text[-3_000:]


class GeneratedClients(unittest.TestCase):
    # Defect F6.
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.document = os.path.join(cls.folder, "openapi.json")
        with open(cls.document, "wb") as file:
            file.write(request("GET", "/v1/openapi.json").body)

    def tool(self, name):
        """Returns the path of a program from the tools or the system, or skips the test with a message."""
        path = shutil.which(os.path.join(TOOLS, name)) or shutil.which(name)
        if not path:
            reason = f"{name} is not installed: scripts/test-http says above why"
            print(f"\nSKIPPED {self.id()}: {reason}", file=sys.stderr)
            self.skipTest(reason)
        return path

    def run_tool(self, name, *arguments, **options):
        """Runs a program, checks that it succeeds, and returns its output."""
        done = run(self.tool(name), *arguments, **options)
        printed = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, tail(printed))
        return printed

    def generate(self, generator, folder, **options):
        """Generates a client with openapi-generator."""
        more = [f"--additional-properties={name}={value}" for name, value in options.items()]
        printed = self.run_tool(
            "openapi-generator-cli", "generate", "-i", self.document, "-g", generator, "-o", folder, *more,
            env={**os.environ, "JAVA_OPTS": QUICK_JAVA})
        self.assertNotIn("not yet supported", printed)

    def place(self, name):
        return os.path.join(self.folder, name)

    def test_the_document_is_valid(self):
        self.run_tool("openapi-spec-validator", self.document)

    def test_openapi_generator_python(self):
        self.generate("python", self.place("python"))
        self.run_tool("python", os.path.join(SCRIPTS, "openapi_generator.py"), BASE, self.place("python"))

    def test_openapi_python_client(self):
        # The generator formats its output with ruff, which must be on the path.
        printed = self.run_tool(
            "openapi-python-client", "generate", "--path", self.document, "--meta", "none",
            "--output-path", self.place("client"), env={**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"})
        self.assertNotIn("will not be generated", printed)
        self.assertNotIn("Unable to", printed)
        self.run_tool("python", os.path.join(SCRIPTS, "openapi_python_client.py"), BASE, self.folder)

    def test_aiopenapi3(self):
        self.run_tool("python", os.path.join(SCRIPTS, "aiopenapi3_client.py"), BASE)

    def test_openapi_generator_swift(self):
        self.tool("swiftc")
        self.generate("swift6", self.place("swift"))
        files = glob.glob(self.place("swift/Sources/**/*.swift"), recursive=True)
        self.assertGreater(len(files), 50)
        program = self.place("swift/program")
        # With -wmo one compiler reads all files. Otherwise each file has its own, which reads the others too.
        self.run_tool(
            "swiftc", "-Onone", "-wmo", "-swift-version", "6", "-module-name", "Client", "-o", program, *files,
            os.path.join(SCRIPTS, "main.swift"), cwd=self.place("swift"))
        self.run_tool(program, BASE)

    def test_openapi_generator_typescript(self):
        self.tool("tsc"), self.tool("node")
        self.generate("typescript-fetch", self.place("typescript/client"))
        shutil.copy(os.path.join(SCRIPTS, "main.ts"), self.place("typescript"))
        # Strict except for one rule: TypeScript before 4.9 (Debian 12) does not narrow a type by `in`, and reports an
        # implicit `any` wherever the generator uses it.
        self.run_tool(
            "tsc", "--strict", "--noImplicitAny", "false", "--target", "es2020", "--lib", "es2020,dom",
            "--module", "commonjs", "--outDir", self.place("typescript/built"), self.place("typescript/main.ts"))
        self.run_tool("node", self.place("typescript/built/main.js"), BASE)


if __name__ == "__main__":
    unittest.main()
