"""Who is typing, as the console shows and tells it."""

import unittest

from selenium.webdriver.common.keys import Keys

from console_case import ALICE, ALPS, BOB, CAROL, ConsoleCase, name_of, token


class TypingTests(ConsoleCase):
    def sees_typing(self, browser, text="is typing"):
        browser.until(lambda: browser.subtitle() == text, f"{text!r} in the header")

    def sees_no_typing(self, browser):
        browser.until(lambda: "typing" not in browser.subtitle(), "nobody typing")
        self.assertEqual(browser.all(".row .typing"), [])

    def said(self, browser):
        """What this page told of its user's typing."""
        return [params["is_typing"] for _, params in browser.lines("conversations.typing", out=True)]

    def heard(self, browser):
        """What this page was told of others' typing."""
        return [params["is_typing"] for _, params in browser.lines("typing", out=False)]

    def test_who_types_is_in_the_header_and_in_the_list(self):
        alice, bob = self.two_people()
        bob.press("H")
        self.sees_typing(alice)
        self.assertEqual(alice.row(name_of(BOB)).find_element("css selector", ".row-preview").text, "is typing")

    def test_it_ends_when_it_was_not_said_again(self):
        alice, bob = self.two_people()
        bob.press("H")
        self.sees_typing(alice)
        self.sees_no_typing(alice)
        self.assertEqual(self.heard(alice), [True])

    def test_it_ends_with_the_message(self):
        alice, bob = self.two_people()
        text = f"Here {token()}"
        bob.press(text)
        self.sees_typing(alice)
        bob.press(Keys.ENTER)
        alice.sees(text)
        self.assertNotIn("typing", alice.subtitle())
        bob.until(lambda: self.said(bob)[-1] is False, "that he types no more")

    def test_it_ends_when_the_field_is_emptied(self):
        alice, bob = self.two_people()
        bob.press("H")
        self.sees_typing(alice)
        bob.press(Keys.BACKSPACE)
        alice.until(lambda: self.heard(alice) == [True, False], "that he types no more")
        self.sees_no_typing(alice)
        self.assertEqual(self.said(bob), [True, False])

    def test_it_ends_with_the_connection(self):
        self.may_lose_connections = True
        alice, bob = self.two_people()
        bob.press("H")
        self.sees_typing(alice)
        alice.cable.cut()
        alice.until(lambda: alice.status(), "words about the connection")
        self.sees_no_typing(alice)

    def test_of_several_each_is_named(self):
        alice, bob, carol = (self.browser(email) for email in (ALICE, BOB, CAROL))
        for browser in (alice, bob, carol):
            browser.open(ALPS)

        def both():
            # What one of them said may be over before the other has begun.
            bob.press("b")
            carol.press("c")
            return sorted(name_of(email).split()[0] for email in (BOB, CAROL)) == sorted(
                alice.subtitle().removesuffix(" are typing").split(" and "))
        alice.until(both, "both named")

    def test_many_are_counted(self):
        alice = self.browser()
        alice.come()
        said = alice.module("""
            const { typingText } = await import('/console/typists.js')
            const text = (...ids) => typingText({ typists: () => ids, name: (id) => id }, { kind: 'group' })
            return [text(), text('Ann Ash'), text('Ann Ash', 'Bob Birch'), text('Ann', 'Bob', 'Cy'),
                    text('Ann', 'Bob', 'Cy', 'Di')]""")
        self.assertEqual(said, [
            "", "Ann Ash is typing", "Ann and Bob are typing", "Ann, Bob and Cy are typing",
            "Ann, Bob and 2 others are typing"])

    def test_it_is_told_once_in_two_seconds_at_most(self):
        _, bob = self.two_people()

        def thrice():
            bob.press("x")
            return len(self.said(bob)) >= 3
        bob.until(thrice, "typing told three times")
        times = [at for at, _ in bob.lines("conversations.typing", out=True)]
        self.assertTrue(all(later - earlier >= 2 for earlier, later in zip(times, times[1:])), times)

    def test_it_is_not_told_to_those_who_are_not_in_the_conversation(self):
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

    def test_to_edit_is_not_to_type(self):
        alice, bob = self.two_people()
        text = f"First {token()}"
        bob.write(text)
        bob.sees_sent(text)
        bob.until(lambda: self.said(bob)[-1] is False, "that he types no more")
        told = len(self.said(bob))
        bob.press(Keys.ARROW_UP)
        bob.one(".edit-banner")
        changed = f"Second {token()}"
        bob.one("#compose").send_keys(Keys.CONTROL, "a")
        bob.write(changed)
        alice.sees(changed)
        self.assertEqual(len(self.said(bob)), told)

    def test_it_is_read_out_once_and_politely(self):
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
        self.assertEqual(self.heard(alice)[-3:-1], [False, True])


if __name__ == "__main__":
    unittest.main(verbosity=2)
