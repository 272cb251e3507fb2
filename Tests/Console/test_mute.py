"""Conversations that are to be quiet, in the console."""

import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from console_case import ALICE, ALPS, BOB, ConsoleCase, name_of, psql, token

MARK = "[role=img][aria-label='Muted']"
GREY = "return getComputedStyle(arguments[0]).getPropertyValue('background-color')"


class MuteTests(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(psql, "update public.conversation_mutes set muted_until = null")

    def button(self, browser):
        return browser.one(".mute > button")

    def choose(self, browser, text):
        """Opens the menu, and chooses what begins so."""
        self.button(browser).click()
        item = browser.until(
            lambda: next((each for each in browser.all(".menu-item") if each.text.startswith(text)), None), text)
        item.click()

    def sees_mark(self, browser, title):
        browser.until(lambda: browser.has(title, MARK), f"{title} muted")

    def test_an_hour_by_keyboard(self):
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

    def test_esc_closes_the_menu_and_nothing_else(self):
        alice = self.browser(ALICE)
        alice.open(ALPS)
        self.button(alice).click()
        alice.until(lambda: alice.driver.switch_to.active_element.text == "For an hour", "focus in the menu")
        alice.press(Keys.ESCAPE)
        alice.until(lambda: not alice.one(".mute").find_element(By.CSS_SELECTOR, ".menu").is_displayed(), "no menu")
        self.assertEqual(alice.driver.switch_to.active_element, self.button(alice))
        self.assertFalse(alice.has(ALPS, MARK))

    def test_until_tomorrow_is_until_its_morning(self):
        alice = self.browser(ALICE)
        alice.open(ALPS)
        self.choose(alice, "Until tomorrow")
        self.sees_mark(alice, ALPS)
        self.assertEqual(self.button(alice).get_attribute("aria-label"), "Muted until tomorrow, 08:00")

    def test_always_and_unmute(self):
        alice = self.browser(ALICE)
        alice.open(ALPS)
        self.choose(alice, "Always")
        self.sees_mark(alice, ALPS)
        self.assertEqual(self.button(alice).get_attribute("aria-label"), "Muted")
        self.choose(alice, "Unmute")
        alice.until(lambda: not alice.has(ALPS, MARK), "no mark")
        self.assertEqual(self.button(alice).get_attribute("aria-label"), "Mute")

    def test_what_is_muted_counts_in_grey_and_is_not_announced(self):
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
        grey = alice.driver.execute_script(GREY, alice.row(title).find_element(By.CSS_SELECTOR, ".badge"))
        bob.open(ALPS)
        bob.write(loud)
        alice.until(lambda: alice.has(ALPS, ".badge"), "a count that is not grey")
        self.assertNotEqual(
            alice.driver.execute_script(GREY, alice.row(ALPS).find_element(By.CSS_SELECTOR, ".badge")), grey)
        self.assertNotEqual(alice.driver.title, before)
        announced = alice.driver.find_element(By.ID, "announcer").get_attribute("textContent")
        self.assertIn(loud, announced)
        self.assertNotIn(quiet, announced)

    def test_ones_other_windows_follow_and_nobody_else_is_told(self):
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

    def test_it_ends_by_itself(self):
        alice = self.browser(ALICE)
        alice.open(ALPS)
        self.choose(alice, "For an hour")
        self.sees_mark(alice, ALPS)
        psql("update public.conversation_mutes set muted_until = now() + interval '3 seconds' "
             "where muted_until is not null")
        alice.until(lambda: not alice.has(ALPS, MARK), "no mark once the time is over")
        self.assertEqual(self.button(alice).get_attribute("aria-label"), "Mute")

    def test_without_a_connection_it_says_so(self):
        self.may_lose_connections = True
        alice = self.browser(ALICE)
        alice.open(ALPS)
        alice.cable.cut()
        alice.until(lambda: alice.status(), "words about the connection")
        self.choose(alice, "Always")
        alice.until(lambda: "connection" in alice.one(".toast").text, "why it is not muted")
        self.assertFalse(alice.has(ALPS, MARK))

    def test_a_server_that_cannot_mute_is_offered_no_button(self):
        alice = self.browser()
        alice.come()
        hidden = alice.module("""
            const { MuteMenu } = await import('/console/mute-menu.js')
            const { Store } = await import('/console/store.js')
            const menu = new MuteMenu({ store: new Store() })
            document.body.append(menu.element)
            return [{ id: 'a' }, { id: 'b', muted_until: null }].map((conversation) => {
                menu.show(conversation)
                return menu.element.hidden
            })""")
        self.assertEqual(hidden, [True, False])


if __name__ == "__main__":
    unittest.main(verbosity=2)
