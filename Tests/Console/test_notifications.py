"""Notifications of the console, and the number of unread messages in its title and icon."""

import unittest

from console_case import ALICE, ALPS, BOB, ConsoleCase, name_of, psql, token

RECORD = """
    // Shows real notifications, and records their texts.
    {
        const { Notification } = window
        window.shown = []
        window.Notification = class extends Notification {
            constructor(title, options) {
                super(title, options)
                window.shown.push([title, options.body])
            }
        }
    }
"""


class NotificationTests(ConsoleCase):
    def alice(self, is_allowed=True):
        browser = self.browser()
        if is_allowed:
            browser.grant("notifications")
        else:
            browser.deny("notifications")
        browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": RECORD})
        browser.sign_in(ALICE)
        return browser

    def switch(self, browser):
        browser.click("Settings")
        element = browser.one("#notifications")
        element.click()
        return element

    def hide(self, browser):
        """Activates another tab, and returns a function that activates the page again."""
        page = browser.driver.current_window_handle
        front = browser.open_window("tab")
        browser.driver.switch_to.window(page)
        browser.driver.execute_cdp_cmd("Target.activateTarget", {"targetId": front})
        browser.until(lambda: self.is_hidden(browser), "the page hidden")
        return lambda: browser.driver.execute_cdp_cmd("Target.activateTarget", {"targetId": page})

    def is_hidden(self, browser):
        return browser.driver.execute_script("return document.visibilityState === 'hidden'")

    def shown(self, browser):
        return browser.driver.execute_script("return window.shown")

    def test_a_hidden_page_notifies_of_new_messages(self):
        alice, bob = self.alice(), self.browser(BOB)
        self.assertFalse(alice.driver.execute_script("return localStorage.getItem('postline.notifications')"))
        element = self.switch(alice)
        alice.until(element.is_selected, "notifications on")
        bob.open(ALPS)
        texts = [f"{name} {token()}" for name in ("Visible", "Hidden", "Muted", "Last")]
        bob.write(texts[0])
        bob.sees_sent(texts[0])
        alice.until(lambda: alice.row(ALPS).text.find(texts[0]) > 0, "the message in the list")
        self.assertEqual(self.shown(alice), [])
        show = self.hide(alice)
        bob.write(texts[1])
        alice.until(lambda: self.shown(alice), "a notification")
        self.assertEqual(self.shown(alice), [[f"{name_of(BOB)} in {ALPS}", texts[1]]])
        self.addCleanup(psql, "update public.conversation_mutes set muted_until = null")
        psql("""insert into public.conversation_mutes (conversation_id, user_id, muted_until)
                select c.id, u.id, now() + interval '1 hour' from public.conversations c, auth.users u
                 where c.title = :'title' and u.email = :'email'
                on conflict (conversation_id, user_id) do update set muted_until = excluded.muted_until""",
             title=ALPS, email=ALICE)
        alice.until(lambda: alice.has(ALPS, ".muted-mark"), "the conversation muted")
        bob.write(texts[2])
        alice.until(lambda: alice.row(ALPS).text.find(texts[2]) > 0, "the muted message in the list")
        bob.open(name_of(ALICE))
        bob.write(texts[3])
        alice.until(lambda: len(self.shown(alice)) == 2, "a notification")
        self.assertEqual(self.shown(alice)[1], [name_of(BOB), texts[3]])
        show()
        alice.until(lambda: not self.is_hidden(alice), "the page visible")

    def test_a_browser_that_blocks_notifications_turns_the_switch_off(self):
        alice = self.alice(is_allowed=False)
        element = self.switch(alice)
        alice.until(lambda: "blocks" in alice.one("#notifications-hint").text, "the reason")
        self.assertFalse(element.is_selected())

    def test_unread_messages_are_counted_in_title_and_icon(self):
        alice, bob = self.browser(ALICE), self.browser(BOB)
        bob.open(name_of(ALICE))
        text = f"Unread {token()}"
        bob.write(text)
        # Messages of other tests may be unread, too.
        alice.until(lambda: text in alice.row(name_of(BOB)).text, "the message in the list")
        icon = "return document.querySelector('link[rel=icon]').href"
        alice.until(lambda: alice.driver.title.startswith("("), "a count in the title")
        alice.until(lambda: alice.driver.execute_script(icon).startswith("data:image/png"), "a count in the icon")
        color = alice.module("""
            const image = new Image()
            image.src = document.querySelector('link[rel=icon]').href
            await image.decode()
            const context = document.createElement('canvas').getContext('2d')
            context.drawImage(image, 0, 0)
            return [...context.getImageData(44, 4, 1, 1).data].slice(0, 3)""")
        self.assertEqual(color, [0xB3, 0x26, 0x1E], "the badge above its number")
        psql("""update public.conversation_members m set last_read_seq = c.last_seq
                  from public.conversations c, auth.users u
                 where c.id = m.conversation_id and u.id = m.user_id and u.email = :'email'""", email=ALICE)
        alice.until(lambda: alice.driver.title == "Postline", "no count in the title")
        alice.until(lambda: alice.driver.execute_script(icon).endswith("/console/icon.svg"), "the plain icon")


if __name__ == "__main__":
    unittest.main(verbosity=2)
