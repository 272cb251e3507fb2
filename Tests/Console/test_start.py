"""The console's first page: every order in which its inputs arrive, and one-click sign-in."""

import itertools
import unittest

from console_case import ALICE, ALPS, ConsoleCase, token
from server import PROGRAM, fresh_world

GATES = """
    // Holds back what a gate is named after until the test opens it.
    {
        const gates = window.gates = {}
        const gate = (name) => new Promise((resolve) => { gates[name] = resolve })
        const paths = { '/console/config.json': 'config', '/console/icon.svg': 'policy', '/v1/server.info': 'info' }
        const { fetch, setTimeout, WebSocket } = window
        window.fetch = async (path, ...rest) => {
            if (paths[path]) await gate(paths[path])
            return fetch(path, ...rest)
        }
        window.setTimeout = (work, delay, ...rest) => {
            if (delay !== 2000) return setTimeout(work, delay, ...rest)
            gate('late').then(work)
        }
        window.WebSocket = class extends WebSocket {
            #gate = gate('socket')
            set onmessage(work) { super.onmessage = work && (async (event) => { await this.#gate; work(event) }) }
        }
    }
"""
COUNT_CLICKS = "addEventListener('click', (event) => { window.clicks = (window.clicks ?? 0) + event.isTrusted }, true)"


class StartTests(ConsoleCase):
    def on_every_page(self, browser, script):
        browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})

    def open_gates(self, browser, gates):
        """Opens gates one after another, each once it blocks an input and the page is drawn."""
        for name in gates:
            browser.until(lambda: browser.driver.execute_script("return arguments[0] in window.gates", name), name)
            browser.module("window.gates[given[0]](); await new Promise(requestAnimationFrame)", name)

    def test_every_order_of_inputs_ends_in_the_same_state(self):
        browser = self.browser()
        browser.load()
        outcomes = browser.module("""
            const { Start } = await import('/console/start.js')
            const permutations = (list) => list.length < 2 ? [list]
                : list.flatMap((each, at) => permutations(list.toSpliced(at, 1)).map((rest) => [each, ...rest]))
            const common = [{ config: { people: ['Ada'] } }, { features: ['mail'] }, {}, { isConfigLate: true }]
            const cases = {
                signed_out: [...common, { connection: 'signed_out' }],
                signed_in: [...common, { connection: 'live' }, { isLoaded: true }],
                offline: [...common, { connection: 'offline' }, { isLoaded: true }],
                loading: [...common, { connection: 'connecting' }],
            }
            return Object.entries(cases).map(([name, inputs]) => [name, inputs.length, [...new Set(
                permutations(inputs).map((order) => {
                    const start = new Start()
                    let drawn = 0
                    start.onChange = () => { drawn += 1 }
                    for (const input of order) start.receive(input)
                    return [start.state, start.people, start.hasMail, drawn].join()
                }))]])""")
        for name, count, seen in outcomes:
            self.assertEqual(seen, [f"{name},Ada,true,{count}"])

    def test_the_first_page_has_the_demo_accounts_in_every_order_of_answers(self):
        browser = self.browser()
        self.on_every_page(browser, GATES)
        for order in itertools.permutations(("config", "policy", "info", "late")):
            browser.load()
            self.assertEqual(browser.all(".person-button"), [])
            typed = ""
            for name in order:
                self.open_gates(browser, [name])
                if field := [each for each in browser.all("[name='email']") if each.is_displayed()]:
                    field[0].send_keys("a")
                    typed += "a"
            browser.until(lambda: len(browser.all(".person-button")) == 6, f"the demo accounts after {order}")
            browser.until(lambda: "Forgot password?" in browser.texts("button"), f"the link after {order}")
            self.assertEqual(browser.one("[name='email']").get_attribute("value"), typed, order)

    def test_a_reload_keeps_the_network_pane_in_every_order_of_answers(self):
        browser = self.browser(ALICE)
        self.on_every_page(browser, GATES)
        for order in itertools.permutations(("config", "policy", "info", "socket")):
            browser.driver.refresh()
            self.open_gates(browser, order)
            browser.until(lambda: browser.all(".shell.with-lines .line"), f"the network pane after {order}")
            browser.until(lambda: browser.all("#app[data-state='signed_in'] [data-id]"), f"conversations after {order}")

    def test_a_first_load_shows_the_demo_accounts(self):
        browser = self.browser()
        browser.load()
        browser.one(".person-button")

    def test_the_page_is_offline_without_a_connection(self):
        self.may_lose_connections = True
        alice = self.browser(ALICE)
        alice.one("#app[data-state='signed_in']")
        alice.cable.cut()
        alice.one("#app[data-state='offline']")
        alice.cable.mend()
        alice.one("#app[data-state='signed_in']")

    def choose(self, browser, name):
        browser.click_on(
            lambda: next((each for each in browser.all(".person-button") if name in each.text), None), name)

    def type_in_one_window(self, one, other):
        """Checks that text typed in one window appears in the other without a click."""
        text = f"Hello {token()}"
        with one:
            driver = one.browser.driver
            one.browser.until(
                lambda: driver.switch_to.active_element.get_attribute("id") == "compose", "a field to type in")
            one.browser.press(text, "\n")
        with other:
            other.browser.sees(text)

    @unittest.skipUnless(PROGRAM, "POSTLINE_TEST_PROGRAM is not set")
    def test_two_clicks_in_a_fresh_world_lead_to_a_conversation(self):
        url = fresh_world(self)
        for first, second in (("Alice", "Bob"), ("Bob", "Frank")):
            browser = self.browser(url=url)
            self.on_every_page(browser, COUNT_CLICKS)
            browser.load()
            one = Window(browser, browser.driver.current_window_handle)
            self.choose(browser, first)
            browser.one(".thread-title")
            other = Window(browser, browser.open_window("window"))
            self.on_every_page(browser, COUNT_CLICKS)
            browser.load()
            self.choose(browser, second)
            clicks = 0
            for window, partner in ((other, first), (one, second)):
                with window:
                    browser.until(lambda: browser.title().startswith(partner), f"{partner} in the other window")
                    clicks += browser.driver.execute_script("return window.clicks")
            self.assertEqual(clicks, 2)
            self.type_in_one_window(one, other)
            self.type_in_one_window(other, one)

    def test_two_clicks_in_two_browsers_lead_to_a_conversation(self):
        browsers = [self.browser(), self.browser()]
        for browser, name in zip(browsers, ("Carol", "Dave")):
            browser.load()
            self.choose(browser, name)
            browser.one(".thread-title")
        for browser, partner in zip(browsers, ("Dave", "Carol")):
            browser.until(lambda: browser.title().startswith(partner), f"{partner} in the other browser")
        one, other = (Window(each, each.driver.current_window_handle) for each in browsers)
        self.type_in_one_window(one, other)


    def test_a_duplicated_tab_has_the_same_user(self):
        alice = self.browser(ALICE)
        alice.open(ALPS)
        first = alice.driver.current_window_handle
        before = set(alice.driver.window_handles)
        # The new window gets a copy of the session storage, as a duplicate does.
        alice.driver.execute_script("open(location)")
        [second] = set(alice.driver.window_handles) - before
        for window in (second, first):
            alice.driver.switch_to.window(window)
            text = f"From both {token()}"
            alice.write(text)
            alice.sees_sent(text)


class Window:
    """A window of a browser, which is active inside a `with`."""

    def __init__(self, browser, handle):
        self.browser = browser
        self._handle = handle

    def __enter__(self):
        self.browser.driver.switch_to.window(self._handle)

    def __exit__(self, *_):
        pass


if __name__ == "__main__":
    unittest.main(verbosity=2)
