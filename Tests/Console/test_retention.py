"""Messages that expire, and the copy of one's data, in the console."""

import json
import unittest

from selenium.webdriver.support.select import Select

from console_case import ALICE, ALPS, BOB, CAROL, ConsoleCase, name_of, psql


class RetentionTests(ConsoleCase):
    def test_sets_in_a_profile_after_what_time_messages_are_deleted(self):
        alice, bob = self.browser(ALICE), self.browser(BOB)
        alice.open(name_of(BOB))
        bob.open(name_of(ALICE))
        alice.one(".thread-title").click()
        choice = Select(alice.one("#expiry"))
        self.assertEqual(choice.first_selected_option.text, "Never")
        self.assertEqual(choice.options[2].text, "After a day")
        choice.select_by_visible_text("After a day")
        alice.until(lambda: "Delete messages after a day?" in alice.texts(".dialog h2"), "the question")
        alice.click("Cancel")
        alice.until(lambda: choice.first_selected_option.text == "Never", "the former time")
        choice.select_by_visible_text("After a day")
        alice.click("Delete after a day")
        bob.until(lambda: any("set messages to be deleted after 1 day" in each for each in bob.texts(".thread .event")),
                  "the event")
        alice.until(lambda: "1 day" in alice.one(".thread-title .ttl").text, "the mark")
        # The other member sees it where it can change it too.
        bob.one(".thread-title").click()
        bob.until(lambda: Select(bob.one("#expiry")).first_selected_option.text == "After a day", "the choice")
        shown = len(alice.texts(".message"))
        self.assertGreater(shown, 0)
        psql("update conversations set first_seq = last_seq + 1 where message_ttl_seconds = 86400")
        alice.until(lambda: not alice.texts(".message"), "no message")
        bob.until(lambda: not bob.texts(".message"), "no message")

    def test_a_member_of_a_group_sees_the_choice_of_its_owner(self):
        change = "update conversations set message_ttl_seconds = {} where title = :'title'"
        psql(change.format(90000), title=ALPS)
        self.addCleanup(psql, change.format("null"), title=ALPS)
        browser = self.browser(CAROL)
        browser.open(ALPS)
        browser.one(".thread-title").click()
        browser.until(
            lambda: Select(browser.one("#expiry")).first_selected_option.text == "After 25 hours", "the time")
        self.assertFalse(browser.one("#expiry").is_enabled())

    def test_downloads_a_copy_of_the_data(self):
        browser = self.browser(ALICE)
        browser.driver.execute_script(
            "URL.createObjectURL = (blob) => { window.copy = blob; return 'blob:none' };"
            "HTMLAnchorElement.prototype.click = function () { window.copyName = this.download }")
        browser.click("Settings")
        browser.click("Download my data")
        browser.until(
            lambda: browser.driver.execute_script("return window.copyName") == "postline-export.jsonl", "a file")
        text = browser.driver.execute_async_script("window.copy.text().then(arguments[0])")
        objects = [json.loads(line) for line in text.splitlines()]
        self.assertEqual(objects[0]["me"]["email"], ALICE)
        visible = psql(
            "select count(*) from messages join conversation_members m using (conversation_id) "
            "where m.user_id = :'me'", me=objects[0]["me"]["id"])
        self.assertEqual(sum("message" in each for each in objects), int(visible))


if __name__ == "__main__":
    unittest.main()
