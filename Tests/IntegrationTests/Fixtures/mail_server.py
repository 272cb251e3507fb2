"""A mail server for the tests, by aiosmtpd. It writes each event to standard output as a line of JSON.

The local part of the recipient selects the response:

    refused…      550 to the recipient          rejected…  554 to the mail
    greylisted…   451 at first, then accepted   quoting…   550 with the address
    slow…         accepted after two seconds    stuck…     no response
    lost…         the connection ends before the response at first; then accepted
"""

import argparse
import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

options = argparse.ArgumentParser()
options.add_argument("--port", type=int, default=0)
options.add_argument("--certificate", nargs=2, metavar=("CERTIFICATE", "KEY"))
options.add_argument("--encrypted", choices=["never", "offered", "required", "always"], default="never")
options.add_argument("--user")
options.add_argument("--password")
options.add_argument("--sender", help="the response to every sender, instead of 250")
options.add_argument("--greeting", help="the greeting, instead of 220")
options = options.parse_args()


def say(**event):
    print(json.dumps(event), flush=True)


class Handler:
    tries = {}

    def first_time(self, address):
        self.tries[address] = self.tries.get(address, 0) + 1
        return self.tries[address] == 1

    async def handle_MAIL(self, server, session, envelope, address, mail_options):
        if options.sender:
            return options.sender
        envelope.mail_from = address
        envelope.mail_options.extend(mail_options)
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        say(event="recipient", to=address)
        if address.startswith("refused"):
            return "550 5.1.1 there is nobody of that name"
        if address.startswith("quoting"):
            return f"550 5.1.1 <{address}>: there is nobody of that name"
        if address.startswith("greylisted") and self.first_time(address):
            return "451 4.7.1 greylisted: come again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        to = envelope.rcpt_tos[0]
        if to.startswith("rejected"):
            return "554 5.7.1 this is not wanted"
        if to.startswith("lost") and self.first_time(to):
            say(event="lost", to=to)
            server.transport.abort()
            return "421 4.3.0 lost"
        if to.startswith("stuck"):
            say(event="stuck", to=to)
            await asyncio.sleep(3600)
        if to.startswith("slow"):
            await asyncio.sleep(2)
        say(event="mail", to=to, sender=envelope.mail_from, data=envelope.content.decode("utf-8"),
            encrypted=session.ssl is not None or options.encrypted == "always",
            user=getattr(session.auth_data, "login", b"").decode() if session.auth_data else None)
        return "250 2.0.0 taken"


def authenticate(server, session, envelope, mechanism, data):
    good = data.login == (options.user or "").encode() and data.password == (options.password or "").encode()
    return AuthResult(success=good, handled=False, auth_data=data)


async def main():
    context = None
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*options.certificate)
    starts = options.encrypted in ("offered", "required")
    handler = Handler()

    class Server(SMTP):
        async def push(self, status):
            # The first that is said.
            if options.greeting and str(status).startswith("220 ") and not self.greeted:
                status = options.greeting
            self.greeted = True
            await super().push(status)

        greeted = False

    server = await asyncio.get_running_loop().create_server(
        lambda: Server(
            handler, hostname="mail.example.com", ident="tests", enable_SMTPUTF8=True,
            tls_context=context if starts else None, require_starttls=options.encrypted == "required",
            authenticator=authenticate if options.user else None, auth_required=options.user is not None,
            auth_require_tls=options.encrypted != "always", loop=asyncio.get_running_loop()),
        "127.0.0.1", options.port, ssl=context if options.encrypted == "always" else None)
    say(event="serving", port=server.sockets[0].getsockname()[1])
    # Until whoever started it is gone.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
