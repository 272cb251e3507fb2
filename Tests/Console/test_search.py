"""The search of messages."""

import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from console_case import ALICE, BOB, ConsoleCase, psql, token


class SearchTests(ConsoleCase):
    def search(self, browser, text):
        browser.one("#search").send_keys(Keys.CONTROL, "a")
        browser.one("#search").send_keys(text)

    def test_finds_messages_and_jumps_to_one(self):
        alice, bob = self.two_people()
        word = token()
        text = f"A long beginning of a sentence that goes on, and then Wörd{word} in it"
        alice.write(text)
        alice.sees_sent(text)
        psql("insert into public.messages (conversation_id, sender_id, content) "
             "select conversation_id, sender_id, 'filler ' || n from public.messages, generate_series(1, 120) n "
             "where content = :'text' order by n", text=text)
        self.search(bob, f"word{word[:-1]}")
        row = bob.one(".row.found")
        preview = row.find_element(By.CSS_SELECTOR, ".row-preview")
        self.assertIn("…", preview.text)
        self.assertEqual(preview.find_element(By.TAG_NAME, "mark").text, f"Wörd{word[:-1]}")
        self.assertTrue(row.find_element(By.TAG_NAME, "time").text)
        row.click()
        bob.until(lambda: text in bob.driver.execute_script("return document.activeElement.innerText"),
                  "the message in its place, focused")
        self.assertEqual(bob.one("#search").get_attribute("value"), "")

    def test_says_that_nothing_is_found_and_finds_no_deleted_message(self):
        alice, bob = self.two_people()
        word = token()
        alice.write(f"gone{word}")
        alice.sees_sent(f"gone{word}")
        self.search(bob, f"gone{word}")
        bob.one(".row.found")
        psql("update public.messages set deleted_at = now() where content = :'text'", text=f"gone{word}")
        self.search(bob, "x")
        bob.until(lambda: not bob.texts(".row.found"), "no results of one letter")
        self.search(bob, f"gone{word}")
        bob.until(lambda: "Nothing found" in bob.one(".list-empty").text, "nothing found")

    def test_highlights_words_without_case_and_accents(self):
        alice = self.browser(ALICE)
        for text, query, expected in [
            ("Crème brûlée", "creme BRU", ["Crème", "brû"]), ("a <b>mark</b>", "mark", ["mark"]),
            ("Straße", "strasse", ["Straße"]), ("明日の会議", "会議", ["会議"]), ("remark mark", "mark", ["mark"]),
            ("ﬁne fine", "fi", ["ﬁ", "fi"]), ("x.y", ".*", []),
        ]:
            marks = alice.module("""
                const { excerpt } = await import('/console/found-message.js')
                return excerpt(given[0], given[1]).filter((part) => part.tagName).map((part) => part.textContent)""",
                text, query)
            self.assertEqual(marks, expected, (text, query))


if __name__ == "__main__":
    unittest.main()
