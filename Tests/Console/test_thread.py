"""The open conversation as a messenger: menus, keys, drafts, links and sizes."""

import unittest

from selenium.webdriver.common.keys import Keys

from console_case import ALPS, BOB, ConsoleCase

class ThreadTests(ConsoleCase):
    def menu(self, browser):
        """The entries of the open menu."""
        browser.one(".message-menu [role=menuitem]")
        return browser.texts(".message-menu [role=menuitem]")

    def no_menu(self, browser):
        browser.until(lambda: not browser.driver.execute_script(
            "return document.querySelector('.message-menu').matches(':popover-open')"), "no menu")

    def focused(self, browser, name):
        return browser.driver.execute_script(
            f"const active = document.activeElement; return {name}")

    def rects(self, browser, css):
        """The sides of all that is shown of what `css` finds: left, top, right, bottom."""
        return browser.driver.execute_script("""
            return [...document.querySelectorAll(arguments[0])].map((each) => each.getBoundingClientRect())
                .filter((each) => each.width).map((each) => [each.left, each.top, each.right, each.bottom])""", css)

    # Toasts

    def test_toasts_leave_the_composer_free(self):
        for kind in ({}, {"width": 390, "height": 844, "is_phone": True}):
            bob = self.browser(BOB, **kind)
            bob.open(ALPS)
            bob.module("""
                const { toast } = await import('/console/notice.js')
                for (let number = 0; number < 6; number += 1) toast(`${number} cannot be read. `.repeat(6), 'bad')""")
            self.assertEqual([each[:1] for each in bob.texts(".toast")], ["3", "4", "5"], "the newest")
            [composer] = self.rects(bob, ".composer")
            for _, _, _, bottom in self.rects(bob, ".toast"):
                self.assertLess(bottom, composer[1])

    def test_a_toast_is_above_a_dialog(self):
        bob = self.browser(BOB)
        bob.click("Help and keys")
        bob.module("(await import('/console/notice.js')).toast('Seen')")
        self.assertTrue(bob.driver.execute_script("return document.querySelector('#toasts').matches(':popover-open')"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
