"""Blocking users in the console."""

import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from console_case import ALICE, ALPS, BOB, CAROL, ConsoleCase, name_of, psql, token

PLACEHOLDER = "Message from a blocked user. Show"


class BlockTests(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(psql, "delete from public.blocks")

    def sees_toast(self, browser, text):
        browser.until(lambda: any(text in each for each in browser.texts(".toast")), f"the toast {text!r}")

    def open_menu(self, browser, title):
        ActionChains(browser.driver).context_click(browser.row(title)).perform()
        browser.until(lambda: browser.texts("[role=menuitem]"), "the menu")

    def confirm_block(self, browser, name):
        browser.until(lambda: f"Block {name}?" in browser.texts(".dialog h2"), "the question")
        self.assertIn("Neither of you can write to the other", browser.texts(".dialog")[-1])
        browser.until(lambda: browser.all(".dialog .danger"), "the button")[-1].click()
        self.sees_toast(browser, f"{name} is blocked.")

    def placeholders(self, browser):
        return [each for each in browser.texts(".message.deleted .bubble") if each == PLACEHOLDER]

    def test_blocks_in_a_profile_and_unblocks_in_the_settings(self):
        alice, other = self.browser(ALICE), self.browser(ALICE)
        name = name_of(BOB)
        for browser in (alice, other):
            browser.open(name)
        alice.one(".thread-title").click()
        alice.one(".dialog .person")
        alice.click("Block…")
        alice.until(lambda: alice.all(".dialog .danger"), "the question")
        alice.press(Keys.ESCAPE)
        alice.until(lambda: not alice.all(".dialog .danger"), "no question")
        self.assertEqual(psql("select count(*) from public.blocks"), "0")
        alice.click("Block…")
        self.confirm_block(alice, name)
        alice.until(lambda: "Unblock" in alice.texts(".dialog .form-actions button"), "the button")
        self.assertNotIn("Write a message", alice.texts(".dialog .form-actions button"))
        alice.press(Keys.ESCAPE)
        # Neither can be written to: each window says why in place of the field.
        for browser in (alice, other):
            browser.until(lambda: browser.one(".composer").text == f"You have blocked {name}. Unblock to write.", "why")
            self.assertFalse(browser.all("#compose")[0].is_displayed())
        alice.click("Settings")
        alice.click("Blocked users…")
        alice.until(lambda: alice.texts(".blocked .row-title") == [name], "the list")
        alice.one(f".blocked button[aria-label='Unblock {name}']").click()
        self.sees_toast(alice, f"{name} is no longer blocked.")
        alice.until(lambda: alice.texts(".blocked li") == ["You block nobody."], "the list without him")
        for browser in (alice, other):
            browser.until(lambda: browser.all("#compose")[0].is_displayed(), "the field")

    def test_blocks_in_the_menu_of_a_direct_conversation(self):
        alice, bob = self.two_people()
        name = name_of(BOB)
        self.open_menu(alice, name)
        alice.click("Block…")
        self.confirm_block(alice, name)
        text = f"Too late {token()}"
        bob.write(text)
        bob.until(lambda: bob.all(".message.failed"), "the refusal")
        # The other one is not told by whom, and has no such bar.
        self.assertTrue(bob.all("#compose")[0].is_displayed())
        alice.until(lambda: "blocked" in alice.one(".composer").get_attribute("class"), "the block")
        ActionChains(alice.driver).context_click(alice.all(".message .bubble")[-1]).perform()
        alice.until(lambda: alice.texts("[role=menuitem]"), "the menu")
        for action in ("Reply", "React", "Edit", "Pin"):
            self.assertNotIn(action, alice.texts(".message-menu [role=menuitem]"))
        alice.press(Keys.ESCAPE)
        alice.one(".composer-blocked button").click()
        alice.until(lambda: alice.all("#compose")[0].is_displayed(), "the field")
        self.open_menu(alice, name)
        self.assertIn("Block…", alice.texts("[role=menuitem]"))
        alice.press(Keys.ESCAPE)
        # A group cannot be blocked.
        self.open_menu(alice, ALPS)
        self.assertFalse([each for each in alice.texts("[role=menuitem]") if "lock" in each])

    def test_hides_messages_of_blocked_users_in_groups(self):
        alice, bob, carol = self.browser(ALICE), self.browser(BOB), self.browser(CAROL)
        for browser in (alice, bob, carol):
            browser.open(ALPS)
        first, second, answer = (f"{word} {token()}" for word in ("Insult", "Another", "Answer"))
        bob.write(first)
        carol.sees_sent(first)
        ActionChains(carol.driver).context_click(
            carol.sees_sent(first).find_element(By.CSS_SELECTOR, ".bubble")).perform()
        carol.click("Reply")
        carol.write(answer)
        alice.sees_sent(answer)
        before = len(self.placeholders(alice))
        # The answer quotes it.
        ActionChains(alice.driver).context_click(
            alice.bubbles(first)[0].find_element(By.CSS_SELECTOR, ".bubble")).perform()
        alice.click("Block…")
        self.confirm_block(alice, name_of(BOB))
        alice.until(lambda: len(self.placeholders(alice)) > before, "the placeholders")
        quote = alice.sees_sent(answer).find_element(By.CSS_SELECTOR, ".quote-text")
        self.assertEqual(quote.text, "Message from a blocked user")
        bob.write(second)
        alice.until(lambda: "Message from a blocked user" in alice.row(ALPS).text, "the preview")
        count = len(self.placeholders(alice))
        thread = alice.one(".thread").text
        for text in (first, second):
            self.assertNotIn(text, thread)
        self.assertNotIn(second, alice.driver.find_element(By.ID, "announcer").get_attribute("textContent"))
        # A press shows that one message, and so does the menu.
        alice.all(".message.deleted .link-button")[-1].click()
        alice.sees_sent(second)
        self.assertEqual(len(self.placeholders(alice)), count - 1)
        ActionChains(alice.driver).context_click(alice.all(".message.deleted .bubble")[-1]).perform()
        alice.until(lambda: alice.texts("[role=menuitem]"), "the menu")
        self.assertEqual(alice.texts(".message-menu [role=menuitem]")[0], "Show")
        self.assertNotIn("Copy text", alice.texts(".message-menu [role=menuitem]"))
        alice.click("Show")
        alice.sees_sent(first)
        ActionChains(alice.driver).context_click(
            alice.sees_sent(second).find_element(By.CSS_SELECTOR, ".bubble")).perform()
        alice.click("Unblock")
        alice.until(lambda: not self.placeholders(alice), "all messages")
        self.assertIn(first, alice.sees_sent(answer).find_element(By.CSS_SELECTOR, ".quote-text").text)

    def test_reports_that_a_block_needs_a_connection(self):
        self.may_lose_connections = True
        alice = self.browser(ALICE)
        alice.open(name_of(BOB))
        alice.cable.cut()
        alice.until(lambda: alice.status(), "the lost connection reported")
        self.open_menu(alice, name_of(BOB))
        alice.click("Block…")
        alice.until(lambda: alice.all(".dialog .danger"), "the button")[-1].click()
        self.sees_toast(alice, "Blocking needs a connection.")


if __name__ == "__main__":
    unittest.main(verbosity=2)
