// A page whose tools an agent on the host can call, and a view of the calls.
import { ClientTools, ToolError } from "./clienttool.js";
import { calls } from "./calls.js";

const $ = (id) => document.getElementById(id);

// The key came after the #. It is kept for reloads of this tab, and taken out of the address.
const given = new URLSearchParams(location.hash.slice(1));
const key = given.get("key") ?? sessionStorage.getItem("key");
if (key) sessionStorage.setItem("key", key);
history.replaceState(null, "", location.pathname);
const headers = { Authorization: "Bearer " + key };

const view = calls($("calls"), $("nothing"));
const words = { idle: "not connected", connecting: "connecting …", ready: "connected", backoff: "connection lost, trying again …", closed: "not connected" };
const tools = new ClientTools({
  url: "/client-tools",
  sessionID: "ses_browser",
  clientID: "tab-" + crypto.randomUUID().slice(0, 8),
  headers,
  ticket: true,
  transport: given.get("transport") ?? "auto", // #key=…&transport=sse does without a WebSocket
  backoff: { min: 300, max: 10_000 },
  onCall: view.call,
  onState(state, err) {
    const via = state === "ready" ? { websocket: " over a WebSocket", sse: " over an event stream" }[tools.transport] ?? "" : "";
    $("link").textContent = state === "closed" && err ? err.message : words[state] + via;
    $("link").dataset.state = state;
    view.state(state);
  },
});

function tool(name, definition, handler) {
  tools.register(name, definition, handler);
  const li = document.createElement("li"), code = document.createElement("code"), span = document.createElement("span");
  code.textContent = name;
  span.textContent = definition.description;
  li.append(code, span);
  $("tools").append(li);
}

const object = (properties) => ({ type: "object", properties, required: Object.keys(properties), additionalProperties: false });
const text = { type: "string", maxLength: 200 };

tool("page_title", { description: "Reads the title of the page.", parameters: object({}), hints: { readOnly: true } }, () => document.title);

tool("ask_number", {
  description: "Asks the user of the page for a whole number.",
  parameters: object({ question: text, min: { type: "integer" }, max: { type: "integer" } }),
  timeoutMs: 300_000, maxInFlight: 1,
}, (input, ctx) => new Promise((resolve, reject) => {
  const dialog = $("question"), field = $("number");
  $("asked").textContent = input.question;
  Object.assign(field, { value: "", min: input.min, max: input.max, placeholder: `${input.min} to ${input.max}` });
  dialog.returnValue = "";
  const stop = () => dialog.close();
  ctx.signal.addEventListener("abort", stop);
  dialog.addEventListener("close", () => {
    ctx.signal.removeEventListener("abort", stop);
    if (ctx.signal.aborted) reject(ctx.signal.reason);
    else if (dialog.returnValue !== "answer") reject(new ToolError("The user did not want to answer.", { code: "denied" }));
    else resolve({ title: input.question, output: field.value, structured: { number: field.valueAsNumber } });
  }, { once: true });
  dialog.showModal();
  ctx.progress({ title: "The user is asked" });
}));

tool("draw_star", {
  description: "Draws a star, line by line, and returns the picture.",
  parameters: object({ points: { type: "integer", minimum: 3, maximum: 12 } }),
  maxInFlight: 1,
}, async ({ points }, ctx) => {
  const canvas = $("canvas"), g = canvas.getContext("2d"), w = canvas.width, h = canvas.height, corners = 2 * points;
  const style = getComputedStyle(document.documentElement);
  g.clearRect(0, 0, w, h);
  Object.assign(g, { lineWidth: 5, lineJoin: "round", lineCap: "round", strokeStyle: style.getPropertyValue("--accent"), fillStyle: style.getPropertyValue("--accent") });
  const corner = (i) => {
    const r = (i % 2 ? 0.18 : 0.44) * h, a = (i / corners) * 2 * Math.PI - Math.PI / 2;
    return [w / 2 + r * Math.cos(a), h / 2 + r * Math.sin(a)];
  };
  for (let i = 0; i < corners; i++) {
    ctx.signal.throwIfAborted();
    g.beginPath();
    g.moveTo(...corner(i));
    g.lineTo(...corner(i + 1));
    g.stroke();
    ctx.progress({ delta: `line ${i + 1} of ${corners}\n`, metadata: { done: i + 1, of: corners } });
    await new Promise((r) => setTimeout(r, 140));
  }
  g.beginPath();
  for (let i = 0; i < corners; i++) g.lineTo(...corner(i));
  g.closePath();
  g.globalAlpha = 0.18;
  g.fill();
  g.globalAlpha = 1;
  canvas.setAttribute("aria-label", `A star of ${points} points.`);
  return { title: "A star", output: `Drew a star of ${points} points.`, attachments: [{ type: "file", mime: "image/png", filename: "star.png", url: canvas.toDataURL() }] };
});

// What the page remembers is its own, so the tools ask before they change it.
const prefix = "remembered.";
const remembered = () => Object.keys(localStorage).filter((k) => k.startsWith(prefix)).sort();
function showMemory() {
  $("memory").replaceChildren(...remembered().map((k) => {
    const div = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = k.slice(prefix.length);
    dd.textContent = localStorage.getItem(k);
    div.append(dt, dd);
    return div;
  }));
}

tool("remember", { description: "Keeps a text in the page's local storage.", parameters: object({ key: text, value: text }) }, async ({ key: name, value }, ctx) => {
  await ctx.ask({ permission: "page_memory", title: "Remember " + name, patterns: ["write " + name] });
  localStorage.setItem(prefix + name, value);
  showMemory();
  return `Kept ${name}.`;
});

tool("recall", { description: "Reads a text that the page has kept.", parameters: object({ key: text }), hints: { readOnly: true } }, ({ key: name }) => {
  const value = localStorage.getItem(prefix + name);
  if (value === null) throw new ToolError(`The page has kept nothing called ${name}. It knows: ${remembered().map((k) => k.slice(prefix.length)).join(", ") || "nothing"}.`);
  return value;
});

tool("forget_all", { description: "Removes all that the page has kept.", parameters: object({}), hints: { destructive: true } }, async (_, ctx) => {
  await ctx.ask({ permission: "page_memory", title: "Forget everything", patterns: ["clear"] });
  for (const k of remembered()) localStorage.removeItem(k);
  showMemory();
  return "Nothing is kept any more.";
});

// The agent's transcript comes line by line, and again from where it stopped if it breaks off.
async function follow() {
  for (let n = 0; tools.state !== "closed"; await new Promise((r) => setTimeout(r, 1000))) {
    try {
      const res = await fetch("/agent?from=" + n, { headers });
      if (!res.ok) continue;
      const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const l of lines) {
          say(JSON.parse(l));
          n++;
        }
      }
    } catch { /* the host is away; it is asked again */ }
  }
}

const who = { say: "", call: "calls ", result: "gets ", failed: "is told ", asked: "the host is asked: ", note: "the host " };
function say({ kind, tool: name, text: what }) {
  const li = document.createElement("li"), by = document.createElement("span");
  li.className = kind;
  by.className = "who";
  by.textContent = who[kind] ?? "";
  li.append(by, kind === "call" ? `${name} ${what}` : what);
  $("transcript").append(li);
}

for (const [id, path] of [["run", "/agent?tab=" + tools.clientID], ["cut", "/cut"]]) {
  $(id).addEventListener("click", async () => {
    const res = await fetch(path, { method: "POST", headers }).catch((err) => err);
    if (res.ok === false) say({ kind: "failed", text: await res.text() });
  });
}

showMemory();
tools.connect().then(follow, (err) => say({ kind: "failed", text: err.message }));
