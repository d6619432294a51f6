/* How the page writes numbers. */

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

/** An estimate and its interval with equally many decimals, as many as its width earns. */
export function together(values) {
  const [estimate, low, high] = values;
  const width = high - low || Math.min(Math.abs(estimate), Math.abs(estimate - 1)) || 1;
  const size = Math.max(...values.map(Math.abs));
  let decimals = Math.max(2, Math.min(6, -Math.floor(Math.log10(width))));
  if (size >= 100) decimals = Math.max(0, decimals - Math.floor(Math.log10(size)) + 1);
  return values.map((value) => value.toFixed(decimals));
}

/** An accuracy needs more digits than a time: contenders differ in the second decimal. */
export const plain = (value, unit) => (unit === "%" ? value.toFixed(2) : number(value));
export const withUnit = (value, unit) => plain(value, unit) + (unit ? " " + unit : "");
