"""Uses the Python client of openapi-generator: NODE FOLDER."""

import json
import sys

from steps import steps

sys.path.insert(0, sys.argv[2])
import openapi_client  # noqa: E402

client = openapi_client.ApiClient(openapi_client.Configuration(host=sys.argv[1]))
apis = [value(client) for name, value in vars(openapi_client).items() if name.endswith("Api")]


def call(method, **params):
    name = method.replace(".", "_")
    work = next(getattr(api, name) for api in apis if hasattr(api, name))
    model = getattr(openapi_client, "".join(part.capitalize() for part in name.split("_")) + "Request", None)
    answer = work(model.from_dict(params)) if model else work()
    return json.loads(json.dumps(client.sanitize_for_serialization(answer)))


def authorize(token):
    client.configuration.access_token = token


steps(call, authorize)
