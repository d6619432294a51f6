/* What the page holds and what is chosen on it. Text from the campaign is only ever set as text,
   never as markup. */
export const page = JSON.parse(document.getElementById("page").textContent);
export const state = { case: page.cases[0], hidden: new Set() };

export function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  if (size < 0.0001) return value.toExponential(1);
  return value.toFixed(Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(size)))));
}

/** For axes: as short as it can be. */
export function brief(value) {
  if (Math.abs(value) >= 10000) return Math.round(value / 1000).toLocaleString("en") + "k";
  return String(+value.toPrecision(4));
}

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif";
export const unique = (values) => [...new Set(values)];
