"""Typing notices in the console, shown and sent."""

import unittest

from selenium.webdriver.common.keys import Keys

from console_case import ALICE, ALPS, BOB, CAROL, ConsoleCase, name_of, token


class TypingTests(ConsoleCase):
    def sees_typing(self, browser, text="is typing"):
        browser.until(lambda: browser.subtitle() == text, f"{text!r} in the header")

    def sees_no_typing(self, browser):
        browser.until(lambda: "typing" not in browser.subtitle(), "nobody typing")
        self.assertEqual(browser.all(".row .typing"), [])

    def sent_typing(self, browser):
        """Returns the typing notices that this page has sent."""
        return [params["is_typing"] for _, params in browser.lines("conversations.typing", out=True)]

    def received_typing(self, browser):
        """Returns the typing notices that this page has received."""
        return [params["is_typing"] for _, params in browser.lines("typing", out=False)]

    def test_shows_a_typing_user_in_the_header_and_the_list(self):
        alice, bob = self.two_people()
        bob.press("H")
        self.sees_typing(alice)
        self.assertEqual(alice.row(name_of(BOB)).find_element("css selector", ".row-preview").text, "is typing")

    def test_hides_typing_that_is_not_repeated(self):
        alice, bob = self.two_people()
        bob.press("H")
        self.sees_typing(alice)
        self.sees_no_typing(alice)
        self.assertEqual(self.received_typing(alice), [True])

    def test_hides_typing_when_the_message_arrives(self):
        alice, bob = self.two_people()
        text = f"Here {token()}"
        bob.press(text)
        self.sees_typing(alice)
        bob.press(Keys.ENTER)
        alice.sees(text)
        self.assertNotIn("typing", alice.subtitle())
        self.assertNotIn(False, self.sent_typing(bob), "the message says it")

    def test_hides_typing_when_the_input_is_cleared(self):
        alice, bob = self.two_people()
        bob.press("H")
        self.sees_typing(alice)
        bob.press(Keys.BACKSPACE)
        alice.until(lambda: self.received_typing(alice) == [True, False], "the end of typing")
        self.sees_no_typing(alice)
        self.assertEqual(self.sent_typing(bob), [True, False])

    def test_hides_typing_when_the_connection_is_lost(self):
        self.may_lose_connections = True
        alice, bob = self.two_people()
        bob.press("H")
        self.sees_typing(alice)
        alice.cable.cut()
        alice.until(lambda: alice.status(), "the lost connection reported")
        self.sees_no_typing(alice)

    def test_names_each_of_several_typing_users(self):
        alice, bob, carol = (self.browser(email) for email in (ALICE, BOB, CAROL))
        for browser in (alice, bob, carol):
            browser.open(ALPS)

        def both():
            # One notice may expire before the other arrives.
            bob.press("b")
            carol.press("c")
            return sorted(name_of(email).split()[0] for email in (BOB, CAROL)) == sorted(
                alice.subtitle().removesuffix(" are typing").split(" and "))
        alice.until(both, "both named")

    def test_counts_many_typing_users(self):
        alice = self.browser()
        alice.load()
        texts = alice.module("""
            const { typingText } = await import('/console/typists.js')
            const text = (...ids) => typingText({ typists: () => ids, name: (id) => id }, { kind: 'group' })
            return [text(), text('Ann Ash'), text('Ann Ash', 'Bob Birch'), text('Ann', 'Bob', 'Cy'),
                    text('Ann', 'Bob', 'Cy', 'Di')]""")
        self.assertEqual(texts, [
            "", "Ann Ash is typing", "Ann and Bob are typing", "Ann, Bob and Cy are typing",
            "Ann, Bob and 2 others are typing"])

    def test_sends_typing_at_most_once_in_two_seconds(self):
        _, bob = self.two_people()

        def three_notices():
            bob.press("x")
            return len(self.sent_typing(bob)) >= 3
        bob.until(three_notices, "three typing notices")
        times = [at for at, _ in bob.lines("conversations.typing", out=True)]
        self.assertTrue(all(later - earlier >= 2 for earlier, later in zip(times, times[1:])), times)

    def test_sends_typing_to_members_only(self):
        alice, bob = self.two_people()
        carol = self.browser(CAROL)
        carol.open(ALPS)
        bob.press("H")
        self.sees_typing(alice)
        bob.open(ALPS)
        bob.press("H")
        self.sees_typing(carol, f"{name_of(BOB)} is typing")
        alps = carol.driver.current_url.split("#")[1]
        self.assertEqual({params["conversation_id"] for _, params in carol.lines("typing", out=False)}, {alps})

    def test_sends_no_typing_while_editing(self):
        alice, bob = self.two_people()
        text = f"First {token()}"
        bob.write(text)
        bob.sees_sent(text)
        count = len(self.sent_typing(bob))
        bob.press(Keys.ARROW_UP)
        bob.one(".edit-banner")
        changed = f"Second {token()}"
        bob.one("#compose").send_keys(Keys.CONTROL, "a")
        bob.write(changed)
        alice.sees(changed)
        self.assertEqual(len(self.sent_typing(bob)), count)

    def test_announces_typing_once_to_screen_readers(self):
        alice, bob = self.two_people()
        alice.driver.execute_script("""
            window.readOut = []
            const region = document.querySelector('.thread [role=status]')
            new MutationObserver(() => { if (region.textContent) window.readOut.push(region.textContent) })
                .observe(region, { childList: true })""")
        for _ in range(2):
            bob.press("H")
            self.sees_typing(alice)
            bob.press(Keys.BACKSPACE)
            self.sees_no_typing(alice)
        self.assertEqual(alice.driver.execute_script("return window.readOut"), [f"{name_of(BOB)} is typing"])
        self.assertEqual(self.received_typing(alice)[-3:-1], [False, True])


if __name__ == "__main__":
    unittest.main(verbosity=2)
