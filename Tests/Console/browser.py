"""A person at a browser: what a test does with the console, and what it sees there."""

import json
import shutil
import urllib.parse

from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException, NoSuchElementException, StaleElementReferenceException, TimeoutException)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from cable import Cable

PATIENCE = 240
"""The watchdog of every wait, in seconds: room for a busy machine, not a promise."""


class Browser:
    """A headless Chromium of its own, whose connections go through a cable of its own."""

    def __init__(self, url, width=1280, height=800, is_phone=False, is_dark=False):
        self._happened = []
        target = urllib.parse.urlsplit(url)
        self.cable = Cable(target.hostname, target.port or 80)
        self.origin = f"http://127.0.0.1:{self.cable.port}"
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
        for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
            options.add_argument(f"--{argument}")
        if is_phone:
            metrics = {"width": width, "height": height, "pixelRatio": 2, "touch": True}
            options.add_experimental_option("mobileEmulation", {"deviceMetrics": metrics})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = Service(shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(options=options, service=service)
        if not is_phone:
            self.driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def close(self):
        self.driver.quit()
        self.cable.close()

    # Waiting

    def until(self, condition, what):
        """Waits until `condition()` is true, and returns what it gave."""
        def holds(_):
            try:
                return condition()
            except (NoSuchElementException, StaleElementReferenceException):
                return False
        try:
            return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05).until(holds)
        except TimeoutException:
            page = self.driver.execute_script("return document.body.innerText")
            raise AssertionError(f"never: {what}\nlog: {self.complaints()}\npage: {page[:3000]}") from None

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def one(self, css):
        """The first that is to be seen of what `css` finds, once there is one."""
        def found():
            return next((each for each in self.all(css) if each.is_displayed()), None)
        return self.until(found, css)

    def texts(self, css):
        return self.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((each) => each.innerText)", css)

    # Doing

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def press_with_control(self, key):
        ActionChains(self.driver).key_down(Keys.CONTROL).send_keys(key).key_up(Keys.CONTROL).perform()

    def fill(self, name, text):
        """Replaces what stands in a field."""
        field = self.one(f"[name='{name}']")
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text)
        return field

    def click(self, label):
        """Clicks the button with that text or label, the topmost where there are more."""
        def found():
            for each in reversed(self.all("button, [role=tab]")):
                name = each.get_attribute("aria-label") or each.text
                if name == label and each.is_displayed() and each.is_enabled():
                    return each
            return None
        self.click_on(found, f"a button {label!r}")

    def click_on(self, find, what):
        """Clicks what is found; what was drawn anew, or came to lie below a dialog, between being found and being
        clicked is found again."""
        def clicked():
            element = find()
            if element is None:
                return False
            try:
                element.click()
            except ElementClickInterceptedException:
                return False
            return True
        self.until(clicked, what)

    def come(self):
        self.driver.get(self.origin + "/")

    def sign_in(self, email, password="postline-dev"):
        self.come()
        self.fill("email", email)
        self.fill("password", password).send_keys(Keys.ENTER)
        self.one(".me-button .row-title")

    def open(self, title):
        """Opens the conversation of that title."""
        self.click_on(lambda: self.row(title), f"a conversation {title!r}")
        self.until(lambda: self.title() == title, f"{title!r} open")

    def write(self, text):
        self.one("#compose").send_keys(text, Keys.ENTER)

    # Seeing

    def title(self):
        """What the open conversation is called; a tick for the verified may follow."""
        return self.one(".thread-title .row-title").text.split("\n")[0]

    def bubbles(self, text):
        """The rows of the open conversation in which that text stands."""
        return [each for each in self.all(".message") if text in each.text]

    def sees(self, text):
        return self.until(lambda: self.bubbles(text), f"{text!r} in the conversation")[0]

    def sees_sent(self, text):
        """The message has come to the server, and is told so."""
        def sent():
            rows = self.bubbles(text)
            return len(rows) == 1 and rows[0].get_attribute("data-seq") and rows[0]
        return self.until(sent, f"{text!r} sent")

    def status(self):
        shown = [each for each in self.all(".status") if each.is_displayed()]
        return shown[0].text if shown else ""

    def row(self, title):
        """The row of the conversation of that title."""
        def found():
            rows = self.all("[aria-label='Conversations'] .row")
            return next((each for each in rows if each.find_element(By.CSS_SELECTOR, ".row-title").text == title), None)
        return self.until(found, title)

    def has(self, title, css):
        """Whether the row of that title has something that `css` finds; it may be drawn anew meanwhile."""
        found = self.until(lambda: [self.row(title).find_elements(By.CSS_SELECTOR, css)], title)
        return bool(found[0])

    def subtitle(self):
        """What stands below the open conversation's title."""
        return self.one(".thread-title .row-preview").text

    def module(self, script, *arguments):
        """What `script` returns, which may `await import` the page's modules."""
        answer = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1]; const given = [...arguments].slice(0, -1);"
            f"(async () => {{ {script} }})()"
            ".then((value) => done({ value }), (error) => done({ error: String(error) }))",
            *arguments)
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["value"]

    def is_online(self):
        return self.driver.execute_script("return document.querySelector('.me-button') !== null") and not self.status()

    # What it did behind the page

    def _log(self, events):
        """The params of those of the browser's events that happened since it came, in their order."""
        self._happened += [json.loads(each["message"])["message"] for each in self.driver.get_log("performance")]
        return [each["params"] for each in self._happened if each["method"] in events]

    def requested(self):
        """The address of everything that the page asked for."""
        return [params["request"]["url"] if "request" in params else params["url"]
                for params in self._log(("Network.requestWillBeSent", "Network.webSocketCreated"))]

    def lines(self, method, *, out):
        """The params of the requests (`out`) or pushes with that method, each with the seconds at which it was."""
        found = []
        for each in self._log(("Network.webSocketFrameSent" if out else "Network.webSocketFrameReceived",)):
            if not each["response"]["payloadData"].startswith("{"):
                continue
            line = json.loads(each["response"]["payloadData"])
            if line.get("method") == method:
                found.append((each["timestamp"], line["params"]))
        return found

    def complaints(self):
        """The errors in the browser's log since the last call."""
        return [each["message"] for each in self.driver.get_log("browser") if each["level"] in ("SEVERE", "WARNING")]
