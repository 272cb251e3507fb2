"""Pictures of messages and avatars in the console."""

import os
import struct
import tempfile
import unittest
import zlib

from selenium.webdriver.common.keys import Keys

from console_case import ALICE, ALPS, BOB, ConsoleCase, message_count, name_of, psql, token

PICTURE = ".message .picture[data-media]"


def png(width, height, color=(200, 80, 40), noise=False):
    """Returns a PNG picture of one color, or of incompressible noise."""
    row = bytes(color) * width
    rows = b"".join(b"\0" + (os.urandom(3 * width) if noise else row) for _ in range(height))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


class PictureTests(ConsoleCase):
    def file(self, name, data):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = os.path.join(directory.name, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def drop(self, browser, css, path):
        """Drags a local file onto the element that `css` finds."""
        box = browser.one(css).rect
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + min(box["height"] / 2, 200)}
        data = {"items": [], "files": [path], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            browser.driver.execute_cdp_cmd("Input.dispatchDragEvent", {"type": kind, **place, "data": data})

    def send_shown(self, browser):
        """Sends the previewed pictures."""
        browser.one("dialog.preview")
        browser.press(Keys.ENTER)
        browser.until(lambda: not browser.all("dialog.preview"), "no preview")

    def choose(self, browser, *paths):
        browser.one(".attach")
        browser.driver.find_element("css selector", ".composer input[type=file]").send_keys("\n".join(paths))

    def paste(self, browser, name, type, script):
        """Pastes a file whose bytes a script of the page creates."""
        browser.driver.execute_script("""
            const [name, type, bytes] = [arguments[0], arguments[1], eval(arguments[2])]
            const data = new DataTransfer()
            data.items.add(new File([bytes], name, { type }))
            document.getElementById('compose').dispatchEvent(
                new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))""",
                                      name, type, script)

    def slow(self, browser, bytes_a_second):
        browser.driver.execute_cdp_cmd("Network.enable", {})
        browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {
            "offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": bytes_a_second})

    def pictures(self, browser):
        """Returns the id, state, width and height of each picture of the open conversation."""
        return browser.driver.execute_script(f"""
            return [...document.querySelectorAll('{PICTURE}')].map((each) => {{
                const image = each.querySelector('img')
                return [each.dataset.media, each.dataset.state, image.naturalWidth, image.naturalHeight]
            }})""")

    def sees_new_picture(self, browser, before, width, height):
        """Waits for a picture of this size that is not in `before`, and returns its id."""
        def found():
            now = [each for each in self.pictures(browser) if each[0] not in {one[0] for one in before}]
            return now and now[-1][1:] == ["shown", width, height] and now[-1][0]
        return browser.until(found, f"a picture of {width} × {height}")

    def remove_avatar(self, username):
        psql("update public.user_profiles set avatar_type = null, avatar_id = null, avatar_url = null"
             " where username = :'username'", username=username)

    def attachment(self, media):
        return psql("select mime_type || ' ' || width || ' ' || height from public.media"
                    " where id = :'id'", id=media).split()

    def test_shows_a_dropped_picture_to_the_other_user(self):
        alice, bob = self.two_people()
        before = self.pictures(alice)
        # The console reduces the longer side to 2,048 pixels.
        path = self.file("valley.png", png(3000, 1500, noise=True))
        self.slow(bob, 400_000)
        self.drop(bob, ".thread-scroller", path)
        self.send_shown(bob)
        bob.one(".message.pending progress[aria-label='Uploading valley.png']")
        parts = []

        def moving():
            parts.append(bob.driver.execute_script("return document.querySelector('.message.pending progress')?.value"))
            return parts[-1] is None or 0 < parts[-1] < 1
        bob.until(moving, "progress")
        self.assertIsNotNone(parts[-1], "the upload ended before its progress was shown")
        self.slow(bob, -1)
        media = self.sees_new_picture(alice, before, 2048, 1024)
        self.sees_new_picture(bob, before, 2048, 1024)
        self.assertEqual(self.attachment(media), ["image/jpeg", "2048", "1024"])
        bob.until(lambda: not bob.all(".message.pending"), "nothing on its way")
        self.assertEqual(bob.all(".dropping"), [])
        # The sender has the picture and does not request its URL.
        asked = [id for _, params in bob.lines("media.urls", out=True) for id in params["ids"]]
        self.assertNotIn(media, asked)
        image = alice.one(f".picture[data-media='{media}'] img")
        self.assertEqual(image.get_attribute("alt"), f"Picture by {name_of(BOB)}")

    def test_enlarges_and_closes_a_picture_by_keyboard(self):
        alice, bob = self.two_people()
        before = self.pictures(alice)
        self.choose(bob, self.file("small.png", png(640, 400)))
        self.send_shown(bob)
        media = self.sees_new_picture(alice, before, 640, 400)
        # A small picture is not converted.
        self.assertEqual(self.attachment(media)[0], "image/png")
        alice.driver.execute_script("arguments[0].focus()", alice.one(f".picture[data-media='{media}']"))
        alice.press(Keys.ENTER)
        alice.until(lambda: alice.driver.execute_script(
            "return document.querySelector('dialog[open] .large[data-state=shown] img')?.clientWidth") == 640,
                    "the enlarged picture")
        alice.press(Keys.ESCAPE)
        alice.until(lambda: not alice.all("dialog"), "no dialog")
        self.assertEqual(alice.driver.switch_to.active_element.get_attribute("data-media"), media)
        # The focused message opens it too.
        alice.driver.execute_script("arguments[0].closest('.message').focus()", alice.one(f"[data-media='{media}']"))
        alice.press(Keys.ENTER)
        alice.one("dialog[open] .large[data-state=shown]")

    def test_requests_the_urls_of_visible_pictures_in_one_call(self):
        alice, bob = self.two_people()
        for number in range(3):
            before = self.pictures(alice)
            self.choose(bob, self.file(f"{number}.png", png(80, 60, (number * 90, 90, 140))))
            self.send_shown(bob)
            self.sees_new_picture(alice, before, 80, 60)
        alice.driver.refresh()
        alice.open(name_of(BOB))
        alice.until(lambda: [each[1] for each in self.pictures(alice)[-3:]] == ["shown"] * 3, "three pictures")
        calls = alice.lines("media.urls", out=True)
        last = {each[0] for each in self.pictures(alice)[-3:]}
        self.assertEqual(sum(1 for _, params in calls if set(params["ids"]) >= last), 1)

    def test_sends_a_pasted_picture(self):
        alice, bob = self.two_people()
        before = self.pictures(alice)
        self.paste(bob, "image.png", "image/png", f"new Uint8Array({[*png(300, 200)]})")
        self.send_shown(bob)
        self.sees_new_picture(alice, before, 300, 200)

    def test_cancels_an_upload(self):
        bob = self.browser(BOB)
        bob.open(name_of(ALICE))
        newest = psql("select count(*) from public.messages")
        self.slow(bob, 20_000)
        self.drop(bob, ".thread-scroller", self.file("slow.png", png(900, 600, noise=True)))
        self.send_shown(bob)
        bob.one(".message.pending progress")
        bob.click("Cancel the upload")
        bob.until(lambda: not bob.all(".message.pending"), "nothing on its way")
        self.assertEqual(bob.driver.switch_to.active_element.get_attribute("id"), "compose")
        self.assertEqual(psql("select count(*) from public.messages"), newest)

    def test_resumes_an_interrupted_upload(self):
        self.may_lose_connections = True
        alice, bob = self.two_people()
        before = self.pictures(alice)
        self.slow(bob, 20_000)
        self.drop(bob, ".thread-scroller", self.file("tunnel.png", png(600, 500, noise=True)))
        self.send_shown(bob)
        bob.until(lambda: bob.driver.execute_script(
            "return document.querySelector('.message.pending progress')?.value > 0"), "progress")
        bob.cable.cut()
        bob.until(lambda: "One message waits" in bob.status(), "one pending message")
        self.slow(bob, -1)
        bob.cable.mend()
        self.sees_new_picture(alice, before, 600, 500)
        bob.until(lambda: not bob.all(".message.failed, .message.pending"), "nothing on its way")

    def test_retries_a_refused_upload_on_request(self):
        alice, bob = self.two_people()
        before = self.pictures(alice)
        bob.driver.execute_script("""
            window.plainOpen = XMLHttpRequest.prototype.open
            XMLHttpRequest.prototype.open = function () { plainOpen.call(this, 'GET', '/console/icon.svg/none') }""")
        self.choose(bob, self.file("refused.png", png(60, 50)))
        self.send_shown(bob)
        bob.until(lambda: bob.one(".message.failed .failure").text, "an error")
        self.assertTrue(bob.logged_errors())
        bob.driver.execute_script("XMLHttpRequest.prototype.open = plainOpen")
        bob.click("Try again")
        self.sees_new_picture(alice, before, 60, 50)

    def test_a_picture_chosen_offline_survives_a_reload(self):
        self.may_lose_connections = True
        alice, bob = self.two_people()
        before = self.pictures(alice)
        caption = f"From the tunnel {token()}"
        bob.cable.drop_responses()
        self.choose(bob, self.file("offline.png", png(90, 70)))
        bob.one("dialog.preview")
        bob.press(caption, Keys.ENTER)
        bob.until(lambda: bob.all(".message.pending"), "a pending picture")
        bob.until(lambda: len(bob.stored("change")) == 1, "the picture stored")
        bob.cable.cut()
        bob.cable.mend()
        bob.driver.refresh()
        media = self.sees_new_picture(alice, before, 90, 70)
        self.assertIn(caption, alice.one(f".message:has([data-media='{media}'])").text)
        bob.until(lambda: not bob.all(".message.failed, .message.pending"), "nothing on its way")
        bob.until(lambda: not bob.stored("change"), "nothing stored")
        self.assertEqual(message_count(caption), 1)

    def test_previews_pictures_with_a_caption(self):
        alice, bob = self.two_people()
        before = self.pictures(alice)
        draft, end = f"Two of us {token()}", " at noon"
        bob.one("#compose").send_keys(draft)
        self.choose(bob, *[self.file(f"{width}.png", png(width, 60)) for width in (71, 72, 73)])
        bob.until(lambda: len(bob.all(".preview-item img[src]")) == 3, "three pictures")
        self.assertEqual(bob.lines("media.create", out=True), [], "nothing is uploaded yet")
        bob.click("Remove 72.png")
        self.assertEqual(bob.driver.execute_script("return document.querySelector('.preview-caption').value"), draft)
        bob.one(".preview-caption").send_keys(end, Keys.ENTER)
        self.sees_new_picture(alice, before, 73, 60)
        self.assertEqual([each[2] for each in self.pictures(alice)[len(before):]], [71, 73])
        self.assertIn(draft + end, alice.texts(".message")[-1])
        self.assertEqual(bob.one("#compose").get_attribute("value"), "")
        # The caption can be changed and removed.
        bob.until(lambda: not bob.all(".message.pending"), "nothing on its way")
        bob.driver.execute_script("[...document.querySelectorAll('.message')].at(-1).focus()")
        bob.press("e")
        bob.until(lambda: bob.one("#compose").get_attribute("value") == draft + end, "the caption")
        bob.one("#compose").send_keys(Keys.CONTROL, "a")
        bob.one("#compose").send_keys(Keys.DELETE, Keys.ENTER)
        alice.until(lambda: draft not in alice.texts(".message")[-1], "no caption")

    def test_a_cancelled_preview_sends_nothing(self):
        bob = self.browser(BOB)
        bob.open(name_of(ALICE))
        draft = f"Not yet {token()}"
        bob.one("#compose").send_keys(draft)
        self.choose(bob, self.file("no.png", png(60, 60)))
        bob.one("dialog.preview")
        bob.press(Keys.ESCAPE)
        bob.until(lambda: not bob.all("dialog"), "no preview")
        self.assertEqual(bob.one("#compose").get_attribute("value"), draft)
        self.assertEqual(bob.all(".message.pending"), [])
        bob.one("#compose").send_keys(Keys.CONTROL, "a")
        bob.one("#compose").send_keys(Keys.DELETE)

    def test_draws_the_time_on_the_picture(self):
        alice, bob = self.two_people()
        before = self.pictures(alice)
        self.choose(bob, self.file("wide.png", png(300, 200)))
        self.send_shown(bob)
        media = self.sees_new_picture(alice, before, 300, 200)
        for browser in (alice, bob):
            inside, frame = browser.until(lambda: browser.driver.execute_script("""
                const picture = document.querySelector(`[data-media="${arguments[0]}"]`)
                if (!picture) return null
                const bubble = picture.closest('.bubble')
                const [a, b, c] = [picture, bubble.querySelector('.meta'), bubble].map(
                    (each) => each.getBoundingClientRect())
                return [b.left >= a.left && b.right <= a.right && b.top >= a.top && b.bottom <= a.bottom,
                    Math.max(c.width - a.width, c.height - a.height)]""", media), "the picture")
            self.assertTrue(inside)
            # The bubble has at most a thin border around it.
            self.assertLessEqual(frame, 2)

    def test_sends_files_as_one_message_to_download(self):
        alice, bob = self.two_people()
        self.drop(bob, ".thread-scroller", self.file("Überblick.pdf", b"%PDF-1.7 an overview"))
        self.assertIn("Send a file to", bob.one("dialog.preview").text)
        self.send_shown(bob)
        alice.until(lambda: "Überblick.pdf" in alice.texts(".message .card-name"), "the file")
        self.choose(bob, self.file("a.bin", bytes(5000)), self.file("sky.png", png(10, 10)))
        self.assertIn("Send 2 files to", bob.one("dialog.preview").text)
        self.send_shown(bob)
        alice.until(lambda: "a.bin" in alice.texts(".message .card-name"), "the other file")
        bob.until(lambda: not bob.all(".message.pending"), "nothing on its way")
        self.assertEqual(psql(
            "select kind || ' ' || content || ' ' || (attachment -> 'more' -> 0 ->> 'mime_type') from public.messages"
            " where attachment ->> 'name' = 'a.bin'"), "file a.bin image/png")
        # Its name is shown once, and the picture of the message is shown.
        row = alice.all(".message:has(button.card)")[-1]
        self.assertEqual(row.text.count("a.bin"), 1)
        # It is no caption.
        bob.driver.execute_script("[...document.querySelectorAll('.message:has(button.card)')].at(-1).focus()")
        bob.press("e")
        bob.one(".edit-banner")
        self.assertEqual(bob.one("#compose").get_attribute("value"), "")
        bob.one("#compose").send_keys("Zeroes", Keys.ENTER)
        alice.until(lambda: alice.all(".message:has(button.card)")[-1].text.count("Zeroes"), "the caption")
        row = alice.all(".message:has(button.card)")[-1]
        self.assertIn("a.bin", row.text)
        self.assertTrue(row.find_elements("css selector", ".picture"))
        asked = len(alice.lines("media.urls", out=True))
        alice.all("button.card")[-1].click()
        alice.until(lambda: len(alice.lines("media.urls", out=True)) > asked, "the URL to be asked for")

    def test_plays_audio_in_place(self):
        alice, bob = self.two_people()
        # A second of silence.
        data = bytes(8_000)
        head = b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack(
            "<IHHIIHH", 16, 1, 1, 8_000, 8_000, 1, 8) + b"data" + struct.pack("<I", len(data))
        self.choose(bob, self.file("tone.wav", head + data))
        self.send_shown(bob)
        alice.one("button.card[aria-label='Play tone.wav']")
        self.assertIn("0:01", alice.texts(".message .card-note")[-1])
        alice.one("button.card[aria-label='Play tone.wav']").click()
        alice.until(lambda: alice.driver.execute_script(
            "return document.querySelector('audio.player')?.duration") == 1, "the audio to load")

    def test_shows_the_first_frame_of_a_video_and_plays_it_by_keyboard(self):
        alice, bob = self.two_people()
        bob.module("""
            const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 180 })
            const context = canvas.getContext('2d')
            const recorder = new MediaRecorder(canvas.captureStream(), { mimeType: 'video/webm' })
            const recorded = new Promise((resolve) => { recorder.ondataavailable = ({ data }) => resolve(data) })
            recorder.start()
            for (let frame = 0; frame < 40; frame += 1) {
                context.fillStyle = `hsl(${frame * 9} 60% 50%)`
                context.fillRect(0, 0, 320, 180)
                await new Promise((resolve) => requestAnimationFrame(resolve))
            }
            recorder.stop()
            const data = new DataTransfer()
            data.items.add(new File([await recorded], 'colours.webm', { type: 'video/webm' }))
            document.getElementById('compose').dispatchEvent(
                new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))""")
        self.send_shown(bob)
        poster = alice.one(".poster[data-state='shown']")
        self.assertEqual(poster.get_attribute("aria-label"), "Play colours.webm")
        size = (poster.rect["width"], poster.rect["height"])
        self.assertEqual(size, (320, 180))
        alice.driver.execute_script("document.querySelector('.message:has(.poster)').focus()")
        alice.press(Keys.ENTER)
        alice.until(lambda: alice.driver.execute_script(
            "return document.querySelector('video.player')?.currentTime > 0"), "the video to play")
        rect = alice.one("video.player").rect
        self.assertEqual((rect["width"], rect["height"]), size)

    def test_a_file_is_never_shown_as_a_deleted_message_while_it_is_sent(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        self.slow(bob, 20_000)
        self.choose(bob, self.file("plan.bin", bytes(200_000)))
        self.send_shown(bob)
        bob.one(".message.pending progress")
        bob.until(lambda: "You: A file" in bob.row(ALPS).text, "the file in the list")
        bob.click("Cancel the upload")
        bob.until(lambda: not bob.all(".message.pending"), "cancelled")

    def test_reports_a_file_that_is_not_a_picture(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        self.drop(bob, ".thread-scroller", self.file("broken.png", b"no picture either"))
        bob.until(lambda: "“broken.png” cannot be read" in bob.one(".toast").text, "the reason")
        self.assertEqual(bob.all(".message.pending, .message.failed"), [])
        self.assertEqual(bob.lines("media.create", out=True), [])

    def test_reports_a_picture_that_is_too_large(self):
        bob = self.browser(BOB)
        bob.open(ALPS)
        self.paste(bob, "sky.png", "image/png", "new Uint8Array(41 * 2 ** 20)")
        bob.until(lambda: "“sky.png” is too large" in bob.one(".toast").text, "the reason")
        self.assertEqual(bob.lines("media.create", out=True), [])

    def test_shows_a_new_avatar_everywhere_at_once(self):
        self.remove_avatar("bob")
        self.addCleanup(self.remove_avatar, "bob")
        alice, bob = self.two_people()
        bob.write("Look at me")
        alice.sees("Look at me")
        bob.one(".me-button").click()
        self.drop(bob, "dialog[open]", self.file("me.png", png(900, 700, noise=True)))
        bob.one(".profile-preview .chip-picture")
        self.assertEqual(alice.all(".chip-picture"), [], "no avatar before it is saved")
        bob.click("Save")
        bob.until(lambda: not bob.all("dialog"), "the profile saved")
        for browser, places in ((bob, [".me-button"]), (alice, [".row", ".thread-title", ".message"])):
            for place in places:
                browser.until(lambda: browser.driver.execute_script(
                    "return [...document.querySelectorAll(arguments[0])].some((each) => each.naturalWidth === 512"
                    " && each.naturalHeight === 512)", f"{place} .chip-picture"), f"the picture in {place}")
        alice.one(".thread-title").click()
        alice.one("dialog .chip-large .chip-picture")
        alice.press(Keys.ESCAPE)
        # Replaces the avatar, then removes it.
        first = psql("select avatar_url from public.user_profiles where username = 'bob'")
        bob.one(".me-button").click()
        bob.driver.find_element("css selector", "dialog input[type=file]").send_keys(self.file("new.png", png(64, 64)))
        bob.until(lambda: bob.all("input[aria-label='Your new picture']:checked"), "the new one chosen")
        bob.click("Save")
        alice.until(lambda: alice.driver.execute_script(
            "return document.querySelector('.thread-title .chip-picture')?.naturalWidth") == 64, "the new one")
        self.assertNotEqual(psql("select avatar_url from public.user_profiles where username = 'bob'"), first)
        bob.one(".me-button").click()
        bob.driver.execute_script("arguments[0].click()", bob.all("input[aria-label='Your initial']")[0])
        bob.click("Save")
        for browser in (alice, bob):
            browser.until(lambda: not browser.all(".chip-picture"), "an initial")

    def test_does_not_fetch_pictures_of_other_origins(self):
        self.addCleanup(self.remove_avatar, "bob")
        psql("update public.user_profiles set avatar_type = 'custom', avatar_id = null,"
             " avatar_url = 'https://pictures.example.com/bob.jpg' where username = 'bob'")
        alice = self.browser(ALICE)
        alice.open(name_of(BOB))
        self.assertEqual(alice.all(".chip-picture"), [])

    def test_offers_no_pictures_if_the_server_has_none(self):
        bob = self.browser()
        bob.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
            const { get } = Object.getOwnPropertyDescriptor(MessageEvent.prototype, 'data')
            Object.defineProperty(MessageEvent.prototype, 'data', { get() {
                const data = get.call(this)
                const isHello = typeof data === 'string' && data.includes('"server.hello"')
                return isHello ? data.replace(/,?"media"/, '') : data
            } })"""})
        bob.sign_in(BOB)
        bob.open(name_of(ALICE))
        self.assertFalse(any(each.is_displayed() for each in bob.all(".attach")))
        # A dropped file does not replace the page either.
        self.drop(bob, ".thread-scroller", self.file("no.png", png(40, 40)))
        self.paste(bob, "no.png", "image/png", "new Uint8Array(40)")
        bob.one(".me-button").click()
        bob.one("dialog[open]")
        self.assertNotIn("Choose a picture", bob.one("dialog[open]").text)
        self.assertEqual(bob.all(".message.pending, .toast"), [])
        self.assertEqual(bob.lines("media.create", out=True) + bob.lines("media.urls", out=True), [])

    def test_requests_another_url_for_a_picture_that_does_not_load(self):
        alice = self.browser()
        alice.load()
        asked = alice.module("""
            const { Pictures } = await import('/console/pictures.js')
            const asked = []
            const pictureURL = async ({ media_id: id }, { renew }) => {
                asked.push([id, renew])
                return id === 'gone' ? null : renew ? '/console/icon.svg' : '/console/icon.svg/expired'
            }
            const pictures = new Pictures({ state: { name: 'live' }, pictureURL })
            const frames = ['late', 'gone'].map((id) => {
                const frame = document.createElement('div')
                frame.append(new Image())
                document.body.append(frame)
                pictures.watch(frame, { attachment: { media_id: id }, preview: null })
                return frame
            })
            while (frames.some((frame) => !frame.dataset.state)) await new Promise(requestAnimationFrame)
            return [...asked, frames.map((frame) => frame.dataset.state)]""")
        self.assertEqual(asked, [["late", False], ["gone", False], ["late", True], ["shown", "gone"]])
        self.assertEqual(len(alice.logged_errors()), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
