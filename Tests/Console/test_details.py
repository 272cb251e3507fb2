"""Replies, reactions, mentions, pins, and the user's own view of conversations."""

import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from console_case import ALICE, ALPS, BOB, CAROL, ConsoleCase, name_of, psql, token

MENTIONS = [
    # A text, and its mentions as pairs of text and user.
    ("@bob", [("@bob", 1)]),
    ("@Bob, and @BOB.B!", [("@Bob", 1), ("@BOB.B", 2)]),
    ("(@bob okafor) @bob.", [("@bob okafor", 1), ("@bob", 1)]),
    ("@everyone: @everyones", [("@everyone", 3)]),
    ("a@bob.b @bobby @bob_ @ bob", []),
    ("@bob@bob", [("@bob", 1)]),
]


class DetailsTests(ConsoleCase):
    def choose(self, browser, row, label):
        """Opens the menu of the row by a right click, and chooses an item."""
        ActionChains(browser.driver).context_click(row).perform()
        browser.click(label)

    def choose_for(self, browser, text, label):
        browser.until(lambda: self.is_chosen(browser, text, label), f"{label} of {text!r}")

    def is_chosen(self, browser, text, label):
        row = browser.sees_sent(text)
        self.choose(browser, row.find_element(By.CSS_SELECTOR, ".bubble"), label)
        return True

    def find(self, browser, text, css):
        """Returns an element in the row of a message. Raises NoSuchElementException, which `until` waits out, if it has
        none."""
        return browser.sees_sent(text).find_element(By.CSS_SELECTOR, css)

    def has(self, browser, text, css):
        """Returns true if the row of a message has such an element."""
        return len(browser.sees_sent(text).find_elements(By.CSS_SELECTOR, css)) > 0

    def click(self, browser, text, css):
        """Clicks an element in the row of a message."""
        browser.click_on(lambda: self.find(browser, text, css), f"{css} at {text!r}")

    def fill(self, text, count):
        """Sends messages after the one with this text, from its sender."""
        psql("insert into public.messages (conversation_id, sender_id, content) "
             "select conversation_id, sender_id, 'filler ' || n from public.messages, generate_series(1, :'count') n "
             "where content = :'text' order by n", text=text, count=count)

    def focused(self, browser, name):
        return browser.driver.execute_script(f"const active = document.activeElement; return {name}")

    # Replies

    def test_replies_by_keyboard_and_the_quote_leads_to_the_original(self):
        alice, bob = self.two_people()
        text, answer = f"A question {token()}", f"An answer {token()}"
        alice.write(text)
        alice.sees_sent(text)
        self.fill(text, 30)
        bob.focus_on(text)
        bob.press("r")
        self.assertIn(text, bob.one(".edit-banner").text)
        self.assertEqual(self.focused(bob, "active.getAttribute('aria-label')"), f"Write a reply to {name_of(ALICE)}")
        bob.write(answer)
        self.assertFalse(bob.one(".composer").find_element(By.CSS_SELECTOR, ".edit-banner").is_displayed())
        quote = alice.until(lambda: self.find(alice, answer, ".quote").text, "the quote")
        self.assertIn(text, quote)
        self.assertIn("You", quote)
        self.click(alice, answer, ".quote")
        alice.until(lambda: text in self.focused(alice, "active.innerText"), "the original focused")
        edited = f"Another question {token()}"
        alice.press("e")
        alice.one("#compose").send_keys(Keys.CONTROL, "a")
        alice.write(edited)
        for browser in (alice, bob):
            browser.until(lambda: edited in self.find(browser, answer, ".quote").text, "the edited quote")

    def test_the_replies_to_a_message_are_shown_together(self):
        alice, bob = self.two_people()
        text, first, second = f"Who comes? {token()}", f"I do {token()}", f"So do I {token()}"
        alice.write(text)
        bob.focus_on(text)
        bob.press("r")
        bob.write(first)
        self.fill(first, 30)
        alice.until(lambda: self.find(alice, first, ".quote"), "the reply")
        alice.focus_on(text)
        alice.press(Keys.SPACE)
        alice.click("Show the reply")
        self.assertIn(text, alice.one(".reply-root").text)
        alice.until(lambda: [first in each for each in alice.texts(".replies li")] == [True], "the reply")
        # Another one appears in the open dialog.
        bob.focus_on(text)
        bob.press("r")
        bob.write(second)
        alice.until(lambda: len(alice.all(".replies li")) == 2, "both replies")
        self.assertIn(second, alice.texts(".replies li")[1])
        alice.all(".replies li button")[0].click()
        alice.until(lambda: first in self.focused(alice, "active.innerText"), "the reply in its place, focused")
        self.assertEqual(alice.all(".replies"), [])
        alice.focus_on(text)
        alice.press(Keys.SPACE)
        alice.click("Show 2 replies")
        alice.one(".dialog .button.primary").click()
        alice.until(lambda: text in alice.one(".edit-banner").text, "the reply begun")

    def test_a_quote_leads_to_a_message_that_is_not_loaded(self):
        first = f"The first {token()}"
        alice = self.browser(ALICE)
        alice.open(name_of(BOB))
        alice.write(first)
        seq = alice.sees_sent(first).get_attribute("data-seq")
        self.fill(first, 130)
        answer = f"Late {token()}"
        psql("insert into public.messages (conversation_id, sender_id, content, reply_to_seq) "
             "select conversation_id, sender_id, :'answer', seq from public.messages where content = :'first'",
             first=first, answer=answer)
        bob = self.browser(BOB)
        bob.open(name_of(ALICE))
        self.assertEqual(bob.all(f".message[data-seq='{seq}']"), [])
        self.click(bob, answer, ".quote")
        bob.until(lambda: first in self.focused(bob, "active.innerText"), "the original focused")

    def test_escape_ends_a_reply(self):
        bob = self.browser(BOB)
        bob.open(name_of(ALICE))
        text = f"To myself {token()}"
        bob.write(text)
        self.choose_for(bob, text, "Reply")
        bob.one(".edit-banner")
        bob.press(Keys.ESCAPE)
        bob.until(lambda: not bob.all(".edit-banner:not([hidden])"), "no banner")
        self.assertEqual(self.focused(bob, "active.id"), "compose")
        plain = f"Plain {token()}"
        bob.write(plain)
        bob.sees_sent(plain)
        self.assertEqual(
            psql("select reply_to_seq is null from public.messages where content = :'text'", text=plain), "t")

    def test_a_swipe_replies_on_a_phone(self):
        alice = self.browser(ALICE)
        alice.open(name_of(BOB))
        text = f"Swipe me {token()}"
        alice.write(text)
        alice.sees_sent(text)
        bob = self.browser(BOB, width=390, height=844, is_phone=True)
        bob.open(name_of(ALICE))
        box = bob.sees_sent(text).find_element(By.CSS_SELECTOR, ".bubble").rect
        x, y = box["x"] + 20, box["y"] + box["height"] / 2
        for kind, points in (("touchStart", [x]), ("touchMove", [x + 30]), ("touchMove", [x + 90]), ("touchEnd", [])):
            bob.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {
                "type": kind, "touchPoints": [{"x": each, "y": y} for each in points]})
        self.assertIn(text, bob.one(".edit-banner").text)

    # Reactions

    def test_reactions_are_set_listed_and_taken_back(self):
        alice, bob = self.two_people()
        text = f"React {token()}"
        alice.write(text)
        self.choose_for(bob, text, "React")
        bob.one(".reaction-choice[data-emoji='🎉']")
        self.assertEqual(self.focused(bob, "active.getAttribute('aria-label')"), "Thumbs up")
        bob.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER)
        chip = ".reaction[data-emoji='🎉']"
        bob.until(lambda: self.find(bob, text, f"{chip}.own"), "the own reaction")
        is_pressed = alice.until(lambda: self.find(alice, text, chip).get_attribute("aria-pressed"),
                                 "the reaction of the other user")
        self.assertEqual(is_pressed, "false")
        self.click(alice, text, chip)
        for browser in (alice, bob):
            browser.until(lambda: self.find(browser, text, f"{chip}.own").text.endswith("2"), "two")
        self.choose_for(alice, text, "Who reacted")
        alice.until(lambda: len(alice.all(".reactor")) == 2, "both")
        self.assertEqual([each.split() for each in alice.texts(".reactor-emojis")], [["🎉"], ["🎉"]])
        self.assertEqual(alice.texts(".reactor .row-title"), [name_of(BOB), "You"])
        alice.press(Keys.ESCAPE)
        alice.until(lambda: not alice.all("dialog"), "no dialog")
        self.click(bob, text, chip)
        bob.until(lambda: not self.has(bob, text, f"{chip}.own"), "taken back")
        alice.until(lambda: self.find(alice, text, chip).text.endswith("1"), "one")

    def test_the_picker_closes_by_escape(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        text = f"Nothing {token()}"
        bob.write(text)
        bob.focus_on(text)
        bob.press("+")
        bob.one(".reaction-choice")
        bob.press(Keys.ESCAPE)
        bob.until(lambda: text in self.focused(bob, "active.innerText"), "the focus on the message again")
        self.assertFalse(self.has(bob, text, ".reaction"))

    # Mentions

    def test_a_mention_is_completed_highlighted_and_counted(self):
        alice, bob = self.browser(ALICE), self.browser(BOB)
        alice.open(ALPS)
        bob.open(name_of(ALICE))
        field = alice.one("#compose")
        field.send_keys("Well, @bo")
        alice.one(".mention-option")
        self.assertEqual(alice.texts(".mention-option .row-title"), [name_of(BOB)])
        self.assertEqual(field.get_attribute("aria-activedescendant"), "mention-0")
        text = f"look at {token()}"
        alice.press(Keys.ENTER)
        alice.until(lambda: field.get_attribute("value") == "Well, @bob ", "the username")
        alice.write(text)
        self.assertEqual(self.find(alice, text, ".mention").text, "@bob")
        bob.until(lambda: bob.has(ALPS, ".badge.mentions"), "the mention in the list")
        bob.open(ALPS)
        self.assertEqual(self.find(bob, text, ".mention.own").text, "@bob")
        bob.until(lambda: not bob.has(ALPS, ".badge"), "read")
        # Text that names nobody mentions nobody.
        plain = f"bob@example.com and @nobody {token()}"
        alice.write(plain)
        alice.sees_sent(plain)
        self.assertFalse(self.has(alice, plain, ".mention"))

    def test_an_edit_changes_the_mentions(self):
        alice, bob = self.browser(ALICE), self.browser(BOB)
        alice.open(ALPS)
        bob.open(ALPS)
        mark = token()
        alice.write(f"@everyone {mark}")
        bob.until(lambda: self.find(bob, mark, ".mention.own"), "all are mentioned")
        alice.focus_on(mark)
        alice.press("e")
        alice.one("#compose").send_keys(Keys.CONTROL, "a")
        alice.write(f"@carol {mark}")
        bob.until(lambda: self.find(bob, mark, ".mention:not(.own)"), "another is mentioned")
        self.assertEqual(psql("select coalesce(mentions_everyone, false) from public.messages where content = :'text'",
                              text=f"@carol {mark}"), "f")

    def test_finds_mentions_in_text(self):
        browser = self.browser()
        browser.load()
        found = browser.module("""
            const { findMentions } = await import('/console/mentions.js')
            const people = [
                { id: 1, names: ['bob', 'Bob Okafor'] }, { id: 2, names: ['bob.b'] }, { id: 3, names: ['everyone'] },
            ]
            return given[0].map((text) => findMentions(text, people).map((each) => {
                return [text.slice(each.index, each.index + each.length), each.id]
            }))""", [text for text, _ in MENTIONS])
        for (text, expected), mentions in zip(MENTIONS, found):
            self.assertEqual(mentions, [list(each) for each in expected], text)

    def test_escape_closes_only_the_completion(self):
        alice = self.browser(ALICE)
        alice.open(ALPS)
        alice.one("#compose").send_keys("@")
        alice.until(lambda: len(alice.all(".mention-option")) > 2, "the members")
        alice.press(Keys.ARROW_DOWN)
        self.assertEqual(alice.one("#compose").get_attribute("aria-activedescendant"), "mention-1")
        alice.press(Keys.ESCAPE)
        alice.until(lambda: not alice.one(".composer").find_element(By.CSS_SELECTOR, ".mention-menu").is_displayed(),
                    "no completion")
        self.assertEqual(self.focused(alice, "active.id"), "compose")
        alice.press(Keys.BACKSPACE)

    # Pins

    def test_pins_are_above_the_messages_for_all(self):
        alice, bob = self.two_people()
        self.addCleanup(psql, "update public.conversations set pinned_seqs = null")
        first, second = f"First {token()}", f"Second {token()}"
        alice.write(first)
        alice.sees_sent(first)
        self.fill(first, 30)
        alice.write(second)
        bob.sees_sent(second)
        alice.focus_on(first)
        alice.press(Keys.SPACE)
        alice.click("Pin")
        bob.until(lambda: first in bob.one(".pinned-bar").text, "the pinned message")
        self.choose_for(bob, second, "Pin")
        for browser in (alice, bob):
            browser.until(lambda: second in browser.one(".pinned-bar").text, "the last pinned message")
            self.assertIn("1 of 2", browser.one(".pinned-bar").text)
        bob.one(".pinned-message").click()
        bob.until(lambda: first in bob.one(".pinned-bar").text, "the one before")
        bob.one(".pinned-message").click()
        bob.until(lambda: first in self.focused(bob, "active.innerText"), "the pinned message focused")
        bob.click("Unpin this message")
        alice.until(lambda: "1 of 2" not in alice.one(".pinned-bar").text, "one")
        alice.click("Unpin this message")
        bob.until(lambda: not bob.all(".pinned-bar:not([hidden])"), "no bar")

    def test_members_of_a_group_cannot_pin(self):
        carol = self.browser(CAROL)
        carol.open(ALPS)
        text = f"By a member {token()}"
        carol.write(text)
        carol.focus_on(text)
        carol.press(Keys.SPACE)
        carol.one(".message-menu [role=menuitem]")
        self.assertNotIn("Pin", carol.texts(".message-menu [role=menuitem]"))

    # Later

    def test_a_message_is_scheduled_removed_and_sent_at_its_time(self):
        alice, bob = self.two_people()
        never, later = f"Never {token()}", f"Later {token()}"
        for text in (never, later):
            alice.one("#compose").send_keys(text)
            alice.click("Send later")
            alice.click("In an hour")
            alice.until(lambda: not alice.one("#compose").get_attribute("value"), "scheduled")
        alice.until(lambda: alice.texts(".scheduled-bar") == ["2 scheduled messages"], "two scheduled messages")
        alice.one(".scheduled-bar button").click()
        alice.click(f"Remove “{never}”")
        alice.until(lambda: len(alice.all(".scheduled-list li")) == 1, "one scheduled message")
        self.assertIn(later, alice.texts(".scheduled-list li")[0])
        alice.press(Keys.ESCAPE)
        self.assertEqual(bob.bubbles(later), [])
        psql("update public.scheduled_messages set next_try_at = now() where content = :'text'", text=later)
        bob.sees(later)
        alice.sees_sent(later)
        alice.until(lambda: alice.all(".scheduled-bar[hidden]"), "no scheduled message")

    # The list

    def test_conversations_are_pinned_marked_and_archived(self):
        bob = self.browser(BOB)
        self.addCleanup(
            psql, "update public.conversation_mutes set archived_at = null, pinned_at = null, marked_unread_seq = null")
        last = bob.texts(".list-scroller > .rows:first-child .row-title")[-1].split("\n")[0]
        bob.open(last)
        bob.until(lambda: not bob.has(last, ".badge"), "read")
        bob.open(ALPS)
        self.choose(bob, bob.row(last), "Pin to the top")
        bob.until(lambda: last in bob.texts(".list-scroller .row-title")[0], "on top")
        self.assertTrue(bob.has(last, "[role=img][aria-label='Pinned']"))
        bob.driver.execute_script("arguments[0].focus()", bob.row(last))
        bob.press("m")
        bob.click("Mark as unread")
        bob.until(lambda: bob.has(last, ".badge.marked"), "marked")
        bob.open(last)
        bob.until(lambda: not bob.has(last, ".badge"), "read")
        bob.click("More actions")
        bob.click("Archive")
        bob.until(lambda: last not in " ".join(bob.texts(".list-scroller > .rows:first-child .row-title")), "archived")
        toggle = bob.one(".archived-toggle")
        self.assertEqual(toggle.get_attribute("aria-expanded"), "false")
        toggle.click()
        bob.until(lambda: bob.all("#archived .row"), "the archive")
        self.assertEqual(toggle.get_attribute("aria-expanded"), "true")
        self.choose(bob, bob.row(last), "Unarchive")
        bob.until(lambda: not bob.all("#archived .row"), "no archive")
        self.assertFalse(bob.all(".archived-toggle:not([hidden])"))
        self.choose(bob, bob.row(last), "Unpin")
        bob.until(lambda: not bob.has(last, "[role=img][aria-label='Pinned']"), "not pinned")

    def test_marking_an_open_conversation_as_unread_closes_it(self):
        bob = self.browser(BOB)
        self.addCleanup(psql, "update public.conversation_mutes set marked_unread_seq = null")
        bob.open(ALPS)
        bob.until(lambda: not bob.has(ALPS, ".badge"), "read")
        bob.click("More actions")
        bob.click("Mark as unread")
        bob.until(lambda: bob.has(ALPS, ".badge.marked"), "marked")
        self.assertTrue(bob.all(".thread-body[hidden]"))
        self.assertIn("(", bob.driver.title)
        self.choose(bob, bob.row(ALPS), "Mark as read")
        bob.until(lambda: not bob.has(ALPS, ".badge"), "read")


if __name__ == "__main__":
    unittest.main()
