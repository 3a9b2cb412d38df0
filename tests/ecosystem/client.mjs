// A client made with the TypeScript SDK of ACP: does what each word of a scenario names.
// node client.mjs SDK COMMAND CWD SCENARIO
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [sdk, command, cwd, scenario] = process.argv.slice(2);
const acp = await import(sdk);
const agent = spawn(command, ["acp"], { cwd, stdio: ["pipe", "pipe", "inherit"] });
const seen = { updates: {}, asked: 0, text: "", read: 0 };
const answers = { allow: "allow_once", deny: "reject_once" };
let cancel = () => {};

const client = acp.client({ name: "typescript" });
client.onNotification(acp.methods.client.session.update, ({ params }) => {
  const { update } = params;
  seen.updates[update.sessionUpdate] = (seen.updates[update.sessionUpdate] ?? 0) + 1;
  if (update.sessionUpdate === "agent_message_chunk") seen.text += update.content.text;
});
client.onRequest(acp.methods.client.session.requestPermission, async ({ params }) => {
  seen.asked += 1;
  if (scenario === "cancel") {
    await cancel();
    return { outcome: { outcome: "cancelled" } };
  }
  const chosen = params.options.find((each) => each.kind === (answers[scenario] ?? "allow_once"));
  return { outcome: { outcome: "selected", optionId: chosen.optionId } };
});
client.onRequest(acp.methods.client.fs.readTextFile, () => {
  seen.read += 1;
  return { content: "unsaved text\n" };
});

const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await client.connectWith(stream, async (context) => {
  const call = (method, params) => context.request(method, params);
  seen.initialized = await call("initialize", {
    protocolVersion: 1,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: false } },
  });
  const opened = await call("session/new", { cwd, mcpServers: [] });
  const sessionId = opened.sessionId;
  cancel = () => context.notify("session/cancel", { sessionId });
  seen.modes = opened.modes.availableModes.map((each) => each.id);
  seen.options = opened.configOptions.map((each) => each.category);
  if (scenario === "settings") {
    await call("session/set_mode", { sessionId, modeId: "plan" });
    const model = opened.configOptions.find((each) => each.category === "model");
    const value = process.argv[6];
    await call("session/set_config_option", { sessionId, configId: model.id, value });
  }
  const prompt = [{ type: "text", text: "go" }];
  seen.stopReason = (await call("session/prompt", { sessionId, prompt })).stopReason;
  if (scenario === "load") {
    await call("session/close", { sessionId });
    seen.before = { ...seen.updates };
    await call("session/load", { sessionId, cwd, mcpServers: [] });
  }
});
agent.stdin.end();
console.log(JSON.stringify(seen));
