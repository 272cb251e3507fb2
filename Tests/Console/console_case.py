"""The base of all console tests: a server, the users of the dev world, and browsers.

    POSTLINE_TEST_CONSOLE_URL   the console's URL; http://127.0.0.1:7433/ by default
    POSTLINE_TEST_DATABASE_URL  for psql, as the owner; `postline dev` prints it
    POSTLINE_TEST_CONSOLE_CUT   a shell command that kills and restarts the node; without it, that test is skipped

Needs selenium (PyPI), chromium and chromedriver. Run with `python3 -m unittest -v` in this folder.
"""

import os
import shutil
import subprocess
import unittest
import uuid

from browser import Browser

URL = os.environ.get("POSTLINE_TEST_CONSOLE_URL", "http://127.0.0.1:7433/")
DATABASE = os.environ.get("POSTLINE_TEST_DATABASE_URL")
CUT = os.environ.get("POSTLINE_TEST_CONSOLE_CUT")

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"
ALPS = "Weekend in the Alps"


def psql(statement, **values):
    command = [shutil.which("psql") or "/usr/lib/postgresql/15/bin/psql", DATABASE, "-qAtX", "-v", "ON_ERROR_STOP=1"]
    for name, value in values.items():
        command += ["-v", f"{name}={value}"]
    # psql replaces variables only in statements from standard input.
    done = subprocess.run(command, input=statement, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def name_of(email):
    return psql(
        "select p.full_name from public.user_profiles p join auth.users u on u.id = p.id where u.email = :'email'",
        email=email)


def message_count(text):
    """Returns the number of stored messages that contain a text."""
    return int(psql("select count(*) from public.messages where content like :'text'", text=f"%{text}%"))


def token():
    return uuid.uuid4().hex[:10]


class ConsoleCase(unittest.TestCase):
    def setUp(self):
        self.browsers = []
        # True if the browser's log may contain connection errors.
        self.may_lose_connections = False

    def tearDown(self):
        for browser in self.browsers:
            try:
                self.assertFalse(
                    [each for each in browser.requested_urls() if not self.is_own(browser, each)], "left the origin")
                errors = browser.logged_errors()
                if self.may_lose_connections:
                    errors = [each for each in errors if "/v1/line" not in each and "/v1/media" not in each]
                self.assertEqual(errors, [], "in the browser's log")
            finally:
                browser.close()

    def is_own(self, browser, address):
        own = (browser.origin + "/", browser.origin.replace("http:", "ws:") + "/", "data:", "blob:")
        return address.startswith(own)

    def browser(self, email=None, url=URL, **kinds):
        browser = Browser(url, **kinds)
        self.browsers.append(browser)
        if email:
            browser.sign_in(email)
        return browser

    def two_people(self):
        alice, bob = self.browser(ALICE), self.browser(BOB)
        alice.open(name_of(BOB))
        bob.open(name_of(ALICE))
        return alice, bob
