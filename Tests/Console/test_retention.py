"""Messages that expire, and the copy of one's data, in the console."""

import json
import unittest

from selenium.webdriver.support.select import Select

from console_case import ALICE, ALPS, CAROL, ConsoleCase, name_of, psql

DAVE = "dave@example.com"


class RetentionTests(ConsoleCase):
    def test_sets_in_a_profile_after_what_time_messages_are_deleted(self):
        # A conversation of its own: other tests need the messages of the demo.
        psql(
            "insert into conversations (participant1_id, participant2_id) select a.id, b.id "
            "from auth.users a, auth.users b where a.email = :'carol' and b.email = :'dave' on conflict do nothing",
            carol=CAROL, dave=DAVE)
        carol, dave = self.browser(CAROL), self.browser(DAVE)
        carol.open(name_of(DAVE))
        carol.write("It is about the map")
        carol.sees_sent("It is about the map")
        dave.open(name_of(CAROL))
        carol.one(".thread-title").click()
        choice = Select(carol.one("#expiry"))
        self.assertEqual(choice.first_selected_option.text, "Never")
        self.assertEqual(choice.options[2].text, "After a day")
        choice.select_by_visible_text("After a day")
        carol.until(lambda: "Delete messages after a day?" in carol.texts(".dialog h2"), "the question")
        carol.click("Cancel")
        carol.until(lambda: choice.first_selected_option.text == "Never", "the former time")
        choice.select_by_visible_text("After a day")
        carol.click("Delete after a day")
        dave.until(
            lambda: any("set messages to be deleted after 1 day" in each for each in dave.texts(".thread .event")),
            "the event")
        carol.until(lambda: "1 day" in carol.one(".thread-title .ttl").text, "the mark")
        # The other member sees it where it can change it too.
        dave.one(".thread-title").click()
        dave.until(lambda: Select(dave.one("#expiry")).first_selected_option.text == "After a day", "the choice")
        shown = len(carol.texts(".message"))
        self.assertGreater(shown, 0)
        psql("update conversations set first_seq = last_seq + 1 where message_ttl_seconds = 86400")
        carol.until(lambda: not carol.texts(".message"), "no message")
        dave.until(lambda: not dave.texts(".message"), "no message")

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
