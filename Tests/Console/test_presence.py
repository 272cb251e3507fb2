"""Presence in the console."""

import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from console_case import ALICE, ALPS, BOB, CAROL, ConsoleCase, name_of, psql, token

DOT = "[role=img][aria-label='Online']"


class PresenceTests(ConsoleCase):
    def close_browser(self, browser):
        """Closes a browser before the end of the test."""
        self.assertEqual(browser.logged_errors(), [])
        self.browsers.remove(browser)
        browser.close()

    def sees_online(self, browser, email):
        title = name_of(email)
        browser.until(lambda: browser.has(title, DOT), f"{title} online")

    def sees_offline(self, browser, email):
        title = name_of(email)
        browser.until(lambda: not browser.has(title, DOT), f"{title} not online")

    def stranger(self):
        """Returns the browser of a new user without conversations."""
        browser = self.browser()
        browser.load()
        browser.click("Register")
        browser.fill("full_name", f"Stranger {token()}")
        browser.fill("email", f"stranger-{token()}@example.com")
        browser.fill("password", "a long password").send_keys(Keys.ENTER)
        browser.one(".me-button")
        browser.until(browser.is_online, "the connection")
        return browser

    def found(self, browser, name):
        """Searches for a user, and returns the row."""
        browser.one("#search").send_keys(Keys.CONTROL, "a")
        browser.one("#search").send_keys(name)
        return browser.until(
            lambda: next((each for each in browser.all("[aria-label='People found'] .row") if name in each.text), None),
            f"{name} found")

    def hide(self, browser, hides):
        browser.one(".me-button").click()
        switch = browser.one("#hides-presence")
        self.assertEqual(switch.is_selected(), not hides)
        switch.send_keys(Keys.SPACE)
        browser.click("Save")
        browser.until(lambda: not browser.all("dialog"), "the profile saved")

    def test_marks_an_online_user_in_the_list_and_the_header(self):
        alice = self.browser(ALICE)
        alice.open(name_of(BOB))
        self.sees_offline(alice, BOB)
        self.browser(BOB)
        self.sees_online(alice, BOB)
        alice.until(lambda: alice.all(f".thread-title {DOT}"), "the dot in the header")
        alice.until(lambda: alice.subtitle().startswith("online"), "the word in the header")

    def test_marks_online_members_and_search_results(self):
        alice, _ = self.browser(ALICE), self.browser(BOB)
        self.sees_online(alice, BOB)
        row = self.found(alice, name_of(BOB))
        self.assertTrue(row.find_elements(By.CSS_SELECTOR, DOT))
        alice.one("#search").send_keys(Keys.ESCAPE)
        alice.open(ALPS)
        alice.one(".thread-title").click()
        me, members = f"{name_of(ALICE)} (you)", {}

        def online():
            for each in alice.all(".member"):
                name = each.find_element(By.CSS_SELECTOR, ".row-title").text
                members[name] = each.find_elements(By.CSS_SELECTOR, DOT)
            return me in members and members.get(name_of(BOB))
        alice.until(online, "Bob's dot among the members, and Alice")
        self.assertFalse(members[me], "no mark on the user itself")

    def test_shows_when_a_user_was_last_seen(self):
        alice, bob = self.browser(ALICE), self.browser(BOB)
        alice.open(name_of(BOB))
        self.sees_online(alice, BOB)
        self.close_browser(bob)
        self.sees_offline(alice, BOB)
        alice.until(lambda: alice.subtitle().startswith("last seen at "), "when Bob was last seen")
        alice.one(".thread-title").click()
        alice.until(lambda: alice.one("dialog .person-presence").text.startswith("Last seen at "), "it in his profile")

    def test_formats_the_last_seen_time(self):
        alice = self.browser()
        alice.load()
        texts = alice.module("""
            const { lastSeen } = await import('/console/time.js')
            const ago = (days) => {
                const date = new Date()
                date.setDate(date.getDate() - days)
                date.setHours(9, 5, 0, 0)
                return lastSeen(date.toISOString())
            }
            return [ago(0), ago(1), ago(3), ago(800)]""")
        self.assertEqual(texts[0], "at 09:05")
        self.assertEqual(texts[1], "yesterday at 09:05")
        self.assertRegex(texts[2], r"^on \w+day at 09:05$")
        self.assertRegex(texts[3], r"^on \w+day,? \d+ \w+ \d{4}$")

    def test_hides_the_presence_of_strangers(self):
        self.browser(ALICE)
        stranger, bob = self.stranger(), self.browser(BOB)
        # Bob shares a conversation with Alice and sees that she is online.
        self.sees_online(bob, ALICE)
        row = self.found(stranger, name_of(ALICE))
        self.assertFalse(row.find_elements(By.CSS_SELECTOR, DOT))
        stranger.driver.execute_script("arguments[0].click()", row)
        self.sees_online(stranger, ALICE)

    def test_hidden_presence_hides_in_both_directions(self):
        self.addCleanup(psql, """update public.user_private set preferences = preferences - 'presence' where id =
            (select id from public.user_profiles where username = 'bob')""")
        alice, bob, carol = self.browser(ALICE), self.browser(BOB), self.browser(CAROL)
        alice.open(name_of(BOB))
        bob.open(name_of(ALICE))
        self.sees_online(alice, BOB)
        self.sees_online(bob, ALICE)
        self.hide(bob, True)
        self.sees_offline(alice, BOB)
        alice.until(lambda: alice.subtitle() == "@bob", "no last-seen time of Bob")
        self.sees_offline(bob, ALICE)
        # Alice stays online. The server hides her from Bob too.
        self.sees_online(carol, ALICE)
        bob.driver.refresh()
        bob.open(name_of(ALICE))
        bob.until(bob.is_online, "the connection")
        self.assertEqual(bob.all(DOT), [])
        self.assertEqual(bob.subtitle(), "@alice")
        self.hide(bob, False)
        self.sees_online(bob, ALICE)
        self.sees_online(alice, BOB)

    def test_a_hidden_tab_is_offline(self):
        alice, bob = self.browser(ALICE), self.browser(BOB)
        self.sees_online(alice, BOB)
        tab = bob.driver.current_window_handle
        bob.open_window("tab")
        self.sees_offline(alice, BOB)
        bob.driver.close()
        bob.driver.switch_to.window(tab)
        self.sees_online(alice, BOB)

    def test_shows_nobody_online_without_a_connection(self):
        self.may_lose_connections = True
        alice, _ = self.browser(ALICE), self.browser(BOB)
        alice.open(name_of(BOB))
        self.sees_online(alice, BOB)
        alice.cable.cut()
        alice.until(lambda: alice.status() and not alice.all(DOT), "nobody online")
        self.assertNotIn("online", alice.subtitle())
        alice.cable.mend()
        self.sees_online(alice, BOB)


if __name__ == "__main__":
    unittest.main(verbosity=2)
