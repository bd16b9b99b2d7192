// Checked by the TypeScript compiler only: what a user writes fits the declarations.
import { ClientTools, ClientToolsManager, DeniedError, RefusedError, ToolError, attachment, version, webStore } from "../index.js";
import type { CallEvent, Options, State, ToolContext, ToolResult } from "../index.js";

const options: Options = {
  url: new URL("https://host/client-tools"),
  headers: async () => ({ Authorization: "Bearer " + version }),
  ticket: () => Promise.resolve("once"),
  transport: ["websocket", "sse"],
  backoff: { min: 10 },
  store: webStore(sessionStorage),
  onState: (s: State, err?: Error) => console.log(s, err?.message),
  onCall(e: CallEvent) {
    if (e.type === "end") console.log(e.result.status, e.result.error);
    else if (e.type === "progress") console.log(e.progress.delta);
  },
};
const tools = new ClientTools(options);
await tools.register("title", { description: "The title", parameters: { type: "object" }, hints: { readOnly: true } }, () => document.title);
await tools.register("ask", { description: "Asks" }, async (input: { n: number }, ctx: ToolContext): Promise<ToolResult> => {
  ctx.progress("so far");
  ctx.progress({ title: "half", metadata: { n: input.n } });
  try {
    await ctx.ask({ permission: "draw", patterns: ["x"] });
  } catch (err) {
    if (err instanceof DeniedError) throw new ToolError("no", { output: "part", code: err.code });
  }
  const [first] = await ctx.hostTools();
  const r = await ctx.invoke(first?.id ?? "read", { filePath: "a" });
  await fetch("/", { signal: ctx.signal });
  return { output: r.output ?? "", attachments: [await attachment(new Uint8Array([1]), { mime: "image/png" })] };
});
tools.connect("ses_1").catch((err) => err instanceof RefusedError && console.log(err.code, tools.state satisfies State));
await tools.unregister("title", ["ask"]);
const ids: Map<string, string> = tools.toolIDs;
console.log(ids, tools.transport === "sse");
await new ClientToolsManager(undefined, "https://host", { timeout: 30000, useWebSocket: true }).disconnect();
// @ts-expect-error a description is needed
tools.register("bad", {}, () => 1);
// @ts-expect-error there is no such transport
new ClientTools({ url: "/", transport: "pigeon" });
// @ts-expect-error an attachment needs a type
const wrong: ToolResult = { attachments: [{ url: "data:," }] };
console.log(wrong);
