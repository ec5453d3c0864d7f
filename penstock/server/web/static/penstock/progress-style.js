/** How <penstock-progress> looks. A constructed sheet: a policy without 'unsafe-inline' lets it through. */

const CSS = `
:host {
  --_accent: var(--penstock-accent, light-dark(#0b6e99, #5cc8f2));
  --_good: var(--penstock-good, light-dark(#17794a, #4ccf8c));
  --_bad: var(--penstock-bad, light-dark(#b3261e, #ff8a80));
  --_text: var(--penstock-text, light-dark(#16232c, #e6eef3));
  --_quiet: var(--penstock-quiet, light-dark(#52646f, #9db0bb));
  --_track: var(--penstock-track, light-dark(#dfe8ed, #24333d));
  --_radius: var(--penstock-radius, 999px);
  --_height: var(--penstock-height, 0.5rem);
  --_fill: var(--_accent);
  display: block;
  color: var(--_text);
  font: var(--penstock-font, inherit);
  font-variant-numeric: tabular-nums;
}
:host([hidden]) { display: none }
:host([data-state="succeeded"]) { --_fill: var(--_good) }
:host([data-state="failed"]) { --_fill: var(--_bad) }
:host([data-state="cancelled"]), :host([data-state="stopping"]) { --_fill: var(--_quiet) }
* { box-sizing: border-box }
[hidden] { display: none !important }
p, ul { margin: 0; padding: 0 }
.head, .foot { display: flex; align-items: baseline; justify-content: space-between; gap: 0.75rem }
[part="label"] { font-weight: 600; overflow-wrap: anywhere }
[part="percent"] { color: var(--_quiet) }
[part="bar"] {
  position: relative;
  block-size: var(--_height);
  margin-block: 0.4em;
  border-radius: var(--_radius);
  background: var(--_track);
  overflow: hidden;
}
[part="fill"] {
  block-size: 100%;
  min-inline-size: 0;
  border-radius: inherit;
  background: var(--_fill);
  transition: inline-size 0.35s ease-out, background 0.35s;
}
:host([data-state="failed"]) [part="bar"] { background: color-mix(in srgb, var(--_bad) 22%, var(--_track)) }
:host([data-state="problem"]) .waiting::after { display: none }
.waiting::after {
  content: "";
  position: absolute;
  inset-block: 0;
  inline-size: 30%;
  border-radius: inherit;
  background: var(--_fill);
  opacity: 0.5;
  animation: wait 1.6s ease-in-out infinite alternate;
}
@keyframes wait { from { inset-inline-start: 0 } to { inset-inline-start: 70% } }
:host([data-state="problem"]) .foot { display: none }
.foot { min-block-size: 1.9em; align-items: center; font-size: 0.875em }
.line { color: var(--_quiet); overflow-wrap: anywhere }
.line > :not([hidden]) ~ *::before { content: " · "; white-space: pre }
[part="state"] { color: var(--_fill); font-weight: 600 }
[part="state"]:empty + * { display: none }
:host([data-state="cancelled"]) [part="state"], :host([data-state="stopping"]) [part="state"] { color: var(--_quiet) }
.actions { flex: none; display: flex; gap: 0.5rem }
button {
  font: inherit;
  color: var(--_text);
  background: none;
  border: 1px solid var(--_quiet);
  border-radius: 0.4em;
  padding: 0.15em 0.7em;
  cursor: pointer;
}
button:hover { border-color: var(--_accent); color: var(--_accent) }
button:disabled { opacity: 0.5; cursor: default }
:is(button, a):focus-visible { outline: 2px solid var(--_accent); outline-offset: 2px }
[part="attempt"] { font-size: 0.875em; color: var(--_quiet) }
[part="problem"] { font-size: 0.875em; color: var(--_bad) }
[part="artifacts"] { list-style: none; display: flex; flex-wrap: wrap; gap: 0.2em 1em; margin-block-start: 0.35em; font-size: 0.875em }
a { color: var(--_accent); overflow-wrap: anywhere }
.size { color: var(--_quiet); margin-inline-start: 0.4em; white-space: nowrap }
.unseen { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
@media (prefers-reduced-motion: reduce) {
  [part="fill"] { transition: none }
  .waiting::after { animation: none; inline-size: 100%; opacity: 0.25 }
}
@media (forced-colors: active) {
  [part="bar"] { border: 1px solid }
  [part="fill"], .waiting::after { background: Highlight; forced-color-adjust: none }
}
`;

/** @type {CSSStyleSheet | undefined} */
let made;

/** One for all of a page's elements. */
export function sheet() {
  if (!made) {
    made = new CSSStyleSheet();
    made.replaceSync(CSS);
  }
  return made;
}
