"""Uses the client of openapi-python-client: NODE FOLDER."""

import importlib
import sys

from steps import steps

sys.path.insert(0, sys.argv[2])
from client import AuthenticatedClient, Client, models  # noqa: E402

client = Client(base_url=sys.argv[1])


def call(method, **params):
    name = method.replace(".", "_")
    work = importlib.import_module(f"client.api.{method.split('.')[0]}.{name}")
    model = getattr(models, "".join(part.capitalize() for part in name.split("_")) + "Body")
    answer = work.sync_detailed(client=client, body=model.from_dict(params))
    assert answer.status_code == 200, answer.content
    return answer.parsed.to_dict()


def authorize(token):
    global client
    client = AuthenticatedClient(base_url=sys.argv[1], token=token)


steps(call, authorize)
