"""The console in headless Chromium, against a real server with the users of the dev world."""

import os
import subprocess
import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from console_case import ALICE, ALPS, BOB, CAROL, CUT, ConsoleCase, message_count, name_of, psql, token


class ConsoleTests(ConsoleCase):
    def test_two_users_exchange_messages(self):
        alice, bob = self.two_people()
        question, answer = f"Dinner? {token()}", f"Gladly {token()}"
        alice.write(question)
        bob.sees(question)
        bob.write(answer)
        alice.sees(answer)
        for browser in (alice, bob):
            browser.sees_sent(question)
            browser.sees_sent(answer)
        alice.until(lambda: alice.sees(question).find_elements(By.CSS_SELECTOR, ".tick.read"), "the read mark")
        self.assertEqual(message_count(question), 1)

    def test_an_edit_and_a_deletion_reach_the_other_user(self):
        alice, bob = self.two_people()
        first, second = f"Sven {token()}", f"Seven {token()}"
        alice.write(first)
        alice.sees_sent(first)
        alice.one("#compose").send_keys(Keys.ARROW_UP)
        alice.one(".edit-banner")
        alice.one("#compose").send_keys(Keys.CONTROL, "a")
        alice.write(second)
        bob.until(lambda: "edited" in bob.sees(second).text, "the edit with its mark")
        self.assertEqual(bob.bubbles(first), [])
        seq = alice.focus_on(second)
        alice.press(Keys.DELETE)
        alice.click("Delete")
        for browser in (alice, bob):
            browser.until(lambda: "deleted" in browser.one(f".message[data-seq='{seq}']").text, "a tombstone")

    def test_counts_messages_of_a_closed_conversation_as_unread(self):
        alice, bob = self.browser(ALICE), self.browser(BOB)
        bob.open(ALPS)
        alice.open(name_of(BOB))
        # Opening it has marked earlier messages as read.
        title = name_of(BOB)
        alice.press(Keys.ESCAPE)
        alice.open(ALPS)
        bob.open(name_of(ALICE))
        text = f"Are you there? {token()}"
        bob.write(text)
        row = "[aria-label='Conversations'] li:first-child .row"
        alice.until(lambda: text in alice.one(row).text and "1 unread" in alice.one(row).get_attribute("textContent"),
                    "one unread on top")
        self.assertIn("(", alice.driver.title)
        self.assertIn(text, alice.driver.find_element(By.ID, "announcer").get_attribute("textContent"))
        alice.open(title)
        alice.until(lambda: not alice.all(f"{row} .badge"), "nothing unread")

    def test_shows_a_rename_by_psql_everywhere_at_once(self):
        alice, bob = self.browser(ALICE), self.browser(BOB)
        old, new = name_of(BOB), f"Bob {token()}"
        bob.open(ALPS)
        bob.write(f"From Bob {token()}")
        alice.open(ALPS)
        alice.until(lambda: old in alice.texts(".sender"), "Bob's name above his message")
        alice.open(old)
        self.addCleanup(psql, "update public.user_profiles set full_name = :'name' where username = 'bob'", name=old)
        psql("update public.user_profiles set full_name = :'name' where username = 'bob'", name=new)
        alice.until(lambda: alice.title() == new, "the new name as the title")
        self.assertIn(new, alice.texts("[aria-label='Conversations'] .row-title"))
        self.assertNotIn(old, "".join(alice.texts("#app")))
        bob.until(lambda: bob.one(".me-button .row-title").text == new, "the new name in the user's own profile")
        alice.open(ALPS)
        alice.until(lambda: new in alice.texts(".sender"), "the new name above old messages")
        self.assertNotIn(old, "".join(alice.texts("#app")))

    def test_a_message_that_arrives_during_a_click_does_not_undo_it(self):
        alice = self.browser(ALICE)
        title = name_of(BOB)
        alice.open(title)
        ActionChains(alice.driver).click_and_hold(alice.row(ALPS)).perform()
        received = alice.cable.received
        psql("""insert into public.messages (conversation_id, sender_id, client_id, content)
                select c.id, p.id, gen_random_uuid(), :'text' from public.conversations c, public.user_profiles p
                 where c.title = :'title' and p.username = 'bob'""", text=token(), title=ALPS)
        alice.until(lambda: alice.cable.received > received, "the message received")
        ActionChains(alice.driver).release().perform()
        alice.until(lambda: alice.title() == ALPS, "the conversation open")

    def test_a_cut_connection_loses_and_duplicates_no_message(self):
        self.may_lose_connections = True
        alice, bob = self.two_people()
        mark = token()
        bob.cable.cut()
        bob.until(lambda: "try" in bob.status(), "the lost connection reported")
        for number in range(3):
            bob.write(f"Bob {number} {mark}")
        bob.until(lambda: len(bob.all(".message.pending")) == 3, "three pending messages")
        bob.until(lambda: "3 messages wait" in bob.status(), "the number of pending messages")
        for number in range(2):
            alice.write(f"Alice {number} {mark}")
            alice.sees_sent(f"Alice {number} {mark}")
        self.assertEqual(message_count(mark), 2)
        bob.cable.mend()
        for browser in (alice, bob):
            for text in ("Bob 0", "Bob 1", "Bob 2", "Alice 0", "Alice 1"):
                browser.sees_sent(f"{text} {mark}")
        bob.until(bob.is_online, "no report about the connection")
        self.assertEqual(message_count(mark), 5)
        texts = [each for each in alice.texts(".message") if mark in each and "Bob " in each]
        self.assertEqual([f"Bob {number}" in text for number, text in enumerate(texts)], [True] * 3, "in order")

    def test_a_message_whose_response_was_lost_is_stored_once(self):
        self.may_lose_connections = True
        alice, bob = self.two_people()
        text = f"Heard? {token()}"
        bob.cable.drop_responses()
        bob.write(text)
        alice.sees(text)
        bob.cable.cut()
        bob.until(lambda: bob.status(), "the lost connection reported")
        bob.until(lambda: len(bob.all(".message.pending")) == 1, "the pending message")
        bob.cable.mend()
        bob.sees_sent(text)
        self.assertEqual(message_count(text), 1)
        self.assertEqual(len(alice.bubbles(text)), 1)

    def test_a_pending_message_survives_a_reload(self):
        self.may_lose_connections = True
        bob = self.browser(BOB)
        bob.open(ALPS)
        text = f"Later {token()}"
        bob.cable.drop_responses()
        bob.write(text)
        bob.until(lambda: bob.all(".message.pending"), "a message on its way")
        bob.cable.cut()
        bob.cable.mend()
        bob.driver.refresh()
        bob.sees_sent(text)
        self.assertEqual(message_count(text), 1)

    @unittest.skipUnless(CUT, "POSTLINE_TEST_CONSOLE_CUT is not set")
    def test_both_users_continue_after_the_node_is_killed(self):
        self.may_lose_connections = True
        alice, bob = self.two_people()
        before, after = f"Before {token()}", f"After {token()}"
        alice.write(before)
        bob.sees(before)
        # The tests' own settings do not apply to the node.
        clean = {name: value for name, value in os.environ.items() if not name.startswith("POSTLINE_")}
        subprocess.run(CUT, shell=True, check=True, stdout=subprocess.DEVNULL, env=clean)
        alice.write(after)
        for browser in (alice, bob):
            browser.until(browser.is_online, "the connection again")
            browser.sees_sent(after)
        self.assertEqual(message_count(after), 1)

    def test_loads_all_messages_of_a_long_absence(self):
        self.may_lose_connections = True
        alice, bob = self.two_people()
        mark = token()
        bob.cable.cut()
        psql(
            """insert into public.messages (conversation_id, sender_id, content)
               select c.id, a.id, 'Absence ' || i || '. ' || :'mark'
                 from generate_series(1, 150) i, public.conversations c
                 join public.user_profiles a on a.username = 'alice' join public.user_profiles b on b.username = 'bob'
                where c.kind = 'direct' and a.id in (c.participant1_id, c.participant2_id)
                  and b.id in (c.participant1_id, c.participant2_id) order by i""", mark=mark)
        bob.cable.mend()
        bob.sees(f"Absence 150. {mark}")

        def complete():
            bob.driver.execute_script("document.querySelector('.thread-scroller').scrollTop = 0")
            numbers = [int(each) for each in bob.driver.execute_script(
                "return [...document.querySelectorAll('.message[data-seq]')].map((each) => each.dataset.seq)")]
            self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))), "no gap and no duplicate")
            return sum(mark in each for each in bob.texts(".message .text")) == 150
        bob.until(complete, "all missed messages")

    def test_a_phone_shows_one_pane_at_a_time(self):
        bob = self.browser(width=360, height=740, is_phone=True)
        bob.load()
        bob.sign_in(BOB)
        self.assertFalse(bob.one(".side").find_elements(By.CSS_SELECTOR, ".thread"))
        bob.open(ALPS)
        self.assertFalse(bob.driver.find_element(By.CSS_SELECTOR, ".side").is_displayed())
        text = f"From a phone {token()}"
        bob.one("#compose").send_keys(text)
        bob.click("Send")
        bob.sees_sent(text)
        width = bob.driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(width[0], width[1])
        bob.driver.back()
        bob.until(lambda: bob.driver.find_element(By.CSS_SELECTOR, ".side").is_displayed(), "the list again")
        self.assertFalse(bob.driver.find_element(By.CSS_SELECTOR, ".thread").is_displayed())
        for label in ("Network", "New group"):
            bob.click(label)
            width = bob.driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
            self.assertLessEqual(width[0], width[1], label)
            bob.press(Keys.ESCAPE)

    def test_works_by_keyboard_only(self):
        bob = self.browser()
        bob.load()
        bob.until(lambda: bob.driver.switch_to.active_element.get_attribute("name") == "email", "focus on the address")
        bob.press(BOB, Keys.TAB, "postline-dev", Keys.ENTER)
        bob.until(lambda: bob.all("[aria-label='Conversations'] .row[data-id]"), "conversations")
        bob.press(Keys.TAB)
        self.assertEqual(bob.driver.switch_to.active_element.text, "Skip to conversations")
        bob.press(Keys.ENTER)
        first = bob.driver.switch_to.active_element.get_attribute("data-id")
        self.assertTrue(first)
        bob.press(Keys.ARROW_DOWN)
        second = bob.driver.switch_to.active_element.get_attribute("data-id")
        self.assertNotEqual(first, second)
        bob.press(Keys.ENTER)
        bob.until(lambda: bob.driver.switch_to.active_element.get_attribute("id") == "compose", "focus on writing")
        text = f"By hand {token()}"
        bob.press(text, Keys.ENTER)
        bob.sees_sent(text)
        bob.press(Keys.ESCAPE)
        self.assertEqual(bob.driver.switch_to.active_element.get_attribute("data-id"), second)
        bob.press_with_control("k")
        bob.until(lambda: bob.driver.switch_to.active_element.get_attribute("id") == "search", "focus on search")
        bob.press("erin")
        # Other tests change her last name meanwhile.
        bob.until(
            lambda: any(title.startswith("Erin ") for title in bob.texts("[aria-label='People found'] .row-title")),
            "Erin found")

    def test_every_control_has_a_name(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        bob.click("Help and keys")
        bob.press(Keys.ESCAPE)
        bob.one(".me-button").click()
        bob.one("dialog[open]")
        nameless = bob.driver.execute_script("""
            return [...document.querySelectorAll('button, a, input, select, textarea')].filter((each) => {
                const labels = each.labels?.length || each.getAttribute('aria-label')
                return !labels && !each.textContent.trim()
            }).map((each) => each.outerHTML)""")
        self.assertEqual(nameless, [])

    def test_a_guest_becomes_an_account(self):
        guest = self.browser()
        guest.load()
        guest.click("Guest")
        guest.fill("full_name", "Robin Ray").send_keys(Keys.ENTER)
        guest.until(lambda: "Guest" in guest.one(".me-button").text, "a guest")
        guest.until(lambda: "No conversations yet" in guest.one(".list-empty").text, "help in the empty list")
        guest.one("#search").send_keys("carol")
        guest.one("[data-person]").click()
        text = f"Hello from Robin {token()}"
        guest.write(text)
        guest.sees_sent(text)
        guest.one(".me-button").click()
        guest.click("Turn into an account…")
        guest.fill("email", "not an address")
        guest.fill("password", "short")
        guest.click("Turn into an account")
        guest.until(lambda: "8 characters" in guest.one(".field-error").text, "an error at its field")
        address = f"robin-{token()}@example.com"
        guest.fill("email", address)
        guest.fill("password", "a long password")
        guest.click("Turn into an account")
        guest.until(lambda: address in guest.one(".me-button").text, "an account")
        guest.click("Settings")
        guest.click("Sign out")
        guest.one(".sign-in")
        guest.sign_in(address, "a long password")
        guest.open(name_of(CAROL))
        guest.sees(text)

    def test_reports_a_wrong_password(self):
        browser = self.browser()
        browser.load()
        browser.fill("email", f"nobody-{token()}@example.com")
        browser.fill("password", "wrong").send_keys(Keys.ENTER)
        browser.until(lambda: "password" in browser.one(".form-error").text.lower(), "an error")

    def test_merges_a_profile_that_was_changed_elsewhere(self):
        bob = self.browser(BOB)
        old_bio = psql("select bio from public.user_profiles where username = 'bob'")
        old_place = psql("select location from public.user_profiles where username = 'bob'")
        self.addCleanup(
            psql, "update public.user_profiles set bio = :'bio', location = :'place' where username = 'bob'",
            bio=old_bio, place=old_place)
        bob.one(".me-button").click()
        mine, theirs, place = f"Mine {token()}", f"Theirs {token()}", f"Place {token()}"
        bob.fill("bio", mine)
        psql("update public.user_profiles set bio = :'bio', location = :'place' where username = 'bob'",
             bio=theirs, place=place)
        bob.until(lambda: theirs in bob.one(".conflict").text, "the other change")
        bob.until(lambda: bob.one("[name='location']").get_attribute("value") == place, "the unedited field")
        bob.click("Save")
        bob.until(lambda: not bob.all("dialog"), "the profile saved")
        self.assertEqual(psql("select bio || location from public.user_profiles where username = 'bob'"), mine + place)

    def test_reports_a_taken_username_at_its_field(self):
        bob = self.browser(BOB)
        bob.one(".me-button").click()
        bob.fill("username", "alice")
        bob.click("Save")
        bob.until(lambda: "taken" in bob.one(".field-error").text, "that it is taken")
        self.assertEqual(bob.driver.switch_to.active_element.get_attribute("name"), "username")

    def test_creates_changes_and_leaves_a_group(self):
        alice, bob = self.browser(ALICE), self.browser(BOB)
        title = f"Choir {token()}"
        alice.click("New group")
        alice.fill("title", title)
        for query in ("bob", "dave"):
            field = alice.one(".picker input")
            field.send_keys(query)
            alice.until(lambda: query in alice.one(".picker .row").text.lower(), query)
            field.send_keys(Keys.ENTER)
        alice.click("Create group")
        bob.open(title)
        text = f"In tune {token()}"
        bob.write(text)
        alice.sees(text)
        alice.one(".thread-title").click()
        alice.until(lambda: len(alice.all(".member")) == 3, "three members")
        alice.click("Rename")
        renamed = f"Quartet {token()}"
        alice.fill("title", renamed).send_keys(Keys.ENTER)
        bob.until(lambda: bob.title() == renamed, "the new title")
        role = alice.one(f"[aria-label='Role of {name_of(BOB)}']")
        role.send_keys("Admin")
        alice.click(f"Remove {name_of('dave@example.com')}")
        alice.click("Remove")
        alice.until(lambda: len(alice.all(".member")) == 2, "two members")
        bob.one(".thread-title").click()
        bob.until(lambda: len(bob.all(".member")) == 2 and bob.all("[aria-label='Rename']"), "an admin's tools")
        dave = name_of("dave@example.com")
        events = [f"{name_of(ALICE)} renamed the group to “{renamed}”", f"{name_of(ALICE)} removed {dave}"]
        bob.until(lambda: bob.texts(".event") == events, "the group's events")
        preview = "[aria-label='Conversations'] [aria-current='true'] .row-preview"
        bob.until(lambda: bob.texts(preview) == events[-1:], "the newest event in the list")
        alice.until(lambda: alice.texts(".event")[-1:] == [f"You removed {dave}"], "the user's own action")
        alice.click(f"Remove {name_of(BOB)}")
        alice.click("Remove")
        bob.until(lambda: renamed in bob.one(".toast").text, "a notice about the removal")
        listed = "[aria-label='Conversations'] .row-title"
        bob.until(lambda: not bob.all("dialog") and renamed not in bob.texts(listed), "the group gone")
        alice.click("Leave group")
        alice.click("Leave")
        alice.until(lambda: renamed not in alice.texts(listed), "the group gone for its owner")

    def test_the_network_pane_shows_lines_without_secrets(self):
        alice = self.browser(ALICE)
        alice.until(lambda: "auth.login" in alice.texts(".line-method"), "the sign-in among the lines")
        for summary in alice.all(".line summary"):
            if "auth.login" in summary.text:
                summary.click()
        shown = "".join(alice.texts(".line pre"))
        self.assertIn("••••••", shown)
        self.assertNotIn("postline-dev", shown)
        self.assertNotIn("eyJ", shown)
        self.assertTrue(any("ms" in each for each in alice.texts(".line-figure")))
        alice.one("[aria-label='Filter network']").send_keys("sync.open")
        alice.until(lambda: set(alice.texts(".line-method")) == {"sync.open"}, "the filter")
        alice.click("Clear")
        alice.until(lambda: not alice.all(".line"), "nothing")

    def test_signs_out_when_the_session_was_ended_elsewhere(self):
        address = f"ended-{token()}@example.com"
        one = self.browser()
        one.load()
        one.click("Register")
        one.fill("full_name", "Ended Elsewhere")
        one.fill("email", address)
        one.fill("password", "a long password").send_keys(Keys.ENTER)
        one.one(".me-button")
        two = self.browser()
        two.sign_in(address, "a long password")
        two.until(two.is_online, "the connection")
        two.click("Settings")
        two.click("Sign out everywhere…")
        two.until(lambda: len(two.all("dialog[open]")) == 2, "the question")
        two.click("Sign out")
        two.one(".sign-in")
        one.until(lambda: one.one(".sign-in-note").text, "the reason")

    def test_keeps_the_chosen_theme_after_a_reload(self):
        alice = self.browser(ALICE, is_dark=True)
        def background():
            return alice.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        dark = background()
        alice.click("Settings")
        alice.one("[name='theme']").send_keys("Light")
        alice.until(lambda: background() != dark, "the light theme")
        alice.driver.refresh()
        alice.one(".me-button")
        self.assertNotEqual(background(), dark, "kept after a reload")


if __name__ == "__main__":
    unittest.main(verbosity=2)
