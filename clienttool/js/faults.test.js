// What a good host never does, and what networks do now and then: against a host made of a fake fetch.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as mod from "./clienttool.js";
import { ClientTools } from "./clienttool.js";
import { MiniWebSocket, fakeHost, serve, sleep, until, within } from "./testdata/harness.js";

const any = { description: "A tool" };

// A connected client, and the host it is connected to.
async function pair(t, o = {}, tools = {}) {
  const h = Object.assign(fakeHost(), o.host);
  delete o.host;
  const c = new ClientTools({ url: "http://host/ct", clientID: "x", transport: "sse", fetch: h.fetch, backoff: { min: 5, max: 20 }, drainTimeout: 50, ...o });
  t.after(() => within(c.disconnect()));
  for (const [name, f] of Object.entries(tools)) c.register(name, any, f);
  await within(c.connect());
  return { c, h };
}

test("a request that comes twice, or again after its end, runs once", async (t) => {
  let runs = 0, go;
  const { h } = await pair(t, { host: { verdict: "accepted" } }, { a: () => (runs++, new Promise((r) => (go = r))) });
  h.request("r1", "a");
  h.request("r1", "a");
  await until("it runs", () => go);
  h.request("r1", "a");
  await sleep(20);
  go("done");
  await h.until("result");
  await sleep(20);
  h.request("r1", "a");
  await sleep(30);
  assert.equal(runs, 1);
  assert.equal(h.of("result").length, 1);
});

test("tools that change between hello and welcome are told to the host", async (t) => {
  const h = fakeHost(), gate = {};
  gate.open = new Promise((r) => (gate.go = r));
  const held = async (url, init) => {
    if (JSON.parse(init.body).type === "hello") await gate.open;
    return h.fetch(url, init);
  };
  const c = new ClientTools({ url: "http://host/ct", clientID: "x", transport: "sse", fetch: held, drainTimeout: 50 });
  t.after(() => within(c.disconnect()));
  for (const name of ["kept", "gone", "changed"]) c.register(name, any, () => "old");
  const ready = c.connect();
  await sleep(20);
  c.register("new", any, () => "n");
  c.unregister("gone");
  c.register("changed", { description: "Another" }, () => "new");
  gate.go();
  await within(ready);
  const [{ toolIDs }] = await h.until("unregister");
  const [{ tools }] = await h.until("register");
  assert.deepEqual(toolIDs, ["gone"]);
  assert.deepEqual(tools.map((d) => [d.id, d.description]).sort(), [["changed", "Another"], ["new", "A tool"]]);
});

test("a cancel that overtakes its request keeps it from running", async (t) => {
  let runs = 0;
  const { h } = await pair(t, {}, { a: () => runs++ });
  h.send({ type: "cancel", requestID: "r1", reason: "cancelled" });
  h.request("r1", "a");
  const [r] = await h.until("result");
  assert.deepEqual([r.result.code, runs], ["cancelled", 0]);
  h.request("r2", "nonesuch");
  assert.equal((await h.until("result", 2))[1].result.code, "unknown_tool");
});

test("a result without a verdict is sent again, and not after one, nor for ever", async (t) => {
  const { c, h } = await pair(t, { resendAfter: 30, resultTTL: 250 }, { a: () => "one" });
  h.request("r1", "a");
  await h.until("result", 3);
  h.send({ type: "ack", requestID: "r1", verdict: "accepted" });
  await sleep(100);
  const n = h.of("result").length;
  await sleep(100);
  assert.equal(h.of("result").length, n);
  h.request("r2", "a");
  await until("it is given up", async () => {
    const before = h.seen.length;
    await sleep(150);
    return h.seen.length === before;
  });
  assert.equal(c.state, "ready");
});

test("after the end there is no progress, and questions are refused", async (t) => {
  let ctx;
  const { h } = await pair(t, {}, { a: (_, x) => ((ctx = x), "done") });
  h.request("r1", "a");
  await h.until("result");
  ctx.progress("late");
  await assert.rejects(ctx.ask({ permission: "x" }), mod.CancelledError);
  await sleep(150);
  assert.equal(h.of("progress").length, 0);
});

test("progress that comes fast is merged, bounded, and whole in its order", async (t) => {
  const { h } = await pair(t, {}, { a: async (_, ctx) => {
    ctx.progress({ delta: "a", metadata: { self: 1n } }); // not JSON: dropped alone
    ctx.progress({ delta: "b", title: "T" });
    await sleep(120);
    for (let i = 0; i < 1000; i++) ctx.progress("x".repeat(1000));
    ctx.progress({ metadata: { at: "end" } });
    ctx.progress(undefined ?? "");
    return "ok";
  } });
  h.request("r1", "a");
  await h.until("result");
  const p = h.of("progress").map((m) => m.progress);
  assert.deepEqual([p[0].delta, p[0].title, p[0].metadata], ["ab", "T", undefined]);
  assert.match(p.at(-1).output, /^\[…\]\nx+$/);
  assert.ok(p.at(-1).output.length < 20_000);
  assert.deepEqual(p.at(-1).metadata, { at: "end" });
  assert.ok(h.seen.indexOf(h.of("progress").at(-1)) < h.seen.indexOf(h.of("result")[0]), "before the result");
});

test("a gap in the host's numbers is answered with what is here", async (t) => {
  const { h } = await pair(t, {}, { a: () => new Promise(() => {}) });
  h.send({ type: "request", seq: 2, request: { requestID: "r1", tool: "client_x_a", name: "a", input: {} } });
  h.send({ type: "request", seq: 5, request: { requestID: "r4", tool: "client_x_a", name: "a", input: {} } });
  const [m] = await h.until("sync");
  assert.deepEqual([m.seq, m.live], [5, ["r1", "r4"]]);
});

test("on a new link: the token, what is held, questions and results again", async (t) => {
  let answered;
  const { c, h } = await pair(t, {}, { asks: async (_, ctx) => (await ctx.ask({ permission: "p", patterns: ["q"] }), (answered = true), "asked"), a: () => "kept" });
  h.request("r1", "asks");
  h.request("r2", "a");
  const [ask] = await h.until("ask");
  await h.until("result");
  h.end();
  await until("it came again", () => h.hellos.length === 2);
  assert.equal(h.hellos[1].resume, "token1");
  assert.equal(h.hellos[1].instance, h.hellos[0].instance);
  assert.deepEqual(h.hellos[1].live, ["r1", "r2"]);
  assert.deepEqual(h.hellos[1].tools.map((d) => d.id), ["asks", "a"]);
  const again = (await h.until("ask", 2))[1];
  assert.deepEqual(again, ask);
  await h.until("result", 2);
  h.send({ type: "ask-reply", requestID: "r1", askID: ask.askID, decision: "allow" });
  await h.until("result", 3);
  assert.ok(answered);
  // What the host has settled meanwhile is forgotten.
  h.send({ type: "cancel", requestID: "r2", reason: "settled" });
  h.send({ type: "ack", requestID: "r1", verdict: "accepted" });
  await sleep(30);
  h.end();
  await until("once more", () => h.hellos.length === 3);
  assert.deepEqual(h.hellos[2].live, []);
  assert.equal(c.state === "ready" || c.state === "connecting", true);
});

test("posts carry the generation, the client and fresh headers", async (t) => {
  let n = 0;
  const { h } = await pair(t, { headers: () => ({ "X-Try": String(++n) }) }, { a: () => "x" });
  h.request("r1", "a");
  await h.until("result");
  const last = h.requests.at(-1).headers;
  assert.deepEqual([last["Clienttool-Gen"], last["Clienttool-Client"], last["x-try"]], ["1", "x", "2"]);
});

test("too much kept for a host that is away is replaced, oldest first", async (t) => {
  const { c, h } = await pair(t, { resultBytes: 2500 }, { a: ({ i }) => String(i).repeat(1000) });
  h.status = 503;
  for (let i = 1; i <= 4; i++) {
    h.request("r" + i, "a", { i });
    await sleep(10);
  }
  await sleep(30);
  h.end();
  await until("it came again", () => h.hellos.length === 2);
  h.status = 202;
  h.seen.length = 0;
  const codes = Object.fromEntries((await h.until("result", 4)).map((m) => [m.requestID, m.result.code ?? "ok"]));
  assert.deepEqual(codes, { r1: "too_large", r2: "too_large", r3: "ok", r4: "ok" });
  assert.equal(c.state, "ready");
});

test("what was not delivered outlives the program", async (t) => {
  let saved = null;
  const store = { load: async () => structuredClone(saved), save: async (s) => (saved = structuredClone(s)) };
  const first = await pair(t, { store, clientID: undefined }, { a: () => "precious" });
  first.h.request("r1", "a");
  await first.h.until("result");
  await until("it is saved", () => saved?.results.length === 1);
  const second = fakeHost();
  second.verdict = "accepted";
  const c = new ClientTools({ url: "http://host/ct", transport: "sse", fetch: second.fetch, store, drainTimeout: 50 });
  t.after(() => c.disconnect());
  await within(c.connect());
  const [m] = await second.until("result");
  assert.deepEqual([m.requestID, m.result.output], ["r1", "precious"]);
  assert.deepEqual([second.hellos[0].clientID, second.hellos[0].resume], [first.c.clientID, "token1"]);
  assert.notEqual(second.hellos[0].instance, first.h.hellos[0].instance);
  await until("it is forgotten", () => saved.results.length === 0);

  // Nor is it lost by a goodbye that nobody hears, and the same client may come again.
  second.verdict = undefined;
  second.status = 503;
  second.request("r2", "b");
  await until("it is saved", () => saved.results.length === 1);
  await within(c.disconnect());
  assert.deepEqual(saved.results.map((r) => r.requestID), ["r2"]);
  second.status = 202;
  second.verdict = "accepted";
  second.seen.length = 0;
  await within(c.connect());
  assert.equal((await second.until("result"))[0].requestID, "r2");
  await until("it is forgotten", () => saved.results.length === 0);

  const errors = [];
  const bad = await pair(t, { store: { load: () => { throw new Error("disk"); }, save: () => Promise.reject(new Error("disk")) }, logger: { error: (...a) => errors.push(a) } }, { a: () => "ok" });
  bad.h.request("r1", "a");
  await bad.h.until("result");
  assert.ok(errors.length >= 2);
  const items = new Map();
  const web = mod.webStore({ getItem: (k) => items.get(k) ?? null, setItem: (k, v) => items.set(k, v) });
  assert.equal(web.load(), null);
  web.save(saved);
  assert.deepEqual(web.load(), saved);
});

test("messages that are unknown or odd are passed over, or end the link, and never more", async (t) => {
  const { c, h } = await pair(t, {}, { a: () => "alive" });
  for (const m of [
    { type: "of the future", x: [1] }, { type: "request" }, { type: "request", request: {} }, { type: "request", request: { requestID: 7 } },
    { type: "request", request: { requestID: "" } }, { type: "cancel" }, { type: "cancel", requestID: {} }, { type: "ack" }, { type: "ack", requestID: [] },
    { type: "ask-reply", requestID: "nonesuch", askID: "x" }, { type: "registered" }, { type: "registered", names: { a: 1 }, rejected: [null, 1, {}] },
    { type: "registered", names: "abc", toolIDs: 1, rejected: "x" }, { type: "unregistered" }, { type: "welcome" }, { type: "error" }, { type: "pong" },
    { type: "error", ref: "register", code: 1 }, { type: "request", seq: "x", request: { requestID: "odd", tool: 5, name: {}, input: null, timeoutMs: "x" } },
    { type: "request", request: { requestID: "proto", tool: "__proto__", name: "__proto__", input: {} } },
    { type: "request", request: { requestID: "long", tool: "a", name: "a", timeoutMs: 1e300 } },
  ]) h.send(m);
  h.request("r1", "a");
  await until("it answers", () => h.of("result").some((m) => m.requestID === "r1" && m.result.output === "alive"));
  assert.equal(h.of("result").find((m) => m.requestID === "proto").result.code, "unknown_tool");
  assert.equal(h.hellos.length, 1, "it is the same link");
  h.send({ type: "unregistered", toolIDs: 7 });
  await until("a message that cannot be understood ends the link", () => h.hellos.length === 2);
  assert.equal(c.state === "ready" || c.state === "connecting", true);
});

test("the event stream is read as the standard says", async (t) => {
  const { h } = await pair(t, {}, { a: ({ s }) => s });
  const request = (id, s) => JSON.stringify({ type: "request", request: { requestID: id, name: "a", input: { s } } });
  const text = "\r\n: comment\revent: other\ndata: not JSON\n\n" + // for somebody else
    `data:${request("r1", "é€😀")}\r\n\r\n` + "retry: 5\nid: 7\n\n" +
    `data: {"type":"request",\r\ndata: "request":{"requestID":"r2","name":"a","input":{"s":"two lines"}}}\r\r` +
    "event: none\n\n" + `data: ${request("r3", "last")}\n\n` + "data: cut";
  for (const b of new TextEncoder().encode(text)) h.raw(new Uint8Array([b]));
  const out = (await h.until("result", 3)).map((m) => m.result.output);
  assert.deepEqual(out, ["é€😀", "two lines", "last"]);
});

test("goodbyes: come back later, or never", async (t) => {
  const { c, h } = await pair(t, { maxReconnectAttempts: 3 });
  h.send({ type: "bye", reason: "shutdown", retryAfterMs: 60 });
  const from = performance.now();
  await until("it came back", () => h.hellos.length === 2 && c.state === "ready");
  assert.ok(performance.now() - from >= 55, "it waited as long as it was told to");
  h.send({ type: "bye", reason: "superseded" });
  await until("it stays away", () => c.state === "closed");
  assert.equal(h.hellos.length, 2);
});

test("too many registrations are tried again when the host says", async (t) => {
  const { c, h } = await pair(t, {});
  const p = c.register("late", any, () => 1);
  await h.until("register");
  h.send({ type: "error", ref: "register", code: "rate_limited", retryAfterMs: 5, error: "slow down" });
  await h.until("register", 2);
  h.send({ type: "registered", toolIDs: ["client_x_late"], names: { client_x_late: "late" } });
  await within(p);
  const refused = c.register("never", any, () => 1);
  await h.until("register", 3);
  h.send({ type: "error", ref: "register", code: "limit", error: "no more" });
  await assert.rejects(refused, mod.RejectedError);
  const cut = c.register("cut", any, () => 1); // the link is lost before the answer: the next hello brings it
  h.end();
  await within(cut);
});

test("a POST that fails for a passing reason is repeated; one that is refused is not", async (t) => {
  const { c, h } = await pair(t, {}, { a: () => "x" });
  let fails = 2, status = 503;
  h.answer = (path, init) => (init.body?.includes('"result"') && fails-- > 0 ? new Response("{}", { status, headers: { "Retry-After": "0" } }) : undefined);
  h.request("r1", "a");
  await h.until("result");
  assert.equal(h.hellos.length, 1);
  fails = 1;
  status = 413;
  h.request("r2", "a");
  assert.equal((await h.until("result", 2))[1].result.code, "too_large");
  fails = 1;
  status = 401;
  h.request("r3", "a");
  await until("it is over", () => c.state === "closed");
});

test("the back-off doubles, up to its limit, and is spread at random", async (t) => {
  const times = [];
  const random = Math.random;
  t.after(() => (Math.random = random));
  Math.random = () => 0.999;
  const c = new ClientTools({ url: "http://host/ct", transport: "sse", backoff: { min: 20, max: 100 }, maxReconnectAttempts: 5, fetch: () => {
    times.push(performance.now());
    return Promise.reject(new TypeError("no route"));
  } });
  await assert.rejects(within(c.connect()), (err) => err instanceof mod.RefusedError && err.cause instanceof mod.ConnectError);
  const gaps = times.slice(1).map((x, i) => x - times[i]);
  assert.equal(gaps.length, 5);
  [20, 40, 80, 100, 100].forEach((want, i) => assert.ok(gaps[i] >= want * 0.9, `wait ${i}: ${gaps[i]}`));
  Math.random = () => 0;
  const from = performance.now();
  const none = new ClientTools({ url: "http://host/ct", transport: "sse", backoff: { min: 60_000, max: 60_000 }, maxReconnectAttempts: 5, fetch: () => Promise.reject(new Error("no")) });
  await assert.rejects(within(none.connect()));
  assert.ok(performance.now() - from < 20_000, "from nothing on");
});

test("connecting can be given up at any time, and asked for twice", async (t) => {
  const never = new ClientTools({ url: "http://host/ct", transport: "sse", fetch: () => new Promise(() => {}) });
  const p = never.connect();
  assert.equal(never.connect(), p);
  await sleep(10);
  await within(never.disconnect());
  await assert.rejects(p, mod.ClosedError);
  const waits = new ClientTools({ url: "http://host/ct", transport: "sse", backoff: { min: 60_000 }, fetch: () => Promise.reject(new Error("no")) });
  waits.connect(); // nobody listens to this promise
  await until("it waits", () => waits.state === "backoff");
  await within(waits.disconnect());
  await within(waits.disconnect());
  assert.equal(waits.state, "closed");
});

test("a call that runs is seen to start, end and be settled, once each, and others are not seen", async (t) => {
  const seen = [];
  const { h } = await pair(t, { host: { verdict: "accepted" }, onCall: (e) => seen.push(`${e.type} ${e.requestID}`) }, { a: () => "x" });
  h.request("r1", "nonesuch");
  h.request("r2", "a");
  h.request("r2", "a");
  await until("it is settled", () => seen.includes("settled r2"));
  await h.until("result", 2);
  assert.deepEqual(seen, ["start r2", "end r2", "settled r2"]);
});

test("hooks and loggers that fail change nothing", async (t) => {
  const boom = () => { throw new Error("boom"); };
  const { h } = await pair(t, { onState: boom, onTools: async () => boom(), onCall: boom, logger: { info: boom, warn: boom, error: boom } }, { a: (_, ctx) => (ctx.progress("x"), "ok") });
  h.request("r1", "a");
  assert.equal((await h.until("result"))[0].result.output, "ok");
});

test("a page that is closed says so; one that is put aside comes back", async (t) => {
  const page = new EventTarget();
  globalThis.addEventListener = page.addEventListener.bind(page);
  globalThis.removeEventListener = page.removeEventListener.bind(page);
  t.after(() => {
    delete globalThis.addEventListener;
    delete globalThis.removeEventListener;
  });
  const { c, h } = await pair(t, { backoff: { min: 60_000, max: 60_000 } }, { a: () => new Promise(() => {}) });
  h.request("r1", "a");
  await h.until("ack");
  page.dispatchEvent(Object.assign(new Event("pagehide"), { persisted: true }));
  await until("the link is let go", () => c.state === "backoff");
  assert.equal(h.of("bye").length, 0);
  page.dispatchEvent(new Event("pageshow"));
  await until("it is back without waiting", () => h.hellos.length === 2);
  assert.deepEqual(h.hellos[1].live, ["r1"]);
  await until("it is ready", () => c.state === "ready");
  page.dispatchEvent(Object.assign(new Event("pagehide"), { persisted: false }));
  await h.until("bye");
  const [r] = await h.until("result");
  assert.deepEqual([r.requestID, r.result.code], ["r1", "cancelled"]);
  assert.ok(h.seen.indexOf(r) < h.seen.indexOf(h.of("bye")[0]));
  await until("it is over", () => c.state === "closed");
});

test("a time limit of its own holds where the host has none, or a longer one", async (t) => {
  const { h } = await pair(t, { timeout: 40 }, { a: (_, ctx) => new Promise((_, no) => ctx.signal.addEventListener("abort", () => no(ctx.signal.reason))) });
  h.request("r1", "a");
  h.request("r2", "a", {}, { timeoutMs: 600_000 });
  h.request("r3", "a", {}, { timeoutMs: 10 });
  assert.deepEqual((await h.until("result", 3)).map((m) => m.result.code), ["timeout", "timeout", "timeout"]);
});

test("a handler that ends after its time limit does not answer twice", async (t) => {
  let ended = 0;
  const { h } = await pair(t, { timeout: 20 }, { deaf: async () => (await sleep(200), ended++, "late") });
  h.request("r1", "deaf");
  const [m] = await h.until("result");
  assert.match(m.result.error, /may still be running/);
  await until("it ended", () => ended);
  await sleep(20);
  assert.equal(h.of("result").length, 1);
});

test("the time that a question takes counts for no limit", async (t) => {
  const { h } = await pair(t, {}, { asks: async (_, ctx) => (await ctx.ask({ permission: "p" }), "allowed") });
  h.request("r1", "asks", {}, { timeoutMs: 60 });
  const [ask] = await h.until("ask");
  assert.deepEqual(ask.ask.patterns, []);
  await sleep(200);
  h.send({ type: "ask-reply", requestID: "r1", askID: ask.askID, decision: "allow" });
  assert.equal((await h.until("result"))[0].result.output, "allowed");
});

test("results over the host's limits are replaced here, whichever limit it is", async (t) => {
  for (const limits of [{ maxResultBytes: 500 }, { maxMessageBytes: 1000 }]) {
    const { h } = await pair(t, { host: { limits } }, { a: ({ n }) => '"'.repeat(n) });
    h.request("small", "a", { n: 400 });
    h.request("large", "a", { n: 600 });
    const by = Object.fromEntries((await h.until("result", 2)).map((m) => [m.requestID, m.result]));
    assert.equal(by.small.output.length, 400);
    assert.match(by.large.error, /result of 600 bytes/);
  }
});

test("more calls than may run at once wait their turn, and can be cancelled there", async (t) => {
  let running = 0, peak = 0;
  const started = [];
  const { h } = await pair(t, { maxConcurrent: 2 }, { a: async ({ i }, ctx) => {
    started.push(i);
    peak = Math.max(peak, ++running);
    await sleep(30);
    running--;
    return String(i) + ctx.signal.aborted;
  } });
  assert.equal(h.hellos[0].maxConcurrent, 2);
  for (let i = 0; i < 8; i++) h.request("r" + i, "a", { i });
  h.send({ type: "cancel", requestID: "r5", reason: "cancelled" });
  h.send({ type: "cancel", requestID: "r6", reason: "settled" });
  const by = Object.fromEntries((await h.until("result", 7)).map((m) => [m.requestID, m.result]));
  assert.equal(by.r5.code, "cancelled");
  assert.equal(by.r6, undefined);
  assert.deepEqual([peak, started], [2, [0, 1, 2, 3, 4, 7]]);
  assert.equal(by.r7.output, "7false");
});

test("pings are answered, and their absence ends the link", async (t) => {
  const { h } = await pair(t, { host: { pingMs: 40 } });
  h.send({ type: "ping" });
  await h.until("pong");
  await until("it came again", () => h.hellos.length === 2);
});

test("tools that are registered in one go are one message", async (t) => {
  const { c, h } = await pair(t);
  for (const name of ["a", "b", "c"]) c.register(name, any, () => name);
  const [m] = await h.until("register");
  assert.deepEqual(m.tools.map((d) => d.id), ["a", "b", "c"]);
  await sleep(20);
  assert.equal(h.of("register").length, 1);
});

test("a question that the host refuses is an error of the question, not of the link", async (t) => {
  const { c, h } = await pair(t);
  h.answer = (_, init) => (init.body.includes("host-tools") ? Response.json({ error: "there is no such session", code: "NOT_FOUND" }, { status: 404 }) : undefined);
  await assert.rejects(within(c.hostTools("ses_other")), { name: "InvokeError", code: "not_found", message: "there is no such session" });
  assert.deepEqual([h.hellos.length, c.state], [1, "ready"]);
});

test("a message that cannot be understood ends a WebSocket, and throws nowhere", async (t) => {
  let opened = 0;
  const url = await serve(t, (req, res) => res.writeHead(404).end(), (_, send) => {
    opened++;
    send(JSON.stringify({ type: "welcome", welcome: { protocol: 1, gen: opened, pingMs: 0 } }));
    send(JSON.stringify({ type: "registered", toolIDs: [] }));
    if (opened < 3) send(JSON.stringify({ type: "unregistered", toolIDs: 7 }));
  });
  const c = new ClientTools({ url, transport: "websocket", WebSocket: globalThis.WebSocket ?? MiniWebSocket, backoff: { min: 5, max: 5 }, drainTimeout: 50 });
  t.after(() => within(c.disconnect()));
  await within(c.connect());
  await until("the third is good", () => opened === 3 && c.state === "ready");
});

test("a WebSocket that is closed as unauthorized is not opened again", async (t) => {
  let opened = 0;
  const url = await serve(t, (req, res) => res.writeHead(426).end(), (socket, send) => {
    opened++;
    send(Buffer.concat([Buffer.from([0x0f, 0xa1]), Buffer.from("unauthorized")]), 8);
  });
  const c = new ClientTools({ url, transport: "websocket", WebSocket: globalThis.WebSocket ?? MiniWebSocket, backoff: { min: 5, max: 5 } });
  await assert.rejects(within(c.connect()), { name: "RefusedError", code: "unauthorized" });
  assert.equal(opened, 1);
});

test("options that cannot be meant are refused", () => {
  assert.throws(() => new ClientTools({}), TypeError);
  assert.throws(() => new ClientTools({ url: "/relative" }), TypeError);
  assert.throws(() => new ClientTools({ url: "http://h", transport: "pigeon" }), /pigeon/);
  assert.match(new ClientTools({ url: "http://h" }).clientID, /^c-[0-9a-f]{32}$/);
});

test("index.d.ts declares what the module exports, and package.json agrees", () => {
  const types = readFileSync(new URL("index.d.ts", import.meta.url), "utf8");
  const declared = [...types.matchAll(/^export (?:class|function|const) (\w+)/gm)].map((m) => m[1]).sort();
  assert.deepEqual(declared, Object.keys(mod).sort());
  for (const C of [ClientTools]) {
    const methods = Object.getOwnPropertyNames(C.prototype).filter((m) => !["constructor", "definitions", "ownName"].includes(m));
    for (const m of methods) assert.match(types, new RegExp(`^  (readonly )?${m}[(:]`, "m"), m);
  }
  const pkg = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
  assert.equal(pkg.version, mod.version);
  assert.equal(pkg.type, "module");
});

test("what the README shows is JavaScript, and uses what is exported", () => {
  const text = readFileSync(new URL("README.md", import.meta.url), "utf8");
  const blocks = [...text.matchAll(/^```js\n(.*?)^```/gms)].map((m) => m[1]);
  assert.ok(blocks.length >= 5);
  for (const b of blocks) {
    const imported = [...b.matchAll(/^import \{ (.*) \} from "\.\/clienttool\.js";$/gm)].flatMap((m) => m[1].split(", "));
    for (const name of imported) assert.ok(name in mod, name);
    new (async () => {}).constructor(b.replace(/^import .*$/gm, "")); // throws what is no program
  }
  for (const [, name] of text.matchAll(/`(?:new )?(\w+Error)\b/g)) assert.ok(name in mod, name);
});
