// Makes an element's children those of some HTML, and keeps whatever is the same: what has the focus, what is scrolled,
// what was opened or typed.
const ours = (node) => node.nodeType === 1 && node.hasAttribute("data-drawn"); // made by a script, not by the server
const key = (node) => (node.nodeType === 1 ? node.dataset.key || node.id || null : null);
const alike = (one, other) => one.nodeType === other.nodeType && one.nodeName === other.nodeName;
const KEPT = new Set(["open", "checked", "hidden"]);
const typed = (node) => "defaultValue" in node && node.value !== node.defaultValue;

export function morph(target, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const focused = document.activeElement;
  const modal = target.querySelector("dialog:modal");
  children(target, template.content);
  if (modal?.isConnected && !modal.matches(":modal")) { // it was moved
    modal.close();
    modal.showModal();
  }
  if (focused && focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

function after(node) {
  do node = node.nextSibling; while (node && ours(node));
  return node;
}

function children(old, fresh) {
  const keyed = new Map();
  for (const each of old.children) if (key(each)) keyed.set(key(each), each);
  let current = old.firstChild;
  if (current && ours(current)) current = after(current);
  for (const wanted of [...fresh.childNodes]) {
    const name = key(wanted);
    let found = name ? keyed.get(name) : current && !key(current) && alike(current, wanted) ? current : null;
    if (found && !alike(found, wanted)) found = null;
    if (!found) {
      old.insertBefore(wanted, current);
      continue;
    }
    if (found === current) current = after(current);
    else old.insertBefore(found, current);
    if (name) keyed.delete(name);
    patch(found, wanted);
  }
  while (current) {
    const gone = current;
    current = after(current);
    drop(gone);
  }
}

// A row that is ticked stays while it is, because something is to be done with it.
function drop(node) {
  if (!node.querySelector?.("input:checked")) node.remove();
  else if (key(node)) node.dataset.gone = "";
  else for (const each of [...node.children]) drop(each);
}

function patch(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.isEqualNode(fresh)) return;
  const keeps = (name) => KEPT.has(name) || (name === "value" && typed(old));
  for (const { name, value } of fresh.attributes) {
    if (keeps(name) || old.getAttribute(name) === value) continue;
    old.setAttribute(name, value);
    if (name === "value" && "defaultValue" in old) old.value = value;
  }
  for (const { name } of [...old.attributes]) {
    if (!keeps(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  children(old, fresh);
}
