"""The compatibility endpoints, called by curl with each document's names."""

import datetime
import json
import unittest
import uuid

from support import *

MILLISECONDS = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"
SECONDS = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"
PROFILE = [
    "id", "user_id", "name", "bio", "preferred_unit_system", "language_code", "date_of_birth", "created_at", "updated_at",
]
USER = [
    "id", "apiId", "email", "username", "firstName", "lastName", "displayName", "profilePictureUrl", "avatarType",
    "avatarId", "bio", "location", "website", "phoneNumber", "phoneVerified", "isVerified", "language", "birthdate",
    "preferences", "lastUsernameChange", "usernameChangeCount", "usernameChangeAllowedAt", "createdAt", "updatedAt",
]
PRIVATE = [
    "email", "phoneNumber", "phoneVerified", "birthdate", "preferences", "lastUsernameChange", "usernameChangeCount",
    "usernameChangeAllowedAt",
]


class CompatibilityTests(unittest.TestCase):
    def ask(self, method, path, bearer=None, body=None, headers=()):
        """Sends a request by curl, and returns the response."""
        arguments = ["-X", method, BASE + path]
        if bearer:
            arguments += ["-H", f"Authorization: Bearer {bearer}"]
        if body is not None:
            text = body if isinstance(body, str) else json.dumps(body)
            arguments += ["-H", "Content-Type: application/json", "-d", text]
        for header in headers:
            arguments += ["-H", header]
        return curl(*arguments)

    def data(self, *arguments, **options):
        """Returns the data in the envelope of a successful request."""
        answer = self.ask(*arguments, **options)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.headers["content-type"], "application/json")
        self.assertEqual(list(answer.json), ["success", "data"])
        self.assertIs(answer.json["success"], True)
        return answer.json["data"]

    def refused(self, status, code, answer, field=None):
        """Checks the envelope of an error, and returns its message."""
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(list(answer.json), ["success", "error"])
        self.assertIs(answer.json["success"], False)
        error = answer.json["error"]
        self.assertEqual(list(error), ["code", "message"] + (["field"] if field else []))
        self.assertEqual((error["code"], error.get("field")), (code, field), error)
        self.assertTrue(error["message"].endswith((".", "?")), error)
        return error["message"]

    def person(self, name="Sam Stranger"):
        return register(name)["access_token"]


class ProfileEndpoints(CompatibilityTests):
    """The endpoints of document 002."""

    # Covers D1, D10, D11, D12.
    def test_register_and_login_return_tokens_without_the_profile(self):
        email = f"{uuid.uuid4()}@new.example.com"
        given = {"email": email, "password": PASSWORD, "name": "John Doe"}
        registered = self.data("POST", "/api/v1/auth/register", body=given)
        names = ["access_token", "refresh_token", "expires_in", "user_id"]
        self.assertEqual(list(registered), names)
        self.assertIsInstance(registered["expires_in"], int)
        signed_in = self.data("POST", "/api/v1/auth/login", body={"email": email, "password": PASSWORD})
        self.assertEqual((list(signed_in), signed_in["user_id"]), (names, registered["user_id"]))
        profile = self.data("GET", "/api/v1/users/me", signed_in["access_token"])
        self.assertEqual(list(profile), PROFILE)
        self.assertEqual((profile["name"], profile["preferred_unit_system"]), ("John Doe", "metric"))
        self.assertEqual({profile["id"], profile["user_id"]}, {registered["user_id"]})
        for name in ["created_at", "updated_at"]:
            self.assertRegex(profile[name], SECONDS)
        again = self.ask("POST", "/api/v1/auth/register", body=given)
        self.refused(409, "email_taken", again, "email")
        wrong = self.ask("POST", "/api/v1/auth/login", body={"email": email, "password": "wrong one"})
        self.refused(401, "invalid_credentials", wrong)
        self.assertIn("Bearer", wrong.headers["www-authenticate"])

    def test_refresh_ignores_an_expired_token_and_logout_ends_the_session(self):
        given = self.data("POST", "/api/v1/auth/guest", body={"name": "Greta Guest"})
        self.assertEqual(self.data("GET", "/api/v1/users/me", given["access_token"])["name"], "Greta Guest")
        # Apps that attach their token to every request send an expired one.
        renewed = self.data(
            "POST", "/api/v1/auth/refresh", "nonsense", {"refresh_token": given["refresh_token"]})
        self.assertEqual(renewed["user_id"], given["user_id"])
        self.assertEqual(self.data("POST", "/api/v1/auth/logout", renewed["access_token"]), {"revoked": 1})
        over = self.ask("POST", "/api/v1/auth/refresh", body={"refresh_token": renewed["refresh_token"]})
        self.refused(401, "session_revoked", over)
        nameless = self.data("POST", "/api/v1/auth/guest")
        self.assertEqual(list(nameless), ["access_token", "refresh_token", "expires_in", "user_id"])

    # Covers D3, D4.
    def test_put_replaces_the_profile(self):
        bearer = self.person()
        whole = {"name": "John Doe", "preferred_unit_system": "imperial", "bio": "Updated bio", "language_code": "en"}
        answer = self.data("PUT", "/api/v1/users/me", bearer, whole)
        self.assertEqual({name: answer[name] for name in whole}, whole)
        self.assertEqual(answer, self.data("GET", "/api/v1/users/me", bearer))
        me = call("me.get", token=bearer).json
        self.assertEqual(
            (me["full_name"], me["preferred_unit_system"], me["bio"], me["language_code"]),
            ("John Doe", "imperial", "Updated bio", "en"))
        least = {"name": "Jane Doe", "preferred_unit_system": "metric"}
        cleared = self.data("PUT", "/api/v1/users/me", bearer, least)
        self.assertEqual(cleared, {**answer, **least, "bio": None, "language_code": None,
                                   "updated_at": cleared["updated_at"]})
        for name in ["name", "preferred_unit_system"]:
            for value in [{}, {name: None}]:
                body = {**{key: given for key, given in whole.items() if key != name}, **value}
                self.refused(400, "invalid_params", self.ask("PUT", "/api/v1/users/me", bearer, body), name)
        for name, value in [("name", " "), ("name", "x" * 101), ("name", 5), ("preferred_unit_system", "stones"),
                            ("bio", "x" * 501), ("language_code", "?")]:
            with self.subTest(name=name, value=value):
                refused = self.ask("PUT", "/api/v1/users/me", bearer, {**whole, name: value})
                message = self.refused(400, "invalid_params", refused, name)
                self.assertNotIn("full_name", message)
        # The rejected requests have changed nothing.
        self.assertEqual(self.data("GET", "/api/v1/users/me", bearer), cleared)

    # Covers D2.
    def test_accepts_a_whole_profile_with_one_changed_field(self):
        bearer = self.person()
        self.data("PATCH", "/api/v1/users/me/physical", bearer, {"date_of_birth": "1990-01-15"})
        read = self.data("GET", "/api/v1/users/me", bearer)
        written = self.data("PUT", "/api/v1/users/me", bearer, {**read, "bio": "Fitness enthusiast"})
        self.assertEqual(written, {**read, "bio": "Fitness enthusiast", "updated_at": written["updated_at"]})
        for name, value in [("id", str(uuid.uuid4())), ("user_id", None), ("date_of_birth", "1990-01-16"),
                            ("created_at", "2025-01-27T10:00:00Z")]:
            refused = self.ask("PUT", "/api/v1/users/me", bearer, {**written, name: value})
            self.assertIn("cannot be changed", self.refused(400, "invalid_params", refused, name))
        stale = {**written, "updated_at": "2025-01-27T10:00:00Z"}
        self.refused(409, "version_conflict", self.ask("PUT", "/api/v1/users/me", bearer, stale), "updated_at")

    def test_compares_times_as_instants_in_any_format(self):
        for path, fields, names in [
            ("/api/v1/users/me", {"name": "Ada", "preferred_unit_system": "metric"}, ("created_at", "updated_at")),
            ("/api/users/me", {}, ("createdAt", "updatedAt")),
        ]:
            signed_in = register("Sam Stranger")
            bearer = signed_in["access_token"]
            # A time whose fraction ends with zeros.
            sql("update user_profiles set created_at = '2026-11-20T23:30:00.120Z' where id = "
                f"'{signed_in['user_id']}'")
            created, updated = names
            for name in names:
                def write(text, number=[0]):
                    number[0] += 1
                    return self.ask("PUT", path, bearer, {**fields, name: text, "bio": f"{name} {number[0]}"})

                def read():
                    text = self.data("GET", path, bearer)[name]
                    whole, _, digits = text[:-1].partition(".")
                    return text, datetime.datetime.fromisoformat(whole), digits

                def moved(minutes, zone):
                    _, time, digits = read()
                    time += datetime.timedelta(minutes=minutes)
                    return time.isoformat() + (f".{digits}" if digits else "") + zone

                same = [
                    lambda: read()[0], lambda: read()[0].lower(), lambda: read()[0][:-1] + "+00:00",
                    lambda: read()[0][:-1] + "-00:00", lambda: moved(120, "+02:00"), lambda: moved(-570, "-09:30"),
                    lambda: moved(1439, "+23:59"), lambda: read()[0][:-1] + ("" if read()[2] else ".") + "000Z",
                    lambda: read()[0][:-1] + ("" if read()[2] else ".") + "0" * 40 + "Z",
                    lambda: (read()[0][:-1].rstrip("0") if read()[2] else read()[0][:-1]).rstrip(".") + "Z",
                ]
                for number, form in enumerate(same):
                    text = form()
                    with self.subTest(path=path, name=name, text=text):
                        answer = write(text)
                        self.assertEqual(answer.status, 200, answer.body)
                        self.assertEqual(answer.json["data"]["bio"], f"{name} {number + 1}")
                others = [
                    lambda: moved(0, "+02:00"), lambda: moved(1, "Z"), lambda: "2016-12-31T23:59:60Z",
                    lambda: "1970-01-01T00:00:00Z", lambda: "9999-12-31T23:59:59Z",
                    lambda: read()[0][:-1] + ("" if read()[2] else ".") + "000001Z",
                ]
                for form in others:
                    text = form()
                    with self.subTest(path=path, name=name, text=text):
                        if name == updated:
                            self.refused(409, "version_conflict", write(text), name)
                        else:
                            self.assertIn("cannot be changed", self.refused(400, "invalid_params", write(text), name))
                whole = read()[0][:19]
                for value in ["", "x", "now", whole, whole.replace("T", " ") + "Z", whole[:10], whole + ".Z", whole + ",1Z",
                              whole + "+0000", whole + "+24:00", whole + "+00:60", whole + " Z", " " + whole + "Z",
                              whole + "Z ", whole[:16] + "Z", whole[:17] + "61Z", "2026-11-20T23:59:60Z",
                              "2026-02-29T10:00:00Z", "2026-00-10T10:00:00Z", "2026-13-10T10:00:00Z", "2026-11-20T24:00:00Z",
                              "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+00:01",
                              "10000-01-01T00:00:00Z", "\u0662026-11-20T10:00:00Z", 5, 1795428986, True, [], {}]:
                    with self.subTest(path=path, name=name, value=value):
                        self.assertIn("RFC 3339", self.refused(400, "invalid_params", write(value), name))
                # Null is rejected as for any other read-only field.
                self.assertIn("cannot be changed", self.refused(400, "invalid_params", write(None), name))
        # An absent time is null, and null is accepted for it.
        nothing = self.data("GET", "/api/users/me", bearer)
        self.assertIsNone(nothing["usernameChangeAllowedAt"])
        self.assertEqual(self.data("PUT", "/api/users/me", bearer, nothing), nothing)
        refused = self.ask("PUT", "/api/users/me", bearer, {"usernameChangeAllowedAt": "2026-11-20T10:00:00Z"})
        self.assertIn(
            "cannot be changed", self.refused(400, "invalid_params", refused, "usernameChangeAllowedAt"))

    # Covers D7, D8.
    def test_changes_physical_data_field_by_field(self):
        bearer, path = self.person(), "/api/v1/users/me/physical"
        nothing = {"biological_sex": None, "height_cm": None, "date_of_birth": None}
        self.assertEqual(self.data("GET", path, bearer), nothing)
        whole = {"biological_sex": "male", "height_cm": 180.5, "date_of_birth": "1990-01-15"}
        self.assertEqual(self.data("PATCH", path, bearer, whole), whole)
        self.assertEqual(call("me.get", token=bearer).json["physical"], whole)
        self.assertEqual(self.data("GET", "/api/v1/users/me", bearer)["date_of_birth"], "1990-01-15")
        # Absent fields stay, null clears, and the picker's "Not Specified" is an empty string.
        self.assertEqual(self.data("PATCH", path, bearer, {"height_cm": 181}), {**whole, "height_cm": 181})
        self.assertEqual(
            self.data("PATCH", path, bearer, {"biological_sex": "", "height_cm": None}),
            {**nothing, "date_of_birth": "1990-01-15"})
        for name, value in [("biological_sex", "?"), ("height_cm", 29), ("height_cm", "tall"),
                            ("date_of_birth", "1990-02-30")]:
            self.refused(400, "invalid_params", self.ask("PATCH", path, bearer, {name: value}), name)

    def test_rejects_unknown_fields_by_name(self):
        bearer, me = self.person(), "/api/v1/users/me"
        profile = {"name": "John Doe", "preferred_unit_system": "metric"}
        named = self.ask("PUT", me, bearer, {**profile, "languageCode": "en"})
        self.assertIn('"language_code"', self.refused(400, "invalid_params", named, "languageCode"))
        for method, path, body, field in [
            ("PUT", me, {**profile, "full_name": "x"}, "full_name"), ("GET", me + "?fields=name", None, "fields"),
            ("PUT", me + "?force=1", profile, "force"), ("GET", me, {"name": "x"}, "name"),
            ("PATCH", me + "/physical", {"weight": 80}, "weight"),
            ("POST", "/api/v1/auth/login", {"email": "a@b.c", "password": "x", "remember": True}, "remember"),
            ("POST", "/api/v1/auth/register", {"email": "a@b.c", "password": PASSWORD}, "name"),
            ("POST", "/api/v1/auth/register", {"email": "a", "password": PASSWORD, "name": "x"}, "email"),
            ("PUT", me, '{"name":"a","name":"b","preferred_unit_system":"metric"}', "name"),
        ]:
            with self.subTest(path=path, field=field):
                self.refused(400, "invalid_params", self.ask(method, path, bearer, body), field)

    # Covers D12, D25.
    def test_errors_have_the_envelope_and_their_status(self):
        me = "/api/v1/users/me"
        self.refused(401, "unauthenticated", self.ask("GET", me))
        self.refused(401, "invalid_token", self.ask("GET", me, "nonsense"))
        self.refused(400, "parse_error", self.ask("PUT", me, self.person(), "{"))
        self.refused(400, "invalid_request", self.ask("PUT", me, self.person(), "[]"))
        wrong = self.ask("DELETE", me)
        self.refused(405, "invalid_request", wrong)
        self.assertEqual(wrong.headers["allow"], "GET, HEAD, PUT, OPTIONS")
        limited = [request("POST", "/api/v1/auth/guest", {}, base=STRICT) for _ in range(8)][-1]
        self.refused(429, "rate_limited", limited)
        self.assertGreaterEqual(int(limited.headers["Retry-After"]), 1)


class UserEndpoints(CompatibilityTests):
    """The endpoints of document 000."""

    # Covers B13, B20, B23.
    def test_every_response_is_the_whole_user(self):
        bearer = self.person("Mary Ann Smith")
        user = self.data("GET", "/api/users/me", bearer)
        self.assertEqual(list(user), USER)
        me = call("me.get", token=bearer).json
        self.assertEqual((user["id"], user["apiId"], user["email"]), (me["id"], me["id"], me["email"]))
        self.assertEqual((user["firstName"], user["lastName"]), ("Mary", "Ann Smith"))
        self.assertRegex(user["createdAt"], MILLISECONDS)
        answers = [
            self.data("PUT", "/api/users/me", bearer, {"bio": "x"}),
            self.data("POST", "/api/users/change-username", bearer, {"newUsername": f"u{uuid.uuid4().hex[:12]}"}),
            self.data("PUT", "/api/users/me/profile-picture", bearer, {"imageUrl": "https://x.example.com/1.jpg"}),
            self.data("GET", "/api/users/me", bearer),
        ]
        self.assertEqual([list(answer) for answer in answers], [USER] * 4)
        # No request loses a change of an earlier one.
        last = answers[-1]
        self.assertEqual((last["bio"], last["username"]), ("x", answers[1]["username"]))
        self.assertEqual((last["profilePictureUrl"], last["avatarType"]), ("https://x.example.com/1.jpg", "custom"))

    # Covers B13.
    def test_maps_each_field_in_requests_and_responses(self):
        bearer, me = self.person(), "/api/users/me"
        fields = [
            ("displayName", "Ada Lovelace", "full_name"), ("bio", "Counts.", "bio"), ("location", "London", "location"),
            ("website", "https://ada.example.com", "website"), ("phoneNumber", "+33612345678", "phone_number"),
            ("language", "en", "language_code"), ("birthdate", "2000-01-01", "date_of_birth"),
            ("preferences", {"theme": "dark"}, "preferences"), ("username", f"u{uuid.uuid4().hex[:12]}", "username"),
            ("profilePictureUrl", "https://x.example.com/1.jpg", "avatar_url"), ("avatarId", "fox", "avatar_id"),
        ]
        for name, value, ours in fields:
            with self.subTest(name=name):
                before = self.data("GET", me, bearer)
                answer = self.data("PUT", me, bearer, {name: value})
                self.assertEqual((answer[name], call("me.get", token=bearer).json[ours]), (value, value))
                moved = {key for key in answer if answer[key] != before[key]} - {"updatedAt"}
                self.assertIn(name, moved)
                beside = {
                    "displayName": {"firstName", "lastName"}, "profilePictureUrl": {"avatarType"},
                    "avatarId": {"avatarType", "profilePictureUrl"},
                }
                self.assertEqual(moved - {name}, beside.get(name, set()))
        for name in ["bio", "location", "website", "phoneNumber", "language", "birthdate"]:
            self.assertIsNone(self.data("PUT", me, bearer, {name: None})[name])
        self.assertIsNone(self.data("PUT", me, bearer, {"avatarType": None})["avatarId"])

    # Defect B4.
    # Covers B14.
    def test_keeps_first_and_last_name_as_given(self):
        bearer, me = self.person("Sam Stranger"), "/api/users/me"
        for change, first, last, whole in [
            ({"firstName": "Mary Jane", "lastName": "Watson"}, "Mary Jane", "Watson", "Mary Jane Watson"),
            ({"lastName": "Parker"}, "Mary Jane", "Parker", "Mary Jane Parker"),
            ({"bio": "x"}, "Mary Jane", "Parker", "Mary Jane Parker"),
            ({"firstName": "Mary Jane"}, "Mary Jane", "Parker", "Mary Jane Parker"),
            # The same full name with another split.
            ({"firstName": "Mary", "lastName": "Jane Parker"}, "Mary", "Jane Parker", "Mary Jane Parker"),
            ({"firstName": "Mary Jane", "lastName": "Parker"}, "Mary Jane", "Parker", "Mary Jane Parker"),
            ({"lastName": "van der Berg"}, "Mary Jane", "van der Berg", "Mary Jane van der Berg"),
            ({"firstName": "Anna  Maria "}, "Anna  Maria", "van der Berg", "Anna  Maria van der Berg"),
            ({"lastName": ""}, "Anna  Maria", "", "Anna  Maria"),
            ({"lastName": "Jones"}, "Anna  Maria", "Jones", "Anna  Maria Jones"),
            ({"firstName": None}, "", "Jones", "Jones"),
            ({"lastName": "Jones Smith"}, "", "Jones Smith", "Jones Smith"),
            ({"firstName": "Ada"}, "Ada", "Jones Smith", "Ada Jones Smith"),
            ({"firstName": "Ada", "lastName": "Lovelace"}, "Ada", "Lovelace", "Ada Lovelace"),
            ({"firstName": "\u5c0f\u660e", "lastName": "\u738b"}, "\u5c0f\u660e", "\u738b", "\u5c0f\u660e \u738b"),
            ({"lastName": ""}, "\u5c0f\u660e", "", "\u5c0f\u660e"),
            ({"firstName": "Jose\u0301 Mari\u0301a", "lastName": "Lo\u0301pez"},
             "Jos\u00e9 Mar\u00eda", "L\u00f3pez", "Jos\u00e9 Mar\u00eda L\u00f3pez"),
            ({"firstName": "\U0001f600 \U0001f1e9\U0001f1ea", "lastName": "x y"},
             "\U0001f600 \U0001f1e9\U0001f1ea", "x y", "\U0001f600 \U0001f1e9\U0001f1ea x y"),
            # A full name is split at its first space.
            ({"displayName": "Grace Brewster Hopper"}, "Grace", "Brewster Hopper", "Grace Brewster Hopper"),
            ({"displayName": "Cher"}, "Cher", "", "Cher"),
            ({"displayName": "Ada Hopper", "firstName": "Ada", "lastName": "Hopper"}, "Ada", "Hopper", "Ada Hopper"),
        ]:
            with self.subTest(change=change):
                answer = self.data("PUT", me, bearer, change)
                parts = (answer["firstName"], answer["lastName"], answer["displayName"])
                self.assertEqual(parts, (first, last, whole))
                self.assertEqual(self.data("GET", me, bearer), answer)
                self.assertEqual(call("me.get", token=bearer).json["full_name"], whole)
        crossed = self.ask("PUT", me, bearer, {"displayName": "A B", "firstName": "C"})
        message = self.refused(400, "invalid_params", crossed, "displayName")
        self.assertIn('"firstName"', message)
        self.refused(
            400, "invalid_params", self.ask("PUT", me, bearer, {"firstName": "", "lastName": ""}), "firstName")
        self.refused(400, "invalid_params", self.ask("PUT", me, bearer, {"firstName": 5}), "firstName")
        self.assertEqual(self.data("GET", me, bearer)["displayName"], "Ada Hopper")

    # Defect B4.
    def test_splits_the_name_again_after_any_change(self):
        me, split = "/api/users/me", {"firstName": "Mary Jane", "lastName": "Watson"}
        for way in ["me.update", "profile", "sql", "as it was by sql"]:
            with self.subTest(way):
                signed_in = register("Sam Stranger")
                bearer, user = signed_in["access_token"], signed_in["user_id"]
                self.data("PUT", me, bearer, split)
                if way == "me.update":
                    self.assertEqual(call("me.update", {"full_name": "Mary Jane Smith"}, bearer).status, 200)
                elif way == "profile":
                    self.data("PUT", "/api/v1/users/me", bearer, {
                        "name": "Mary Jane Smith", "preferred_unit_system": "metric"})
                else:
                    sql(f"update user_profiles set full_name = 'Mary Jane Smith' where id = '{user}'")
                last = "Jane Smith"
                if way == "as it was by sql":
                    sql(f"update user_profiles set full_name = 'Mary Jane Watson' where id = '{user}'")
                    last = "Jane Watson"
                answer = self.data("GET", me, bearer)
                self.assertEqual((answer["firstName"], answer["lastName"]), ("Mary", last))

    # Defect B4.
    def test_others_see_the_name_split_by_its_user(self):
        one, other = register("Sam Stranger"), register("Fay Friend")
        call("conversations.open", {"user_id": one["user_id"]}, other["access_token"])
        self.data("PUT", "/api/users/me", one["access_token"], {"firstName": "Mary Jane", "lastName": "Watson"})
        page = self.data("GET", "/api/chats/conversations", other["access_token"])
        names = {person["id"]: (person["firstName"], person["lastName"], person["displayName"])
                 for person in page["conversations"][0]["participants"]}
        self.assertEqual(names, {one["user_id"]: ("Mary Jane", "Watson", "Mary Jane Watson"),
                                 other["user_id"]: ("Fay", "Friend", "Fay Friend")})
        # The protocol's objects do not have the split.
        for method, bearer in [("me.get", one["access_token"]), ("conversations.list", other["access_token"])]:
            text = call(method, token=bearer).body.decode()
            self.assertIn("Mary Jane Watson", text)
            self.assertNotIn("first_name_length", text)
            self.assertNotIn("version_second", text)

    # Defect B1.
    def test_of_concurrent_writers_of_one_version_exactly_one_wins(self):
        for path, updated, fields in [
            ("/api/v1/users/me", "updated_at", {"name": "Ada", "preferred_unit_system": "metric"}),
            ("/api/users/me", "updatedAt", {}),
        ]:
            bearer = self.person()
            # Earlier changes make no difference, in the same second or not.
            for changes_before in range(4):
                with self.subTest(path=path, changes_before=changes_before):
                    for number in range(changes_before):
                        self.assertEqual(call("me.update", {"location": f"L{number}"}, bearer).status, 200)
                    read = self.data("GET", path, bearer)
                    answers = []
                    writers = [
                        background(lambda bio=f"{changes_before} {name}": answers.append(
                            (bio, self.ask("PUT", path, bearer, {**read, **fields, "bio": bio}))))
                        for name in ["one", "other", "third"]
                    ]
                    for writer in writers:
                        writer.join(WAIT)
                    self.assertEqual(sorted(answer.status for _, answer in answers), [200, 409, 409])
                    for _, answer in answers:
                        if answer.status == 409:
                            self.assertEqual(answer.json["error"]["code"], "version_conflict")
                    [won] = [bio for bio, answer in answers if answer.status == 200]
                    now = self.data("GET", path, bearer)
                    self.assertEqual(now["bio"], won)
                    # A later stale write fails, too.
                    late = self.ask("PUT", path, bearer, {**read, **fields, "bio": "late"})
                    self.refused(409, "version_conflict", late, updated)
                    again = self.data("PUT", path, bearer, {**now, **fields, "bio": "in turn"})
                    self.assertNotEqual(again[updated], now[updated])
                    self.assertEqual(self.data("GET", path, bearer), again)

    # Defect B1.
    def test_each_version_of_a_profile_has_its_own_time(self):
        bearer = self.person()
        for path, updated in [("/api/v1/users/me", "updated_at"), ("/api/users/me", "updatedAt")]:
            seen = []
            for number in range(8):
                method, params = [
                    ("me.update", {"bio": f"{path} {number}"}), ("me.update_physical", {"height_cm": 150 + number}),
                    ("me.set_avatar", {"avatar_type": "built_in", "avatar_id": ["fox", "owl"][number // 4]}),
                    ("me.update", {"preferences": {"n": f"{path} {number}"}}),
                ][number % 4]
                self.assertEqual(call(method, params, bearer).status, 200)
                seen.append(self.data("GET", path, bearer)[updated])
            self.assertEqual(seen, sorted(set(seen)))

    def test_concurrent_writes_of_different_fields_all_succeed(self):
        bearer, me = self.person("Sam Stranger"), "/api/users/me"
        fields = {"firstName": "Ada", "lastName": "Lovelace", "bio": "Counts.", "location": "London"}
        writers = [
            background(lambda change={name: value}: self.data("PUT", me, bearer, change))
            for name, value in fields.items()
        ]
        for writer in writers:
            writer.join(WAIT)
        user = self.data("GET", me, bearer)
        self.assertEqual({name: user[name] for name in fields}, fields)

    def test_aliases_of_a_field_must_agree(self):
        bearer, me = self.person(), "/api/users/me"
        self.assertEqual(self.data("PUT", me, bearer, {"phone": "+4915112345678"})["phoneNumber"], "+4915112345678")
        self.assertEqual(self.data("PUT", me, bearer, {"preferredLanguage": "pt"})["language"], "pt")
        same = {"phone": "+33612345678", "phoneNumber": "+33612345678"}
        self.assertEqual(self.data("PUT", me, bearer, same)["phoneNumber"], "+33612345678")
        for one, other, values in [("phone", "phoneNumber", ("+33612345678", "+33612345679")),
                                   ("language", "preferredLanguage", ("en", "de")),
                                   ("preferredLanguage", "language", ("en", None))]:
            answer = self.ask("PUT", me, bearer, {one: values[0], other: values[1]})
            message = self.refused(400, "invalid_params", answer, other)
            self.assertIn(f'"{one}"', message)
            self.assertIn(f'"{other}"', message)
        # An error names the alias in the request.
        self.refused(400, "invalid_params", self.ask("PUT", me, bearer, {"phone": "1234567"}), "phone")

    def test_accepts_a_whole_user_with_one_changed_field(self):
        bearer, me = token("erin"), "/api/users/me"
        sql("update user_profiles set attributes = '{\"averageRating\": 4.80, \"isCreator\": true, \"email\": 1}' "
            "where username = 'erin'")
        read = self.data("GET", me, bearer)
        self.assertEqual(list(read), USER + ["isCreator", "averageRating"])
        self.assertEqual((read["email"], read["averageRating"]), ("erin@example.com", 4.8))
        self.assertEqual(self.data("PUT", me, bearer, read), read)
        changed = {**read, "lastName": "Gallagher-Byrne", "bio": None}
        written = self.data("PUT", me, bearer, changed)
        self.assertEqual(
            written, {**changed, "displayName": "Erin Gallagher-Byrne", "updatedAt": written["updatedAt"]})
        # A client that read the user before the change would undo it.
        late = self.ask("PUT", me, bearer, {**read, "location": "Cork"})
        self.refused(409, "version_conflict", late, "updatedAt")
        for name, value in [("email", "other@example.com"), ("id", None), ("isVerified", False), ("averageRating", 5),
                            ("phoneVerified", not read["phoneVerified"])]:
            refused = self.ask("PUT", me, bearer, {name: value})
            self.assertIn("cannot be changed", self.refused(400, "invalid_params", refused, name))
        unknown = self.ask("PUT", me, bearer, {**written, "profilePicturUrl": "x"})
        self.assertIn('"profilePictureUrl"', self.refused(400, "invalid_params", unknown, "profilePicturUrl"))
        # The document's edit screen sends the unchanged email with the changes.
        sent = {"email": "erin@example.com", "phone": "+353871234567", "bio": "Cellist.", "username": "erin"}
        self.assertEqual(self.data("PUT", me, bearer, sent)["phoneNumber"], "+353871234567")

    # Covers B3.
    def test_a_username_change_is_visible_everywhere(self):
        bearer, friend = register("Tom Taylor"), register("Fay Friend")
        call("conversations.open", {"user_id": bearer["user_id"]}, friend["access_token"])
        path, first, second = "/api/users/change-username", f"a{uuid.uuid4().hex[:9]}", f"b{uuid.uuid4().hex[:9]}"
        named = self.data("POST", path, bearer["access_token"], {"newUsername": first})
        self.assertEqual((named["username"], named["usernameChangeCount"]), (first, 0))
        renamed = self.data("POST", path, bearer["access_token"], {"newUsername": second})
        self.assertEqual((renamed["username"], renamed["usernameChangeCount"]), (second, 1))
        self.assertRegex(renamed["lastUsernameChange"], MILLISECONDS)
        self.assertRegex(renamed["usernameChangeAllowedAt"], MILLISECONDS)
        self.assertEqual(self.data("GET", "/api/users/me", bearer["access_token"]), renamed)
        conversation = self.data("GET", "/api/chats/conversations", friend["access_token"])["conversations"][0]
        self.assertIn(second, [participant["username"] for participant in conversation["participants"]])
        self.assertEqual(call("profiles.get", {"username": second}, friend["access_token"]).json["id"], renamed["id"])
        again = self.ask("POST", path, bearer["access_token"], {"newUsername": f"c{uuid.uuid4().hex[:9]}"})
        self.refused(429, "username_cooldown", again, again.json["error"].get("field"))
        self.assertIn("retry-after", again.headers)
        taken = self.ask("POST", path, friend["access_token"], {"newUsername": "alice"})
        self.refused(409, "username_taken", taken, "newUsername")
        wrong = self.ask("POST", path, friend["access_token"], {"newUsername": "?"})
        self.refused(400, "invalid_params", wrong, "newUsername")
        self.refused(400, "invalid_params", self.ask("POST", path, friend["access_token"], {}), "newUsername")
        # A change of several fields is atomic.
        half = self.ask("PUT", "/api/users/me", friend["access_token"], {"username": "alice", "bio": "half"})
        self.refused(409, "username_taken", half, "username")
        self.assertIsNone(self.data("GET", "/api/users/me", friend["access_token"])["bio"])

    # Covers B19.
    def test_sets_a_picture_by_its_url(self):
        bearer, path = self.person(), "/api/users/me/profile-picture"
        self.data("PUT", "/api/users/me", bearer, {"avatarId": "fox"})
        answer = self.data("PUT", path, bearer, {"imageUrl": "https://images.example.com/me.jpg"})
        self.assertEqual(
            (answer["profilePictureUrl"], answer["avatarType"], answer["avatarId"]),
            ("https://images.example.com/me.jpg", "custom", None))
        for value in ["http://images.example.com/me.jpg", 5, "me.jpg"]:
            self.refused(400, "invalid_params", self.ask("PUT", path, bearer, {"imageUrl": value}), "imageUrl")
        self.refused(400, "invalid_params", self.ask("PUT", path, bearer, {}), "imageUrl")
        form = curl(
            "-X", "PUT", BASE + path, "-H", f"Authorization: Bearer {bearer}", "-F", "image=@" + __file__)
        body = self.ask("PUT", path, bearer, headers=["Content-Type: image/jpeg"], body=None)
        for picture in [form, body]:
            self.assertIn("imageUrl", self.refused(400, "invalid_request", picture))
        both = self.ask("PUT", "/api/users/me", bearer, {"avatarId": "owl", "profilePictureUrl": "https://x.example.com"})
        self.assertIn('"profilePictureUrl"', self.refused(400, "invalid_params", both, "avatarId"))
        lacking = self.ask("PUT", "/api/users/me", bearer, {"avatarId": "no_such"})
        self.refused(400, "invalid_params", lacking, "avatarId")

    # Covers B30.
    def test_a_conversation_has_the_public_profiles_of_its_participants(self):
        path = "/api/chats/conversations"
        views = {name: self.data("GET", path, token(name)) for name in ["alice", "bob"]}
        for name, view in views.items():
            self.assertEqual(list(view), ["conversations", "next"])
            ours = call("conversations.list", {"limit": 100}, token(name)).json["conversations"]
            self.assertEqual([one["id"] for one in view["conversations"]], [one["id"] for one in ours])
            for one, own in zip(view["conversations"], ours):
                members = [member["user_id"] for member in own["members"]]
                self.assertEqual([member["userId"] for member in one["members"]], members)
                self.assertEqual(sorted(person["id"] for person in one["participants"]), sorted(members))
                self.assertEqual(one["unreadCount"], own["unread_count"])
                self.assertEqual(one["lastMessageContent"], own["last_message_content"])
                for person in one["participants"]:
                    self.assertEqual(set(USER) - set(person), set())
                    # Private fields are null, also in the user's own entry.
                    self.assertEqual([person[field] for field in PRIVATE], [None] * len(PRIVATE))
        one = next(one for one in views["alice"]["conversations"] if one["id"] == ALICE_BOB)
        self.assertEqual((one["kind"], {one["participant1Id"], one["participant2Id"]}), ("direct", {ALICE, BOB}))
        bob = next(person for person in one["participants"] if person["id"] == BOB)
        own = self.data("GET", "/api/users/me", token("bob"))
        self.assertEqual({**own, **{field: None for field in PRIVATE}}, bob)
        # Paging gives the same conversations.
        pages, next_page = [], None
        while True:
            page = self.data("GET", path + "?limit=2" + (f"&before={next_page}" if next_page else ""), token("alice"))
            pages += page["conversations"]
            next_page = page["next"]
            if not next_page:
                break
        self.assertEqual(pages, views["alice"]["conversations"])
        for query, field in [("limit=0", "limit"), ("limit=x", "limit"), ("before=x", "before"), ("page=2", "page"),
                             ("limit=1&limit=2", "limit")]:
            self.refused(400, "invalid_params", self.ask("GET", f"{path}?{query}", token("alice")), field)

    def group(self, title, members, bearer):
        """Creates a group, again if a busy machine answers that it is unavailable, and returns its id."""
        for _ in range(20):
            answer = call("conversations.create_group", {"title": title, "member_ids": members}, bearer)
            if answer.status != 503:
                break
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json["id"]

    def test_a_page_ends_early_if_its_participants_do_not_fit(self):
        bearer = register("Petra Popular")
        others = [register(f"Heavy {number}")["user_id"] for number in range(3)]
        ids = ", ".join(f"'{other}'" for other in others)
        sql("update user_profiles set attributes = jsonb_build_object('x', repeat('x', 32000)) "
            f"where id in ({ids})")
        made = [self.group(f"g{number}", others, bearer["access_token"]) for number in range(60)]
        seen, next_page, pages = [], None, 0
        while True:
            query = f"?before={next_page}" if next_page else ""
            answer = self.ask("GET", "/api/chats/conversations" + query, bearer["access_token"])
            self.assertLess(len(answer.body), (1 << 20) + 8_192)
            page, pages = answer.json["data"], pages + 1
            seen += [one["id"] for one in page["conversations"]]
            self.assertTrue(all(len(one["participants"]) == 4 for one in page["conversations"]))
            next_page = page["next"]
            if not next_page:
                break
        self.assertEqual((sorted(seen), len(set(seen))), (sorted(made), 60))
        self.assertGreater(pages, 1)


class MessageEndpoints(CompatibilityTests):
    """The six endpoints of the messages document."""

    def test_two_users_exchange_messages(self):
        alice, bob = register("Al Sender"), register("Bo Reader")
        opened = self.data(
            "POST", "/api/v1/conversations", alice["access_token"], {"user_id": bob["user_id"]})
        self.assertEqual({person["id"] for person in opened["profiles"]}, {alice["user_id"], bob["user_id"]})
        again = self.data("POST", "/api/v1/conversations", bob["access_token"], {"user_id": alice["user_id"]})
        self.assertEqual(again["id"], opened["id"])
        path = f"/api/v1/conversations/{opened['id']}"
        sent = [
            self.data("POST", path + "/messages", alice["access_token"], {"content": f"Hello {number}!"})
            for number in range(3)
        ]
        self.assertEqual([message["seq"] for message in sent], [1, 2, 3])
        listed = self.data("GET", "/api/v1/conversations", bob["access_token"])
        self.assertEqual(list(listed), ["conversations", "next"])
        [conversation] = listed["conversations"]
        self.assertEqual((conversation["unread_count"], conversation["last_message_content"]), (3, "Hello 2!"))
        ours = call("conversations.get", {"conversation_id": opened["id"], "profiles": True}, bob["access_token"]).json
        self.assertEqual(conversation, ours)
        messages = self.data("GET", path + "/messages", bob["access_token"])["messages"]
        self.assertEqual([message["id"] for message in messages], [message["id"] for message in sent])
        page = self.data("GET", path + "/messages?limit=1&before_seq=3", bob["access_token"])["messages"]
        self.assertEqual([message["seq"] for message in page], [2])
        page = self.data("GET", path + "/messages?after_seq=1", bob["access_token"])["messages"]
        self.assertEqual([message["seq"] for message in page], [2, 3])
        mark = self.data("POST", path + "/read", bob["access_token"], {"seq": 1})
        self.assertEqual((mark["last_read_seq"], mark["unread_count"]), (1, 2))
        mark = self.data("POST", path + "/read", bob["access_token"])
        self.assertEqual((mark["last_read_seq"], mark["unread_count"]), (3, 0))

    def test_a_send_with_a_key_is_stored_once(self):
        bearer, key = token(), str(uuid.uuid4())
        path, body = f"/api/v1/conversations/{ALICE_BOB}/messages", {"content": f"once {key}"}
        first = self.data("POST", path, bearer, {**body, "client_id": key})
        again = self.data("POST", path, bearer, body, headers=[f"Idempotency-Key: {key}"])
        self.assertEqual(first["seq"], again["seq"])
        other = self.ask("POST", path, bearer, {"content": "other", "client_id": key})
        self.refused(409, "client_id_reused", other, "client_id")

    def test_finds_users_by_username_or_name(self):
        found = self.data("GET", "/api/v1/users/search?q=bob&limit=5", token())
        self.assertEqual(found, call("profiles.search", {"query": "bob", "limit": 5}, token()).json)
        self.assertEqual(found["profiles"][0]["username"], "bob")
        umlaut = self.data("GET", "/api/v1/users/search?q=%C3%96zt%C3%BCrk", token())
        self.assertEqual(umlaut["profiles"][0]["username"], "frank")

    def test_errors_have_the_envelope_and_name_the_request_field(self):
        bearer, stranger = token(), self.person()
        path, nowhere = f"/api/v1/conversations/{ALICE_BOB}", f"/api/v1/conversations/{uuid.uuid4()}"
        for status, code, answer, field in [
            (404, "not_found", self.ask("GET", path + "/messages", stranger), None),
            (404, "not_found", self.ask("POST", path + "/messages", stranger, {"content": "x"}), None),
            (404, "not_found", self.ask("POST", nowhere + "/read", bearer), None),
            (404, "not_found", self.ask("POST", "/api/v1/conversations", bearer, {"user_id": str(uuid.uuid4())}), None),
            (400, "invalid_params", self.ask("GET", "/api/v1/conversations/x/messages", bearer), "id"),
            (400, "invalid_params", self.ask("POST", path + "/messages", bearer, {}), "content"),
            (400, "invalid_params", self.ask("POST", path + "/messages", bearer, {"text": "x"}), "text"),
            (400, "invalid_params", self.ask("GET", path + "/messages?before_seq=x", bearer), "before_seq"),
            (400, "invalid_params", self.ask("GET", "/api/v1/users/search?q=x", bearer), "q"),
            (400, "invalid_params", self.ask("GET", "/api/v1/users/search", bearer), "q"),
            (400, "invalid_params", self.ask("POST", "/api/v1/conversations", bearer, {}), "user_id"),
            (401, "unauthenticated", self.ask("GET", "/api/v1/conversations"), None),
        ]:
            self.refused(status, code, answer, field)


class EveryEndpoint(CompatibilityTests):
    # Defect B7.
    def test_rejects_an_idempotency_key_where_it_has_no_effect(self):
        bearer, key = self.person(), [f"Idempotency-Key: {uuid.uuid4()}"]
        conversation = f"/api/v1/conversations/{ALICE_BOB}"
        for method, path, body in [
            ("PUT", "/api/users/me", {"bio": "x"}), ("PUT", "/api/v1/users/me", {}), ("GET", "/api/users/me", None),
            ("PATCH", "/api/v1/users/me/physical", {"height_cm": 180}), ("POST", "/api/v1/auth/guest", {}),
            ("POST", "/api/v1/auth/register", {}), ("POST", "/api/v1/auth/login", {}),
            ("POST", "/api/v1/auth/refresh", {}), ("POST", "/api/v1/auth/logout", {}),
            ("POST", "/api/users/change-username", {"newUsername": "someone"}),
            ("PUT", "/api/users/me/profile-picture", {"imageUrl": "https://x.example.com/1.jpg"}),
            ("GET", "/api/chats/conversations", None), ("POST", "/api/v1/conversations", {"user_id": BOB}),
            ("GET", "/api/v1/conversations", None), ("GET", conversation + "/messages", None),
            ("POST", conversation + "/read", {}), ("GET", "/api/v1/users/search?q=bob", None),
        ]:
            with self.subTest(f"{method} {path}"):
                answer = self.ask(method, path, bearer, body, headers=key)
                self.refused(400, "invalid_params", answer, "Idempotency-Key")

    # Defect F15.
    def test_verifies_the_token_before_anything_else(self):
        conversation = f"/api/v1/conversations/{ALICE_BOB}"
        for method, path, body in [
            ("PUT", "/api/v1/users/me", {}), ("PUT", "/api/v1/users/me", "{"), ("PUT", "/api/v1/users/me?x=1", {}),
            ("PUT", "/api/users/me", {"nonsense": 1}), ("PATCH", "/api/v1/users/me/physical", []),
            ("POST", "/api/users/change-username", {}), ("PUT", "/api/users/me/profile-picture", {}),
            ("GET", "/api/chats/conversations?limit=x", None), ("POST", "/api/v1/auth/logout", {"x": 1}),
            ("POST", "/api/v1/conversations", {}), ("POST", conversation + "/messages", {}),
            ("GET", "/api/v1/conversations/x/messages", None), ("GET", "/api/v1/users/search", None),
        ]:
            with self.subTest(f"{method} {path}"):
                self.refused(401, "unauthenticated", self.ask(method, path, None, body))
                self.refused(401, "invalid_token", self.ask(method, path, "nonsense", body))
        picture = self.ask("PUT", "/api/users/me/profile-picture", headers=["Content-Type: image/png"])
        self.refused(401, "unauthenticated", picture)
        for path, body in [("/v1/me.update", {"nonsense": 1}), ("/v1/me.update", b"{"), ("/v1/me.update?x=1", {}),
                           ("/v1/messages.send", {}), ("/v1/messages.send", {"content": 5})]:
            for bearer, code in [(None, "unauthenticated"), ("nonsense", "invalid_token")]:
                answer = request("POST", path, body, bearer)
                self.assertEqual((answer.status, answer.json["data"]["code"]), (401, code))
        for path in ["/v1/changes?nonsense=1", "/v1/changes?messages_per_conversation=x"]:
            for bearer, code in [(None, "unauthenticated"), ("nonsense", "invalid_token")]:
                answer = request("GET", path, token=bearer)
                self.assertEqual((answer.status, answer.json["data"]["code"]), (401, code))


class Description(unittest.TestCase):
    def test_the_openapi_document_has_every_endpoint_and_reference(self):
        document = request("GET", "/v1/openapi.json").json
        paths = {path: item for path, item in document["paths"].items() if path.startswith("/api/")}
        self.assertEqual(sum(len(item) for item in paths.values()), 20)

        def references(value):
            if isinstance(value, dict):
                if "$ref" in value:
                    yield value["$ref"]
                value = list(value.values())
            if isinstance(value, list):
                for element in value:
                    yield from references(element)

        for reference in set(references(paths)):
            place = document
            for part in reference.removeprefix("#/").split("/"):
                place = place[part.replace("~1", "/").replace("~0", "~")]


if __name__ == "__main__":
    unittest.main()
