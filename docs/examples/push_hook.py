"""Takes Postline's pushes, checks each signature, and prints what it is told (docs/push.md, "Webhook").

    python3 push_hook.py SECRET [PORT]
"""

import hashlib
import hmac
import http.server
import json
import sys
import time


def is_genuine(secret: bytes, headers, body: bytes) -> bool:
    timestamp = headers.get("Postline-Timestamp", "0")
    signed = hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    is_fresh = timestamp.isdigit() and abs(time.time() - int(timestamp)) < 300
    return is_fresh and hmac.compare_digest("v1=" + signed, headers.get("Postline-Signature", ""))


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        genuine = is_genuine(sys.argv[1].encode(), self.headers, body)
        self.send_response(200 if genuine else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if genuine:
            told = json.loads(body)
            print(told["type"], told.get("device", {}).get("token", ""), json.dumps(told.get("push", {})), flush=True)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 8080
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Hook).serve_forever()
