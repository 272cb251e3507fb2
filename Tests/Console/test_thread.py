"""The open conversation as a messenger: menus, keys, drafts, links and sizes."""

import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from console_case import ALICE, ALPS, BOB, ConsoleCase, name_of, psql, token

LINKS = [
    # A text, and its links as pairs of shown text and URL.
    ("https://example.com", [("https://example.com", "https://example.com")]),
    ("See https://example.com/a?b=c#d.", [("https://example.com/a?b=c#d", "https://example.com/a?b=c#d")]),
    ("HTTP://Example.com!", [("HTTP://Example.com", "HTTP://Example.com")]),
    ("(https://example.com/a)", [("https://example.com/a", "https://example.com/a")]),
    ("https://example.com/a_(b), yes", [("https://example.com/a_(b)", "https://example.com/a_(b)")]),
    ("(see https://example.com/a_(b)).", [("https://example.com/a_(b)", "https://example.com/a_(b)")]),
    ("[a](https://example.com/b)", [("https://example.com/b", "https://example.com/b")]),
    ("https://example.com/a)b", [("https://example.com/a", "https://example.com/a")]),
    ("https://example.com/a(b", [("https://example.com/a", "https://example.com/a")]),
    ("“https://example.com/a”", [("https://example.com/a", "https://example.com/a")]),
    ("<https://example.com/a>", [("https://example.com/a", "https://example.com/a")]),
    ("**https://example.com/a**", [("https://example.com/a", "https://example.com/a")]),
    ("https://example.com/a…", [("https://example.com/a", "https://example.com/a")]),
    ("看https://example.com，很好", [("https://example.com", "https://example.com")]),
    ("https://bücher.example/ä", [("https://bücher.example/ä", "https://bücher.example/ä")]),
    ("http://localhost:7433/a and http://[::1]:80/", [
        ("http://localhost:7433/a", "http://localhost:7433/a"), ("http://[::1]:80/", "http://[::1]:80/")]),
    ("www.example.com, www.example.com/a.", [
        ("www.example.com", "https://www.example.com"), ("www.example.com/a", "https://www.example.com/a")]),
    ("bob@example.com.", [("bob@example.com", "mailto:bob@example.com")]),
    ("Bob <bob.b+c@mail.example.com>", [("bob.b+c@mail.example.com", "mailto:bob.b%2Bc@mail.example.com")]),
    ("mailto:bob@example.com?subject=a", [("mailto:bob@example.com", "mailto:bob@example.com")]),
    ("www. www.a awww.example.com example.com", []),
    ("javascript:alert(1) ftp://www.example.com file:///a xhttps://example.com", []),
    ("data:text/html,a //www.example.com https:// http://. https://?", []),
    # URLs that look like others.
    ("https://example.com@evil.example/", []),
    ("https://example.com\u202e/moc", [("https://example.com", "https://example.com")]),
    ("a@b a@b.c@d.com @alice bob@ 3@4", []),
    ("x" * 8000 + "@", []),
    ("(" * 8000, []),
]


class ThreadTests(ConsoleCase):
    def menu(self, browser):
        """Returns the entries of the open menu."""
        browser.one(".message-menu [role=menuitem]")
        return browser.texts(".message-menu [role=menuitem]")

    def right_click(self, browser, text):
        """Clicks a message with the right button, again if its row was replaced meanwhile."""
        def clicked():
            bubble = browser.sees_sent(text).find_element(By.CSS_SELECTOR, ".bubble")
            ActionChains(browser.driver).context_click(bubble).perform()
            return True
        browser.until(clicked, f"{text!r} clicked")

    def no_menu(self, browser):
        browser.until(lambda: not browser.driver.execute_script(
            "return document.querySelector('.message-menu').matches(':popover-open')"), "no menu")

    def focused(self, browser, name):
        return browser.driver.execute_script(
            f"const active = document.activeElement; return {name}")

    def rects(self, browser, css):
        """Returns left, top, right and bottom of each visible element that `css` finds."""
        return browser.driver.execute_script("""
            return [...document.querySelectorAll(arguments[0])].map((each) => each.getBoundingClientRect())
                .filter((each) => each.width).map((each) => [each.left, each.top, each.right, each.bottom])""", css)

    # Toasts

    def test_toasts_do_not_cover_the_composer(self):
        for kind in ({}, {"width": 390, "height": 844, "is_phone": True}):
            bob = self.browser(BOB, **kind)
            bob.open(ALPS)
            bob.module("""
                const { toast } = await import('/console/notice.js')
                for (let number = 0; number < 6; number += 1) toast(`${number} cannot be read. `.repeat(6), 'bad')""")
            self.assertEqual([each[:1] for each in bob.texts(".toast")], ["3", "4", "5"], "the newest")
            [composer] = self.rects(bob, ".composer")
            for _, _, _, bottom in self.rects(bob, ".toast"):
                self.assertLess(bottom, composer[1])

    def test_a_toast_is_above_a_dialog(self):
        bob = self.browser(BOB)
        bob.click("Help and keys")
        bob.module("(await import('/console/notice.js')).toast('Seen')")
        self.assertTrue(bob.driver.execute_script("return document.querySelector('#toasts').matches(':popover-open')"))

    # The menu of a message

    def test_a_right_click_opens_the_menu(self):
        alice, bob = self.two_people()
        text = f"Old words {token()}"
        bob.write(text)
        self.right_click(bob, text)
        self.assertEqual(self.menu(bob), ["Reply", "React", "Edit", "Copy text", "Pin", "Delete"])
        self.assertEqual(self.focused(bob, "active.innerText"), "Reply")
        # A click outside closes the menu.
        bob.one(".thread-head").click()
        self.no_menu(bob)
        alice.focus_on(text)
        alice.press(Keys.SPACE)
        self.assertEqual(
            self.menu(alice), ["Reply", "React", "Copy text", "Pin", f"About {name_of(BOB)}", "Report…"])

    def test_the_menu_edits_and_deletes(self):
        alice, bob = self.two_people()
        old, new = f"Seven {token()}", f"Eight {token()}"
        bob.write(old)
        self.right_click(bob, old)
        bob.one(".message-menu [data-action=edit]").click()
        bob.until(lambda: self.focused(bob, "active.value") == old, "the text to edit")
        bob.one("#compose").send_keys(Keys.CONTROL, "a")
        bob.write(new)
        seq = alice.sees(new).get_attribute("data-seq")
        bob.focus_on(new)
        bob.press(Keys.SPACE)
        self.menu(bob)
        bob.press(Keys.END, Keys.ENTER)
        bob.one("dialog[open]")
        bob.press(Keys.ENTER)
        alice.until(lambda: "deleted" in alice.one(f".message[data-seq='{seq}']").text, "a tombstone")
        bob.until(lambda: "deleted" in bob.one(f".message[data-seq='{seq}']").text, "a tombstone")
        self.assertEqual(self.focused(bob, "active.dataset.seq"), seq)

    def test_the_menu_copies_text(self):
        bob = self.browser(BOB)
        bob.open(name_of(ALICE))
        text = f"Copy me {token()}"
        bob.write(text)
        bob.grant("clipboardReadWrite", "clipboardSanitizedWrite")
        bob.focus_on(text)
        bob.press(Keys.SPACE)
        self.menu(bob)
        bob.one(".message-menu [data-action=copy]").click()
        bob.until(lambda: "Copied." in bob.texts(".toast"), "that it is copied")
        self.assertEqual(bob.module("return navigator.clipboard.readText()"), text)
        self.assertIn(text, self.focused(bob, "active.innerText"), "the focus on the message again")

    def test_escape_closes_only_the_menu(self):
        bob = self.browser(BOB)
        bob.open(name_of(ALICE))
        text = f"Stay {token()}"
        bob.write(text)
        bob.focus_on(text)
        bob.press(Keys.SPACE)
        self.menu(bob)
        bob.press(Keys.ESCAPE)
        self.no_menu(bob)
        self.assertIn(text, self.focused(bob, "active.innerText"))

    def test_a_long_press_opens_the_menu_on_a_phone(self):
        bob = self.browser(BOB, width=390, height=844, is_phone=True)
        bob.open(name_of(ALICE))
        text = f"Press me {token()}"
        bob.one("#compose").send_keys(text)
        bob.click("Send")
        box = bob.sees_sent(text).find_element(By.CSS_SELECTOR, ".bubble").rect
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        bob.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at]})
        self.assertEqual(self.menu(bob), ["Reply", "React", "Edit", "Copy text", "Pin", "Delete"])
        bob.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        self.assertEqual(len(self.menu(bob)), 6, "it stays open")
        for left, top, right, bottom in self.rects(bob, ".message-menu, .message-menu [role=menuitem]"):
            self.assertGreaterEqual(left, 0)
            self.assertLessEqual(right, 390)
            self.assertGreaterEqual(bottom - top, 44)
        bob.one(".message-menu [data-action=edit]").click()
        bob.one(".edit-banner")
        self.assertEqual(bob.one("#compose").get_attribute("value"), text)

    # The keyboard

    def test_the_composer_has_the_focus_as_soon_as_the_title_is_shown(self):
        bob = self.browser(BOB)
        # A row from the server may redraw the page before this event.
        bob.driver.execute_script(
            "addEventListener('hashchange', (event) => event.stopImmediatePropagation(), true)")
        bob.click_on(lambda: bob.row(ALPS), "the conversation")
        alice = self.browser(ALICE)
        alice.open(name_of(BOB))
        alice.write(f"Draws the page {token()}")
        bob.until(lambda: bob.title() == ALPS, "the title")
        self.assertEqual(self.focused(bob, "active.id"), "compose")

    def test_a_row_that_moves_keeps_the_focus(self):
        alice = self.browser(ALICE)
        alice.open(ALPS)
        alice.write(f"The newest {token()}")
        alice.until(lambda: ALPS in alice.texts(".list-scroller .row-title")[0], "the group at the top")
        bob = self.browser(BOB)
        row = bob.row(name_of(ALICE))
        bob.driver.execute_script("arguments[0].focus()", row)
        key = row.get_attribute("data-id")
        alice.open(name_of(BOB))
        alice.write(f"Moves a row {token()}")
        bob.until(lambda: bob.all(".list-scroller .row")[0].get_attribute("data-id") == key, "the row at the top")
        self.assertEqual(self.focused(bob, "active.dataset.id"), key)

    def test_few_tab_presses_reach_the_composer(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        self.assertGreater(len(bob.all(".message")), 3)
        bob.driver.execute_script("document.querySelector('.mute .icon-button').focus()")
        stops = []
        while self.focused(bob, "active.id") != "compose":
            bob.press(Keys.TAB)
            stops.append(self.focused(bob, "active.id || active.className"))
            self.assertLessEqual(len(stops), 5, stops)
        self.assertEqual(sum("message" in each for each in stops), 1, stops)

    def test_each_list_is_one_tab_stop(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        for css in (".list-scroller", ".thread-scroller"):
            stops = bob.driver.execute_script("""
                return [...document.querySelector(arguments[0]).querySelectorAll('*')].filter((each) => {
                    return each.tabIndex >= 0 && each.offsetParent
                }).length""", css)
            self.assertEqual(stops, 1, css)
        self.assertEqual(bob.one(".rows .row[tabindex='0']").get_attribute("aria-current"), "true")

    def test_arrow_keys_home_and_end_move_between_messages(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        order = bob.driver.execute_script(
            "return [...document.querySelectorAll('.message')].map((each) => each.dataset.key)")
        bob.driver.execute_script("document.querySelector('.message[tabindex=\"0\"]').focus()")
        for key, at in ((Keys.ARROW_UP, -2), (Keys.ARROW_UP, -3), (Keys.ARROW_DOWN, -2), (Keys.END, -1), (Keys.HOME, 0)):
            bob.press(key)
            self.assertEqual(self.focused(bob, "active.dataset.key"), order[at], key)
        bob.one("#compose").click()
        bob.write(f"The newest {token()}")
        bob.until(lambda: bob.all(".message")[-1].get_attribute("tabindex") == "0", "Tab enters at the newest")

    # Drafts

    def test_a_draft_survives_another_conversation_and_a_reload(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        draft = f"Half a thought {token()}"
        bob.one("#compose").send_keys(draft)
        bob.open(name_of(ALICE))
        self.assertEqual(bob.one("#compose").get_attribute("value"), "")
        self.assertIn(f"Draft: {draft}", bob.row(ALPS).text)
        bob.driver.refresh()
        bob.open(ALPS)
        bob.until(lambda: bob.one("#compose").get_attribute("value") == draft, "the draft")
        bob.one("#compose").send_keys(Keys.ENTER)
        bob.sees_sent(draft)
        bob.driver.refresh()
        bob.sees_sent(draft)
        self.assertEqual(bob.one("#compose").get_attribute("value"), "")

    def test_deletes_drafts_at_sign_out(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        bob.one("#compose").send_keys("A secret")
        bob.until(lambda: any("A secret" in text for text in bob.stored("draft")), "the draft stored")
        bob.click("Settings")
        bob.click("Sign out")
        bob.one(".sign-in-panel")
        self.assertEqual(bob.stored("draft"), [])
        bob.sign_in(BOB)
        bob.open(ALPS)
        self.assertEqual(bob.one("#compose").get_attribute("value"), "")

    # Links

    def test_finds_links_in_text(self):
        browser = self.browser()
        browser.load()
        found = browser.module("""
            const { tokenize } = await import('/console/links.js')
            return given[0].map((text) => {
                const parts = tokenize(text)
                const isWhole = parts.map((part) => part.text).join('') === text
                return isWhole && parts.filter((part) => part.href).map((part) => [part.text, part.href])
            })""", [text for text, _ in LINKS])
        for (text, expected), links in zip(LINKS, found):
            self.assertEqual(links, [list(each) for each in expected], text[:100])

    def test_removes_punctuation_after_links_in_linear_time(self):
        browser = self.browser()
        browser.load()
        # A quadratic search would take longer than a script may.
        link = "https://example.com/" + "." * 1_000_000 + "x"
        found = browser.module("""
            const { tokenize } = await import('/console/links.js')
            return tokenize(given[0]).map((part) => part.href?.length)""", link + "." * 1_000_000)
        self.assertEqual(found, [len(link), None])

    def test_a_link_opens_without_its_opener(self):
        bob = self.browser(BOB)
        bob.open(name_of(ALICE))
        mark = token()
        bob.write(f"(www.example.com/{mark}) or bob@example.com")
        row = bob.sees_sent(mark)
        links = [(each.get_attribute("href"), each.get_attribute("rel"), each.get_attribute("target"))
                 for each in row.find_elements(By.CSS_SELECTOR, ".text a")]
        self.assertEqual(links, [
            (f"https://www.example.com/{mark}", "noopener noreferrer", "_blank"),
            ("mailto:bob@example.com", "noopener noreferrer", "_blank")])
        # Links are not tab stops, so the menu contains them.
        bob.focus_on(mark)
        bob.press(Keys.SPACE)
        self.assertEqual(self.menu(bob)[4:6], [f"Open www.example.com/{mark}", "Open bob@example.com"])

    # The divider

    def test_the_divider_disappears_after_the_users_reply(self):
        alice, bob = self.browser(ALICE), self.browser(BOB)
        alice.open(name_of(BOB))
        bob.open(name_of(ALICE))
        bob.write(f"Before {token()}")
        bob.until(lambda: not bob.all(".message.pending"), "nothing on its way")
        bob.open(ALPS)
        text = f"News {token()}"
        alice.write(text)
        bob.until(lambda: text in bob.row(name_of(ALICE)).text, "the news in the list")
        bob.open(name_of(ALICE))
        bob.sees(text)
        bob.one(".new-mark")
        bob.write(f"Reply {token()}")
        bob.until(lambda: not bob.all(".new-mark"), "no divider")

    # Sizes

    def test_targets_are_large_enough_for_touch(self):
        bob = self.browser(BOB, width=390, height=844, is_phone=True)

        def small(root):
            return bob.driver.execute_script("""
                return [...document.querySelectorAll(`${arguments[0]} :is(button, input, textarea, select)`)].filter(
                    (each) => each.checkVisibility() && each.type !== 'file').map((each) => {
                    const { width, height } = each.getBoundingClientRect()
                    return [each.className || each.ariaLabel, width, height]
                }).filter(([, width, height]) => width < 43.5 || height < 43.5)""", root)
        bob.one(".list .row")
        self.assertEqual(small(".list"), [])
        psql("""insert into public.messages (conversation_id, sender_id, content)
                select c.id, p.id, 'From Carol' from public.conversations c, public.user_profiles p
                 where c.title = :'title' and p.username = 'carol'""", title=ALPS)
        # The message moves the conversation to the top of the list.
        bob.until(lambda: "From Carol" in bob.row(ALPS).text, "the message in the list")
        bob.open(ALPS)
        bob.one(".chip-button")
        text = f"Mine {token()}"
        bob.one("#compose").send_keys(text)
        bob.click("Send")
        bob.sees_sent(text)
        self.assertEqual(small(".thread"), [])
        bob.focus_on(text)
        bob.press("e")
        bob.one(".edit-banner")
        self.assertEqual(small(".thread"), [])
        bob.focus_on(text)
        bob.press("r")
        answer = f"A reply {token()}"
        bob.one("#compose").send_keys(answer)
        bob.click("Send")
        bob.one(".quote")
        bob.focus_on(answer)
        bob.press("+")
        bob.one(".reaction-choice")
        self.assertEqual(small(".thread"), [])
        bob.press(Keys.ENTER)
        bob.one(".reaction.own")
        self.assertEqual(small(".thread"), [])

    # Streams

    def call(self, user, function, text, text_so_far=""):
        """Calls a function of a message that streams, in the conversation of Alice and Bob."""
        return psql(
            "begin; select set_config('request.jwt.claims', json_build_object('sub', id)::text, true) from auth.users "
            "where email = :'user'; "
            f"select {function} from public.conversations c "
            "where c.kind = 'direct' and c.participant1_id in (select id from auth.users where email in (:'a', :'b')) "
            "and c.participant2_id in (select id from auth.users where email in (:'a', :'b')); commit",
            user=user, a=ALICE, b=BOB, text=text, start=len(text_so_far)).splitlines()[-1]

    def test_a_message_that_streams_grows(self):
        alice, bob = self.two_people()
        first, second = f"Once {token()}", f" upon a time {token()}"
        self.call(BOB, "api.stream_message(c.id)", "")
        alice.one(".message.streaming")
        append = "api.append_to_message(c.id, c.last_seq, :start, :'text')"
        self.call(BOB, append, first)
        alice.sees(first)
        alice.until(lambda: first in alice.row(name_of(BOB)).text, "the text in the list")
        self.call(BOB, append, second, first)
        for browser in (alice, bob):
            browser.sees(first + second)
            browser.one(".message.streaming")
        self.call(BOB, "api.finish_message(c.id, c.last_seq)", "")
        for browser in (alice, bob):
            browser.until(lambda: not browser.all(".message.streaming"), "the end")
            self.assertNotIn("edited", browser.sees(first + second).text)

if __name__ == "__main__":
    unittest.main(verbosity=2)
