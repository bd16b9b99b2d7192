// The view of calls: one entry each, with what it was asked, how far it is, and what came of it.

export function calls(list, nothing) {
  const entries = new Map();
  let lost = 0;

  function element(tag, className, text = "") {
    const e = document.createElement(tag);
    e.className = className;
    e.textContent = text;
    return e;
  }

  function note(text) {
    if (entries.size > 0) list.append(element("li", "note", text));
  }

  function start(e) {
    nothing.hidden = true;
    const li = element("li", ""), head = element("div", "head");
    const c = { li, state: element("span", "state running", "running"), bar: document.createElement("progress"), out: element("pre", "out"), text: "" };
    c.bar.hidden = true;
    c.bar.setAttribute("aria-label", `Progress of ${e.name}`);
    head.append(element("code", "", e.name), c.state);
    li.append(head, element("pre", "", Object.keys(e.input).length > 0 ? JSON.stringify(e.input) : ""), c.bar, c.out);
    list.append(li);
    entries.set(e.requestID, c);
  }

  function progress(c, p) {
    if (p.metadata?.of) Object.assign(c.bar, { hidden: false, max: p.metadata.of, value: p.metadata.done });
    c.text = p.output ?? c.text + (p.delta ?? "");
    c.out.textContent = c.text.trim().split("\n").at(-1) || p.title || "";
  }

  function end(c, r) {
    const ok = r.status === "success";
    c.state.className = "state " + (ok ? "done" : "failed");
    c.state.textContent = ok ? "done" : r.code === "tool_error" ? "failed" : r.code;
    c.out.textContent = ok ? r.output : r.error;
    c.bar.hidden = true;
    for (const a of r.attachments ?? []) {
      const img = document.createElement("img");
      img.src = a.url;
      img.alt = a.filename ?? "attachment";
      c.li.append(img);
    }
  }

  return {
    call(e) {
      if (e.type === "start") return start(e);
      const c = entries.get(e.requestID);
      if (!c) return;
      if (e.type === "progress") progress(c, e.progress);
      else if (e.type === "end") end(c, e.result);
      else if (e.verdict === "accepted") c.state.textContent += ", delivered";
      c.li.dataset.state = e.type;
    },
    state(s) {
      if (s === "backoff" && !lost) {
        lost = performance.now();
        note("The connection was lost; what runs goes on.");
      } else if (s === "ready" && lost) {
        note(`Connected again after ${Math.max(0.1, (performance.now() - lost) / 1000).toFixed(1)} s; nothing ran twice.`);
        lost = 0;
      }
    },
  };
}
