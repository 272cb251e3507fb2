"""What every test of the console begins with: a server, the people of the dev world, and browsers.

    POSTLINE_TEST_CONSOLE_URL   where the console is; http://127.0.0.1:7433/ unless set
    POSTLINE_TEST_DATABASE_URL  for psql, as the owner: what `postline dev` prints
    POSTLINE_TEST_CONSOLE_CUT   a shell command that kills the node and starts it again; without it that test is left out

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
    # Variables are put in only where the statement comes as input.
    done = subprocess.run(command, input=statement, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def name_of(email):
    return psql(
        "select p.full_name from public.user_profiles p join auth.users u on u.id = p.id where u.email = :'email'",
        email=email)


def kept(text):
    """How many messages with that text the database has."""
    return int(psql("select count(*) from public.messages where content like :'text'", text=f"%{text}%"))


def token():
    return uuid.uuid4().hex[:10]


class ConsoleCase(unittest.TestCase):
    def setUp(self):
        self.browsers = []
        # Where a connection is cut, the browser notes that.
        self.may_lose_connections = False

    def tearDown(self):
        for browser in self.browsers:
            try:
                self.assertFalse(
                    [each for each in browser.requested() if not self.is_own(browser, each)], "left the origin")
                complaints = browser.complaints()
                if self.may_lose_connections:
                    complaints = [each for each in complaints if "/v1/line" not in each and "/v1/media" not in each]
                self.assertEqual(complaints, [], "in the browser's log")
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
