// The TypeScript SDK, version 2, which asks the server for its newest revision first.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, token] = process.argv.slice(2);
const client = new Client({ name: "v2", version: "1" }, { versionNegotiation: { mode: "auto" } });
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
const { tools } = await client.listTools();
const answer = await client.callTool({ name: "list_projects", arguments: {} });
const refusal = await client.callTool({ name: "get_project", arguments: { project: "nowhere" } });
const { resources } = await client.listResources();
const { prompts } = await client.listPrompts();
console.log(JSON.stringify({ tools: tools.map((one) => one.name), answer, refusal, resources, prompts }));
await client.close();
