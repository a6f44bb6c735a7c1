"""FastMCP's client as its documentation connects it; run in an environment of its own."""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport


async def main(url: str, token: str) -> None:
    """Do what every client of the tests does, and print what it saw."""
    transport = StreamableHttpTransport(url, headers={"Authorization": f"Bearer {token}"})
    async with Client(transport) as client:
        tools = await client.list_tools()
        answer = await client.call_tool("list_projects", {})
        refusal = await client.call_tool("get_project", {"project": "nowhere"}, raise_on_error=False)
        resources = await client.list_resources()
        prompts = await client.list_prompts()
    said = {
        "tools": [one.name for one in tools],
        "answer": {"structuredContent": answer.structured_content, "isError": answer.is_error},
        "refusal": {"isError": refusal.is_error, "content": [{"text": refusal.content[0].text}]},
        "resources": [str(one.uri) for one in resources],
        "prompts": [one.name for one in prompts],
    }
    sys.stdout.write(json.dumps(said))


asyncio.run(main(*sys.argv[1:]))
