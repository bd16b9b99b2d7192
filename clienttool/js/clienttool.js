// Lends tools of a web page or a Node program to an agent elsewhere. What everything means is said in index.d.ts;
// how calls survive bad networks, in docs/delegation.md. One file, so that a page can take it as it is.
//
// A call is in #calls from the moment it arrives until the host has given a verdict on its result, whatever happens
// to connections meanwhile; #ended remembers the ids of those that are over, so that none runs twice.

export const version = "0.1.0";
const subprotocol = "clienttool.v1";
const maxFrame = 8 << 20, maxError = 8 << 10, progressChars = 16 << 10, remembered = 4096, maxQueued = 1024;
const progressEvery = 100, lateBy = 50; // ms
const noop = () => {};
const now = () => performance.now();
const bytes = (s) => (s ? new TextEncoder().encode(s).length : 0);
const randomID = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

export class ClientToolError extends Error {
  constructor(message, code = "error", cause) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
  }
}
export class ConnectError extends ClientToolError {
  constructor(message, o = {}) {
    super(message, o.code ?? "connection", o.cause);
    this.status = o.status ?? 0;
    this.retryAfter = o.retryAfter ?? 0; // ms
  }
}
export class ProtocolError extends ConnectError {}
export class RefusedError extends ClientToolError {}
export class ClosedError extends ClientToolError {}
export class RejectedError extends ClientToolError {}
export class DeniedError extends ClientToolError {}
export class InvokeError extends ClientToolError {}
export class TimeoutError extends ClientToolError {}
export class CancelledError extends ClientToolError {}
export class TooLargeError extends ClientToolError {}
export class ToolError extends ClientToolError {
  constructor(message, result = {}) {
    super(message, result.code ?? "tool_error", result.cause);
    this.result = result;
  }
}

export async function attachment(data, { mime, filename } = {}) {
  const blob = data instanceof Blob ? data : new Blob([data]);
  const raw = new Uint8Array(await blob.arrayBuffer());
  let s = "";
  for (let i = 0; i < raw.length; i += 0x8000) s += String.fromCharCode(...raw.subarray(i, i + 0x8000));
  const type = mime || blob.type || "application/octet-stream";
  return { type: "file", mime: type, ...(filename ? { filename } : {}), url: `data:${type};base64,${btoa(s)}` };
}

export function webStore(storage, key = "clienttool") {
  return {
    load: () => JSON.parse(storage.getItem(key) ?? "null"),
    save: (state) => storage.setItem(key, JSON.stringify(state)),
  };
}

const keyOf = (id, v) => (v ? id + "\0" + v : id); // versions of a tool stand beside each other
const resultKeys = ["title", "output", "metadata", "attachments", "structured", "endTurn"];

// A handler returns a string, a result, nothing, or any other value, which is sent as JSON.
function resultOf(v) {
  if (v === undefined || v === null) return { status: "success", output: "" };
  if (typeof v === "string") return { status: "success", output: v };
  const keys = typeof v === "object" && !Array.isArray(v) ? Object.keys(v) : [];
  if (typeof v.output === "string" || (keys.length > 0 && keys.every((k) => resultKeys.includes(k)))) {
    const r = { status: "success" };
    for (const k of resultKeys) if (v[k] !== undefined && v[k] !== null) r[k] = v[k];
    for (const k of ["title", "output"]) if (k in r && typeof r[k] !== "string") r[k] = JSON.stringify(r[k]) ?? "";
    return r;
  }
  const output = JSON.stringify(v);
  if (output === undefined) throw new ToolError(`The tool ran, but returned a ${typeof v}, which cannot be sent.`);
  return { status: "success", output };
}

function textOf(err) {
  try {
    const s = err instanceof Error ? err.message || `The tool failed with ${err.name}.` : String(err);
    return s.length > maxError ? s.slice(0, maxError) + "…" : s;
  } catch {
    return "The tool failed with something that is no error.";
  }
}

// Why the signal was aborted says more than the error that a handler made of it.
function failureOf(err, signal) {
  try {
    if (signal.aborted && ["AbortError", "TimeoutError"].includes(err?.name)) err = signal.reason;
    const r = { status: "error", error: textOf(err), code: err instanceof ClientToolError ? err.code : "tool_error" };
    if (err instanceof ToolError) for (const k of resultKeys) if (err.result[k] !== undefined) r[k] = err.result[k];
    return r;
  } catch {
    return { status: "error", error: "The tool failed with something that is no error.", code: "tool_error" };
  }
}

const json = (v) => (v === undefined ? "" : JSON.stringify(v));
const sizeOf = (r) => // as the host counts
  [r.output, r.title, r.error, json(r.metadata), json(r.structured), ...(r.attachments ?? []).map((a) => a?.url)].reduce((n, s) => n + bytes(s), 0);
const tooLarge = (size, limit) => ({
  status: "error", code: "too_large",
  error: `The tool ran, but its result of ${size} bytes is more than ${limit ? `the ${limit} that` : "what"} can be sent. Ask for less in one call.`,
});

function sleep(ms, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}

// eventsOf reads an event stream as the HTML standard says.
async function* eventsOf(body, link) {
  const reader = body.getReader(), decoder = new TextDecoder();
  let rest = "", cr = false, data, name = "", id, known;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    link.heard();
    let text = decoder.decode(value, { stream: true });
    if (!text) continue;
    if (cr && text[0] === "\n") text = text.slice(1); // the other half of a CR LF
    cr = text.endsWith("\r");
    const lines = text.split(/\r\n|\r|\n/);
    lines[0] = rest + lines[0];
    rest = lines.pop();
    if (rest.length + (data?.length ?? 0) > link.max) throw new ProtocolError("The host sent an event that is too large", { code: "protocol" });
    for (const line of lines) {
      if (line === "") {
        if (data !== undefined || id !== known) yield { name, id: (known = id), data };
        data = undefined;
        name = "";
        continue;
      }
      const at = line.indexOf(":");
      const field = at < 0 ? line : line.slice(0, at);
      const val = at < 0 ? "" : line.slice(at + (line[at + 1] === " " ? 2 : 1));
      if (field === "data") data = data === undefined ? val : data + "\n" + val;
      else if (field === "event") name = val;
      else if (field === "id" && !val.includes("\0")) id = val;
    }
  }
}

// Link is one connection: its carrier, and what waits to be written to it.
class Link {
  out = [];
  acks = [];
  changed = new Set(); // tools to be registered
  seq = 0;
  max = maxFrame; // of a message that comes
  ended = false;
  bye = false; // is said; the link ends when nothing is left to say
  stop = new AbortController(); // of all that the carrier does
  done = new Promise((resolve) => (this.settle = resolve));
  heard = () => (this.heardAt = now());
  heardAt = now();
  constructor(receive) {
    this.receive = receive;
  }
  end(err) {
    if (this.ended) return;
    this.ended = true;
    this.settle(err);
    this.wake?.();
    this.carrier?.close();
    this.stop.abort(err);
  }
  push(entry) {
    if (this.ended) return;
    this.out.push(entry);
    this.wake?.();
  }
  text(s) {
    this.heard();
    let m;
    try {
      m = JSON.parse(s);
    } catch { /* judged below */ }
    if (m === null || typeof m !== "object" || typeof m.type !== "string") {
      return this.end(new ProtocolError("The host sent something that is no message", { code: "protocol" }));
    }
    this.message(m);
  }
  message(m) {
    if (this.ended) return;
    try {
      this.receive(this, m);
    } catch (cause) { // such as a list that is none
      this.end(new ProtocolError("The host sent a message that cannot be understood", { code: "protocol", cause }));
    }
  }
}

// Http is what is done by fetch: credentials, time limits, and repeating what failed for a passing reason.
class Http {
  gen = 0;
  constructor(client, link) {
    Object.assign(this, { o: client.options, id: client.clientID, link });
  }
  async fetch(path, method, body, { stream = false, keepalive = false, headers } = {}) {
    const { o, link } = this, stop = link.stop.signal, ctl = new AbortController();
    const abort = () => ctl.abort(stop.reason);
    let timer;
    try {
      const given = typeof o.headers === "function" ? await o.headers() : o.headers;
      let url = o.url + path;
      if (typeof o.ticket === "function" && !o.headers) {
        url += (url.includes("?") ? "&" : "?") + "ticket=" + encodeURIComponent(await o.ticket());
      }
      if (!keepalive) {
        if (stop.aborted) throw stop.reason;
        stop.addEventListener("abort", abort);
        if (!stream) timer = setTimeout(() => ctl.abort(new ConnectError("The host did not answer in time")), 30_000);
      }
      const res = await o.fetch(url, {
        method, body, keepalive, signal: ctl.signal, credentials: o.credentials, cache: "no-store",
        headers: {
          ...Object.fromEntries(new Headers(given ?? {})), ...headers, ...(path === "/message" ? { "Clienttool-Client": this.id } : {}),
          ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...(this.gen ? { "Clienttool-Gen": String(this.gen) } : {}),
        },
      });
      if (stream && res.status === 200) return { res };
      const text = await res.text();
      return res.ok ? { res, text } : { res, ...this.problem(res, text) };
    } catch (cause) {
      throw cause instanceof ClientToolError ? cause : new ConnectError("The host cannot be reached: " + textOf(cause), { cause });
    } finally {
      clearTimeout(timer);
      if (!stream) stop.removeEventListener("abort", abort);
    }
  }
  // problem reads an answer that is not 2xx: a message of the host, or an error.
  problem(res, text) {
    let body;
    try {
      body = JSON.parse(text);
    } catch { /* it is not of our host */ }
    if (typeof body?.type === "string") return { message: body };
    const said = `The host answered ${res.status}` + (typeof body?.error === "string" ? ": " + body.error.slice(0, 200) : "");
    if (res.status === 401 || res.status === 403) return { body, error: new RefusedError(said, "unauthorized") };
    if (res.status === 413) return { body, error: new TooLargeError(said, "too_large") };
    const after = Number(res.headers.get("Retry-After"));
    return { body, error: new ConnectError(said, { status: res.status, retryAfter: after > 0 ? Math.min(after, 300) * 1000 : 0 }) };
  }
  // post repeats: results, questions and progress have ids, so that once more does no harm.
  async post(path, method, body) {
    for (let n = 0, wait = 100; ; n++, wait *= 3) {
      let r, err;
      try {
        r = await this.fetch(path, method, body);
        err = r.error;
      } catch (e) {
        err = e;
      }
      if (!err || (r && ![408, 429, 500, 502, 503, 504].includes(err.status))) return r;
      if (n === 4 || this.link.ended || !(err instanceof ConnectError)) throw err;
      await sleep(Math.min(Math.max(wait, err.retryAfter), 30_000), this.link.stop.signal);
    }
  }
  async read(res, each) {
    try {
      for await (const ev of eventsOf(res.body, this.link)) {
        if (this.link.ended) return;
        each(ev);
      }
      this.link.end(new ConnectError("The host closed the stream"));
    } catch (cause) {
      this.link.end(cause instanceof ClientToolError ? cause : new ConnectError("The stream was lost: " + textOf(cause), { cause }));
    }
  }
}

// A carrier says hello and returns what sends (send, and last when the page goes away) and closes. What comes goes to the link.
const carriers = {
  async websocket(client, link, hello) {
    const o = client.options, http = new Http(client, link), path = "/ws/" + encodeURIComponent(client.clientID);
    const query = async () => {
      if (!o.ticket) return "";
      if (typeof o.ticket === "function") return "?ticket=" + encodeURIComponent(await o.ticket());
      const { error, text } = await http.fetch("/ticket", "POST", JSON.stringify({ clientID: client.clientID }));
      if (!text) throw error ?? new ConnectError("The host gave no ticket");
      return "?ticket=" + encodeURIComponent(JSON.parse(text).ticket);
    };
    const ws = new o.WebSocket(o.url.replace(/^http/, "ws") + path + (await query()), [subprotocol]);
    const close = () => {
      ws.onopen = ws.onmessage = ws.onclose = null;
      ws.onerror = noop;
      ws.close();
    };
    ws.binaryType = "arraybuffer";
    ws.onmessage = ({ data }) => {
      if (typeof data === "string" && data.length <= link.max) link.text(data);
      else link.end(new ProtocolError("The host sent a frame that is binary or too large", { code: "protocol" }));
    };
    try {
      await new Promise((resolve, reject) => {
        ws.onopen = () => {
          ws.onerror = () => sleep(100).then(() => link.end(new ConnectError("The WebSocket failed"))); // close says more, if it comes
          ws.onclose = (e) => link.end(e.code === 4001 ? new RefusedError("The host refused this client", "unauthorized")
            : new ConnectError(`The WebSocket was closed (${e.code}${e.reason ? " " + e.reason : ""})`));
          ws.send(hello);
          resolve();
        };
        ws.onclose = ws.onerror = () => reject(new ConnectError("The WebSocket was not accepted"));
        link.stop.signal.addEventListener("abort", () => reject(link.stop.signal.reason));
        if (link.ended) reject(link.stop.signal.reason);
      });
    } catch (err) {
      close();
      // Scripts do not learn the status of a refused handshake. An ordinary request, with credentials as fresh, gets one.
      if (!link.ended && client.transports.length === 1) {
        const asked = await http.fetch(path + (await query()), "GET").catch(noop);
        if (asked?.error instanceof RefusedError) throw asked.error;
      }
      throw err;
    }
    return {
      async send(m, text) {
        ws.send(text);
        while (ws.bufferedAmount > 1 << 20 && !link.ended) await sleep(10, link.stop.signal);
      },
      last: (m, text) => ws.readyState === 1 && ws.send(text),
      close,
    };
  },

  // The answer to hello is the stream. Everything else is a POST, whose answer is a message.
  async sse(client, link, hello) {
    const http = new Http(client, link);
    const { res, error, message } = await http.fetch("/message", "POST", hello, { stream: true, headers: { Accept: "text/event-stream" } });
    if (error) throw error;
    if (message) link.message(message);
    else if (!res.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      throw new ProtocolError("The host answered hello with something that is no stream", { code: "protocol", status: 405 });
    } else {
      http.read(res, ({ name, data }) => {
        if (data !== undefined && (!name || data[0] === "{")) link.text(data); // the others are for somebody else
      });
    }
    return {
      welcome: (w) => (http.gen = w.gen),
      async send(m, text) {
        const r = await http.post("/message", "POST", text);
        if (r.error && r.error.status < 500 && (m.askID || r.error.status !== 404)) { // this message was wrong, not the link
          const type = m.askID ? m.type + "-reply" : "error";
          return link.message({ type, requestID: m.requestID, askID: m.askID, ref: m.type, code: r.body?.code ?? "refused", error: r.body?.error });
        }
        if (r.error) throw r.error;
        if (r.message) link.message(r.message);
        else if (r.text) link.text(r.text);
      },
      last: (m, text) => http.fetch("/message", "POST", text, { keepalive: bytes(text) < 60_000 }).catch(noop),
      close: noop,
    };
  },

  // The documented endpoints alone: no progress, no questions, and no resumption but by event id.
  async plain(client, link) {
    const http = new Http(client, link), clientID = client.clientID, sessionID = client.sessionID;
    const register = async (tools) => {
      const r = await http.post("/register", "POST", JSON.stringify({ sessionID, clientID, tools }));
      if (r.error && r.res.status !== 422) throw r.error;
      const a = r.error ? r.body : JSON.parse(r.text), toolIDs = Array.isArray(a?.registered) ? a.registered : [];
      const names = a?.names ?? Object.fromEntries(toolIDs.map((id) => [id, client.ownName(id)]));
      return { type: "registered", toolIDs, names, rejected: a?.rejected };
    };
    const registered = await register(client.definitions());
    const path = "/pending/" + encodeURIComponent(clientID) + (sessionID ? "?sessionID=" + encodeURIComponent(sessionID) : "");
    const headers = { Accept: "text/event-stream", ...(client.lastEvent ? { "Last-Event-ID": client.lastEvent } : {}) };
    const { res, error } = await http.fetch(path, "GET", undefined, { stream: true, headers });
    if (res?.status === 204) throw new RefusedError("Another page of this client id has taken over", "superseded");
    if (error) throw error;
    link.message({ type: "welcome", welcome: { pingMs: 30_000 } });
    link.message(registered);
    http.read(res, ({ name, id, data }) => {
      if (id) client.lastEvent = id;
      let m;
      try {
        m = JSON.parse(data ?? "");
      } catch {
        return; // such as a ping without data
      }
      if (name === "tool-request") link.message({ type: "request", request: m });
      else if (typeof m?.type === "string") link.message(m);
    });
    const verdicts = { 400: "invalid", 404: "unknown", 410: "cancelled" };
    return {
      plain: true,
      async send(m, text) {
        if (m.type === "result") {
          const r = await http.post("/result", "POST", text);
          if (r.error && !verdicts[r.res.status]) throw r.error;
          link.message({ type: "ack", requestID: m.requestID, verdict: r.error ? verdicts[r.res.status] : "accepted" });
        } else if (m.type === "register") {
          link.message(await register(m.tools));
        } else if (m.type === "unregister" || m.type === "bye") {
          const toolIDs = m.toolIDs ?? client.definitions().map((d) => d.id);
          await http.post("/unregister", "DELETE", JSON.stringify({ sessionID, clientID, toolIDs }));
          link.message({ type: "unregistered", toolIDs: [] });
        }
      },
      last: (m, text) => m.type === "result" && http.fetch("/result", "POST", text, { keepalive: bytes(text) < 60_000 }).catch(noop),
      close: noop,
    };
  },
};

export class ClientTools {
  #tools = new Map();
  #calls = new Map();
  #asks = new Map(); // that belong to no call, or do not stop its clock
  #ended = new Map(); // request id -> whether it was cancelled before it came
  #names = new Map();
  #instance = randomID();
  #state = "idle";
  #limits = {};
  #kept = 0;
  #waiters = []; // of registrations: { ids, resolve, reject }
  #resume;
  #link;
  #run;
  #start = 0; // the first transport to try
  #worked = new Set();
  #running = 0;
  #queue = []; // calls that wait for room
  #saving = false;
  #unsaved = false;

  constructor(options) {
    const o = { ...options };
    if (!o.url) throw new TypeError("url is missing: where the host mounts client tools, as in https://host/client-tools");
    o.url = new URL(o.url, globalThis.location?.href).href.replace(/^ws/, "http").replace(/\/+$/, "");
    o.fetch ??= (...a) => globalThis.fetch(...a);
    if (o.WebSocket === undefined) o.WebSocket = globalThis.WebSocket;
    const defaults = { maxConcurrent: 16, healthyAfter: 5e3, helloTimeout: 1e4, drainTimeout: 5e3, ackDelay: 20, resendAfter: 1e4,
      resultTTL: 6e5, resultBytes: 8 << 20, maxReconnectAttempts: Infinity, transport: "auto", closeOnPageHide: true };
    for (const [k, v] of Object.entries(defaults)) o[k] ??= v;
    o.backoff = { min: 1000, max: 30_000, ...o.backoff };
    this.options = o;
    this.transports = (o.transport === "auto" ? ["websocket", "sse", "plain"] : [o.transport].flat())
      .filter((t) => t !== "websocket" || o.transport !== "auto" || o.WebSocket);
    for (const t of this.transports) if (!Object.hasOwn(carriers, t)) throw new TypeError(`There is no transport ${t}: websocket, sse, plain, auto`);
    if (this.transports.includes("websocket") && !o.WebSocket) {
      throw new TypeError("This runtime has no WebSocket: give one as the option WebSocket, or use the transport sse");
    }
    this.clientID = o.clientID || "c-" + randomID();
    this.sessionID = o.sessionID ?? "";
  }

  get state() {
    return this.#state;
  }
  get toolIDs() {
    return new Map(this.#names);
  }
  get transport() {
    return this.#link?.name;
  }

  register(id, definition, handler) {
    if (typeof id !== "string" || id === "") throw new TypeError("A tool needs a name");
    if (typeof handler !== "function") throw new TypeError(`The tool ${id} needs a handler`);
    if (typeof definition?.description !== "string") throw new TypeError(`The tool ${id} needs a description`);
    const def = { ...JSON.parse(JSON.stringify(definition)), id }, key = keyOf(id, def.version);
    this.#tools.set(key, { def, handler });
    const k = this.#link;
    if (!k || k.bye) return Promise.resolve();
    k.changed.add(key);
    k.push({ kind: "register" }); // several in one go are one message
    return this.#answered([id]);
  }

  unregister(...ids) {
    const gone = ids.flat().filter((id) => [...this.#tools].filter(([key, t]) => t.def.id === id && this.#tools.delete(key)).length > 0);
    if (!this.#link || gone.length === 0) return Promise.resolve();
    this.#link.push({ m: { type: "unregister", toolIDs: gone } });
    return this.#answered([]);
  }

  connect(sessionID) {
    if (sessionID) this.sessionID = sessionID;
    if (!this.#run) {
      const run = (this.#run = { stop: new AbortController() });
      run.ready = new Promise((resolve, reject) => Object.assign(run, { resolve, reject }));
      run.ready.catch(noop); // whoever does not wait for it hears of it through onState
      run.done = this.#loop(run);
    }
    return this.#run.ready;
  }

  async disconnect() {
    const run = this.#run, k = this.#link;
    if (!run) return;
    if (!run.leaving) {
      run.leaving = true;
      for (const call of [...this.#calls.values()]) this.#abort(call, new CancelledError("The client was shut down", "cancelled"));
      if (k) {
        k.bye = true;
        k.push({ m: { type: "bye", reason: "shutdown" } });
        k.drain = setTimeout(() => k.end(new ClosedError("The client was shut down", "closed")), this.options.drainTimeout);
      }
      run.stop.abort();
    }
    await run.done;
  }

  async hostTools(sessionID) {
    const run = this.#run;
    if (!run) throw new ClosedError("The client is not connected", "closed");
    return this.#listed({ type: "host-tools", sessionID }, run.stop.signal);
  }

  definitions() {
    return [...this.#tools.values()].map((t) => t.def);
  }
  ownName(id) {
    const prefix = `client_${this.clientID}_`;
    return this.#names.get(id) ?? (id.startsWith(prefix) ? id.slice(prefix.length) : id);
  }

  #answered(ids) {
    const p = new Promise((resolve, reject) => this.#waiters.push({ ids, resolve, reject }));
    p.catch(noop); // a rejection reaches onTools as well
    return p;
  }
  #hook(name, ...args) {
    try {
      const p = this.options[name]?.(...args);
      if (typeof p?.then === "function") p.then(noop, (err) => this.#log("error", `${name} failed`, err));
    } catch (err) {
      this.#log("error", `${name} failed`, err);
    }
  }
  #log(level, ...args) {
    try {
      this.options.logger?.[level]?.("client tools:", ...args);
    } catch { /* a logger's own failure is nobody's business */ }
  }
  #set(state, error) {
    if (this.#state === state) return;
    this.#state = state;
    this.#hook("onState", state, error);
  }

  // The life of a connected client: connect, serve, wait, until it is told to stop or refused for good.
  async #loop(run) {
    const o = this.options, wake = () => run.wake?.abort();
    const shown = () => globalThis.document.hidden || wake();
    const hide = (e) => (e.persisted ? this.#link?.end(new ConnectError("The page was put aside")) : this.#leaveNow());
    const listen = (add) => {
      const f = (t, type, cb) => t?.[add ? "addEventListener" : "removeEventListener"]?.(type, cb);
      f(globalThis, "online", wake);
      f(globalThis, "pageshow", wake);
      f(globalThis.document, "visibilitychange", shown);
      if (o.closeOnPageHide) f(globalThis, "pagehide", hide);
    };
    listen(true);
    run.stop.signal.addEventListener("abort", wake);
    let err;
    try {
      await this.#load();
      for (let n = 0; !run.stop.signal.aborted; n++) {
        this.#set("connecting");
        let ready = 0;
        try {
          const k = await this.#dial(run);
          const t = now();
          err = await this.#serve(k, run);
          ready = now() - t;
        } catch (e) {
          err = e;
        }
        if (run.stop.signal.aborted || err instanceof RefusedError) break;
        if (ready >= o.healthyAfter) n = 0;
        if (n >= o.maxReconnectAttempts) {
          err = new RefusedError("Too many attempts to connect", "attempts", err);
          break;
        }
        this.#log("info", "connection lost", err);
        this.#set("backoff", err);
        run.wake = new AbortController();
        await sleep(Math.max(err?.retryAfter ?? 0, Math.random() * Math.min(o.backoff.min * 2 ** n, o.backoff.max)), run.wake.signal);
      }
    } catch (e) {
      err = e;
    } finally {
      listen(false);
    }
    const why = err instanceof RefusedError ? err : new ClosedError("The client was shut down", "closed");
    for (const call of [...this.#calls.values()]) {
      this.#abort(call, new CancelledError("The client was shut down", "cancelled"));
      this.#forget(call, undefined, true); // a store keeps what was not delivered
    }
    this.#run = undefined;
    run.reject(why);
    for (const w of this.#waiters.splice(0)) w.reject(why);
    this.#set("closed", err instanceof RefusedError ? err : undefined);
  }

  // A page that goes away says so while it can: what runs has failed, and the host need not wait for it.
  #leaveNow() {
    const k = this.#link;
    if (!k) return;
    for (const call of [...this.#calls.values()]) {
      if (!call.result) this.#finish(call, { status: "error", code: "cancelled", error: "The page was closed." });
      if (call.text) k.carrier?.last({ type: "result" }, call.text);
    }
    k.carrier?.last({ type: "bye" }, JSON.stringify({ type: "bye", reason: "shutdown" }));
    this.#run.stop.abort();
    k.end(new ClosedError("The page was closed", "closed"));
  }

  async #dial(run) {
    let failed;
    for (let i = this.#start; i < this.transports.length; i++) {
      const name = this.transports[i];
      // The documented endpoints are for hosts that know nothing else.
      if (name === "plain" && i > 0 && failed && ![404, 405, 501].includes(failed.status)) break;
      const k = new Link((link, m) => this.#take(link, m));
      k.name = name;
      k.said = new Map(this.#tools);
      const stop = () => k.end(new ClosedError("The client was shut down", "closed"));
      const timer = setTimeout(() => k.end(new ConnectError("The host did not answer in time")), this.options.helloTimeout);
      run.stop.signal.addEventListener("abort", stop);
      try {
        const welcomed = new Promise((resolve) => (k.welcomed = resolve));
        const lost = k.done.then((err) => Promise.reject(err));
        lost.catch(noop);
        const opening = carriers[name](this, k, this.#hello());
        opening.then((c) => (k.ended ? c.close() : noop), noop); // it came too late
        k.carrier = await Promise.race([opening, lost]);
        const m = await Promise.race([welcomed, lost]);
        k.carrier.welcome?.(m.welcome);
        if (this.#worked.size === 0) this.#start = i;
        this.#worked.add(name);
        return k;
      } catch (err) {
        k.end(err);
        if (this.#link === k) this.#link = undefined;
        if (run.stop.signal.aborted || err instanceof RefusedError || err.bye) throw err;
        failed = err instanceof ClientToolError ? err : new ConnectError(textOf(err), { cause: err });
      } finally {
        clearTimeout(timer);
        run.stop.signal.removeEventListener("abort", stop);
      }
    }
    throw failed;
  }

  #hello() {
    const live = [...this.#calls.values()].filter((c) => !c.gone).map((c) => c.id).sort();
    return JSON.stringify({ type: "hello", hello: {
      protocol: 1, clientID: this.clientID, sessionID: this.sessionID, instance: this.#instance, resume: this.#resume, tools: this.definitions(),
      live, capabilities: ["ack", "cancel", "progress", "sync"], maxConcurrent: this.options.maxConcurrent,
    } });
  }

  // Serves a link until it is lost, and returns why.
  async #serve(k, run) {
    const quiet = k.pingMs > 0 ? k.pingMs * 2.5 : Infinity;
    let next = now() + this.options.resendAfter;
    const timer = setInterval(() => {
      if (now() - k.heardAt > quiet) k.end(new ConnectError("Nothing was heard from the host for too long"));
      if (now() > next) {
        next = now() + this.options.resendAfter;
        this.#resend(k);
      }
    }, Math.min(1000, this.options.resendAfter, quiet / 5));
    this.#set("ready");
    this.#write(k).catch((err) => k.end(err));
    const err = await k.done;
    clearInterval(timer);
    clearTimeout(k.drain);
    if (this.#link === k) this.#link = undefined;
    return err;
  }

  async #write(k) {
    while (!k.ended) {
      const m = this.#next(k);
      if (!m) {
        if (k.bye && k.out.length === 0 && this.#calls.size === 0) return k.end(new ClosedError("The client was shut down", "closed"));
        await new Promise((resolve) => (k.wake = resolve));
        continue;
      }
      const text = m.text ?? JSON.stringify(m), limit = this.#limits.maxMessageBytes;
      try {
        if (limit > 0 && text.length * 3 > limit && bytes(text) > limit) throw new TooLargeError(`A message of ${bytes(text)} bytes`, "too_large");
        await k.carrier.send(m, text);
      } catch (err) {
        if (!(err instanceof TooLargeError)) return k.end(err instanceof ClientToolError ? err : new ConnectError(textOf(err), { cause: err }));
        const call = m.type === "result" ? this.#calls.get(m.requestID) : undefined;
        if (call && call.result.code !== "too_large") this.#keep(call, tooLarge(call.size, this.#limits.maxResultBytes));
        else this.#log("warn", "a message is too large to be sent", m.type);
      }
    }
  }

  // The next message, made as late as possible: what has become needless meanwhile is not sent.
  #next(k) {
    for (let e; (e = k.out.shift()); ) {
      if (e.m) return e.m;
      if (e.kind === "ack") return { type: "ack", requestIDs: k.acks.splice(0) };
      if (e.kind === "register") {
        const tools = [...k.changed].map((id) => this.#tools.get(id)?.def).filter(Boolean);
        k.changed.clear();
        if (tools.length > 0) return { type: "register", sessionID: this.sessionID, tools };
      } else if (e.kind === "progress") {
        const p = e.call.slot;
        Object.assign(e.call, { slot: undefined, queued: false, reported: now() });
        if (p && !e.call.gone && !k.carrier.plain) return { type: "progress", requestID: e.call.id, progress: p };
      } else if (e.call.text && !e.call.gone) {
        e.call.sentAt = now();
        return { type: "result", requestID: e.call.id, text: e.call.text };
      }
    }
  }

  // A result without a verdict is sent again, and given up in the end.
  #resend(k) {
    for (const call of [...this.#calls.values()]) {
      if (!call.text || !call.sentAt || now() - call.sentAt < this.options.resendAfter) continue;
      if (Date.now() - call.endedAt > this.options.resultTTL) {
        this.#forget(call);
        continue;
      }
      call.sentAt = 0;
      k.push({ call, kind: "result" });
    }
  }

  #welcome(k, m) {
    const w = m.welcome;
    Object.assign(k, { seq: Number(m.seq) || 0, pingMs: Number(w.pingMs) || 0 });
    this.#link = k;
    this.#limits = w.limits ?? {};
    k.max = Math.max(maxFrame, Number(this.#limits.maxMessageBytes) || 0);
    if (w.resume) this.#resume = w.resume;
    this.#catchUp(k);
    for (const ask of this.#asks.values()) k.push({ m: ask.m });
    for (const call of this.#calls.values()) {
      if (call.gone) continue;
      if (call.text) k.push({ call, kind: "result" });
      else {
        for (const ask of call.asks.values()) k.push({ m: ask.m });
        if (call.slot) k.push({ call, kind: "progress" });
      }
    }
    this.#save();
    k.welcomed(m);
  }

  // What was registered and unregistered between hello and welcome, when no link could say it.
  #catchUp(k) {
    const gone = new Set([...k.said].filter(([key]) => !this.#tools.has(key)).map(([, t]) => t.def.id));
    if (gone.size > 0) k.push({ m: { type: "unregister", toolIDs: [...gone] } });
    for (const [key, t] of this.#tools) if (k.said.get(key) !== t || gone.has(t.def.id)) k.changed.add(key);
    if (k.changed.size > 0) k.push({ kind: "register" });
    k.said = undefined;
  }

  #take(k, m) {
    if (this.#link !== k) {
      if (m.type === "welcome" && typeof m.welcome === "object" && m.welcome) this.#welcome(k, m);
      else if (m.type === "bye") k.end(farewell(m));
      return;
    }
    if (m.seq > k.seq + 1) { // something was lost on the way; the host can tell what from what is here
      const live = new Set([...this.#calls.values()].filter((c) => !c.gone).map((c) => c.id));
      if (m.type === "request" && typeof m.request?.requestID === "string") live.add(m.request.requestID);
      k.push({ m: { type: "sync", seq: m.seq, live: [...live].sort() } });
    }
    if (m.seq > k.seq) k.seq = m.seq;
    const call = this.#calls.get(m.requestID);
    switch (m.type) {
      case "request":
        if (typeof m.request?.requestID === "string" && m.request.requestID) this.#begin(m.request);
        break;
      case "cancel":
        if (!call) {
          if (typeof m.requestID === "string" && !this.#ended.has(m.requestID)) this.#over(m.requestID, true);
          break;
        }
        call.gone ||= m.reason === "settled";
        if (call.result) call.gone && this.#forget(call);
        else if (m.reason === "timeout") this.#abort(call, new TimeoutError("The call ran out of time", "timeout"));
        else this.#abort(call, new CancelledError(`The host cancelled the call (${String(m.reason).slice(0, 40)})`, "cancelled"));
        break;
      case "ack":
        if (call?.result) this.#forget(call, m.verdict);
        else if (call) { // nothing was sent: the host does not want it
          call.gone = true;
          this.#abort(call, new CancelledError("The host does not know the call", "cancelled"));
        }
        break;
      case "ping":
        k.push({ m: { type: "pong" } });
        break;
      case "ask-reply":
      case "invoke-reply":
      case "host-tools-reply":
        (call?.asks.get(m.askID) ?? this.#asks.get(m.askID))?.resolve(m);
        break;
      case "registered":
        this.#registered(m);
        break;
      case "unregistered":
        for (const id of m.toolIDs ?? []) this.#names.delete(id);
        this.#waiters = this.#waiters.filter((w) => w.ids.length > 0 || w.resolve());
        break;
      case "bye":
        k.end(farewell(m));
        break;
      case "error":
        this.#log("warn", "the host reports an error", m.code, m.error);
        if (m.ref === "register") this.#notRegistered(k, m);
    }
  }

  #registered(m) {
    const names = new Map(Object.entries(m.names ?? {}).filter(([, own]) => typeof own === "string"));
    for (const [id, own] of names) this.#names.set(id, own);
    const rejected = (Array.isArray(m.rejected) ? m.rejected : []).filter((r) => typeof r?.id === "string");
    for (const r of rejected) this.#log("warn", `the host did not take the tool ${r.id}:`, r.error);
    const done = new Set(names.values());
    this.#waiters = this.#waiters.filter((w) => {
      const no = rejected.find((r) => w.ids.includes(r.id));
      if (no) w.reject(new RejectedError(`The host did not take the tool ${no.id}: ${no.error}`, no.code));
      else if (w.ids.every((id) => done.has(id))) w.resolve();
      else return true;
    });
    this.#run?.resolve();
    this.#hook("onTools", { ids: names, rejected });
  }

  // Too many registrations: this one comes again when the host wants it.
  #notRegistered(k, m) {
    const ids = [...this.#tools].filter(([, t]) => this.#waiters.some((w) => w.ids.includes(t.def.id))).map(([key]) => key);
    if (m.code === "rate_limited") {
      sleep(Math.max(Number(m.retryAfterMs) || 0, 1000), k.stop.signal).then(() => {
        for (const key of ids) k.changed.add(key);
        k.push({ kind: "register" });
      });
    } else {
      for (const w of this.#waiters.splice(0)) w.reject(new RejectedError(`The host did not take the tool: ${m.error}`, m.code));
    }
  }

  // Runs a request, unless it is here already or was.
  #begin(req) {
    const id = req.requestID, cancelled = this.#ended.get(id);
    if (this.#calls.has(id) || cancelled === false) return;
    const name = typeof req.name === "string" && req.name ? req.name : this.ownName(String(req.tool));
    const call = { id, name, req, ctl: new AbortController(), asks: new Map(), n: 0, reported: 0, size: 0, paused: 0 };
    this.#calls.set(id, call);
    const tool = this.#tools.get(keyOf(name, req.version)) ?? [...this.#tools.values()].findLast((t) => t.def.id === name && !req.version);
    const refuse = (code, error) => this.#finish(call, { status: "error", error, code });
    if (cancelled) return refuse("cancelled", "The call was cancelled before it arrived");
    if (!tool) return refuse("unknown_tool", `Unknown tool: ${name.slice(0, 256)}`);
    if (this.#run?.leaving) return refuse("cancelled", "The client is shutting down");
    const limits = [req.timeoutMs, this.options.timeout].filter((n) => n > 0 && n < 2 ** 31);
    this.#clock(call, limits.length > 0 ? Math.min(...limits) : 30_000);
    call.ack = setTimeout(() => this.#ack(call), this.options.ackDelay);
    call.run = () => this.#handle(call, tool.handler);
    if (this.#running < this.options.maxConcurrent) call.run();
    else if (this.#queue.push(call) > maxQueued) refuse("overloaded", "The client has too many calls waiting. It did not run; try again later.");
  }

  #handle(call, handler) {
    const { id, name, req } = call;
    call.run = undefined;
    call.running = true;
    call.started = true;
    this.#running++;
    this.#hook("onCall", { type: "start", requestID: id, name, input: req.input, sessionID: req.sessionID });
    const ctx = {
      requestID: id, sessionID: req.sessionID, messageID: req.messageID, callID: req.callID, tool: req.tool, name,
      attempt: req.attempt || 1, trace: req.trace, signal: call.ctl.signal,
      progress: (p) => this.#progress(call, p),
      ask: async (ask) => {
        const r = await this.#question(call, { type: "ask", ask: { patterns: [], ...ask } });
        if (r.decision !== "allow") throw new DeniedError(String(r.reason || "Permission was denied"), "denied");
      },
      invoke: async (tool, input) => {
        const r = await this.#question(call, { type: "invoke", tool, input });
        if (r.code || !r.result) throw new InvokeError(String(r.error || "The host ran nothing"), r.code);
        return { ...r.result, isError: r.result.status === "error" };
      },
      hostTools: () => this.#listed({ type: "host-tools", requestID: id }, call.ctl.signal),
    };
    (async () => handler(req.input ?? {}, ctx))().then(resultOf).catch((err) => failureOf(err, call.ctl.signal))
      .then((r) => this.#finish(call, r));
  }

  // A call that has ended or been told to makes room. Hosts do not send more at once than they were asked to, but
  // those of the documented endpoints were not asked.
  #release(call) {
    if (call.running) this.#running--;
    call.running = false;
    this.#queue = this.#queue.filter((c) => c !== call);
    if (this.#running < this.options.maxConcurrent) this.#queue.shift()?.run();
  }

  #clock(call, left) {
    call.left = left;
    call.since = now();
    call.timer = setTimeout(() => {
      const why = new TimeoutError(`The tool did not finish within ${Math.round((call.req.timeoutMs || left) / 100) / 10} s`, "timeout");
      this.#abort(call, why);
      // What ignores its signal cannot be stopped, but the answer is not kept waiting.
      const r = { status: "error", code: "timeout", error: why.message + ", and may still be running." };
      call.late = setTimeout(() => this.#finish(call, r), lateBy);
    }, left);
  }

  #ack(call) {
    const k = this.#link;
    if (k && !call.result && !call.gone && k.acks.push(call.id) === 1) k.push({ kind: "ack" });
  }

  #abort(call, why) {
    const waiting = call.run !== undefined;
    if (!call.result) call.ctl.abort(why);
    this.#release(call);
    if (waiting) this.#finish(call, failureOf(why, call.ctl.signal));
    if (this.#run?.leaving && !call.result) {
      const r = { status: "error", code: "cancelled", error: why.message + "; the tool may still be running." };
      call.late = setTimeout(() => this.#finish(call, r), 4 * lateBy);
    }
  }

  // Keeps the one result of a call until the host has it.
  #finish(call, r) {
    if (call.result) return;
    for (const t of [call.ack, call.timer, call.late, call.pacer]) clearTimeout(t);
    call.run = undefined;
    this.#release(call);
    if (call.gone) return this.#forget(call);
    let size = 0;
    try {
      size = sizeOf(r);
      JSON.stringify(r);
    } catch (err) {
      r = { status: "error", code: "tool_error", error: "The tool ran, but its result cannot be sent: " + textOf(err) };
    }
    const limit = this.#limits.maxResultBytes;
    if (limit > 0 && size > limit) r = tooLarge(size, limit);
    if (call.slot && !call.queued) this.#link?.push({ call, kind: "progress" });
    if (call.started) this.#hook("onCall", { type: "end", requestID: call.id, name: call.name, result: r });
    this.#keep(call, r);
    this.#shed(call);
    this.#save();
  }

  #keep(call, result) {
    this.#kept -= call.size;
    const text = JSON.stringify({ type: "result", requestID: call.id, result });
    Object.assign(call, { result, text, size: sizeOf(result), endedAt: Date.now(), sentAt: 0 });
    this.#kept += call.size;
    if (this.#calls.has(call.id)) this.#link?.push({ call, kind: "result" });
  }

  // The oldest results go when too much is kept for a host that is away.
  #shed(newest) {
    for (const call of this.#calls.values()) {
      if (this.#kept <= this.options.resultBytes) return;
      if (call === newest || !call.result || call.size < 200) continue;
      this.#keep(call, { status: "error", code: "too_large", error: "The tool ran, but its result could not be kept until the host was back." });
    }
  }

  #over(id, cancelled) {
    this.#ended.set(id, cancelled);
    if (this.#ended.size > remembered) this.#ended.delete(this.#ended.keys().next().value);
  }

  #forget(call, verdict, keep) {
    if (!this.#calls.delete(call.id)) return;
    this.#kept -= call.size;
    call.gone = true;
    this.#over(call.id, false);
    if (call.started) this.#hook("onCall", { type: "settled", requestID: call.id, name: call.name, verdict });
    if (call.text && !keep) this.#save();
    this.#link?.wake?.();
  }

  #progress(call, p) {
    if (call.result || call.gone) return;
    if (typeof p === "string") p = { delta: p };
    const s = (call.slot ??= {});
    s.n = ++call.n;
    if (p.title) s.title = String(p.title);
    if (p.output) [s.output, s.delta] = [String(p.output), undefined];
    if (p.delta) s[s.output ? "output" : "delta"] = (s.output || s.delta || "") + p.delta;
    try {
      if (p.metadata) s.metadata = JSON.parse(JSON.stringify(p.metadata));
    } catch (err) {
      this.#log("warn", "progress with metadata that is no JSON", err);
    }
    const text = s.output || s.delta || "";
    if (text.length > progressChars) [s.output, s.delta] = ["[…]\n" + text.slice(-progressChars), undefined]; // the tail is what matters
    this.#hook("onCall", { type: "progress", requestID: call.id, name: call.name, progress: { ...p } });
    if (call.queued || call.pacer) return;
    call.pacer = setTimeout(() => {
      call.pacer = undefined;
      if (!call.slot || call.result || !this.#link) return;
      call.queued = true;
      this.#link.push({ call, kind: "progress" });
    }, Math.max(0, call.reported + progressEvery - now()));
  }

  // Puts a question to the host. The time until the reply counts for no limit; after a lost link it is put again.
  async #question(call, m) {
    if (call.result || call.gone) throw new CancelledError("The call has ended", "cancelled");
    if (call.paused++ === 0) {
      clearTimeout(call.timer);
      call.left -= now() - call.since;
    }
    try {
      return await this.#put({ ...m, requestID: call.id }, call.asks, call.ctl.signal);
    } finally {
      if (--call.paused === 0 && !call.result) this.#clock(call, Math.max(call.left, 0));
    }
  }

  async #put(m, asks, signal) {
    if (this.#link?.carrier?.plain) throw new InvokeError("This host takes no questions", "unsupported");
    const askID = randomID();
    m = JSON.parse(JSON.stringify({ ...m, askID }));
    let stop;
    const reply = new Promise((resolve, reject) => {
      stop = () => reject(signal.reason);
      signal.addEventListener("abort", stop);
      if (signal.aborted) stop();
      asks.set(askID, { m, resolve });
    });
    this.#link?.push({ m });
    try {
      return await reply;
    } finally {
      signal.removeEventListener("abort", stop);
      asks.delete(askID);
    }
  }

  async #listed(m, signal) {
    const r = await this.#put(m, this.#asks, signal);
    if (r.code) throw new InvokeError(String(r.error || "The host does not say"), r.code.toLowerCase());
    return r.tools ?? [];
  }

  async #load() {
    if (!this.options.store) return;
    try {
      const s = await this.options.store.load();
      if (!s || (this.options.clientID && s.clientID !== this.clientID)) return;
      Object.assign(this, { clientID: s.clientID || this.clientID });
      this.#resume = s.resume;
      for (const { requestID: id, endedAt, result } of s.results ?? []) {
        if (!id || !result || this.#calls.has(id) || Date.now() - endedAt > this.options.resultTTL) continue;
        const call = { id, name: "", ctl: new AbortController(), asks: new Map(), size: 0 };
        this.#keep(call, result);
        call.endedAt = endedAt;
        this.#calls.set(id, call);
      }
    } catch (err) {
      this.#log("error", "the saved state cannot be read", err);
    }
  }

  // One save at a time, and after the last change one more.
  async #save() {
    const store = this.options.store;
    this.#unsaved = true;
    if (!store || this.#saving) return;
    this.#saving = true;
    do {
      this.#unsaved = false;
      const results = [...this.#calls.values()].filter((c) => c.result && !c.gone)
        .map((c) => ({ requestID: c.id, endedAt: c.endedAt, result: c.result }));
      try {
        await store.save({ clientID: this.clientID, resume: this.#resume, results });
      } catch (err) {
        this.#log("error", "the state cannot be saved", err);
      }
    } while (this.#unsaved);
    this.#saving = false;
  }
}

const codes = { forbidden: "unauthorized", unavailable: "shutdown" }; // what HTTP calls it, and the protocol

// What a goodbye of the host means: come back later, or never.
function farewell(m) {
  const text = `The host said goodbye (${[m.reason, m.error].filter((s) => typeof s === "string" && s).join(": ") || "no reason"})`;
  const said = [m.code, m.reason].find((s) => typeof s === "string" && s) ?? "bye", code = codes[said.toLowerCase()] ?? said.toLowerCase();
  if (!(m.retryAfterMs > 0)) return new RefusedError(text, code);
  return Object.assign(new ConnectError(text, { code, retryAfter: Math.min(m.retryAfterMs, 300_000) }), { bye: true });
}

// The client of the first documents, at its path: new ClientToolsManager(clientID, "https://host", { timeout, useWebSocket }).
export class ClientToolsManager extends ClientTools {
  constructor(clientID, baseUrl, { useWebSocket = false, timeout = 30_000, ...rest } = {}) {
    const url = String(baseUrl).replace(/\/+$/, "") + "/client-tools";
    super({ transport: useWebSocket ? "websocket" : ["sse", "plain"], ...rest, clientID, url, timeout });
  }
}
