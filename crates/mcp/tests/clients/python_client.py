"""Drives a server with the official Python SDK: python_client.py SERVER FOLDER

Over stdio and HTTP, with the handshake of older protocols and without it (2026-07-28).
FOLDER is empty; the skills are written here.
"""

import asyncio
import contextlib
import hashlib
import pathlib
import re
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

# Older protocols are what half of this is about.
warnings.simplefilter("ignore")

ANYTHING = TypeAdapter(dict[str, Any])


def write_skills(folder: pathlib.Path) -> None:
    forms = folder / "pdf-forms"
    (forms / "references").mkdir(parents=True, exist_ok=True)
    (forms / "SKILL.md").write_text(
        "---\nname: pdf-forms\ndescription: Fills in PDF forms. Use when a form must be filled in.\n"
        'argument-hint: "[file] [low|high]"\narguments: [file, quality]\nmetadata:\n  version: "1.2"\n---\n'
        "Fill in $file at $quality. See references/fields.md.\n"
    )
    (forms / "references/fields.md").write_text("# Fields\n")
    (forms / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\1\2")
    deploy = folder / "deploy"
    deploy.mkdir(exist_ok=True)
    (deploy / "SKILL.md").write_text("---\nname: deploy\ndescription: Deploys the app.\n---\nDeploy $ARGUMENTS.\n")


@contextlib.asynccontextmanager
async def serving(server: str, folder: pathlib.Path, transport: str):
    options = [str(folder), "--commands", "--run-skill"]
    if transport == "stdio":
        yield lambda: StdioServerParameters(command=server, args=options)
        return
    token_file = folder.parent / "token"
    options += ["--http", "127.0.0.1:0", "--token-file", str(token_file)]
    process = subprocess.Popen([server, *options], stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        url = re.search(r"http://\S+", line).group(0)
        headers = {"Authorization": f"Bearer {token_file.read_text().strip()}"}
        yield lambda: streamable_http_client(url, http_client=httpx2.AsyncClient(headers=headers, timeout=30))
    finally:
        process.kill()
        process.wait()


async def custom(client: Client, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    request = types.Request[dict[str, Any], str](method=method, params=params or {})
    return await client.session.send_request(request, ANYTHING)


def verified(entry: dict[str, Any], uri: str, content: bytes) -> None:
    listed = {file["uri"]: file for file in entry["resources"]}[uri]
    assert listed["size"] == len(content), uri
    assert listed["digest"] == "sha256:" + hashlib.sha256(content).hexdigest(), uri


async def read(client: Client, uri: str) -> bytes:
    import base64

    content = (await client.read_resource(uri, cache_mode="bypass")).contents[0]
    return content.text.encode() if hasattr(content, "text") else base64.b64decode(content.blob)


async def check_skills(client: Client, folder: pathlib.Path, modern: bool) -> None:
    assert client.server_capabilities.extensions["io.modelcontextprotocol/skills"] == {"directoryRead": True}
    listed = await custom(client, "skills/list")
    assert listed["resultType"] == "complete"
    assert ("ttlMs" in listed) == modern and ("cacheScope" in listed) == modern
    entries = {entry["frontmatter"]["name"]: entry for entry in listed["skills"]}
    assert sorted(entries) == ["deploy", "pdf-forms"]
    forms = entries["pdf-forms"]
    assert forms["uri"] == "skill://pdf-forms/SKILL.md"
    assert forms["frontmatter"]["metadata"] == {"version": "1.2"}
    assert [file["uri"] for file in forms["resources"]] == [
        "skill://pdf-forms/SKILL.md",
        "skill://pdf-forms/logo.png",
        "skill://pdf-forms/references/fields.md",
    ]
    for file in forms["resources"]:
        verified(forms, file["uri"], await read(client, file["uri"]))
    got = await custom(client, "skills/get", {"uri": forms["uri"]})
    assert got["skill"] == forms
    children = await custom(client, "resources/directory/read", {"uri": "skill://pdf-forms"})
    assert [(child["name"], child["mimeType"]) for child in children["resources"]] == [
        ("SKILL.md", "text/markdown"),
        ("logo.png", "image/png"),
        ("references", "inode/directory"),
    ]
    for method, uri in [
        ("skills/get", "skill://nobody/SKILL.md"),
        ("skills/get", "skill://pdf-forms"),
        ("resources/directory/read", "skill://pdf-forms/SKILL.md"),
        ("resources/directory/read", "skill://pdf-forms/nothing"),
    ]:
        try:
            await custom(client, method, {"uri": uri})
            raise AssertionError(f"{method} {uri} answered")
        except MCPError as error:
            assert error.error.code == -32602, (method, uri, error)
    # A file that changed is an error until the skill is asked for again.
    fields = folder / "pdf-forms/references/fields.md"
    uri = "skill://pdf-forms/references/fields.md"
    fields.write_text("# Other fields\n")
    try:
        await read(client, uri)
        raise AssertionError("other bytes were served")
    except MCPError as error:
        assert "changed" in str(error), error
    got = await custom(client, "skills/get", {"uri": forms["uri"]})
    verified(got["skill"], uri, await read(client, uri))
    fields.write_text("# Fields\n")
    await custom(client, "skills/get", {"uri": forms["uri"]})


async def check_basics(client: Client, folder: pathlib.Path) -> None:
    assert "pdf-forms" in client.instructions and "load_skill" in client.instructions
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    # Loading may run the commands in a skill, because the server has `--commands`.
    for name in ["list_skills", "search_skills", "load_skill_resource"]:
        assert tools[name].annotations.read_only_hint is True, name
        assert tools[name].output_schema, name
    for name in ["run_command_line", "run_skill"]:
        assert tools[name].annotations.read_only_hint is False
        assert tools[name].annotations.destructive_hint is True
    found = await client.call_tool("search_skills", {"query": "fill in a form"})
    assert not found.is_error and "pdf-forms" in found.content[0].text
    loaded = await client.call_tool("load_skill", {"name": "pdf-forms", "arguments": "a.pdf high"})
    assert "Fill in a.pdf at high." in loaded.content[0].text
    assert loaded.structured_content["skill_name"] == "pdf-forms"
    again = await client.call_tool("load_skill", {"name": "pdf-forms", "arguments": "a.pdf high"})
    assert again.content[0].text == loaded.content[0].text, "a client may have forgotten"
    part = await client.call_tool(
        "load_skill_resource", {"skill_name": "pdf-forms", "resource_path": "references/fields.md"}
    )
    assert part.content[0].text == "# Fields\n"
    missing = await client.call_tool("load_skill", {"name": "pdf-form"})
    assert missing.is_error and "pdf-forms" in missing.content[0].text
    outside = await client.call_tool(
        "load_skill_resource", {"skill_name": "pdf-forms", "resource_path": "../../token"}
    )
    assert outside.is_error

    resources = {str(resource.uri): resource for resource in (await client.list_resources()).resources}
    assert resources["skill://pdf-forms/SKILL.md"].name == "pdf-forms"
    assert resources["skill://pdf-forms/SKILL.md"].mime_type == "text/markdown"
    assert await read(client, "skill://deploy/SKILL.md") == (folder / "deploy/SKILL.md").read_bytes()
    templates = (await client.list_resource_templates()).resource_templates
    assert templates[0].uri_template == "skill://{skill}/{+file}"

    prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
    assert [argument.name for argument in prompts["pdf-forms"].arguments] == ["file", "quality"]
    prompt = await client.get_prompt("pdf-forms", {"file": "b.pdf", "quality": "low"})
    assert "Fill in b.pdf at low." in prompt.messages[0].content.text
    reference = types.PromptReference(type="ref/prompt", name="pdf-forms")
    completed = await client.complete(reference, {"name": "quality", "value": "h"})
    assert completed.completion.values == ["high"]

    reports: list[str] = []

    async def progress(_done: float, _total: float | None, message: str | None) -> None:
        reports.append(message or "")

    ran = await client.call_tool(
        "run_skill", {"name": "deploy", "arguments": "now"}, progress_callback=progress
    )
    assert not ran.is_error and ran.structured_content["outcome"] == "submitted", ran
    assert "turn 1" in reports, reports


async def check_questions(client: Client, folder: pathlib.Path, questions: list[str], can_ask: bool) -> None:
    mark = folder / "mark"
    mark.unlink(missing_ok=True)
    await client.call_tool("load_skill", {"name": "deploy"})
    ran = await client.call_tool(
        "run_command_line",
        {"reason": "a test", "commandLine": f"touch {mark}", "skill_name": "deploy"},
    )
    if can_ask:
        assert not ran.is_error, ran
        assert len(questions) == 1 and f"touch {mark}" in questions[0], questions
    else:
        assert ran.is_error and not mark.exists(), ran


@contextlib.asynccontextmanager
async def edited_until_heard(edit: Callable[[], None]) -> AsyncIterator[None]:
    """Repeats an edit: the server may not be watching yet when the first one is made."""

    async def repeat() -> None:
        while True:
            edit()
            await asyncio.sleep(0.5)

    task = asyncio.create_task(repeat())
    try:
        yield
    finally:
        task.cancel()


async def check_news(client: Client, folder: pathlib.Path, heard: asyncio.Queue, modern: bool) -> None:
    def edit() -> None:
        deploy = folder / "deploy/SKILL.md"
        deploy.write_text(deploy.read_text() + "And again.\n")

    if not modern:
        await client.subscribe_resource("skill://deploy/SKILL.md")
        wanted = {
            "notifications/resources/list_changed",
            "notifications/prompts/list_changed",
            "notifications/resources/updated",
        }
        async with asyncio.timeout(20), edited_until_heard(edit):
            while wanted:
                message = await heard.get()
                wanted.discard(getattr(message, "method", None))
        return
    listening = client.listen(
        prompts_list_changed=True,
        resources_list_changed=True,
        resource_subscriptions=["skill://deploy/SKILL.md"],
    )
    async with listening as events:
        wanted = {"PromptsListChanged", "ResourcesListChanged", "ResourceUpdated"}
        async with asyncio.timeout(20), edited_until_heard(edit):
            async for event in events:
                wanted.discard(type(event).__name__)
                if not wanted:
                    break


async def check(server: str, folder: pathlib.Path, transport: str, mode: str) -> None:
    write_skills(folder)
    questions: list[str] = []
    heard: asyncio.Queue = asyncio.Queue()

    async def answer(_context: Any, params: Any) -> types.ElicitResult:
        questions.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": "once"})

    async with serving(server, folder, transport) as connect:
        async with Client(
            connect(), mode=mode, elicitation_callback=answer, message_handler=heard.put, read_timeout_seconds=30
        ) as client:
            modern = client.protocol_version >= "2026-07-28"
            assert modern == (mode == "auto"), client.protocol_version
            await check_basics(client, folder)
            await check_skills(client, folder, modern)
            await check_questions(client, folder, questions, can_ask=True)
            await check_news(client, folder, heard, modern)
    print(f"ok: Python SDK, {transport}, {client_version(modern)}")


def client_version(modern: bool) -> str:
    return "2026-07-28" if modern else "with a handshake"


async def main() -> None:
    server, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve() / "skills"
    folder.mkdir()
    for transport in ["stdio", "http"]:
        for mode in ["legacy", "auto"]:
            await asyncio.wait_for(check(server, folder, transport, mode), 120)


asyncio.run(main())
