// The TypeScript SDK, version 1, as its documentation connects it: a handshake, then the calls.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token] = process.argv.slice(2);
const client = new Client({ name: "v1", version: "1" });
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
const { tools } = await client.listTools();
const answer = await client.callTool({ name: "list_projects", arguments: {} });
const refusal = await client.callTool({ name: "get_project", arguments: { project: "nowhere" } });
const { resources } = await client.listResources();
const { prompts } = await client.listPrompts();
console.log(JSON.stringify({ tools: tools.map((one) => one.name), answer, refusal, resources, prompts }));
await client.close();
