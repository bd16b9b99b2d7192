import assert from "node:assert/strict";
import { test, describe } from "node:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as mod from "./clienttool.js";
import { ClientTools, ClientToolsManager, ToolError, attachment } from "./clienttool.js";
import { WebSocket, here, serve, sleep, startHost, startProxy, until, within } from "./testdata/harness.js";

const auth = { Authorization: "Bearer secret" };
const any = { description: "A tool", parameters: { type: "object" } };
const quick = { backoff: { min: 10, max: 200 } };

// A client that is disconnected when the test ends. A browser cannot give a WebSocket headers; neither can this one.
function client(t, url, o = {}) {
  const c = new ClientTools({ url, clientID: "x", sessionID: "ses_1", headers: auth, WebSocket, ticket: true, ...quick, ...o });
  t.after(() => within(c.disconnect(), "goodbye"));
  return c;
}

for (const transport of ["websocket", "sse"]) {
  describe(transport, () => {
    test("whatever a handler returns or throws is one result", async (t) => {
      const h = await startHost(t);
      const c = client(t, h.url, { transport });
      const cyclic = {};
      cyclic.self = cyclic;
      const cases = {
        text: [() => "plain ✓ \u2028", { output: "plain ✓ \u2028" }],
        result: [async () => ({ title: "T", output: "o", metadata: { n: 1 }, structured: [1] }), { title: "T", output: "o", metadata: { n: 1 }, structured: [1] }],
        value: [() => ({ a: [1, 2] }), { output: '{"a":[1,2]}' }],
        number: [() => 7, { output: "7" }],
        nothing: [() => {}, { output: "" }],
        thrown: [() => { throw new Error("no such page"); }, { code: "tool_error", error: "no such page" }],
        text_thrown: [() => Promise.reject("just text"), { code: "tool_error", error: "just text" }],
        undefined_thrown: [() => Promise.reject(), { code: "tool_error", error: "undefined" }],
        cycle: [() => cyclic, { code: "tool_error", error: /circular/ }],
        bigint: [() => ({ output: "x", structured: 1n }), { code: "tool_error", error: /cannot be sent.*BigInt/s }],
        func: [() => () => {}, { code: "tool_error", error: /returned a function/ }],
        hostile: [() => { throw Object.create(null, { name: { get() { throw 1; } } }); }, { code: "tool_error", error: /no error/ }],
        partial: [() => { throw new ToolError("half way", { output: "first half" }); }, { code: "tool_error", error: /half way/ }],
        bad_attachment: [() => ({ output: "x", attachments: [{ mime: "text/plain", url: "https://elsewhere/" }] }), { code: "bad_result", error: /data URL/ }],
      };
      for (const [name, [f]] of Object.entries(cases)) c.register(name, any, f);
      await within(c.connect());
      assert.equal(c.state, "ready");
      assert.equal(c.transport, transport);
      assert.equal(c.toolIDs.get("client_x_text"), "text");
      for (const [name, [, want]] of Object.entries(cases)) {
        const r = await h.call("client_x_" + name, {}, { session: "ses_1" });
        for (const [k, v] of Object.entries(want)) {
          const got = k === "code" || k === "error" ? r[k] : r.result?.[k];
          if (v instanceof RegExp) assert.match(got, v, name);
          else assert.deepEqual(got, v, `${name}: ${JSON.stringify(r)}`);
        }
      }
    });

    test("a handler gets its input and context, and attachments arrive", async (t) => {
      const h = await startHost(t);
      const c = client(t, h.url, { transport });
      let seen;
      c.register("draw", { ...any, title: "Draw" }, async (input, ctx) => {
        seen = { input, ...ctx };
        return { output: "drawn", attachments: [await attachment(new Uint8Array([1, 2, 255]), { mime: "image/png", filename: "a.png" })] };
      });
      await within(c.connect());
      const r = await h.call("client_x_draw", { é: [null, 1.5, "\u0000"] }, { session: "ses_1" });
      assert.equal(r.result.attachments[0].url, "data:image/png;base64,AQL/");
      assert.deepEqual(seen.input, { é: [null, 1.5, "\u0000"] });
      assert.equal(seen.sessionID, "ses_1");
      assert.equal(seen.messageID, "msg_1");
      assert.match(seen.callID, /^call_/);
      assert.equal(seen.name, "draw");
      assert.equal(seen.signal.aborted, false);
    });

    test("progress comes in order and before the result", async (t) => {
      const h = await startHost(t);
      const c = client(t, h.url, { transport });
      c.register("count", any, async (_, ctx) => {
        for (let i = 0; i < 30; i++) {
          ctx.progress(`${i} `);
          if (i === 20) ctx.progress({ title: "soon", metadata: { i } });
          await sleep(10);
        }
        return "done";
      });
      await within(c.connect());
      const r = await h.call("client_x_count");
      assert.equal(r.result.output, "done");
      const text = h.progress.map((p) => p.progress.delta ?? "").join("");
      const whole = Array.from({ length: 30 }, (_, i) => i + " ").join("");
      assert.ok(text.length > 20 && whole.startsWith(text), text); // what had not been read when the result came is superseded by it
      assert.ok(h.progress.some((p) => p.progress.title === "soon" && p.progress.metadata.i === 20));
      const n = h.progress.map((p) => p.progress.n);
      assert.deepEqual(n, [...n].sort((a, b) => a - b));
      assert.ok(n.length > 1 && n.length < 20, `${n.length} messages for 31 reports`);
    });

    test("a cancelled call learns why, and one that ignores its time limit does not delay the answer", async (t) => {
      const h = await startHost(t);
      const ended = [], settled = [];
      const onCall = (e) => (e.type === "end" ? ended.push(e) : e.type === "settled" ? settled.push(e.verdict) : 0);
      const c = client(t, h.url, { transport, onCall });
      let why;
      c.register("wait", any, (_, ctx) => new Promise((_, no) => ctx.signal.addEventListener("abort", () => no((why = ctx.signal.reason)))));
      c.register("deaf", any, () => new Promise(() => {}));
      await within(c.connect());
      const call = h.call("client_x_wait", {}, { id: "c" });
      await until("the call started", () => h.events.some((e) => e.type === "client-tool.executing"));
      await sleep(50);
      h.cancel("c");
      assert.equal((await call).code, "cancelled");
      await until("the reason", () => why);
      assert.ok(why instanceof mod.CancelledError);
      const r = await h.call("client_x_deaf", {}, { timeoutMs: 1000 });
      assert.equal(r.code, "timeout");
      assert.match(ended.at(-1).result.error, /within 0.7 s, and may still be running/);
      await until("the verdict", () => settled.length === 2);
      assert.equal(settled[1], "accepted", "the client's own words came first");
    });

    test("permission is asked on the host, and the wait costs no time; host tools can be called", async (t) => {
      const h = await startHost(t);
      const c = client(t, h.url, { transport });
      c.register("asks", any, async (input, ctx) => {
        try {
          await ctx.ask({ permission: "touch", patterns: [input.what] });
        } catch (err) {
          return `${err.name}: ${err.message}`;
        }
        return { output: (await ctx.invoke("upper", { text: input.what })).output };
      });
      c.register("bad", any, async (_, ctx) => ctx.invoke("nonesuch", {}));
      c.register("denied", any, async (_, ctx) => ctx.ask({ permission: "touch", patterns: ["no"] }));
      c.register("lists", any, async (_, ctx) => (await ctx.hostTools()).map((d) => d.id).join());
      await within(c.connect());
      assert.equal((await h.call("client_x_lists", {}, { session: "ses_1" })).result?.output, "upper");
      assert.deepEqual((await within(c.hostTools("ses_1"))).map((d) => d.id), ["upper"]);
      await assert.rejects(within(c.hostTools("ses_of_others")), { code: "not_found" });
      assert.equal((await h.call("client_x_asks", { what: "yes" }, { timeoutMs: 290 })).result?.output, "YES");
      assert.equal((await h.call("client_x_asks", { what: "no" })).result.output, "DeniedError: not this one");
      assert.match((await h.call("client_x_bad")).error, /no tool nonesuch/);
      assert.equal((await h.call("client_x_denied")).code, "denied");
    });

    test("tools come and go while connected, and the host's refusal is an error", async (t) => {
      const h = await startHost(t);
      const c = client(t, h.url, { transport });
      await within(c.connect());
      await within(Promise.all(["a", "b", "c", "d", "e", "f", "g"].map((n) => c.register(n, any, () => n)))); // one message, or it would be too many
      assert.equal((await h.tools()).length, 7);
      await within(c.unregister("a", ["b"]));
      await within(c.unregister("nonesuch"));
      assert.deepEqual(await h.tools("ses_1"), ["c", "d", "e", "f", "g"].map((n) => "client_x_" + n));
      await assert.rejects(within(c.register("loop", { description: "x", parameters: { $ref: "#" } }, () => 1)),
        (err) => err instanceof mod.RejectedError && err.code === "invalid_schema");
      await within(Promise.all([c.register("v", { ...any, version: "1.2" }, () => "old"), c.register("v", { ...any, version: "1.10" }, () => "newest")]));
      assert.equal((await h.call("client_x_v")).result.output, "newest");
      await within(c.unregister("v"));
      assert.ok(!(await h.tools()).includes("client_x_v"));
      await within(c.register("c", any, () => "new"));
      assert.equal((await h.call("client_x_c")).result.output, "new");
      assert.throws(() => c.register("", any, () => 1), TypeError);
      assert.throws(() => c.register("x", any), TypeError);
      assert.throws(() => c.register("x", {}, () => 1), TypeError);
    });

    test("connections that are cut lose nothing, and run nothing twice", async (t) => {
      const h = await startHost(t);
      const p = await startProxy(t, h.port);
      const c = client(t, p.url, { transport });
      const runs = new Map();
      c.register("slow", any, async ({ i }) => {
        runs.set(i, (runs.get(i) ?? 0) + 1);
        await sleep(Math.random() * 60);
        return String(i);
      });
      await within(c.connect());
      let cutting = true;
      const saw = (async () => {
        for (let n = 0; cutting; n++) {
          await sleep(40 + Math.random() * 80);
          if (cutting) p.cut();
        }
      })();
      const results = await Promise.all(Array.from({ length: 100 }, (_, i) => h.call("client_x_slow", { i })));
      cutting = false;
      await saw;
      results.forEach((r, i) => assert.equal(r.result?.output, String(i), JSON.stringify(r)));
      assert.deepEqual([...new Set(runs.values())], [1]);
      assert.ok(p.count > 3, "it was cut: " + p.count);
    });

    test("a call that ends while the link is away is answered after", async (t) => {
      const h = await startHost(t);
      const p = await startProxy(t, h.port);
      const states = [];
      const c = client(t, p.url, { transport, onState: (s) => states.push(s) });
      let finish;
      c.register("slow", any, (_, ctx) => new Promise((ok) => (finish = () => (ctx.progress("still"), ok("kept")))));
      await within(c.connect());
      const call = h.call("client_x_slow");
      await until("it runs", () => finish);
      await sleep(50); // past the acknowledgement
      p.down = true;
      p.cut();
      await until("it noticed", () => c.state === "backoff");
      finish();
      await sleep(50);
      p.down = false;
      assert.equal((await call).result.output, "kept");
      assert.deepEqual(states.slice(0, 3), ["connecting", "ready", "backoff"]);
    });

    test("a link that has gone silent is given up", async (t) => {
      const h = await startHost(t, "-ping", "200ms");
      const p = await startProxy(t, h.port);
      const errors = [];
      const c = client(t, p.url, { transport, onState: (s, err) => err && errors.push(err) });
      c.register("hi", any, () => "hi");
      await within(c.connect());
      p.swallow = true;
      await until("it noticed", () => errors.length > 0);
      assert.match(errors[0].message, /Nothing was heard|did not answer/);
      p.swallow = false;
      p.cut();
      assert.equal((await h.call("client_x_hi")).result.output, "hi");
    });

    test("large results pass, and those over the limit are errors that name it", async (t) => {
      const h = await startHost(t);
      let said;
      const c = client(t, h.url, { transport, onCall: (e) => (said = e.result?.error ?? said) });
      c.register("big", any, ({ n }) => "é".repeat(n / 2));
      await within(c.connect());
      assert.equal((await h.call("client_x_big", { n: 3 << 20 })).result.output.length, 3 << 19);
      const r = await h.call("client_x_big", { n: 5 << 20 });
      assert.equal(r.code, "too_large");
      assert.match(said, /5242880 bytes.*4194304/);
      const quotes = client(t, h.url, { transport, clientID: "q" });
      quotes.register("quotes", any, () => "\n".repeat(4 << 20)); // fits as text, not as JSON
      await within(quotes.connect());
      assert.equal((await h.call("client_q_quotes")).code, "too_large");
      assert.equal((await h.call("client_x_big", { n: 2 })).result.output, "é");
    });

    test("refused credentials end it, with one attempt", async (t) => {
      const h = await startHost(t);
      for (const o of [{ headers: { Authorization: "Bearer wrong" } }, { headers: undefined, ticket: undefined },
        { headers: undefined, ticket: () => "forged" }, { headers: () => ({ Authorization: "Bearer wrong" }), ticket: undefined }]) {
        const c = new ClientTools({ url: h.url, WebSocket, ticket: true, transport, ...quick, ...o });
        c.register("a", any, () => 1);
        await assert.rejects(within(c.connect()), (err) => err instanceof mod.RefusedError && err.code === "unauthorized", JSON.stringify(o));
        assert.equal(c.state, "closed");
      }
      assert.equal(h.events.filter((e) => e.type === "client-tool.connected").length, 0);
    });

    test("tickets alone are enough", async (t) => {
      const h = await startHost(t);
      const p = await startProxy(t, h.port);
      let issued = 0;
      const ticket = async () => {
        issued++;
        const res = await fetch(h.url + "/ticket", { method: "POST", headers: { ...auth, "Content-Type": "application/json" }, body: '{"clientID":"x"}' });
        return (await res.json()).ticket;
      };
      const c = client(t, p.url, { transport, headers: undefined, ticket });
      c.register("hi", any, () => "hi");
      await within(c.connect());
      assert.equal((await h.call("client_x_hi")).result.output, "hi");
      p.cut();
      await h.connected(2);
      assert.equal((await h.call("client_x_hi")).result.output, "hi");
      assert.ok(issued >= 2, "a ticket is good for one request");
    });

    test("a host that comes back knows the tools again; one that never does ends it", async (t) => {
      const h = await startHost(t);
      const c = client(t, h.url, { transport, maxReconnectAttempts: 8, backoff: { min: 50, max: 400 } });
      c.register("hi", any, () => "hi");
      await within(c.connect());
      await h.shutdown();
      const again = await startHost(t, "-addr", new URL(h.origin).host);
      await again.connected(1);
      assert.equal((await again.call("client_x_hi")).result.output, "hi");
      await again.stop();
      await until("it gave up", () => c.state === "closed");
      await assert.rejects(new ClientTools({ url: h.url, transport, WebSocket, maxReconnectAttempts: 1, ...quick }).connect(), { code: "attempts" });
    });

    test("goodbye answers what runs, and leaves nothing", async (t) => {
      const h = await startHost(t);
      const c = client(t, h.url, { transport });
      let started;
      c.register("obeys", any, (_, ctx) => new Promise((_, no) => {
        started = true;
        ctx.signal.addEventListener("abort", () => no(ctx.signal.reason));
      }));
      c.register("deaf", any, () => new Promise(() => {}));
      await within(c.connect());
      const calls = [h.call("client_x_obeys"), h.call("client_x_deaf")];
      await until("they run", () => started);
      await sleep(60);
      await within(c.disconnect());
      assert.deepEqual((await Promise.all(calls)).map((r) => r.code), ["cancelled", "cancelled"]);
      assert.equal(c.state, "closed");
      await until("the tools are gone", async () => (await h.tools()).length === 0);
      await within(c.connect()); // and it can come again
      assert.equal((await h.tools()).length, 2);
    });

    test("a second client of the same id waits until the first has gone", async (t) => {
      const h = await startHost(t);
      const first = client(t, h.url, { transport });
      first.register("who", any, () => "first");
      await within(first.connect());
      const errors = [];
      const second = client(t, h.url, { transport, onState: (s, err) => err && errors.push(err) });
      second.register("who", any, () => "second");
      second.connect();
      await until("it was told to wait", () => errors.some((e) => e.code === "conflict"));
      assert.equal((await h.call("client_x_who")).result.output, "first");
      assert.equal(first.state, "ready");
    });

    test("rubbish from a server never throws, and is tried again with more and more patience", async (t) => {
      const rubbish = ["{", "null", "[]", '"x"', "{}", '{"type":7}', '{"type":"welcome"}', "\u0000\uffff", "x".repeat(100_000)];
      let n = 0;
      const url = await serve(t, (req, res) => {
        req.resume();
        res.writeHead(200, { "Content-Type": "text/event-stream" });
        res.write(`data: ${rubbish[n++ % rubbish.length]}\n\n`);
      }, (socket, send) => send(rubbish[n++ % rubbish.length], n % 5 === 0 ? 2 : 1));
      const c = client(t, url, { transport, ticket: undefined, helloTimeout: 100, maxReconnectAttempts: 20, backoff: { min: 1, max: 5 } });
      await assert.rejects(within(c.connect()), { code: "attempts" });
      assert.ok(n >= 20);
    });
  });
}

test("without a WebSocket, or where none gets through, events and POSTs do", async (t) => {
  const h = await startHost(t);
  class Blocked {
    constructor() {
      setTimeout(() => this.onclose({ code: 1006 }), 5);
    }
    close() {}
  }
  for (const [id, o] of Object.entries({ none: { WebSocket: null }, blocked: { WebSocket: Blocked, ticket: undefined } })) {
    const c = client(t, h.url, { clientID: id, ...o });
    c.register("hi", any, () => "hi");
    await within(c.connect());
    assert.equal(c.transport, "sse");
    assert.equal((await h.call(`client_${id}_hi`)).result.output, "hi");
  }
  const ws = client(t, h.url, { clientID: "ws" });
  await within(ws.connect());
  assert.equal(ws.transport, "websocket");
  if (!globalThis.WebSocket) assert.throws(() => new ClientTools({ url: h.url, transport: "websocket" }), /no WebSocket/);
});

describe("the documented endpoints", () => {
  test("are enough: register, calls, errors, unregister", async (t) => {
    const h = await startHost(t, "-plain", "-anonymous");
    const c = new ClientToolsManager("my_client", h.origin, { ...quick });
    t.after(() => c.disconnect());
    c.register("get_time", { description: "The time", parameters: { type: "object", properties: { tz: { type: "string" } } } },
      async (input, ctx) => ({ title: "Time", output: `${input.tz} ${ctx.sessionID} ${ctx.signal.aborted}` }));
    c.register("fails", any, async () => { throw new Error("Only SELECT queries are allowed"); });
    c.register("slow", any, async () => (await sleep(100), "slow"));
    c.register("asks", any, async (_, ctx) => ctx.ask({ permission: "x" }));
    await within(c.connect("ses_1"));
    assert.equal(c.transport, "plain");
    const ids = await h.tools("ses_1");
    assert.equal(ids.length, 4);
    const id = (name) => ids.find((i) => i.includes(name));
    const r = await h.call(id("time"), { tz: "UTC" }, { session: "ses_1" });
    assert.deepEqual([r.result?.title, r.result?.output], ["Time", "UTC ses_1 false"]);
    assert.match((await h.call(id("fails"))).error, /Only SELECT/);
    assert.equal((await h.call(id("slow"))).result.output, "slow");
    assert.match((await h.call(id("asks"))).error, /takes no questions/);
    await within(c.unregister("get_time"));
    assert.equal((await h.tools()).length, 3);
    await within(c.register("late", any, () => "late"));
    assert.equal((await h.tools()).length, 4);
    await within(c.disconnect());
    assert.equal((await h.tools()).length, 0);
  });

  test("survive cuts as well, by event id", async (t) => {
    const h = await startHost(t, "-plain", "-anonymous");
    const p = await startProxy(t, h.port);
    const runs = new Map();
    const c = client(t, p.url, { transport: "plain", headers: undefined });
    c.register("slow", any, async ({ i }) => {
      runs.set(i, (runs.get(i) ?? 0) + 1);
      await sleep(Math.random() * 50);
      return String(i);
    });
    await within(c.connect());
    const calls = Array.from({ length: 40 }, (_, i) => h.call("client_x_slow", { i }));
    for (let i = 0; i < 4; i++) {
      await sleep(60);
      p.cut();
    }
    (await Promise.all(calls)).forEach((r, i) => assert.equal(r.result?.output, String(i), JSON.stringify(r)));
    assert.deepEqual([...new Set(runs.values())], [1]);
  });

  test("the host's own protocol is used where there is one", async (t) => {
    const h = await startHost(t, "-anonymous");
    for (const useWebSocket of [false, true]) {
      const c = new ClientToolsManager("m" + useWebSocket, h.origin, { useWebSocket, WebSocket, ...quick });
      t.after(() => c.disconnect());
      c.register("hi", any, () => "hi");
      await within(c.connect("ses_1"));
      assert.equal(c.transport, useWebSocket ? "websocket" : "sse");
      assert.equal((await h.call(`client_m${useWebSocket}_hi`)).result.output, "hi");
    }
  });
});

test("a program that has disconnected ends by itself", async (t) => {
  const h = await startHost(t, "-anonymous");
  for (const transport of globalThis.WebSocket ? ["websocket", "sse", "plain"] : ["sse", "plain"]) {
    const program = `
      import { ClientTools } from ${JSON.stringify(new URL("clienttool.js", "file://" + here + "/").href)};
      const c = new ClientTools({ url: ${JSON.stringify(h.url)}, transport: ${JSON.stringify(transport)} });
      c.register("a", { description: "a" }, () => 1);
      await c.connect();
      await c.disconnect();
      console.log("bye");`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.on("data", (d) => (out += d));
    const [code] = await within(once(child, "close"), "the program's end");
    assert.deepEqual([code, out], [0, "bye\n"]);
  }
});
