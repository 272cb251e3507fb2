"""An identity token as Apple signs them, by a key of one's own, to try Sign in with Apple without Apple.

    python3 apple_token.py CLIENT_ID SUBJECT

prints a token for the app of that id. The key is made where there is none: apple.key and, for POSTLINE_APPLE_KEYS_FILE,
keys.json, in the current folder. It needs openssl, and nothing else.
"""

import base64
import json
import os
import secrets
import subprocess
import sys
import time


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, given=None):
    return subprocess.run(["openssl", *arguments], input=given, check=True, capture_output=True).stdout


if len(sys.argv) != 3:
    sys.exit("usage: python3 apple_token.py CLIENT_ID SUBJECT")
_, client_id, subject = sys.argv
if not os.path.exists("apple.key"):
    openssl("genrsa", "-out", "apple.key", "2048")
modulus = int(openssl("rsa", "-in", "apple.key", "-noout", "-modulus").split(b"=")[1], 16)
key = {"kty": "RSA", "kid": "own", "use": "sig", "alg": "RS256", "n": encoded(modulus.to_bytes(256, "big")), "e": "AQAB"}
with open("keys.json", "w") as file:
    json.dump({"keys": [key]}, file)

now = int(time.time())
claims = {
    "iss": "https://appleid.apple.com", "aud": client_id, "sub": subject, "iat": now, "exp": now + 600,
    "email": f"{subject}@privaterelay.appleid.com", "email_verified": "true", "jti": secrets.token_hex(8),
}
signed = ".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "own"}, claims))
signature = openssl("dgst", "-sha256", "-sign", "apple.key", given=signed.encode())
print(f"{signed}.{encoded(signature)}")
