// "3 min ago", as penstock/server/dashboard/words.py says it.
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

export function duration(seconds) {
  const at = UNITS.findIndex(([length]) => seconds >= length);
  if (at < 0) return "0 s";
  const [length, unit] = UNITS[at];
  const whole = `${Math.floor(seconds / length)} ${unit}`;
  if (at >= 3) return whole;
  const [below, belowUnit] = UNITS[at + 1];
  const more = Math.floor((seconds % length) / below);
  return more ? `${whole} ${more} ${belowUnit}` : whole;
}

function coarse(seconds) {
  return seconds - (seconds % (seconds < 600 ? 1 : seconds < 172800 ? 60 : 3600));
}

export function tick() {
  for (const each of document.querySelectorAll("time[data-ago]")) {
    const seconds = Math.round((Date.now() - Date.parse(each.dateTime)) / 1000);
    const told = Math.abs(seconds) < 1 ? "now" : seconds > 0 ? `${duration(coarse(seconds))} ago` : `in ${duration(coarse(-seconds))}`;
    if (each.textContent !== told) each.textContent = told;
  }
}
