/* Where on the page one is: links keep what is chosen, and a link to a number opens its record. */
import { readAddress, written } from "./address.js";
import { choose } from "./page.js";
import { closeRecord, openRecord } from "./record.js";

let at = "";

function remember(push) {
  const hash = written(at);
  const address = hash ? "#" + hash : location.pathname + location.search;
  try {
    if (push) window.history.pushState(null, "", address);
    else window.history.replaceState(null, "", address);
  } catch { /* a page inside another may not change its address */ }
}

/** Scroll to the element of this id, or open the record that it is. */
function visit(id) {
  const record = /^trials-(\d+)$/.exec(id);
  if (record && openRecord(Number(record[1]))) return;
  closeRecord();
  const target = id && document.getElementById(id);
  if (!target) return;
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  target.scrollIntoView();
  if (!target.hasAttribute("tabindex")) target.setAttribute("tabindex", "-1");
  target.focus({ preventScroll: true });
}

/** What the address says now is what the page shows. */
export function follow() {
  const { changes, at: place, unknown } = readAddress(location.hash);
  at = place;
  choose(changes);
  document.getElementById("said").textContent = unknown.length ? "This report does not have " + unknown.join(", ") + "." : "";
  visit(at);
}

export function rememberChoice() {
  remember(false);
}

export function leaveRecord() {
  if (!/^trials-\d+$/.test(at)) return;
  at = "";
  remember(false);
}

export function setUpPlaces() {
  addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    at = decodeURIComponent(link.hash.slice(1));
    remember(true);
    visit(at);
  });
}
