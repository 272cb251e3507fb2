"""A user's browser: the actions of a test on the console, and what it shows."""

import json
import time
import urllib.parse

from selenium.common.exceptions import (
    ElementClickInterceptedException, NoSuchElementException, StaleElementReferenceException, WebDriverException)
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from cable import Cable
from chromium import Chromium

TIMEOUT = 600
"""The watchdog of every wait, in seconds. It expires only if something hangs, even on a busy machine."""

FIND = """
const all = (css) => [...document.querySelectorAll(css)]
const textOf = (each) => each?.innerText.trim() ?? ''
const hasSize = (each) => each.getClientRects().length > 0 && (each.offsetWidth !== 0 && each.offsetHeight !== 0
    || [...each.childNodes].some((child) => child.nodeType === Node.TEXT_NODE || child.offsetWidth > 0))
const isShown = (each) => each.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && hasSize(each)
const conversation = (title) => all("[aria-label='Conversations'] .row").find(
    (row) => textOf(row.querySelector('.row-title')) === title)
"""
"""Functions of the scripts that find elements. One script replaces several calls of chromedriver per element."""

NEXT_CHANGE = """
const done = arguments[0]
const events = ['focusin', 'focusout', 'input', 'scroll', 'load', 'error', 'visibilitychange', 'toggle']
const end = () => {
    clearTimeout(timer)
    observer.disconnect()
    for (const event of events) removeEventListener(event, change, true)
    done()
}
// Changes that follow each other closely count as one.
const change = () => setTimeout(end, 20)
const timer = setTimeout(end, 150)
const observer = new MutationObserver(change)
observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
for (const event of events) addEventListener(event, change, true)
"""
"""Ends when the page changes, or after 150 ms."""

IS_STILL = """
const [element, done] = arguments
const place = () => {
    const { x, y } = element.getBoundingClientRect()
    return `${element.isConnected} ${x} ${y}`
}
const before = place()
requestAnimationFrame(() => requestAnimationFrame(() => done(place() === before)))
"""
"""Returns true if an element has not moved for two frames."""


class Browser:
    """A context in a headless Chromium, with its own cable to the server."""

    def __init__(self, url, width=1280, height=800, is_phone=False, is_dark=False):
        self._events = []
        target = urllib.parse.urlsplit(url)
        self.cable = Cable(target.hostname, target.port or 80)
        self.origin = f"http://127.0.0.1:{self.cable.port}"
        self._chromium = Chromium.take((width, height) if is_phone else None)
        self.driver = self._chromium.driver
        self._chromium.open()
        if not is_phone:
            self.driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        # The console then shows no animations, which would cost CPU and move what a test clicks.
        features = {"prefers-color-scheme": "dark" if is_dark else "light", "prefers-reduced-motion": "reduce"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": name, "value": value} for name, value in features.items()]})

    def close(self):
        try:
            self._chromium.close()
        finally:
            self.cable.close()

    def open_window(self, kind):
        """Opens another `window` or `tab`, and directs the driver to it. Returns its handle."""
        self._chromium.open_window(newWindow=kind == "window")
        return self.driver.current_window_handle

    def grant(self, *permissions):
        """Grants permissions to the console."""
        self._chromium.grant(permissions, self.origin)

    def deny(self, permission):
        """Denies a permission to the console."""
        self._chromium.deny(permission, self.origin)

    # Waiting

    def until(self, condition, what):
        """Waits until `condition()` is true, and returns its value."""
        def holds():
            try:
                return condition()
            except (NoSuchElementException, StaleElementReferenceException):
                return False
        end = time.monotonic() + TIMEOUT
        while not (value := holds()):
            if time.monotonic() > end:
                page = self.driver.execute_script("return document.body.innerText")
                raise AssertionError(f"never: {what}\nlog: {self.logged_errors()}\npage: {page[:3000]}")
            self._await_change()
        return value

    def _await_change(self):
        """Waits until the page changes, or 150 ms: the event that a test waits for may happen elsewhere."""
        try:
            self.driver.execute_async_script(NEXT_CHANGE)
        except WebDriverException:
            # The page was unloaded.
            pass

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def one(self, css):
        """Waits for a visible element that `css` finds, and returns it."""
        return self.until(lambda: self._find("all(arguments[0]).find(isShown)", css), css)

    def _find(self, expression, *arguments):
        """Returns the value of a JavaScript expression that uses the functions of FIND."""
        return self.driver.execute_script(f"{FIND}\nreturn {expression}", *arguments)

    def texts(self, css):
        return self.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((each) => each.innerText)", css)

    # Actions

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def press_with_control(self, key):
        ActionChains(self.driver).key_down(Keys.CONTROL).send_keys(key).key_up(Keys.CONTROL).perform()

    def fill(self, name, text):
        """Replaces the text of a field."""
        field = self.one(f"[name='{name}']")
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text)
        return field

    def click(self, label):
        """Clicks the button with this text or label, the last in the document if there are several."""
        self.click_on(lambda: self._find("""all("button, [role=tab]").findLast((each) => {
            return (each.ariaLabel || textOf(each)) === arguments[0] && isShown(each) && !each.matches(":disabled")
        })""", label), f"a button {label!r}")

    def click_on(self, find, what):
        """Clicks the element that `find` returns once it no longer moves. An element that is replaced or covered in the
        meantime is looked up again."""
        def clicked():
            element = find()
            if element is None or not self.driver.execute_async_script(IS_STILL, element):
                return False
            try:
                element.click()
            except ElementClickInterceptedException:
                return False
            return True
        self.until(clicked, what)

    def load(self):
        self.driver.get(self.origin + "/")

    def sign_in(self, email, password="postline-dev"):
        self.load()
        for name, text in (("email", email), ("password", password)):
            # Inserts the text without keys, which other tests press: a sign-in takes 1.1 s of CPU instead of 1.4 s.
            field = self.one(f"[name='{name}']")
            self.driver.execute_script("arguments[0].focus()\narguments[0].select()", field)
            self.driver.execute_cdp_cmd("Input.insertText", {"text": text})
        field.send_keys(Keys.ENTER)
        self.one(".me-button .row-title")

    def open(self, title):
        """Opens the conversation with this title."""
        self.click_on(lambda: self.row(title), f"a conversation {title!r}")
        self.until(lambda: self.title() == title, f"{title!r} open")

    def focus_on(self, text):
        """Focuses the message with this text once the server has it, and returns its `seq`."""
        return self.until(lambda: self._find("""(() => {
            const row = all('.message[data-seq]').find((each) => textOf(each).includes(arguments[0]))
            row?.focus()
            return row?.dataset.seq
        })()""", text), f"{text!r} sent")

    def write(self, text):
        self.one("#compose").send_keys(text, Keys.ENTER)

    # Contents

    def title(self):
        """Returns the title of the open conversation, without the mark of a verified user."""
        return self._text(".thread-title .row-title").split("\n")[0]

    def bubbles(self, text):
        """Returns the rows of the open conversation that contain a text."""
        return self._find("all('.message').filter((each) => textOf(each).includes(arguments[0]))", text)

    def sees(self, text):
        return self.until(lambda: self.bubbles(text), f"{text!r} in the conversation")[0]

    def sees_sent(self, text):
        """Waits until a message with this text is shown as sent, and returns its row."""
        return self.until(lambda: self._find("""(() => {
            const rows = all('.message').filter((each) => textOf(each).includes(arguments[0]))
            return rows.length === 1 && rows[0].dataset.seq ? rows[0] : null
        })()""", text), f"{text!r} sent")

    def status(self):
        return self._find("textOf(all('.status').find(isShown))")

    def row(self, title):
        """Returns the row of the conversation with this title."""
        return self.until(lambda: self._find("conversation(arguments[0])", title), title)

    def has(self, title, css):
        """Returns true if the row with this title has an element that `css` finds. The row may be redrawn meanwhile."""
        found = self.until(lambda: self._find(
            "[conversation(arguments[0])].filter(Boolean).map((row) => row.querySelector(arguments[1]) !== null)",
            title, css), title)
        return found[0]

    def subtitle(self):
        """Returns the text below the open conversation's title."""
        return self._text(".thread-title .row-preview")

    def _text(self, css):
        """Waits for a visible element that `css` finds, and returns its text."""
        return self.until(lambda: self._find("all(arguments[0]).filter(isShown).map(textOf)", css), css)[0]

    def module(self, script, *arguments):
        """Runs a script, which may `await import` the page's modules, and returns its result."""
        answer = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1]; const given = [...arguments].slice(0, -1);"
            f"(async () => {{ {script} }})()"
            ".then((value) => done({ value }), (error) => done({ error: String(error) }))",
            *arguments)
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["value"]

    def stored(self, table):
        """Returns the records of a table in the page's databases, as JSON."""
        return self.module("""
            const result = (request) => new Promise((resolve) => { request.onsuccess = () => resolve(request.result) })
            const found = []
            for (const { name } of await indexedDB.databases()) {
                const database = await result(indexedDB.open(name))
                found.push(...await result(database.transaction(given[0]).objectStore(given[0]).getAll()))
                database.close()
            }
            return found.map((each) => JSON.stringify(each))""", table)

    def is_online(self):
        return self.driver.execute_script("return document.querySelector('.me-button') !== null") and not self.status()

    # Network and log

    def _log(self, events):
        """Returns the params of these events since the browser was opened, in order."""
        self._events += self._chromium.events()
        return [each["params"] for each in self._events if each["method"] in events]

    def requested_urls(self):
        """Returns the URLs that the page has requested."""
        return [params["request"]["url"] if "request" in params else params["url"]
                for params in self._log(("Network.requestWillBeSent", "Network.webSocketCreated"))]

    def lines(self, method, *, out):
        """Returns the requests (`out`) or pushes with this method as pairs of time in seconds and params."""
        found = []
        for each in self._log(("Network.webSocketFrameSent" if out else "Network.webSocketFrameReceived",)):
            if not each["response"]["payloadData"].startswith("{"):
                continue
            line = json.loads(each["response"]["payloadData"])
            if line.get("method") == method:
                found.append((each["timestamp"], line["params"]))
        return found

    def logged_errors(self):
        """Returns the errors and warnings in the browser's log since the last call."""
        return [each["message"] for each in self.driver.get_log("browser") if each["level"] in ("SEVERE", "WARNING")]
