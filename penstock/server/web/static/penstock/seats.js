/** How many streams a browser may hold open: over HTTP/1.1 it has six connections to a server, for all of its tabs
 * together, and whatever else a page asks needs one too. Who gets no seat polls. */

const SEATS = 4;

/** @type {Set<string>} */
const taken = new Set();

/** A function that gives the seat back; null when all are taken. @returns {Promise<(() => void) | null>} */
export async function takeSeat() {
  if (isMultiplexed()) return () => {};
  for (let number = 0; number < SEATS; number += 1) {
    const leave = await tryToTake(`penstock-stream-${number}`);
    if (leave) return leave;
  }
  return null;
}

/** Over HTTP/2 and 3 all requests share a connection. */
function isMultiplexed() {
  const [loaded] = performance.getEntriesByName(import.meta.url);
  return /^h[23]/.test(/** @type {any} */ (loaded)?.nextHopProtocol ?? "");
}

/** @param {string} name @returns {Promise<(() => void) | null>} */
function tryToTake(name) {
  // known to all tabs, where the page may ask: not on plain HTTP, but for this machine
  if (globalThis.navigator?.locks) {
    return new Promise((resolve, reject) => {
      const hold = (/** @type {Lock | null} */ lock) =>
        lock ? new Promise((leave) => resolve(() => leave(undefined))) : resolve(null);
      navigator.locks.request(name, { ifAvailable: true }, hold).catch(reject);
    });
  }
  if (taken.has(name)) return Promise.resolve(null);
  taken.add(name);
  return Promise.resolve(() => taken.delete(name));
}
