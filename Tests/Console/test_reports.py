"""Reports of messages and users, and the moderators' page."""

import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from console_case import ALICE, BOB, CAROL, ConsoleCase, name_of, psql, token


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
        carol.click("Close…")
        Select(carol.one("select[name=outcome]")).select_by_value("removed")
        carol.click("Close the report")
        carol.until(lambda: "The message was removed" in carol.one(".report .facts").text, "the outcome")
        self.assertIn(text, carol.one(".evidence .reported").text)
        self.assertEqual(psql("select state || ' ' || outcome from app.reports"), "closed removed")

    def test_holds_messages_until_a_moderator_decides(self):
        make_moderator(CAROL)
        word = "".join(chr(ord("a") + int(digit, 16)) for digit in token())
        psql("insert into app.filter_rules (scope, word, action) values ('messages', :'word', 'hold')", word=word)
        self.addCleanup(psql, "delete from app.filter_rules where word = :'word'", word=word)
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
        self.assertIn(f"{name_of(ALICE)}: {word}", carol.one(".held-row").text)
        carol.all(".held-row .primary")[0].click()
        self.sees_toast(carol, "All members see the message.")
        bob.until(lambda: texts[0] in bob.one(".thread").text, "the released message")
        carol.until(lambda: len(carol.all(".held-row")) == 1, "the other one")
        carol.one(".held-row .button").click()
        self.sees_toast(carol, "The message is deleted.")
        alice.until(lambda: texts[1] not in alice.one(".thread").text, "the rejected message gone")
        self.assertNotIn("Waiting for a moderator", alice.one(".thread").text)

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
        self.assertEqual(psql("select banned_until is null from auth.users where email = :'email'", email=BOB), "t")

    def test_only_moderators_have_the_page(self):
        alice = self.browser(ALICE)
        self.assertFalse(alice.all("button[aria-label=Reports]")[0].is_displayed())
        make_moderator(ALICE)
        self.addCleanup(make_moderator, ALICE, False)
        alice.one("button[aria-label=Reports]")


if __name__ == "__main__":
    unittest.main()
