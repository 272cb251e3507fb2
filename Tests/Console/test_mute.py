"""Muted conversations in the console."""

import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from console_case import ALICE, ALPS, BOB, ConsoleCase, name_of, psql, token

MARK = "[role=img][aria-label='Muted']"
GRAY = "return getComputedStyle(arguments[0]).getPropertyValue('background-color')"


class MuteTests(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(psql, "update public.conversation_mutes set muted_until = null")

    def button(self, browser):
        return browser.one(".mute > button")

    def choose(self, browser, text):
        """Opens the menu, and chooses the item that begins with a text."""
        self.button(browser).click()
        item = browser.until(
            lambda: next((each for each in browser.all(".menu-item") if each.text.startswith(text)), None), text)
        item.click()

    def sees_mark(self, browser, title):
        browser.until(lambda: browser.has(title, MARK), f"{title} muted")

    def test_mutes_for_an_hour_by_keyboard(self):
        alice = self.browser(ALICE)
        alice.open(ALPS)
        alice.driver.execute_script("arguments[0].focus()", self.button(alice))
        alice.press(Keys.ENTER)
        alice.until(lambda: alice.driver.switch_to.active_element.text == "For an hour", "focus in the menu")
        alice.press(Keys.ARROW_DOWN)
        self.assertTrue(alice.driver.switch_to.active_element.text.startswith("Until tomorrow"))
        alice.press(Keys.HOME, Keys.ENTER)
        self.sees_mark(alice, ALPS)
        self.assertRegex(self.button(alice).get_attribute("aria-label"), r"^Muted until (tomorrow, )?\d\d:\d\d$")
        alice.until(lambda: alice.driver.switch_to.active_element == self.button(alice), "focus on the button again")
        left = float(psql("select extract(epoch from muted_until - now()) from public.conversation_mutes "
                          "where muted_until is not null"))
        self.assertTrue(3500 < left <= 3600, left)

    def test_esc_closes_only_the_menu(self):
        alice = self.browser(ALICE)
        alice.open(ALPS)
        self.button(alice).click()
        alice.until(lambda: alice.driver.switch_to.active_element.text == "For an hour", "focus in the menu")
        alice.press(Keys.ESCAPE)
        alice.until(lambda: not alice.one(".mute").find_element(By.CSS_SELECTOR, ".menu").is_displayed(), "no menu")
        self.assertEqual(alice.driver.switch_to.active_element, self.button(alice))
        self.assertFalse(alice.has(ALPS, MARK))

    def test_mutes_until_tomorrow_morning(self):
        alice = self.browser(ALICE)
        alice.open(ALPS)
        self.choose(alice, "Until tomorrow")
        self.sees_mark(alice, ALPS)
        self.assertEqual(self.button(alice).get_attribute("aria-label"), "Muted until tomorrow, 08:00")

    def test_mutes_without_end_and_unmutes(self):
        alice = self.browser(ALICE)
        alice.open(ALPS)
        self.choose(alice, "Always")
        self.sees_mark(alice, ALPS)
        self.assertEqual(self.button(alice).get_attribute("aria-label"), "Muted")
        self.choose(alice, "Unmute")
        alice.until(lambda: not alice.has(ALPS, MARK), "no mark")
        self.assertEqual(self.button(alice).get_attribute("aria-label"), "Mute")

    def test_a_muted_conversation_counts_in_gray_and_is_not_announced(self):
        alice, bob = self.browser(ALICE), self.browser(BOB)
        title = name_of(BOB)
        alice.open(ALPS)
        alice.open(title)
        self.choose(alice, "Always")
        self.sees_mark(alice, title)
        alice.press(Keys.ESCAPE)
        alice.driver.execute_script("location.hash = ''")
        alice.until(lambda: alice.one(".blank").is_displayed(), "no conversation open")
        before = alice.driver.title
        quiet, loud = f"Quiet {token()}", f"Loud {token()}"
        bob.open(name_of(ALICE))
        bob.write(quiet)
        alice.until(lambda: alice.has(title, ".badge"), "a count")
        self.assertEqual(alice.driver.title, before)
        gray = alice.driver.execute_script(GRAY, alice.row(title).find_element(By.CSS_SELECTOR, ".badge"))
        bob.open(ALPS)
        bob.write(loud)
        alice.until(lambda: alice.has(ALPS, ".badge"), "a count that is not gray")
        self.assertNotEqual(
            alice.driver.execute_script(GRAY, alice.row(ALPS).find_element(By.CSS_SELECTOR, ".badge")), gray)
        self.assertNotEqual(alice.driver.title, before)
        announced = alice.driver.find_element(By.ID, "announcer").get_attribute("textContent")
        self.assertIn(loud, announced)
        self.assertNotIn(quiet, announced)

    def test_a_mute_reaches_only_the_users_other_windows(self):
        alice, other, bob = self.browser(ALICE), self.browser(ALICE), self.browser(BOB)
        alice.open(ALPS)
        self.choose(alice, "Always")
        self.sees_mark(other, ALPS)
        text = f"Said {token()}"
        alice.write(text)
        bob.open(ALPS)
        bob.sees(text)
        self.assertFalse(bob.has(ALPS, MARK))
        self.assertEqual(self.button(bob).get_attribute("aria-label"), "Mute")

    def test_a_mute_expires(self):
        alice = self.browser(ALICE)
        alice.open(ALPS)
        self.choose(alice, "For an hour")
        self.sees_mark(alice, ALPS)
        psql("update public.conversation_mutes set muted_until = now() + interval '3 seconds' "
             "where muted_until is not null")
        alice.until(lambda: not alice.has(ALPS, MARK), "no mark once the time is over")
        self.assertEqual(self.button(alice).get_attribute("aria-label"), "Mute")

    def test_reports_that_a_mute_needs_a_connection(self):
        self.may_lose_connections = True
        alice = self.browser(ALICE)
        alice.open(ALPS)
        alice.cable.cut()
        alice.until(lambda: alice.status(), "the lost connection reported")
        self.choose(alice, "Always")
        alice.until(lambda: "connection" in alice.one(".toast").text, "the reason")
        self.assertFalse(alice.has(ALPS, MARK))

    def test_hides_the_button_if_the_server_cannot_mute(self):
        alice = self.browser()
        alice.load()
        hidden = alice.module("""
            const { MuteMenu } = await import('/console/mute-menu.js')
            const { Directory } = await import('/console/directory.js')
            const menu = new MuteMenu({ directory: new Directory() })
            document.body.append(menu.element)
            return [{ id: 'a' }, { id: 'b', muted_until: null }].map((conversation) => {
                menu.show(conversation)
                return menu.element.hidden
            })""")
        self.assertEqual(hidden, [True, False])


if __name__ == "__main__":
    unittest.main(verbosity=2)
