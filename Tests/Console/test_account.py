"""The settings of the console: password, address, sessions and deletion of an account."""

import unittest

from selenium.webdriver.common.keys import Keys

from console_case import ALICE, CAROL, ConsoleCase, psql, token
from server import PROGRAM, SETTINGS, mailed_tokens, node_without_mail

PASSWORD = "a long password"


class AccountTests(ConsoleCase):
    def new_account(self):
        """Registers an account, and returns its signed-in browser and its address."""
        address = f"account-{token()}@example.com"
        browser = self.browser()
        browser.load()
        browser.click("Register")
        browser.fill("full_name", "Robin Ray")
        browser.fill("email", address)
        browser.fill("password", PASSWORD).send_keys(Keys.ENTER)
        browser.one(".me-button .row-title")
        browser.until(browser.is_online, "the connection")
        return browser, address

    def sign_out(self, browser):
        browser.click("Settings")
        browser.click("Sign out")
        browser.one(".sign-in-panel")

    def token_of(self, browser, address, count):
        """Waits until an address has this number of mails, and returns the token of the last."""
        return browser.until(lambda: len(found := mailed_tokens(address)) >= count and found[count - 1], "the mail")

    def sees_toast(self, browser, text):
        browser.until(lambda: any(text in each for each in browser.texts(".toast")), text)

    @unittest.skipUnless(SETTINGS, "POSTLINE_TEST_SETTINGS is not set")
    def test_resets_a_forgotten_password_with_a_mailed_code(self):
        browser, address = self.new_account()
        self.token_of(browser, address, 1)
        self.sign_out(browser)
        browser.fill("email", address)
        browser.click("Forgot password?")
        self.assertEqual(browser.one("[name='email']").get_attribute("value"), address)
        browser.click("Send the mail")
        code = self.token_of(browser, address, 2)
        browser.fill("token", "0" * 64)
        browser.fill("password", "a new password")
        browser.click("Set the password and sign in")
        browser.until(lambda: browser.one(".field-error").text, "the code rejected")
        browser.fill("token", code)
        browser.click("Set the password and sign in")
        browser.one(".me-button")
        self.sign_out(browser)
        browser.sign_in(address, "a new password")

    @unittest.skipUnless(SETTINGS, "POSTLINE_TEST_SETTINGS is not set")
    def test_a_mailed_link_opens_the_page_for_a_new_password(self):
        browser, address = self.new_account()
        self.token_of(browser, address, 1)
        self.sign_out(browser)
        browser.click("Forgot password?")
        browser.fill("email", address).send_keys(Keys.ENTER)
        code = self.token_of(browser, address, 2)
        other = self.browser()
        other.driver.get(f"{other.origin}/#kind=reset_password&token={code}")
        other.fill("password", "a new password")
        self.assertNotIn(code, other.driver.current_url)
        other.click("Set the password and sign in")
        other.until(lambda: "Robin Ray" in other.one(".me-button").text, "signed in")

    @unittest.skipUnless(SETTINGS, "POSTLINE_TEST_SETTINGS is not set")
    def test_a_mailed_link_confirms_an_address(self):
        browser, address = self.new_account()
        code = self.token_of(browser, address, 1)
        other = self.browser()
        other.driver.get(f"{other.origin}/#kind=confirm_email&token={code}")
        other.click("Confirm the address")
        other.until(lambda: address in other.one(".sign-in-note").text, "the confirmation")
        self.assertEqual(
            psql("select email_confirmed_at is not null from auth.users where email = :'email'", email=address), "t")
        # A signed-in user gets a dialog. The token works only once.
        browser.driver.execute_script("location.hash = arguments[0]", f"kind=confirm_email&token={code}")
        browser.click("Confirm the address")
        browser.until(lambda: browser.one(".field-error").text, "the used code rejected")

    @unittest.skipUnless(SETTINGS, "POSTLINE_TEST_SETTINGS is not set")
    def test_changes_the_address_with_a_mailed_code(self):
        browser, address = self.new_account()
        new = f"new-{address}"
        browser.click("Settings")
        browser.click("Change address…")
        browser.fill("email", new)
        browser.fill("password", "wrong")
        browser.click("Send the mail")
        browser.until(lambda: "password" in browser.one(".form-error, .field-error").text.lower(), "a wrong password")
        browser.fill("password", PASSWORD)
        browser.click("Send the mail")
        browser.fill("token", self.token_of(browser, new, 1))
        browser.click("Confirm the address")
        self.sees_toast(browser, f"{new} is confirmed")
        browser.until(lambda: new in browser.one(".dialog.settings").text, "the new address in the settings")
        browser.press(Keys.ESCAPE)
        browser.until(lambda: new in browser.one(".me-button").text, "the new address")

    def test_a_new_password_signs_out_other_sessions(self):
        browser, address = self.new_account()
        other = self.browser()
        other.sign_in(address, PASSWORD)
        other.until(other.is_online, "the connection")
        browser.click("Settings")
        browser.click("Change password…")
        browser.fill("current_password", "wrong")
        browser.fill("new_password", "short")
        browser.click("Change password")
        browser.until(lambda: "8 characters" in browser.one(".field-error").text, "the short password rejected")
        browser.fill("new_password", "a new password")
        browser.click("Change password")
        browser.until(lambda: "password" in browser.one(".form-error, .field-error").text.lower(), "a wrong password")
        browser.fill("current_password", PASSWORD)
        browser.click("Change password")
        self.sees_toast(browser, "Your password is changed. One other session was signed out.")
        other.until(lambda: other.one(".sign-in-note").text, "the reason")
        other.sign_in(address, "a new password")

    def test_signs_out_only_the_other_sessions(self):
        browser, address = self.new_account()
        others = [self.browser(), self.browser()]
        for other in others:
            other.sign_in(address, PASSWORD)
            other.until(other.is_online, "the connection")
        browser.click("Settings")
        browser.click("Sign out other sessions…")
        browser.fill("current_password", PASSWORD)
        browser.click("Sign out other sessions")
        self.sees_toast(browser, "2 other sessions were signed out.")
        for other in others:
            other.one(".sign-in-note")
        self.assertTrue(browser.is_online())

    def test_deletes_an_account_with_its_password(self):
        browser, address = self.new_account()
        browser.click("Settings")
        browser.click("Delete account…")
        browser.until(lambda: "cannot be undone" in browser.one(".callout.bad").text, "a warning")
        browser.fill("password", "wrong")
        browser.click("Delete my account")
        browser.until(lambda: "password" in browser.one(".form-error, .field-error").text.lower(), "a wrong password")
        browser.fill("password", PASSWORD)
        browser.click("Delete my account")
        browser.until(lambda: "deleted" in browser.one(".sign-in-note").text, "the deletion")
        browser.fill("email", address)
        browser.fill("password", PASSWORD).send_keys(Keys.ENTER)
        browser.until(lambda: browser.one(".form-error").text, "the sign-in rejected")

    def test_deletes_a_guest_without_a_password(self):
        guest = self.browser()
        guest.load()
        guest.click("Guest")
        guest.click("Continue as guest")
        guest.until(guest.is_online, "the connection")
        guest.click("Settings")
        guest.one(".dialog.settings")
        self.assertNotIn("Change password…", guest.texts(".dialog button"))
        guest.click("Delete account…")
        guest.click("Delete my account")
        guest.until(lambda: "deleted" in guest.one(".sign-in-note").text, "the deletion")

    @unittest.skipUnless(PROGRAM and SETTINGS, "POSTLINE_TEST_PROGRAM or POSTLINE_TEST_SETTINGS is not set")
    def test_hides_mail_features_if_the_server_sends_no_mail(self):
        browser = self.browser(url=node_without_mail(self))
        browser.sign_in(ALICE)
        browser.until(browser.is_online, "the connection")
        browser.click("Settings")
        browser.one(".dialog.settings")
        labels = browser.texts(".dialog button")
        self.assertIn("Change password…", labels)
        self.assertNotIn("Change address…", labels)
        browser.click("Sign out")
        browser.one(".sign-in-panel")
        self.assertFalse([each for each in browser.all("button") if each.is_displayed() and "Forgot" in each.text])

    @unittest.skipUnless(PROGRAM and SETTINGS, "POSTLINE_TEST_PROGRAM or POSTLINE_TEST_SETTINGS is not set")
    def test_names_the_contact_before_signing_in_and_to_a_suspended_user(self):
        browser = self.browser(url=node_without_mail(self, "--contact-url", "mailto:help@example.com"))
        browser.load()
        link = browser.one(".sign-in-contact a")
        self.assertEqual(link.text, "help@example.com")
        self.assertEqual(link.get_attribute("href"), "mailto:help@example.com")
        ban = "update auth.users set banned_until = {} where email = :'email'"
        psql(ban.format("'2999-12-31T12:00:00Z'"), email=CAROL)
        self.addCleanup(psql, ban.format("null"), email=CAROL)
        browser.fill("email", CAROL)
        browser.fill("password", "postline-dev")
        browser.press(Keys.ENTER)
        browser.until(lambda: "suspended until Tuesday 31 December 2999" in browser.one(".form-error").text, "why")
        self.assertIn("Contact: help@example.com", browser.one(".form-error").text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
