from tests.bot.api.house import house
import pytest, json, asyncio

async def test_try(tmp_path):
    async with house(tmp_path/"home") as h:
        c = h.client("agent")
        for verb, path, body in [("GET","/health",None),("GET","/openapi.json",None),("GET","/metrics",None),("POST","/v1/requests?wait=5",{"command":"echo hi","cwd":"/tmp"}),("POST","/v1/requests",{"command":"touch x","cwd":"/tmp"}),("POST","/v1/requests?wait=0.2",{"command":"sleep 3","cwd":"/tmp"}),("GET","/v1/history",None),("GET","/v1/approvals",None),("GET","/v1/events?session=main",None),("GET","/v1/nowhere",None),("PATCH","/v1/history",None),("GET","/v1/requests/abc",None),("DELETE","/v1/requests/abc",None),("GET","/v1/grants",None),("GET","/v1/allowlists",None),("GET","/v1/sessions",None),("POST","/v1/policy/explain",{"command":"ls","cwd":"/tmp"}),("POST","/v1/events/ack",{"session":"main","seq":1})]:
            r = await c.request(verb, path, json=body) if body is not None else await c.request(verb, path)
            print(verb, path, r.status_code, r.text[:400].replace("\n"," | "))
        r = await h.client("person").get("/v1/approvals")
        print(r.text[:600])
        i = r.json()["pending"][0]["id"]
        print((await h.client("person").post(f"/v1/approvals/{i}/resolve", json={"decision":"deny"})).text)
        print((await h.client("person").post(f"/v1/approvals/{i}/resolve", json={"decision":"deny"})).text)
