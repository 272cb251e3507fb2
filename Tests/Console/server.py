"""A server for one test: a fresh dev world, or a node with other settings on the shared dev world."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

PROGRAM = os.environ.get("POSTLINE_TEST_PROGRAM")
SETTINGS = os.environ.get("POSTLINE_TEST_SETTINGS")


class Server:
    """Starts the program, waits until it prints the console's URL, and stops it at the end of the test."""

    def __init__(self, test, arguments, address):
        # The tests' own settings do not apply to the server.
        clean = {name: value for name, value in os.environ.items() if not name.startswith("POSTLINE_")}
        ports = ["--port", "0", "--http-port", "0", "--operations-port", "off"]
        self._process = subprocess.Popen(
            [PROGRAM, *arguments, *ports], env=clean, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        test.addCleanup(self._stop)
        self.url = None
        for line in self._process.stdout:
            if found := re.match(address, line):
                self.url = found[1] if found[1].startswith("http") else f"http://127.0.0.1:{found[1]}/"
                break
        test.assertIsNotNone(self.url, "the program prints the console's URL")

    def _stop(self):
        self._process.send_signal(signal.SIGINT)
        self._process.communicate()


def fresh_world(test):
    """Starts a new dev world and returns the console's URL, which its line `console: …` contains."""
    directory = tempfile.mkdtemp()
    # PostgreSQL may run as another user.
    os.chmod(directory, 0o755)
    test.addCleanup(shutil.rmtree, directory, True)
    return Server(test, ["dev", "--directory", f"{directory}/world"], r"console: (http://\S+)").url


def node_without_mail(test, *settings):
    """Starts a node on the shared dev world, with the console and without mail, and returns its URL."""
    arguments = ["serve", "--config", SETTINGS, "--console", "on", *settings]
    return Server(test, arguments, r".*serving HTTP.*port=(\d+)").url


def mails(address):
    """Returns the mails to an address in the shared dev world, oldest first."""
    folder = pathlib.Path(SETTINGS).parent / "mail"
    texts = [path.read_text() for path in sorted(folder.glob("*.eml"), key=lambda path: path.stat().st_mtime_ns)]
    return [text for text in texts if f"To: {address}\n" in text.replace("\r\n", "\n")]


def mailed_tokens(address):
    """Returns the tokens of the mails to an address, oldest first."""
    return [found[0] for text in mails(address) if (found := re.search(r"\b[0-9a-f]{64}\b", text))]
