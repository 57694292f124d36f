// The engine's worker. The query carries the page's build, so a cached engine of another build is not met.
// Messages that arrive while the engine loads are kept and handed over in order.

const early = [];
const keep = (event) => early.push(event.data);
self.addEventListener("message", keep);

try {
  const version = self.location.search;
  const engine = await import(`./engine/chainwalk-worker.js${version}`);
  await engine.default({ module_or_path: new URL(`./engine/chainwalk-worker_bg.wasm${version}`, import.meta.url) });
  self.removeEventListener("message", keep);
  for (const data of early) self.dispatchEvent(new MessageEvent("message", { data }));
} catch (error) {
  self.postMessage(`The engine did not start (${error.message}).`);
}
