// Drives a server with the official TypeScript SDK: typescript_client.mjs SERVER FOLDER
//
// Over stdio and HTTP. FOLDER is empty; the skills are written here.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The SDK is wherever this was started, not beside this file.
const require = createRequire(pathToFileURL(join(process.cwd(), "package.json")));
const sdk = (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}`)));
const { Client } = await sdk("client/index.js");
const { StdioClientTransport } = await sdk("client/stdio.js");
const { StreamableHTTPClientTransport } = await sdk("client/streamableHttp.js");
const types = await sdk("types.js");
const { z } = await import(pathToFileURL(require.resolve("zod")));

const [server, work] = process.argv.slice(2);
const folder = join(resolve(work), "skills");

function writeSkills() {
  mkdirSync(join(folder, "pdf-forms/references"), { recursive: true });
  mkdirSync(join(folder, "deploy"), { recursive: true });
  writeFileSync(
    join(folder, "pdf-forms/SKILL.md"),
    "---\nname: pdf-forms\ndescription: Fills in PDF forms.\narguments: [file]\n---\nFill in $file.\n",
  );
  writeFileSync(join(folder, "pdf-forms/references/fields.md"), "# Fields\n");
  writeFileSync(join(folder, "deploy/SKILL.md"), "---\nname: deploy\ndescription: Deploys.\n---\nDeploy.\n");
}

async function serving(transport) {
  const options = [folder, "--run-skill"];
  if (transport === "stdio") {
    const stdio = new StdioClientTransport({ command: server, args: options });
    return { transport: stdio, stop: () => {} };
  }
  const tokenFile = join(resolve(work), "token");
  const child = spawn(server, [...options, "--http", "127.0.0.1:0", "--token-file", tokenFile]);
  const line = await new Promise((done) => createInterface(child.stderr).once("line", done));
  const url = new URL(line.match(/http:\/\/\S+/)[0]);
  const headers = { Authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}` };
  const http = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
  return { transport: http, stop: () => child.kill() };
}

async function within(milliseconds, what, promise) {
  const late = new Promise((_, fail) => setTimeout(() => fail(new Error(`no ${what}`)), milliseconds).unref());
  return Promise.race([promise, late]);
}

async function check(kind) {
  writeSkills();
  const { transport, stop } = await serving(kind);
  const client = new Client({ name: "test", version: "1" }, { capabilities: {} });
  const heard = (schema) => new Promise((done) => client.setNotificationHandler(schema, done));
  const news = Promise.all([
    heard(types.ResourceListChangedNotificationSchema),
    heard(types.PromptListChangedNotificationSchema),
    heard(types.ResourceUpdatedNotificationSchema),
  ]);
  try {
    await client.connect(transport);
    assert.match(client.getInstructions(), /pdf-forms/);

    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name);
    assert.deepEqual(names, ["list_skills", "search_skills", "load_skill", "load_skill_resource", "run_skill"]);
    assert.equal(tools[2].annotations.readOnlyHint, true);
    const loaded = await client.callTool({ name: "load_skill", arguments: { name: "pdf-forms", arguments: "a.pdf" } });
    assert.match(loaded.content[0].text, /Fill in a\.pdf\./);
    assert.equal(loaded.structuredContent.skill_name, "pdf-forms");
    const unknown = await client.callTool({ name: "load_skill", arguments: { name: "nobody" } });
    assert.equal(unknown.isError, true);
    const reports = [];
    const note = ({ params }) => reports.push(params.message);
    client.setNotificationHandler(types.ProgressNotificationSchema, note);
    const run = { name: "run_skill", arguments: { name: "deploy" }, _meta: { progressToken: "run" } };
    const ran = await client.callTool(run);
    // The SDK forgets `onprogress` with the answer and hands on a moment later what came before it in
    // the same piece; so its own handler is not asked, and the moment is waited for.
    await new Promise(setImmediate);
    assert.equal(ran.structuredContent.outcome, "submitted");
    assert.ok(reports.includes("turn 1"), `${reports}`);

    const { resources } = await client.listResources();
    assert.deepEqual(resources.map((resource) => resource.uri).sort(), [
      "skill://deploy/SKILL.md",
      "skill://pdf-forms/SKILL.md",
    ]);
    const { prompts } = await client.listPrompts();
    assert.deepEqual(prompts.map((prompt) => prompt.name).sort(), ["deploy", "pdf-forms"]);
    const prompt = await client.getPrompt({ name: "pdf-forms", arguments: { file: "b.pdf" } });
    assert.match(prompt.messages[0].content.text, /Fill in b\.pdf\./);

    const listed = await client.request({ method: "skills/list", params: {} }, z.any());
    const forms = listed.skills.find((skill) => skill.frontmatter.name === "pdf-forms");
    for (const { uri, digest, size } of forms.resources) {
      const { contents } = await client.readResource({ uri });
      const bytes = Buffer.from(contents[0].text, "utf8");
      assert.equal(bytes.length, size);
      assert.equal(`sha256:${createHash("sha256").update(bytes).digest("hex")}`, digest);
    }
    await assert.rejects(client.request({ method: "skills/get", params: { uri: "skill://x/SKILL.md" } }, z.any()), {
      code: -32602,
    });

    await client.subscribeResource({ uri: "skill://deploy/SKILL.md" });
    await new Promise((done) => setTimeout(done, 1000));
    appendFileSync(join(folder, "deploy/SKILL.md"), "And again.\n");
    await within(20000, "news of the edit", news);
  } finally {
    await client.close();
    stop();
  }
  console.log(`ok: TypeScript SDK, ${kind}`);
}

for (const kind of ["stdio", "http"]) {
  await within(120000, "end", check(kind));
}
process.exit(0);
