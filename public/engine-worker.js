// The engine's worker. The query names the engine, and carries the page's build, so a cached engine of another build is
// not met. Messages that arrive while the engine loads are kept and handed over in order.

const early = [];
const keep = (event) => early.push(event.data);
self.addEventListener("message", keep);

try {
  const asked = new URLSearchParams(self.location.search);
  const name = asked.get("engine") === "chainwalk-worker-planes" ? "chainwalk-worker-planes" : "chainwalk-worker";
  const version = `?v=${encodeURIComponent(asked.get("v") ?? "")}`;
  const engine = await import(`./engine/${name}.js${version}`);
  await engine.default({ module_or_path: new URL(`./engine/${name}_bg.wasm${version}`, import.meta.url) });
  self.removeEventListener("message", keep);
  for (const data of early) self.dispatchEvent(new MessageEvent("message", { data }));
} catch (error) {
  self.postMessage(`The engine did not start (${error.message}).`);
}
