"""The profile form: what happens to changes that are not saved."""

import unittest

from selenium.webdriver.common.keys import Keys

from console_case import BOB, ConsoleCase, token

PHONE = {"width": 390, "height": 844, "is_phone": True}
SMALL = """
    // The controls that can be pressed and are less than 44 px wide or high. A control's label counts as part of it.
    const box = (each) => {
        const parts = [each, ...each.labels ?? [], each.closest('.search, .avatar-choice')].filter(Boolean)
            .map((part) => part.getBoundingClientRect())
        const side = (name, pick) => pick(...parts.map((part) => part[name]))
        return [side('right', Math.max) - side('left', Math.min), side('bottom', Math.max) - side('top', Math.min)]
            .map(Math.round)
    }
    const pressed = [...document.querySelectorAll('button, a, input, select, textarea, summary')].filter((each) => {
        return each.checkVisibility() && !each.matches('.skip') && !each.closest('.thread')
    })
    return pressed.filter((each) => Math.min(...box(each)) < 44).map((each) => `${box(each)} ${each.outerHTML}`)
"""


class ProfileTests(ConsoleCase):
    def test_esc_asks_before_it_discards_changes(self):
        bob = self.browser(BOB)
        bob.one(".me-button").click()
        bob.one("dialog.profile")
        bob.press(Keys.ESCAPE)
        bob.until(lambda: not bob.all("dialog"), "an unchanged profile closed at once")
        bob.one(".me-button").click()
        text = f"Changed {token()}"
        bob.fill("bio", text)
        for leave in (lambda: bob.press(Keys.ESCAPE), lambda: bob.click("Cancel"), lambda: bob.click("Close")):
            leave()
            bob.until(lambda: "Discard your changes?" in bob.texts("dialog h2"), "the question")
            # A second press cancels the question, and does not close the profile.
            bob.press(Keys.ESCAPE)
            bob.until(lambda: len(bob.all("dialog")) == 1, "the profile alone")
            self.assertEqual(bob.one("[name='bio']").get_attribute("value"), text)
        bob.press(Keys.ESCAPE)
        bob.click("Discard")
        bob.until(lambda: not bob.all("dialog"), "the profile closed")
        bob.one(".me-button").click()
        self.assertNotEqual(bob.one("[name='bio']").get_attribute("value"), text)

    def test_controls_are_large_enough_for_touch(self):
        bob = self.browser(**PHONE)
        small = {}
        bob.load()
        bob.one(".person-button")

        def look(place):
            if found := bob.driver.execute_script(SMALL):
                small[place] = found
        for tab in ("Sign in", "Register", "Guest"):
            bob.click(tab)
            look(tab)
        bob.sign_in(BOB)
        bob.one("[data-id]")
        look("list")
        bob.click("Network")
        bob.one(".line summary")
        look("network")
        bob.click("Close network")
        for label in ("Settings", "Help and keys", "New group"):
            bob.click(label)
            bob.one("dialog[open]")
            look(label)
            bob.click("Close")
            bob.until(lambda: not bob.all("dialog"), "no dialog")
        bob.one(".me-button").click()
        bob.one("dialog[open]")
        look("profile")
        self.assertEqual(small, {})


if __name__ == "__main__":
    unittest.main(verbosity=2)
