"""Reports of messages and users, and the moderators' page."""

import os
import tempfile
import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from console_case import ALICE, ALPS, BOB, CAROL, ConsoleCase, name_of, psql, token
from test_pictures import png


def make_moderator(email, is_moderator=True):
    psql("update public.user_private set is_moderator = :'value' where email = :'email'", value=is_moderator, email=email)


class ReportTests(ConsoleCase):
    def setUp(self):
        super().setUp()
        psql("delete from app.reports")
        self.addCleanup(make_moderator, CAROL, False)

    def sees_toast(self, browser, text):
        browser.until(lambda: any(text in each for each in browser.texts(".toast")), f"the toast {text!r}")

    def fill_report(self, browser, reason, comment):
        Select(browser.one(".dialog select[name=reason]")).select_by_visible_text(reason)
        browser.one(".dialog textarea").send_keys(comment)
        browser.one(".dialog button[type=submit]").click()
        self.sees_toast(browser, "Reported.")

    def hold_a_word(self):
        """Makes the filter hold messages with a word, and returns the word."""
        word = "".join(chr(ord("a") + int(digit, 16)) for digit in token())
        psql("insert into app.filter_rules (scope, word, action) values ('messages', :'word', 'hold')", word=word)
        self.addCleanup(psql, "delete from app.filter_rules where word = :'word'", word=word)
        return word

    def send_picture(self, browser, caption):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = os.path.join(directory.name, "picture.png")
        with open(path, "wb") as file:
            file.write(png(320, 200))
        browser.one(".attach")
        browser.driver.find_element(By.CSS_SELECTOR, ".composer input[type=file]").send_keys(path)
        browser.one(".preview-caption").send_keys(caption, Keys.ENTER)

    def test_reports_a_message_which_a_moderator_removes(self):
        make_moderator(CAROL)
        alice, bob = self.two_people()
        text = f"An insult {token()}"
        bob.write(text)
        bubble = alice.sees_sent(text).find_element(By.CSS_SELECTOR, ".bubble")
        ActionChains(alice.driver).context_click(bubble).perform()
        alice.click("Report…")
        # No reason is chosen in advance.
        alice.one(".dialog button[type=submit]").click()
        alice.until(lambda: alice.one(".dialog .field-error").text == "Choose a reason.", "what is missing")
        self.fill_report(alice, "Insults or harassment", "He is rude.")
        # A user's own message has no such action.
        own = bob.sees_sent(text).find_element(By.CSS_SELECTOR, ".bubble")
        ActionChains(bob.driver).context_click(own).perform()
        bob.until(lambda: bob.texts("[role=menuitem]"), "the menu")
        self.assertNotIn("Report…", bob.texts("[role=menuitem]"))
        bob.press(Keys.ESCAPE)

        carol = self.browser(CAROL)
        carol.click("Reports")
        carol.until(lambda: len(carol.all(".report-row")) == 1, "the report")
        self.assertIn(f"Insults or harassment: {name_of(BOB)}", carol.one(".report-row").text)
        carol.one(".report-row").click()
        carol.until(lambda: text in carol.one(".evidence .reported").text, "the evidence")
        self.assertIn("He is rude.", carol.one(".report .facts").text)
        carol.click("Take into review")
        carol.until(lambda: "In review" in carol.one(".report .facts").text, "the review")
        carol.click("Remove the message…")
        carol.click("Remove")
        self.sees_toast(carol, "The message is removed.")
        alice.until(lambda: text not in alice.one(".thread").text, "the message gone")
        carol.until(lambda: "Remove the message…" not in carol.texts(".report button"), "nothing to remove")
        carol.click("Close…")
        Select(carol.one("select[name=outcome]")).select_by_value("removed")
        carol.click("Close the report")
        carol.until(lambda: "The message was removed" in carol.one(".report .facts").text, "the outcome")
        self.assertIn(text, carol.one(".evidence .reported").text)
        self.assertEqual(psql("select state || ' ' || outcome from app.reports"), "closed removed")

    def test_holds_messages_until_a_moderator_decides(self):
        make_moderator(CAROL)
        word = self.hold_a_word()
        alice, bob = self.two_people()
        texts = [f"{word} one", f"{word} two"]
        for text in texts:
            alice.write(text)
            alice.until(lambda: "Waiting for a moderator" in alice.sees_sent(text).text, "that it waits")
            self.assertFalse(alice.sees_sent(text).find_elements(By.CSS_SELECTOR, ".tick, .message-tools"))
        bob.until(lambda: bob.texts(".tombstone")[-2:] == ["This message was deleted."] * 2, "two deleted messages")
        self.assertNotIn(word, bob.one(".thread").text)

        carol = self.browser(CAROL)
        carol.click("Reports")
        Select(carol.one("select[name=state]")).select_by_value("held")
        carol.until(lambda: len(carol.all(".held-row")) == 2, "the held messages")
        self.assertIn(f"{name_of(ALICE)}\nHeld for: {word}", carol.one(".held-row").text)
        carol.all(".held-row .primary")[0].click()
        self.sees_toast(carol, "All members see the message.")
        bob.until(lambda: texts[0] in bob.one(".thread").text, "the released message")
        carol.until(lambda: len(carol.all(".held-row")) == 1, "the other one")
        carol.click("Reject")
        self.sees_toast(carol, "The message is deleted.")
        carol.until(lambda: carol.texts(".report-list .empty") == ["No message is held."], "the empty list")
        alice.until(lambda: texts[1] not in alice.one(".thread").text, "the rejected message gone")
        self.assertNotIn("Waiting for a moderator", alice.one(".thread").text)

    def test_shows_moderators_the_pictures_of_held_and_reported_messages(self):
        make_moderator(CAROL)
        alice, bob = self.browser(ALICE), self.browser(BOB)
        alice.open(name_of(BOB))
        held = f"{self.hold_a_word()} {token()}"
        self.send_picture(alice, held)
        alice.until(lambda: "Waiting for a moderator" in alice.sees_sent(held).text, "that it waits")
        # Carol is a member of the group.
        for browser in (alice, bob):
            browser.open(ALPS)
        reported = f"A picture {token()}"
        self.send_picture(bob, reported)
        ActionChains(alice.driver).context_click(
            alice.sees_sent(reported).find_element(By.CSS_SELECTOR, ".text")).perform()
        alice.click("Report…")
        self.fill_report(alice, "Sexual content", "")

        carol = self.browser(CAROL)
        carol.until(lambda: carol.one(".reports-button .badge").text == "2", "what waits")
        carol.click("Reports")
        Select(carol.one("select[name=state]")).select_by_value("held")
        carol.one(".held-row .picture[data-state=shown]")
        self.assertIn(held, carol.one(".held-row").text)
        carol.click("Reject")
        self.sees_toast(carol, "The message is deleted.")
        Select(carol.one("select[name=state]")).select_by_value("")
        carol.one(".report-row").click()
        carol.one(".evidence .reported .picture[data-state=shown]")
        self.assertTrue(carol.driver.execute_script(
            "const { top, bottom } = document.querySelector('.evidence .reported').getBoundingClientRect()\n"
            "return top >= 0 && bottom <= innerHeight"))
        carol.press(Keys.ESCAPE)
        carol.until(lambda: len(carol.all("dialog")) == 1, "one dialog closed")
        carol.press(Keys.ESCAPE)
        carol.until(lambda: carol.one(".reports-button .badge").text == "1", "what still waits")

    def test_reports_a_user_whom_a_moderator_bans(self):
        make_moderator(CAROL)
        alice = self.browser(ALICE)
        alice.open(name_of(BOB))
        alice.one(".thread-title").click()
        alice.one(".dialog .person")
        alice.click("Report…")
        self.fill_report(alice, "Spam", "")
        carol = self.browser(CAROL)
        carol.click("Reports")
        carol.until(lambda: len(carol.all(".report-row")) == 1, "the report")
        carol.one(".report-row").click()
        carol.click("Ban the user…")
        Select(carol.one("select[name=until]")).select_by_visible_text("For a week")
        carol.click("Ban")
        self.sees_toast(carol, "is banned.")
        self.addCleanup(psql, "update auth.users set banned_until = null where email = :'email'", email=BOB)
        self.assertEqual(psql("select banned_until > now() + interval '6 days' from auth.users where email = :'email'",
                              email=BOB), "t")
        carol.click("Lift the ban")
        self.sees_toast(carol, "may sign in.")
        carol.until(lambda: "Lift the ban" not in carol.texts(".report button"), "no ban to lift")
        self.assertEqual(psql("select banned_until is null from auth.users where email = :'email'", email=BOB), "t")

    def test_only_moderators_have_the_page(self):
        alice = self.browser(ALICE)
        self.assertFalse(alice.all("button[aria-label=Reports]")[0].is_displayed())
        make_moderator(ALICE)
        self.addCleanup(make_moderator, ALICE, False)
        alice.one("button[aria-label=Reports]")


if __name__ == "__main__":
    unittest.main()
