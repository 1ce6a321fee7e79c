// The console's own script: the theme, relative times, copying, keys, the dialog, logs, and the banner that says since
// when the page is not live. All of it works on the document, because htmx replaces parts of it.
"use strict";

const root = document.documentElement;
const each = (selector, act, inside = document) => inside.querySelectorAll(selector).forEach(act);

// Theme: the switch overrides the system's preference.
function switchTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch (e) { /* the choice lasts for this page */ }
}

// Times: the distance from now, in at most two units, as the server writes it.
function distance(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  for (let i = 0; i < units.length; i++) {
    const [size, unit] = units[i];
    if (seconds < size && size > 1) continue;
    const whole = Math.floor(seconds / size);
    const rest = i + 1 < units.length ? Math.floor((seconds % size) / units[i + 1][0]) : 0;
    return whole + unit + (rest && whole < 10 ? rest + units[i + 1][1] : "");
  }
}

function tick() {
  const now = Date.now();
  each("time[data-relative]", (time) => {
    const seconds = Math.round((now - Date.parse(time.dateTime)) / 1000);
    const text = distance(Math.abs(seconds));
    const shown = time.dataset.relative === "short" ? text : seconds < 0 ? "in " + text : text + " ago";
    if (time.textContent !== shown) time.textContent = shown;
  });
}
setInterval(() => { if (!document.hidden) tick(); }, 1000);

// A time that the pointer is on also has the clock of the user's time zone, after that of the server in UTC.
document.addEventListener("mouseover", (event) => {
  const time = event.target.closest("time[title]");
  if (!time || time.dataset.here) return;
  time.dataset.here = new Date(time.dateTime).toLocaleString();
  time.title += ", here " + time.dataset.here;
});

// Live: the banner appears when an event stream breaks, and disappears when one opens again.
const offline = document.getElementById("offline");
function setOffline(broken) {
  if (broken === !offline.hidden) return;
  const time = offline.querySelector("[data-offline]");
  if (broken) { time.dateTime = new Date().toISOString(); time.textContent = new Date().toLocaleTimeString(); }
  offline.hidden = !broken;
}
document.addEventListener("htmx:sseError", (event) => {
  setOffline(true);
  if (event.detail.source?.readyState === EventSource.CLOSED) checkSession();
});
// The browser gives a stream up if its answer is an error, such as after a restart of the console, which ends all
// sessions. The sign-in follows then. Any address of the API answers 401 to a user who is not signed in.
function checkSession() {
  fetch("/api/v1/", { headers: { "Hx-Trigger": "refresh" } }).then((answer) => { if (answer.status === 401) location.reload(); }, () => {});
}
document.addEventListener("htmx:sendError", () => setOffline(true));
document.addEventListener("htmx:sseOpen", () => setOffline(false));
document.addEventListener("htmx:sseMessage", () => setOffline(false));
// The events of the table end with the session; the sign-in follows.
document.addEventListener("htmx:sseClose", (event) => { if (event.detail.type === "message" && event.target.id === "all") location.reload(); });
// A stream of a log that opens again begins anew.
document.addEventListener("htmx:sseOpen", (event) => { if (event.target.matches("[data-log]")) event.target.replaceChildren(); });

// The page of an object loads itself again, unless the user does something that this would undo.
const busy = () => document.hidden || dialog.open || !getSelection().isCollapsed ||
  document.querySelector("#main details[open], #main input:checked, #main :focus") ||
  [...document.querySelectorAll("#main .scroll, #main pre")].some((box) => box.scrollLeft || box.scrollTop);
setInterval(() => { if (!busy()) each("#refresh", (element) => htmx.trigger(element, "refresh")); }, 10000);

// Errors of requests: the server's page about the error says more than a silent failure.
document.addEventListener("htmx:beforeSwap", (event) => {
  const status = event.detail.xhr.status;
  if (event.detail.requestConfig.elt.id === "refresh") {
    setOffline(status >= 500);
    if (status >= 500 || busy()) { event.detail.shouldSwap = false; return; }
  }
  if (status === 401) { location.reload(); return; }
  if (status < 400) return;
  event.detail.shouldSwap = true;
  event.detail.isError = false;
  if (!event.detail.serverResponse.includes('id="main"')) return;
  event.detail.target = document.getElementById("main");
  event.detail.selectOverride = "#main";
  event.detail.swapOverride = "outerHTML";
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target && event.detail.target.id === "dialog") openDialog();
  tick();
});

// Dialog: it opens when an action's form has been put into it, and takes the focus.
const dialog = document.getElementById("dialog");
function openDialog() {
  if (!dialog.childElementCount) return;
  if (!dialog.open) dialog.showModal();
  const first = dialog.querySelector("input:not([type=hidden]), [data-close]");
  if (first) first.focus();
}

function notice(text, milliseconds = 3000) {
  const box = document.getElementById("notice");
  box.textContent = text;
  setTimeout(() => { if (box.textContent === text) box.textContent = ""; }, milliseconds);
}

// An action leads to another page, which shows what was done.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const done = event.detail.xhr.getResponseHeader("X-Done");
  try { if (done) sessionStorage.setItem("done", done); } catch (e) { /* a browser without storage shows only the page */ }
});
function showDone() {
  try {
    const done = sessionStorage.getItem("done");
    sessionStorage.removeItem("done");
    if (done) notice(done, 10000);
  } catch (e) { /* a browser without storage */ }
}

function copy(button) {
  const text = button.parentElement.querySelector("code").textContent;
  const done = () => notice("Copied");
  if (navigator.clipboard) { navigator.clipboard.writeText(text).then(done, () => select(button)); } else { select(button); }
}
function select(button) {
  getSelection().selectAllChildren(button.parentElement.querySelector("code"));
  notice("Selected; copy it with Ctrl-C");
}

document.addEventListener("click", (event) => {
  const at = (selector) => event.target.closest(selector);
  if (at("[data-theme-switch]")) switchTheme();
  else if (at("[data-copy]")) copy(at("[data-copy]"));
  else if (at("[data-close]")) dialog.close();
});

// Keys: / searches, j and k move between rows, Escape leaves a field.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (typing) { if (event.key === "Escape") event.target.blur(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (event.key === "/") {
    const field = document.querySelector("[data-key='/']");
    if (field) { event.preventDefault(); field.focus(); field.select(); }
  } else if (event.key === "j" || event.key === "k") {
    const links = [...document.querySelectorAll("[data-rows] td.name a")];
    const next = links.indexOf(document.activeElement) + (event.key === "j" ? 1 : -1);
    if (links.length) links[Math.min(Math.max(next, 0), links.length - 1)].focus();
  }
});

// Logs: search hides lines without the text; a log keeps its last lines and follows its end unless the user scrolled up.
const maxLines = 5000;
const hiddenBy = (line, text) => text !== "" && !line.textContent.toLowerCase().includes(text);
const searchText = () => (document.querySelector("[data-log-search]")?.value || "").toLowerCase();

function filterLog(log) {
  const text = searchText();
  let shown = 0;
  each(".l", (line) => { line.hidden = hiddenBy(line, text); if (!line.hidden) shown++; }, log);
  const label = log.parentElement.querySelector("[data-log-count]");
  if (label) label.textContent = text ? shown + " lines match" : "";
}
document.addEventListener("input", (event) => {
  if (event.target.matches("[data-log-search]")) each("[data-log]", filterLog);
});
new MutationObserver((changes) => {
  const logs = new Set(changes.map((c) => c.target).filter((t) => t.matches && t.matches("[data-log]")));
  logs.forEach((log) => {
    const following = log.scrollHeight - log.scrollTop - log.clientHeight < 200;
    while (log.childElementCount > maxLines) log.firstElementChild.remove();
    const text = searchText();
    if (text) filterLog(log);
    if (following) log.scrollTop = log.scrollHeight;
  });
}).observe(document.body, { childList: true, subtree: true }); // htmx may replace main

showDone();
tick();
