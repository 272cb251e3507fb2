"""Chromiums that are started once and used by many tests, one after another.

A test gets a browser context of its own: a profile in memory that shares no cookie, storage, cache, permission or
worker with another, and that is deleted with all its windows after the test.
"""

import asyncio
import atexit
import json
import shutil
import urllib.request

import websockets
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

# The microphone is one that beeps. A page still needs the permission for it.
ARGUMENTS = [
    "headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars",
    "use-fake-device-for-media-stream",
]
UNUSED = [
    "AcceptCHFrame", "BackForwardCache", "HttpsUpgrades", "InterestFeedContentSuggestions", "LensOverlay",
    "MediaRouter", "OptimizationGuideModelDownloading", "OptimizationHints", "OptimizationTargetPrediction",
    "PrivacySandboxSettings4", "SpareRendererForSitePerProcess", "Translate", "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup", "WebUIOmniboxPopup",
]
"""Features of Chromium that are disabled: pages of its own user interface, services that the console never uses, and a
process for the next page, which the test would not open."""


class Chromium:
    """A headless Chromium and its chromedriver."""

    _idle = {}
    """The Chromiums that no test uses now, by phone size."""

    @classmethod
    def take(cls, phone=None):
        """Returns a Chromium that no test uses, and starts one if there is none. `phone` is (width, height) or None."""
        idle = cls._idle.get(phone)
        return idle.pop() if idle else cls(phone)

    def __init__(self, phone):
        self._phone = phone
        self._context = {}
        self._past_windows = set()
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
        for argument in [*ARGUMENTS, f"disable-features={','.join(UNUSED)}"]:
            options.add_argument(f"--{argument}")
        if phone:
            metrics = {"width": phone[0], "height": phone[1], "pixelRatio": 2, "touch": True}
            options.add_experimental_option("mobileEmulation", {"deviceMetrics": metrics})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        address = self.driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
        with urllib.request.urlopen(f"http://{address}/json/version") as answer:
            endpoint = json.load(answer)["webSocketDebuggerUrl"]
        # This connection stays open, because the permissions end with the connection that granted them.
        self._loop = asyncio.new_event_loop()
        self._socket = self._loop.run_until_complete(self._connect(endpoint))
        atexit.register(self.quit)
        self._first_window = self.driver.current_window_handle

    def quit(self):
        atexit.unregister(self.quit)
        self._loop.run_until_complete(self._socket.close())
        self._loop.close()
        self.driver.quit()

    def open(self):
        """Opens a window in a new context, and directs the driver to it."""
        self._context = self._call("Target.createBrowserContext")
        self.open_window(newWindow=True)
        # Drops what the logs still have of earlier tests.
        for log in ("browser", "performance"):
            self.driver.get_log(log)

    def open_window(self, **options):
        """Opens a window or, without `newWindow=True`, a tab in the context, and directs the driver to it."""
        target = self._call(
            "Target.createTarget", url="about:blank", **self._context, **options)["targetId"]
        self.driver.switch_to.window(target)

    def close(self):
        """Deletes the context and its windows. Then another test may take this Chromium."""
        try:
            self._past_windows.update(self.driver.window_handles)
            self.driver.switch_to.window(self._first_window)
            self._call("Target.disposeBrowserContext", **self._context)
        except Exception:
            self.quit()
            raise
        self._idle.setdefault(self._phone, []).append(self)

    def grant(self, permissions, origin):
        """Grants permissions to an origin in the context."""
        self._call("Browser.grantPermissions", permissions=permissions, origin=origin, **self._context)

    def deny(self, permission, origin):
        """Denies a permission to an origin in the context."""
        self._call(
            "Browser.setPermission", permission={"name": permission}, setting="denied", origin=origin, **self._context)

    def events(self):
        """Returns the events of the context's windows since the last call."""
        entries = [json.loads(each["message"]) for each in self.driver.get_log("performance")]
        return [each["message"] for each in entries if each["webview"] not in self._past_windows]

    def _call(self, method, **params):
        """Calls a DevTools method of the browser: chromedriver offers only those of a page."""
        return self._loop.run_until_complete(self._exchange(json.dumps({"id": 0, "method": method, "params": params})))

    async def _connect(self, endpoint):
        return await websockets.connect(endpoint, max_size=None, ping_interval=None)

    async def _exchange(self, line):
        await self._socket.send(line)
        while "id" not in (answer := json.loads(await self._socket.recv())):
            pass
        if "error" in answer:
            raise RuntimeError(f"{line}: {answer['error']}")
        return answer["result"]
