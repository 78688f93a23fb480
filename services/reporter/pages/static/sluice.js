// What the pages do beyond HTML: keys, a filter, live parts that do not move under the pointer, live logs, copying.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const $ = (id) => document.getElementById(id);

  // --- live parts -----------------------------------------------------------------------------------------------
  // A part marked data-still is not replaced while the pointer, the focus or a selection is in it: what comes
  // meanwhile is kept, and the newest of it takes its place when the reader leaves.
  const kept = new WeakMap();
  const busy = (el) => {
    const marked = window.getSelection();
    return el.matches(":hover") || el.contains(document.activeElement) ||
      (marked && !marked.isCollapsed && el.contains(marked.anchorNode));
  };
  const opened = (el) => new Map([...el.querySelectorAll("details[id]")].map((d) => [d.id, d.open]));
  const reopen = (el, was) => { for (const [id, open] of was) { const d = el.querySelector("#" + CSS.escape(id)); if (d) d.open = open; } };
  const replace = (el, html) => {
    const was = opened(el);
    window.htmx.swap(el, html, { swapStyle: "innerHTML" });
    reopen(el, was);
    decorate(el);
  };
  document.addEventListener("htmx:sseBeforeMessage", (e) => {
    e.preventDefault(); // replaced below, so that what is open stays open
    const el = e.target;
    if (el.hasAttribute("data-still") && busy(el)) { kept.set(el, e.detail.data); return; }
    replace(el, e.detail.data);
  });
  document.addEventListener("htmx:beforeRequest", (e) => {
    if (e.target.hasAttribute("data-still") && busy(e.target)) e.preventDefault(); // a page that asks again: next time
  });
  const leave = (e) => {
    const el = e.target.closest && e.target.closest("[data-still]");
    if (!el || !kept.has(el)) return;
    setTimeout(() => { if (kept.has(el) && !busy(el)) { const html = kept.get(el); kept.delete(el); replace(el, html); } }, 50);
  };
  document.addEventListener("mouseout", leave);
  document.addEventListener("focusout", leave);
  document.addEventListener("htmx:afterSwap", (e) => decorate(e.target.parentNode || document));
  const link = (text) => { const el = $("link"); if (el) el.textContent = text; };
  document.addEventListener("htmx:sseOpen", () => link("live"));
  document.addEventListener("htmx:sseError", () => link("the connection was lost; trying again"));
  document.addEventListener("htmx:sseClose", () => link(""));

  // --- time -----------------------------------------------------------------------------------------------------
  const two = (n) => String(n).padStart(2, "0");
  const took = (s) => s < 60 ? s + " s" : s < 3600 ? Math.floor(s / 60) + "m " + two(s % 60) + "s" : Math.floor(s / 3600) + "h " + two(Math.floor(s / 60) % 60) + "m";
  setInterval(() => {
    for (const el of document.querySelectorAll("[data-since]")) {
      const s = Math.floor((Date.now() - Date.parse(el.dataset.since)) / 1000);
      if (s >= 0) el.textContent = took(s);
    }
  }, 1000);

  // --- commands, dead letters -----------------------------------------------------------------------------------
  function decorate(within) {
    for (const el of within.querySelectorAll(".cli:not([data-copy])")) {
      el.dataset.copy = "";
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = "copy";
      b.addEventListener("click", async () => {
        try { await navigator.clipboard.writeText(el.querySelector("span").textContent); b.textContent = "copied"; }
        catch { b.textContent = "select it"; }
        setTimeout(() => { b.textContent = "copy"; }, 1500);
      });
      el.append(b);
    }
    applyFilter();
  }
  document.addEventListener("submit", async (e) => {
    const form = e.target.closest(".replay");
    if (!form) return;
    e.preventDefault();
    const say = form.querySelector("[role=status]");
    say.textContent = "replaying …";
    try {
      const answer = await fetch(form.action, { method: "POST", headers: { Authorization: "Bearer " + form.token.value } });
      const body = await answer.json().catch(() => ({}));
      say.textContent = answer.ok ? "taken again" : (body.error && body.error.message) || "refused: " + answer.status;
    } catch { say.textContent = "the server did not answer"; }
    form.token.value = "";
  });

  document.addEventListener("submit", async (e) => { // the session's cookie says who acts
    const form = e.target.closest(".act-now");
    if (!form) return;
    e.preventDefault();
    const say = form.querySelector("[role=status]"), button = form.querySelector("button");
    say.textContent = "asking …";
    button.disabled = true;
    try {
      const answer = await fetch(form.action, { method: "POST", credentials: "same-origin", headers: { "Content-Type": "application/json" }, body: "{}" });
      const body = await answer.json().catch(() => ({}));
      say.textContent = answer.ok ? "approved" : (body.error && body.error.message) || "refused: " + answer.status;
      button.disabled = answer.ok;
    } catch { say.textContent = "the server did not answer"; button.disabled = false; }
  });

  // --- filter and keys ------------------------------------------------------------------------------------------
  const filter = $("filter");
  function applyFilter() {
    const want = filter ? filter.value.trim().toLowerCase() : "";
    for (const row of document.querySelectorAll("[data-row]")) {
      row.classList.toggle("gone", want !== "" && !row.textContent.toLowerCase().includes(want));
    }
  }
  if (filter) filter.addEventListener("input", applyFilter);
  const rows = () => [...document.querySelectorAll("[data-row]")].filter((r) => r.offsetParent !== null);
  const move = (step) => {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((r) => r.classList.contains("at"));
    const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + step))];
    if (at >= 0) all[at].classList.remove("at");
    next.classList.add("at");
    next.scrollIntoView({ block: "nearest" });
    const target = next.querySelector("a[href], summary");
    if (target) target.focus({ preventScroll: true });
  };
  const up = () => {
    const parts = location.pathname.split("/").filter(Boolean);
    if (!parts.length) return;
    if (parts[0] === "runs" && parts.length > 2) location.assign("/runs/" + parts[1]);
    else location.assign("/");
  };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const typing = e.target.matches("input, textarea, select");
    const keys = $("keys");
    if (e.key === "Escape") {
      if (keys.open) keys.open = false;
      else if (typing || (filter && filter.value)) { if (filter) { filter.value = ""; applyFilter(); } e.target.blur(); }
      else up();
      return;
    }
    if (typing) return;
    switch (e.key) {
      case "?": keys.open = !keys.open; break;
      case "/": if (filter) { e.preventDefault(); filter.focus(); } break;
      case "j": move(1); break;
      case "k": move(-1); break;
      case "g": if ($("lines")) $("lines").scrollTop = 0; break;
      case "e": if ($("lines")) { $("lines").scrollTop = $("lines").scrollHeight; } break;
    }
  });

  // --- live logs ------------------------------------------------------------------------------------------------
  // Lines come in blocks: the browser lays out those in sight, and what is too much goes block by block. The end is
  // followed while the reader is at it; who has scrolled up stays where they are, and nothing is taken away above them:
  // once that is too much, the page hears no more until they come to the end.
  const most = 3000; // lines that are kept on the page while its end is followed
  const held = 20000; // lines that are kept while the reader is above
  const ahead = 4e6; // letters that may wait to be drawn, in a page that nobody sees
  const lines = $("lines");
  if (lines && !location.hash.startsWith("#L")) lines.scrollTop = lines.scrollHeight;
  if (lines && lines.dataset.live) {
    const tail = $("tail"), notice = $("notice");
    const say = (text, bad) => { notice.textContent = text; notice.classList.toggle("bad", !!bad); };
    let last = 0, count = lines.childElementCount, follow = true, pending = "", partial = null, waiting = false;
    let source = null, paused = false, drew = Number(new URL(lines.dataset.live, location.href).searchParams.get("from_line")) - 1;
    lines.addEventListener("scroll", () => {
      follow = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 40;
      if (follow && paused) listen();
    }, { passive: true });
    const pause = () => {
      source.close();
      paused = true;
      say("Paused at line " + last + " while you read above. At the end (e) it goes on.");
    };
    // What is cut off here would be drawn and taken away again before anybody sees it.
    const newest = (text) => {
      let at = text.length;
      for (let n = 0; n < most; n++) {
        at = text.lastIndexOf('<p id="L', at - 1);
        if (at <= 0) return text;
      }
      return text.slice(at);
    };
    const size = (block) => block.tagName === "P" ? 1 : Number(block.dataset.n);
    const append = (came) => {
      count += came.childElementCount;
      while (came.firstElementChild) {
        const block = document.createElement("div");
        let n = 0;
        for (; n < 50 && came.firstElementChild; n++) block.append(came.firstElementChild);
        block.dataset.n = n;
        block.style.containIntrinsicSize = "auto " + n * 1.172 + "rem";
        lines.append(block);
      }
      while (follow && count > most && lines.childElementCount > 1) {
        count -= size(lines.firstElementChild);
        lines.firstElementChild.remove();
      }
    };
    // A frame that was costly is followed by a pause as long as it took: the page stays usable under a flood.
    let cost = 0, drawn = 0;
    const draw = () => {
      waiting = false;
      const began = performance.now();
      if (pending) {
        const came = document.createElement("template");
        came.innerHTML = follow ? newest(pending) : pending;
        pending = "";
        append(came.content);
        drew = last;
        if (follow) lines.scrollTop = 1e9;
      }
      if (partial !== null) { tail.innerHTML = partial; partial = null; }
      setTimeout(() => { drawn = performance.now(); cost = drawn - began; });
    };
    const soon = () => {
      if (waiting) return;
      waiting = true;
      const pause = Math.min(40, cost) - (performance.now() - drawn);
      if (document.hidden) setTimeout(draw, 250);
      else if (pause > 1) setTimeout(() => requestAnimationFrame(draw), pause);
      else requestAnimationFrame(draw);
    };
    lines.addEventListener("click", (e) => {
      if (e.target.tagName === "P" && e.offsetX < 64 && e.target.id) location.hash = e.target.id; // its number is a link
    });
    const listen = () => {
      const from = new URL(lines.dataset.live, location.href);
      if (last) from.searchParams.set("from_line", last + 1);
      paused = false;
      source = new EventSource(from);
      source.addEventListener("lines", (e) => {
        pending += e.data;
        last = Number(e.lastEventId);
        if (pending.length > ahead && follow) pending = newest(pending);
        if (!follow && !paused && count + last - drew > held) pause();
        soon();
      });
      source.addEventListener("tail", (e) => { partial = e.data; soon(); });
      source.addEventListener("dropped", () => say("This page could not keep up and was dropped at line " + last + "; it goes on from there.", true));
      source.addEventListener("problem", (e) => { say("The log cannot be read: " + e.data, true); source.close(); });
      source.addEventListener("done", () => { say("The attempt has ended."); source.close(); });
      source.addEventListener("open", () => say("Following."));
      source.addEventListener("error", () => { if (source.readyState !== EventSource.CLOSED) say("The connection was lost at line " + last + "; it goes on from there.", true); });
    };
    listen();
  }
  decorate(document);
})();
