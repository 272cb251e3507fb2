"""Voice messages: recording and playing them."""

import base64
import json
import unittest

from selenium.webdriver.common.keys import Keys

from console_case import ALICE, ALPS, BOB, ConsoleCase, name_of, psql

RECORD, SEND, CANCEL = "Record a voice message", "Send the voice message", "Cancel the recording"


class VoiceTests(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.before = self.recordings()

    def recordings(self):
        """Returns the attachments of all voice messages, oldest first."""
        return [json.loads(line) for line in psql(
            "select attachment from public.messages where kind = 'audio' and attachment ? 'waveform' order by created_at"
        ).splitlines()]

    def record(self, browser, time="0:01"):
        """Records until the bar shows this time."""
        browser.grant("audioCapture")
        browser.click(RECORD)
        browser.until(lambda: browser.one(".voice-bar .voice-time").text >= time, f"{time} recorded")

    def assert_microphone_is_off(self, browser):
        browser.until(lambda: browser.driver.execute_script(
            "return streams.flatMap((stream) => stream.getTracks()).every(({ readyState }) => readyState === 'ended')"),
            "the microphone off")

    def watch_microphone(self, browser):
        """Keeps the streams of the microphone, which tell whether it is off."""
        browser.driver.execute_script("""
            window.streams = []
            const original = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
            navigator.mediaDevices.getUserMedia = async (...given) => {
                const stream = await original(...given)
                streams.push(stream)
                return stream
            }""")

    def offers(self, browser):
        return browser.one(".composer").find_element("css selector", ".microphone").is_displayed()

    def test_sends_a_recording_that_the_other_user_plays(self):
        alice, bob = self.two_people()
        self.watch_microphone(bob)
        self.record(bob, "0:02")
        self.assertFalse(bob.one(".voice-bar").find_elements("css selector", "textarea"))
        bob.press(Keys.ENTER)
        self.assert_microphone_is_off(bob)
        bob.one("#compose")
        alice.one(".card.voice")
        alice.until(lambda: len(self.recordings()) == len(self.before) + 1, "the message stored")
        recording = self.recordings()[-1]
        self.assertIn(recording["mime_type"], ("audio/webm", "audio/mp4"))
        self.assertTrue(2_000 <= recording["duration_ms"] < 300_000, recording)
        loudness = base64.b64decode(recording["waveform"])
        self.assertTrue(10 <= len(loudness) <= 128, loudness)
        # The fake microphone beeps each second.
        self.assertGreater(max(loudness), 100)
        self.assertLess(min(loudness), 30)
        shown = alice.texts(".card.voice .voice-time")[-1]
        self.assertRegex(shown, r"^\d:\d\d$")
        self.assertGreaterEqual(shown, "0:02")
        for browser in (alice, bob):
            # Also its sender plays it.
            browser.click("Play the voice message")
            browser.until(lambda: browser.driver.execute_script(
                "const audio = document.querySelector('.card.voice audio')\n"
                "return audio?.duration > 1.5 && audio.duration < 300 && audio.currentTime > 0"), "it to play")
            browser.one(".card.voice .played")
            # It ends, and can be played once more.
            browser.until(lambda: browser.driver.execute_script(
                "const audio = document.querySelector('.card.voice audio')\n"
                "return audio.paused && audio.currentTime === 0"), "its end")
            browser.one("[aria-label='Play the voice message']")
        self.assertRegex(alice.row(name_of(BOB)).text, r"Voice message($|\n)")

    def test_a_reply_may_be_a_voice_message(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        bob.driver.execute_script("[...document.querySelectorAll('.message[data-seq]')].at(-1).focus()")
        bob.press("r")
        bob.one(".edit-banner")
        self.record(bob)
        bob.click(SEND)
        bob.one(".message[data-seq] .quote ~ .card.voice")
        self.assertFalse(bob.one(".composer").find_element("css selector", ".edit-banner").is_displayed())

    def test_a_cancelled_recording_sends_nothing(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        self.watch_microphone(bob)
        for cancel in (lambda: bob.click(CANCEL), lambda: bob.press(Keys.ESCAPE)):
            self.record(bob)
            cancel()
            bob.one("#compose")
            self.assert_microphone_is_off(bob)
            self.assertEqual(bob.title(), ALPS)
        # Another conversation discards it too.
        self.record(bob)
        bob.open(name_of(ALICE))
        bob.one("#compose")
        self.assert_microphone_is_off(bob)
        self.assertEqual(bob.lines("media.create", out=True), [])
        self.assertEqual(self.recordings(), self.before)

    def test_a_recording_ends_after_five_minutes(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        self.watch_microphone(bob)
        self.record(bob)
        bob.driver.execute_script("""
            const original = performance.now.bind(performance)
            performance.now = () => original() + 5 * 60_000""")
        bob.one(".voice-bar.ended")
        self.assert_microphone_is_off(bob)
        self.assertIn("5:00\nThe longest possible", bob.one(".voice-bar").text)
        bob.click(SEND)
        bob.until(lambda: len(self.recordings()) == len(self.before) + 1, "the message stored")
        self.assertEqual(self.recordings()[-1]["duration_ms"], 300_000)

    def test_says_that_the_microphone_is_refused(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        bob.deny("microphone")
        bob.click(RECORD)
        bob.until(lambda: "This page may not use the microphone." in bob.one(".composer .form-error").text, "why")
        bob.one("#compose")

    def test_offers_no_recording_beside_a_text_or_without_a_microphone(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        bob.one(".microphone")
        bob.one("#compose").send_keys("a")
        bob.until(lambda: not self.offers(bob), "no offer")
        bob.press(Keys.BACKSPACE)
        bob.one(".microphone")
        # As without HTTPS.
        bob.driver.execute_script("delete Navigator.prototype.mediaDevices")
        bob.open(name_of(ALICE))
        self.assertFalse(self.offers(bob))


if __name__ == "__main__":
    unittest.main(verbosity=2)
