"""Uses aiopenapi3, which makes its classes of the document at run time: NODE."""

import sys

import aiopenapi3
from steps import steps

api = aiopenapi3.OpenAPI.load_sync(sys.argv[1] + "/v1/openapi.json")


def call(method, **params):
    work = api.createRequest((f"/v1/{method}", "post"))
    return work(data=params).model_dump(mode="json", by_alias=True)


def authorize(token):
    api.authenticate(bearer=token)


steps(call, authorize)
