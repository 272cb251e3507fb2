"""URLs of other users' pictures and websites: those that the server accepts, and invalid ones of earlier versions."""

import json
import pathlib
import re

from console_case import ALICE, ALPS, BOB, ConsoleCase, name_of, psql, token

BAD = ["https://a:99999/x", "https://[/x", "https://%00/x", "https://1.2.3.4.5/x", "https://xn--/x", "https://a<b/x"]


def sql(text):
    return "'" + text.replace("'", "''") + "'"


class AddressTests(ConsoleCase):
    # A8
    def test_a_message_with_an_invalid_url_does_not_hide_others(self):
        mark = token()
        for place, url in enumerate(BAD):
            psql(f"""
                set session_replication_role = replica;
                with room as (
                    update public.conversations set last_seq = last_seq + 1, last_message_time = clock_timestamp()
                     where title = {sql(ALPS)} returning id, last_seq)
                insert into public.messages (conversation_id, seq, sender_id, kind, content, attachment, created_at)
                select room.id, room.last_seq, u.id, 'image', {sql(f"{mark} {place}")}, {sql(json.dumps({"url": url}))},
                       clock_timestamp()
                  from room, auth.users u where u.email = {sql(BOB)}""")
        alice = self.browser(ALICE)
        alice.open(ALPS)
        for place in range(len(BAD)):
            alice.sees(f"{mark} {place}")
        shown = alice.driver.execute_script("return document.querySelector('.thread').innerText")
        for url in BAD:
            # Some browsers parse some of these.
            if not alice.driver.execute_script("return URL.canParse(arguments[0])", url):
                self.assertIn(url, shown)
        alice.write(f"{mark} after")
        alice.sees_sent(f"{mark} after")

    # A8
    def test_shows_a_user_with_an_invalid_url(self):
        psql(f"""
            set session_replication_role = replica;
            update public.user_profiles p
               set avatar_type = 'custom', avatar_id = null, avatar_url = {sql(BAD[0])}, website = {sql(BAD[3])}
              from auth.users u where u.id = p.id and u.email = {sql(BOB)}""")
        try:
            alice = self.browser(ALICE)
            alice.open(name_of(BOB))
            alice.one(".thread-title").click()
            alice.until(lambda: any(BAD[0] in text for text in alice.texts(".facts dd")), "the URL as text")
        finally:
            psql("update public.user_profiles set avatar_type = null, avatar_id = null, avatar_url = null,"
                 " website = null from auth.users u where u.id = user_profiles.id and u.email = :'email'", email=BOB)

    # A8, F7
    def test_the_browser_parses_every_accepted_url(self):
        table = (pathlib.Path(__file__).parents[2] / "sql/tests/032_urls.sql").read_text()
        accepted = table[table.index("-- accepted"):table.index("-- end")]
        urls = [url.replace("''", "'") for url in re.findall(r"^    '((?:[^']|'')*)',?$", accepted, re.MULTILINE)]
        self.assertGreater(len(urls), 50)
        alice = self.browser(ALICE)
        refused = alice.driver.execute_script("return arguments[0].filter((url) => !URL.canParse(url))", urls)
        self.assertEqual(refused, [])
