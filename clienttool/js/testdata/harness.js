// What the tests share: a real host in another process, a proxy that can be cut, a host made of a fake fetch, and
// a WebSocket for the Node versions that have none.
import { spawn, execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";

export const here = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
const limit = 30_000; // against a hang, not a measure of speed

export async function until(what, cond) {
  for (const end = Date.now() + limit; Date.now() < end; await sleep(5)) {
    const v = await cond();
    if (v) return v;
  }
  throw new Error("it never came to pass: " + what);
}

export function within(p, what = "answer") {
  let timer;
  const late = new Promise((_, no) => (timer = setTimeout(() => no(new Error("too late: " + what)), limit)));
  return Promise.race([p, late]).finally(() => clearTimeout(timer));
}

let binary = process.env.CLIENTTOOL_TESTHOST, dir;
function build() {
  if (binary) return binary;
  dir = mkdtempSync(path.join(os.tmpdir(), "clienttool-js-"));
  binary = path.join(dir, "testhost" + (process.platform === "win32" ? ".exe" : ""));
  execFileSync("go", ["build", "-buildvcs=false", "-o", binary, "./internal/testhost"], { cwd: here, stdio: ["ignore", "inherit", "inherit"] });
  process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
  return binary;
}

// startHost starts a hub that listens on a port of its own. It ends with the test.
export async function startHost(t, ...args) {
  const child = spawn(build(), args, { stdio: ["pipe", "pipe", "inherit"] });
  const h = { events: [], progress: [], waiting: new Map(), n: 0 };
  const say = (c) => child.stdin.write(JSON.stringify(c) + "\n");
  h.ended = once(child, "exit");
  child.stdin.on("error", () => {});
  const url = new Promise((resolve) => {
    readline.createInterface({ input: child.stdout }).on("line", (line) => {
      const r = JSON.parse(line);
      if (r.op === "url") resolve(r.url);
      else if (r.op === "event") h.events.push(r);
      else if (r.op === "progress") h.progress.push(r);
      else h.waiting.get(r.id)?.(r);
    });
  });
  const ask = (c) => {
    c.id ??= String(++h.n);
    const reply = new Promise((r) => h.waiting.set(c.id, r));
    say(c);
    return within(reply, JSON.stringify(c).slice(0, 200));
  };
  h.call = (tool, input = {}, o = {}) => ask({ op: "call", tool, input, ...o });
  h.cancel = (id) => say({ op: "cancel", id });
  h.tools = async (session = "") => (await ask({ op: "tools", session })).tools ?? [];
  h.connected = (n) => until(`${n} connections`, () => h.events.filter((e) => e.type === "client-tool.connected").length >= n);
  h.stop = () => {
    child.stdin.end();
    return h.ended;
  };
  h.shutdown = () => {
    say({ op: "shutdown" });
    return h.ended;
  };
  t.after(h.stop);
  h.origin = await within(url, "the host's address");
  h.url = h.origin + "/client-tools";
  h.port = Number(new URL(h.origin).port);
  return h;
}

// startProxy passes connections on to the host, until it is told to cut or to swallow them.
export async function startProxy(t, port) {
  const pairs = new Set();
  const p = { count: 0, down: false, swallow: false };
  const server = net.createServer((a) => {
    if (p.down) return a.destroy();
    p.count++;
    const b = net.connect(port, "127.0.0.1");
    const pair = [a, b];
    pairs.add(pair);
    const end = () => {
      a.destroy();
      b.destroy();
      pairs.delete(pair);
    };
    for (const [x, y] of [pair, [b, a]]) {
      x.on("data", (d) => p.swallow || y.write(d));
      x.on("error", end);
      x.on("close", end);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  p.cut = () => {
    for (const [a, b] of pairs) {
      a.destroy();
      b.destroy();
    }
  };
  t.after(() => {
    p.cut();
    server.close();
  });
  p.url = `http://127.0.0.1:${server.address().port}/client-tools`;
  return p;
}

// fakeHost answers fetch like a host: the hello gets a stream that send feeds, and what is posted is in seen.
export function fakeHost() {
  const h = { hellos: [], seen: [], status: 202, answer: () => undefined, requests: [] };
  h.fetch = async (url, init) => {
    const { pathname, search } = new URL(url);
    h.requests.push({ path: pathname + search, method: init.method, headers: init.headers, body: init.body });
    const special = await h.answer(pathname, init);
    if (special) return special;
    const m = JSON.parse(init.body);
    if (m.type !== "hello") {
      h.seen.push(m);
      const ack = m.type === "result" && h.verdict ? { type: "ack", requestID: m.requestID, verdict: h.verdict } : undefined;
      return ack ? Response.json(ack) : new Response(null, { status: h.status });
    }
    h.hellos.push(m.hello);
    const body = new ReadableStream({
      start(c) {
        h.raw = (s) => c.enqueue(typeof s === "string" ? new TextEncoder().encode(s) : s);
        h.end = () => c.close();
        init.signal.addEventListener("abort", () => {
          try {
            c.error(init.signal.reason);
          } catch { /* it has ended */ }
        });
      },
    });
    h.send = (m) => h.raw(`data: ${JSON.stringify(m)}\n\n`);
    h.request = (requestID, name, input = {}, more = {}) => h.send({ type: "request", request: { type: "client-tool-request",
      requestID, sessionID: "ses_1", messageID: "msg_1", callID: "call_1", tool: "client_x_" + name, name, input, ...more } });
    queueMicrotask(() => {
      h.raw(": ok\n\n");
      h.send({ type: "welcome", seq: 1, welcome: { protocol: 1, lease: "x", resume: "token" + h.hellos.length, gen: h.hellos.length,
        limits: { maxMessageBytes: 1 << 20, maxResultBytes: 1 << 19, maxConcurrent: 16, ...h.limits }, graceMs: 30000, pingMs: h.pingMs ?? 30000 } });
      const names = Object.fromEntries(m.hello.tools.map((d) => ["client_x_" + d.id, d.id]));
      if (!h.mute) h.send({ type: "registered", toolIDs: Object.keys(names), names });
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  };
  h.of = (type) => h.seen.filter((m) => m.type === type);
  h.until = (type, n = 1) => until(`${n} ${type}`, () => h.of(type).length >= n && h.of(type));
  return h;
}

// serve answers plain HTTP and, by hand, WebSocket: for what no good host would say.
export async function serve(t, onRequest, onSocket) {
  const server = http.createServer(onRequest), sockets = new Set();
  server.on("upgrade", (req, socket) => {
    const accept = createHash("sha1").update(req.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
      `Sec-WebSocket-Protocol: clienttool.v1\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    socket.on("error", () => {});
    socket.resume();
    sockets.add(socket);
    onSocket(socket, (data, opcode = 1) => socket[opcode === 8 ? "end" : "write"](frame(Buffer.from(data), opcode)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
    for (const s of sockets) s.destroy();
  });
  return `http://127.0.0.1:${server.address().port}/client-tools`;
}

function frame(data, opcode, mask) {
  const n = data.length;
  const head = n < 126 ? Buffer.from([0x80 | opcode, n]) : n < 65536 ? Buffer.from([0x80 | opcode, 126, n >> 8, n & 255]) : Buffer.alloc(10);
  if (n >= 65536) {
    head.set([0x80 | opcode, 127]);
    head.writeBigUInt64BE(BigInt(n), 2);
  }
  if (!mask) return Buffer.concat([head, data]);
  head[1] |= 0x80;
  const out = Buffer.from(data);
  for (let i = 0; i < n; i++) out[i] ^= mask[i & 3];
  return Buffer.concat([head, mask, out]);
}

/** As much of a browser's WebSocket as the client uses, for Node 20. */
export class MiniWebSocket {
  readyState = 0;
  constructor(url, protocols) {
    const u = new URL(url);
    const key = randomBytes(16).toString("base64");
    this.req = http.get({
      host: u.hostname, port: u.port, path: u.pathname + u.search,
      headers: { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": 13, "Sec-WebSocket-Key": key, "Sec-WebSocket-Protocol": protocols.join() },
    });
    this.req.on("error", () => this.#over(1006));
    this.req.on("response", (res) => {
      res.resume();
      this.#over(1006);
    });
    this.req.on("upgrade", (res, socket, head) => {
      if (this.readyState !== 0) return socket.destroy();
      this.socket = socket;
      this.readyState = 1;
      let buf = head;
      socket.on("error", () => {});
      socket.on("close", () => this.#over(1006));
      this.onopen?.({});
      const more = (d) => (buf = this.#frames(Buffer.concat([buf, d])));
      socket.on("data", more);
      more(Buffer.alloc(0));
    });
  }
  get bufferedAmount() {
    return this.socket?.writableLength ?? 0;
  }
  #frames(buf) {
    while (buf.length >= 2) {
      const short = buf[1] & 127, at = short === 126 ? 4 : short === 127 ? 10 : 2;
      if (buf.length < at) break;
      const n = short === 126 ? buf.readUInt16BE(2) : short === 127 ? Number(buf.readBigUInt64BE(2)) : short;
      if (buf.length < at + n) break;
      const data = buf.subarray(at, at + n), opcode = buf[0] & 15;
      buf = buf.subarray(at + n);
      if (opcode === 1) this.onmessage?.({ data: data.toString() });
      else if (opcode === 2) this.onmessage?.({ data: data.buffer });
      else if (opcode === 9) this.#write(data, 10);
      else if (opcode === 8) this.#over(n >= 2 ? data.readUInt16BE(0) : 1005, data.subarray(2).toString());
    }
    return buf;
  }
  #write(data, opcode) {
    this.socket?.write(frame(Buffer.from(data), opcode, randomBytes(4)));
  }
  #over(code, reason = "") {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.socket?.destroy();
    this.onclose?.({ code, reason });
  }
  send(text) {
    if (this.readyState === 0) throw new Error("not open");
    this.#write(text, 1);
  }
  close() {
    if (this.readyState === 1) {
      this.#write(Buffer.from([3, 232]), 8);
      this.socket.end();
    } else this.req.destroy();
    this.readyState = 2;
  }
}

export const WebSocket = globalThis.WebSocket ?? MiniWebSocket;
